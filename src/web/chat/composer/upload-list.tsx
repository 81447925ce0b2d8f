/** Files on their way, over the field: how far each is, and what to do where one stopped. */
import { ActionIcon, Group, Progress, Stack, Text } from '@mantine/core';
import { RotateCcw, X } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import type { Upload } from '../state/uploads.ts';

export function UploadList({ conv }: { readonly conv: string }) {
  const { uploads } = useChat();
  const list = useObserved(uploads, () => uploads.in(conv));
  if (list.length === 0) return null;
  return (
    <Stack gap={6} px="md" pb="xs">
      {list.map((upload) => (
        <UploadLine key={upload.key} upload={upload} />
      ))}
    </Stack>
  );
}

function UploadLine({ upload: { failure, key, name, progress } }: { readonly upload: Upload }) {
  const { t } = useTranslation();
  const { uploads } = useChat();
  const shown = harmlessName(name, 'file');
  return (
    <Group gap="xs" wrap="nowrap">
      <div className="parley-person-words">
        <Text size="sm" truncate>
          <bdi>{shown}</bdi>
        </Text>
        {failure === undefined ? (
          <Progress value={progress * 100} size="sm" aria-label={t('upload.progress', { name: shown })} />
        ) : (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {failure}
          </Text>
        )}
      </div>
      {failure !== undefined && (
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={t('upload.retry', { name: shown })}
          onClick={() => uploads.retry(key)}
        >
          <RotateCcw size={16} />
        </ActionIcon>
      )}
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={t('upload.cancel', { name: shown })}
        onClick={() => uploads.cancel(key)}
      >
        <X size={16} />
      </ActionIcon>
    </Group>
  );
}
