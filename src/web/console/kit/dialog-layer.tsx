/** Draws the dialogs that are open over a screen. Closing one gives the focus back to where it was. */
import { Modal } from '@mantine/core';
import { useObserved } from '../../kit/observable.ts';
import { t } from '../words/words.ts';
import type { Dialogs } from './dialogs.ts';

export function DialogLayer({ dialogs }: { readonly dialogs: Dialogs }) {
  const open = useObserved(dialogs, () => dialogs.open);
  return open.map(({ content, id, isHeld, size, title }) => (
    <Modal
      key={id}
      opened
      onClose={() => dialogs.close(id)}
      title={t(title)}
      size={size}
      closeOnEscape={!isHeld}
      closeOnClickOutside={!isHeld}
      withCloseButton={!isHeld}
      closeButtonProps={{ 'aria-label': t('action.close') }}
      transitionProps={{ duration: 0 }}
    >
      {content(() => dialogs.close(id))}
    </Modal>
  ));
}
