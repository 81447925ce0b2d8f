/** One message of the history: who, when, what; under it reactions and its thread; over it, when it is pointed at, what can be done. */
import { Group, Text, UnstyledButton } from '@mantine/core';
import { MessageSquareText, Pin } from 'lucide-react';
import { lazy, memo, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { dayOf, fileOf, lineOf, momentOf, outcomeOf, timeOf } from '../conversation-words.ts';
import { useOpenConversation } from '../conversation/open-conversation.ts';
import { UserAvatar } from '../people/conversation-avatar.tsx';
import { useName } from '../state/people.ts';
import { DeletingLine } from './deleting-line.tsx';
import { FileMessage } from './file-message.tsx';
import { FormattedText } from './formatted-text.tsx';
import { LinkPreview } from './link-preview.tsx';
import { MessageActions } from './message-actions.tsx';
import { Reactions } from './reactions.tsx';
import { ReadBy } from './read-by.tsx';

const CallLine = lazy(async () => ({ default: (await import('./call-line.tsx')).CallLine }));

export interface MessageRowProps {
  readonly message: ChatMessage;
  /** The day that begins with it; undefined where the one before it is of the same day. */
  readonly day: number | undefined;
  readonly isUnreadFirst: boolean;
  /** Whether it goes on from the one before it, under one name. */
  readonly isJoined: boolean;
  /** Whether somebody came here to see it. */
  readonly isTarget: boolean;
  /** In a thread, where the root is above and threads do not branch. */
  readonly isInThread?: boolean;
}

export const MessageRow = memo(function MessageRow(props: MessageRowProps) {
  const { t } = useTranslation();
  const { message, day, isUnreadFirst, isJoined, isTarget, isInThread = false } = props;
  const { deletions, me, people } = useChat();
  const { pins } = useOpenConversation();
  const name = useName(people, message.sender);
  const isPinned = useObserved(pins, () => pins.has(message.seq));
  const doomed = useObserved(deletions, () => deletions.stateOf(message.conversation_id, message.seq));
  const isGone = message.deletedAt !== undefined || doomed !== undefined;
  const isMeant = message.mentions?.some((one) => 'all' in one || one.username === me) === true;
  return (
    <>
      {day !== undefined && <Divider text={dayOf(day)} />}
      {isUnreadFirst && <Divider text={t('message.unreadFrom')} isUnread />}
      <article
        className="parley-message"
        aria-label={t('message.by', { name, time: timeOf(message.createdAt) })}
        data-seq={message.seq}
        data-joined={isJoined || undefined}
        data-meant={isMeant || undefined}
        data-target={isTarget || undefined}
      >
        <div className="parley-gutter">
          {isJoined ? <Time message={message} /> : <UserAvatar user={message.sender} name={name} hasPresence={false} />}
        </div>
        <div className="parley-message-words">
          {!isJoined && (
            <Group gap={8} align="baseline" wrap="nowrap">
              <Text fw={650} truncate>
                <bdi>{name}</bdi>
              </Text>
              <Time message={message} />
            </Group>
          )}
          {message.reply_to !== undefined && !isInThread && <Quoted seq={message.reply_to} />}
          {doomed === 'waiting' ? <DeletingLine message={message} /> : <Content message={message} isGone={isGone} />}
          {isPinned && !isGone && <PinnedMark />}
          {!isGone && <Reactions message={message} />}
          {!isInThread && <ThreadLine message={message} />}
        </div>
        <ReadBy message={message} />
        {!isGone && <MessageActions message={message} isInThread={isInThread} />}
      </article>
    </>
  );
});

function PinnedMark() {
  const { t } = useTranslation();
  return (
    <Text size="xs" c="dimmed">
      <Pin size={12} aria-hidden="true" /> {t('pins.pinned')}
    </Text>
  );
}

function Time({ message }: { readonly message: ChatMessage }) {
  return (
    <Text
      component="time"
      size="xs"
      c="dimmed"
      className="parley-time"
      dateTime={new Date(message.createdAt).toISOString()}
      title={momentOf(message.createdAt)}
    >
      {timeOf(message.createdAt)}
    </Text>
  );
}

function Divider({ text, isUnread = false }: { readonly text: string; readonly isUnread?: boolean }) {
  return (
    <div className="parley-divider" role="separator" data-unread={isUnread || undefined} aria-label={text}>
      <Text size="xs" fw={600} span>
        {text}
      </Text>
    </div>
  );
}

function Content({ message, isGone }: { readonly message: ChatMessage; readonly isGone: boolean }) {
  const { t } = useTranslation();
  if (isGone) {
    return (
      <Text c="dimmed" fs="italic" size="sm">
        {t('message.deleted')}
      </Text>
    );
  }
  const file = fileOf(message);
  const outcome = outcomeOf(message);
  return (
    <>
      {message.forward !== undefined && <Forwarded user={message.forward.sender} />}
      {file !== undefined && <FileMessage message={message} file={file} />}
      {file === undefined && typeof message.body === 'string' && (
        <FormattedText text={message.body} mentions={message.mentions} />
      )}
      {file === undefined && typeof message.body !== 'string' && (
        <Suspense fallback={<Text c="dimmed">{lineOf(message, t)}</Text>}>
          {outcome === undefined ? (
            <Text c="dimmed">{lineOf(message, t)}</Text>
          ) : (
            <CallLine message={message} outcome={outcome} />
          )}
        </Suspense>
      )}
      <LinkPreview message={message} />
      {message.editedAt !== undefined && (
        <Text size="xs" c="dimmed" title={momentOf(message.editedAt)}>
          {t('message.edited')}
        </Text>
      )}
    </>
  );
}

function Forwarded({ user }: { readonly user: string }) {
  const { t } = useTranslation();
  const { people } = useChat();
  return (
    <Text size="xs" c="dimmed">
      {t('message.forwarded', { name: useName(people, user) })}
    </Text>
  );
}

/** The message that is answered, in one line; it leads there. */
function Quoted({ seq }: { readonly seq: number }) {
  const { t } = useTranslation();
  const { people } = useChat();
  const { jumpTo, timeline } = useOpenConversation();
  const held = useObserved(timeline, () => timeline.state.messages[seq - (timeline.state.messages[0]?.seq ?? 0)]);
  const sender = held?.sender;
  const name = useObserved(people, () => (sender === undefined ? '' : people.nameOf(sender)));
  return (
    <UnstyledButton className="parley-quote" onClick={() => jumpTo(seq)}>
      {held === undefined ? (
        <Text size="sm">{t('message.earlier')}</Text>
      ) : (
        <Text size="sm" truncate>
          <bdi>
            <b>{name}</b> {lineOf(held, t)}
          </bdi>
        </Text>
      )}
    </UnstyledButton>
  );
}

function ThreadLine({ message }: { readonly message: ChatMessage }) {
  const { t } = useTranslation();
  const { openThread } = useOpenConversation();
  const count = message.reply_count ?? 0;
  if (count === 0) return null;
  return (
    <UnstyledButton className="parley-thread-line" onClick={() => openThread(message.seq)}>
      <MessageSquareText size={14} aria-hidden="true" /> {t('thread.replies', { count })}
    </UnstyledButton>
  );
}
