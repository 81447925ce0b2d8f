/** A link to hand on, or something to type elsewhere: a field that is read, with a button that copies it where the browser lends the clipboard. */
import { ActionIcon, Text, TextInput } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Check, Copy } from 'lucide-react';
import { useTranslation } from 'react-i18next';

interface CopyFieldProps {
  readonly label: string;
  readonly description: string;
  readonly value: string;
  /** What the button is called; by default it copies a link. */
  readonly copy?: string;
}

export function CopyField({ copy, label, description, value }: CopyFieldProps) {
  const { t } = useTranslation();
  const clipboard = useClipboard();
  return (
    <div>
      <TextInput
        label={label}
        description={description}
        value={value}
        readOnly
        rightSection={
          // Browsers lend it to pages that came over TLS, or from this machine.
          'clipboard' in navigator && (
            <ActionIcon variant="subtle" aria-label={copy ?? t('app.copyLink')} onClick={() => clipboard.copy(value)}>
              {clipboard.copied ? <Check size={16} /> : <Copy size={16} />}
            </ActionIcon>
          )
        }
      />
      <Text size="sm" role="status">
        {clipboard.copied ? t('app.copied') : ''}
      </Text>
    </div>
  );
}
