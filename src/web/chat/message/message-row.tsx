/**
 * One message of the history: who, when, what; under it reactions and its thread; over it, when it is pointed at, what can be done.
 * Fifty of them are made when a room is opened, so what each one has is bare elements; components of the kit are for what few have.
 */
import { MessageSquareText, Pin } from 'lucide-react';
import { lazy, memo, Suspense, useState } from 'react';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import type { Words } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { dayOf, fileOf, momentOf, outcomeOf, timeOf, useLine } from '../conversation-words.ts';
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
  readonly t: Words;
  /** In a thread, where the root is above and threads do not branch. */
  readonly isInThread?: boolean;
}

export const MessageRow = memo(function MessageRow(props: MessageRowProps) {
  const { message, day, isUnreadFirst, isJoined, isTarget, isInThread = false, t } = props;
  const { deletions, me, people } = useChat();
  const { pins } = useOpenConversation();
  const name = useName(people, message.sender);
  const isPinned = useObserved(pins, () => pins.has(message.seq));
  const doomed = useObserved(deletions, () => deletions.stateOf(message.conversation_id, message.seq));
  const isGone = message.deletedAt !== undefined || doomed !== undefined;
  // What can be done is made for the message that somebody points at or has the focus on; its menu is always there to be reached.
  const [isPointed, setPointed] = useState(false);
  const point = () => setPointed(true);
  const time = timeOf(message.createdAt);
  const isMeant = message.mentions?.some((one) => 'all' in one || one.username === me) === true;
  return (
    <>
      {day !== undefined && <Divider text={dayOf(day)} />}
      {isUnreadFirst && <Divider text={t('message.unreadFrom')} isUnread />}
      <article
        className="parley-message"
        aria-label={labelOf(t, name, time)}
        data-seq={message.seq}
        data-joined={isJoined || undefined}
        data-meant={isMeant || undefined}
        data-target={isTarget || undefined}
        onPointerEnter={point}
        onFocus={point}
      >
        <div className="parley-gutter">
          {isJoined ? (
            <Time at={message.createdAt} time={time} isPointed={isPointed} />
          ) : (
            <UserAvatar user={message.sender} name={name} hasPresence={false} />
          )}
        </div>
        <div className="parley-message-words">
          {!isJoined && (
            <div className="parley-message-head">
              <span className="parley-name">
                <bdi>{name}</bdi>
              </span>
              <Time at={message.createdAt} time={time} isPointed={isPointed} />
            </div>
          )}
          {message.reply_to !== undefined && !isInThread && <Quoted seq={message.reply_to} t={t} />}
          {doomed === 'waiting' ? (
            <DeletingLine message={message} />
          ) : (
            <Content message={message} isGone={isGone} t={t} />
          )}
          {isPinned && !isGone && (
            <p className="parley-note">
              <Pin size={12} aria-hidden="true" /> {t('pins.pinned')}
            </p>
          )}
          {!isGone && message.reactions !== undefined && <Reactions message={message} />}
          {!isInThread && <ThreadLine message={message} t={t} />}
        </div>
        {message.sender === me && <ReadBy message={message} />}
        {!isGone && (
          <MessageActions message={message} isInThread={isInThread} isPointed={isPointed} label={t('message.menu')} />
        )}
      </article>
    </>
  );
});

/** Stand where the name and the time go. */
const [NAME, TIME] = ['\ue002', '\ue003'];
const labels = new WeakMap<Words, string>();

/** The text is looked up once for each language: to put two words into it takes the dictionary as long as to draw the row. */
function labelOf(t: Words, name: string, time: string): string {
  const label = labels.get(t) ?? t('message.by', { name: NAME, time: TIME });
  labels.set(t, label);
  return label.replace(TIME, time).replace(NAME, () => name);
}

interface TimeProps {
  readonly at: number;
  readonly time: string;
  readonly isPointed: boolean;
}

/** The day and the year are asked for by pointing. */
function Time({ at, time, isPointed }: TimeProps) {
  return (
    <time className="parley-time" dateTime={new Date(at).toISOString()} title={isPointed ? momentOf(at) : undefined}>
      {time}
    </time>
  );
}

function Divider({ text, isUnread = false }: { readonly text: string; readonly isUnread?: boolean }) {
  return (
    <div className="parley-divider" role="separator" data-unread={isUnread || undefined} aria-label={text}>
      <span>{text}</span>
    </div>
  );
}

interface ContentProps {
  readonly message: ChatMessage;
  readonly isGone: boolean;
  readonly t: Words;
}

function Content({ message, isGone, t }: ContentProps) {
  if (isGone) return <p className="parley-gone">{t('message.deleted')}</p>;
  const file = fileOf(message);
  const outcome = outcomeOf(message);
  return (
    <>
      {message.forward !== undefined && <Forwarded user={message.forward.sender} t={t} />}
      {file !== undefined && <FileMessage message={message} file={file} />}
      {file === undefined && typeof message.body === 'string' && (
        <FormattedText text={message.body} mentions={message.mentions} />
      )}
      {file === undefined && typeof message.body !== 'string' && (
        <Suspense fallback={<QuietLine message={message} t={t} />}>
          {outcome === undefined ? (
            <QuietLine message={message} t={t} />
          ) : (
            <CallLine message={message} outcome={outcome} />
          )}
        </Suspense>
      )}
      {message.preview !== undefined && <LinkPreview message={message} />}
      {message.editedAt !== undefined && (
        <p className="parley-note" title={momentOf(message.editedAt)}>
          {t('message.edited')}
        </p>
      )}
    </>
  );
}

function QuietLine({ message, t }: { readonly message: ChatMessage; readonly t: Words }) {
  return <p className="parley-quiet-line">{useLine(message, t)}</p>;
}

function Forwarded({ user, t }: { readonly user: string; readonly t: Words }) {
  const { people } = useChat();
  return <p className="parley-note">{t('message.forwarded', { name: useName(people, user) })}</p>;
}

/** The message that is answered, in one line; it leads there. */
function Quoted({ seq, t }: { readonly seq: number; readonly t: Words }) {
  const { people } = useChat();
  const { jumpTo, timeline } = useOpenConversation();
  const held = useObserved(timeline, () => timeline.state.messages[seq - (timeline.state.messages[0]?.seq ?? 0)]);
  const sender = held?.sender;
  const name = useObserved(people, () => (sender === undefined ? '' : people.nameOf(sender)));
  const line = useLine(held, t);
  return (
    <button type="button" className="parley-plain-button parley-quote" onClick={() => jumpTo(seq)}>
      {held === undefined ? (
        t('message.earlier')
      ) : (
        <bdi>
          <b>{name}</b> {line}
        </bdi>
      )}
    </button>
  );
}

function ThreadLine({ message, t }: { readonly message: ChatMessage; readonly t: Words }) {
  const { openThread } = useOpenConversation();
  const count = message.reply_count ?? 0;
  if (count === 0) return null;
  return (
    <button type="button" className="parley-plain-button parley-thread-line" onClick={() => openThread(message.seq)}>
      <MessageSquareText size={14} aria-hidden="true" /> {t('thread.replies', { count })}
    </button>
  );
}
