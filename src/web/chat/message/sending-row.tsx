/** A message that is not there yet: on its way, or refused with the reason and what the person can do. */
import { Button, Group, Text } from '@mantine/core';
import { Clock3 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ParleyError } from '#src/client/parley-error.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useChat } from '../chat-context.ts';
import { fileOf } from '../conversation-words.ts';
import type { Sending } from '../state/sending.ts';
import { FormattedText } from './formatted-text.tsx';

export function SendingRow({ sending }: { readonly sending: Sending }) {
  const { t } = useTranslation();
  const chat = useChat();
  const { form, refused } = sending;
  const file = 'kind' in form ? fileOf(form) : undefined;
  const said = 'kind' in form && form.kind === 'text' ? form.body : harmlessName(file?.name ?? '');
  const text = 'forward' in form ? t('forward.waiting') : said;
  return (
    <div className="parley-message" data-joined data-sending={refused === undefined ? 'waiting' : 'refused'}>
      <div className="parley-gutter">
        <Text c="dimmed" role="img" aria-label={refused === undefined ? t('sending.waiting') : t('sending.refused')}>
          <Clock3 size={14} />
        </Text>
      </div>
      <div className="parley-message-words">
        <FormattedText text={text} />
        {refused !== undefined && (
          <Group gap="xs" mt={4} role="alert">
            <Text size="sm" c="var(--mantine-color-error)">
              {sentenceOf(new ParleyError(refused, refused))}
            </Text>
            <Button size="compact-xs" variant="default" onClick={() => chat.sending.retry(sending)}>
              {t('sending.retry')}
            </Button>
            <Button size="compact-xs" variant="default" onClick={() => chat.sending.discard(sending)}>
              {t('sending.discard')}
            </Button>
          </Group>
        )}
      </div>
    </div>
  );
}
