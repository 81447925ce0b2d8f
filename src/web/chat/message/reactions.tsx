/** Under a message: each emoji with how many people chose it; one's own are marked, and a press adds or takes back. */
import { Group, UnstyledButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import type { Reaction } from '#src/protocol/conversations/messages.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { ReactionEmoji } from '../emoji/custom-emoji.tsx';
import { useOpenConversation } from '../conversation/open-conversation.ts';

export function Reactions({ message }: { readonly message: ChatMessage }) {
  const { t } = useTranslation();
  const { reactions = [] } = message;
  if (reactions.length === 0) return null;
  return (
    <Group gap={4} mt={4} role="group" aria-label={t('message.reactions')}>
      {reactions.map((reaction) => (
        <OneReaction key={reaction.emoji} seq={message.seq} reaction={reaction} />
      ))}
    </Group>
  );
}

function OneReaction({ seq, reaction }: { readonly seq: number; readonly reaction: Reaction }) {
  const { t } = useTranslation();
  const { client, me, people } = useChat();
  const { complain, conv } = useOpenConversation();
  const { count, emoji, users } = reaction;
  const isOwn = users.includes(me);
  const names = useObserved(people, () => users.map((user) => people.nameOf(user)).join(', '));
  const more = count - users.length;
  const who = more > 0 ? t('message.reactedMore', { names, count: more }) : names;
  return (
    <UnstyledButton
      className="parley-reaction"
      aria-pressed={isOwn}
      aria-label={t('message.reacted', { emoji, count, names: who })}
      title={who}
      onClick={() => void client.react(conv, seq, emoji, !isOwn).catch(complain)}
    >
      <span aria-hidden="true">
        <ReactionEmoji emoji={emoji} />
      </span>{' '}
      {count}
    </UnstyledButton>
  );
}
