/** Asks before something that cannot be taken back; what has the focus is the way out. */
import { Button, Group, Modal, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';

interface ConfirmDialogProps {
  readonly isOpen: boolean;
  readonly title: string;
  /** What comes of it. */
  readonly words: string;
  /** The name of what is done. */
  readonly action: string;
  /** Called once the dialog is being closed. */
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function ConfirmDialog({ action, isOpen, onClose, onConfirm, title, words }: ConfirmDialogProps) {
  const { t } = useTranslation();
  const confirm = () => {
    onClose();
    onConfirm();
  };
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} closeButtonProps={{ 'aria-label': t('app.close') }}>
      <Text mb="md">{words}</Text>
      <Group justify="flex-end">
        <Button variant="default" data-autofocus onClick={onClose}>
          {t('app.cancel')}
        </Button>
        <Button color="red.9" onClick={confirm}>
          {action}
        </Button>
      </Group>
    </Modal>
  );
}
