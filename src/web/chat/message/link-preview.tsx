/** What the page behind a message's first link says of itself, as the server read it; whose message it is may take it away. */
import { Anchor, CloseButton, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useChat } from '../chat-context.ts';
import { useMay, useOpenConversation } from '../conversation/open-conversation.ts';
import { webAddress } from './web-address.ts';

export function LinkPreview({ message }: { readonly message: ChatMessage }) {
  const { t } = useTranslation();
  const { client, me } = useChat();
  const { complain, conv } = useOpenConversation();
  const may = useMay();
  const { preview, sender, seq } = message;
  const href = preview === undefined ? undefined : webAddress(preview.url);
  if (preview === undefined || href === undefined) return null;
  const { description, site, title } = preview;
  return (
    <div className="parley-preview" role="group" aria-label={t('preview.title')}>
      <div className="parley-person-words">
        <Text size="xs" c="dimmed" truncate>
          <bdi>{harmlessName(site ?? new URL(href).hostname)}</bdi>
        </Text>
        <Anchor href={href} target="_blank" rel="noopener noreferrer nofollow" size="sm" fw={600} lineClamp={2}>
          <bdi>{harmlessName(title)}</bdi>
        </Anchor>
        {description !== undefined && (
          <Text size="sm" c="dimmed" lineClamp={3}>
            <bdi>{harmlessName(description)}</bdi>
          </Text>
        )}
      </div>
      {(sender === me || may('message.delete.any')) && (
        <CloseButton
          size="sm"
          aria-label={t('preview.remove')}
          title={t('preview.remove')}
          onClick={() => void client.removePreview(conv, seq).catch(complain)}
        />
      )}
    </div>
  );
}
