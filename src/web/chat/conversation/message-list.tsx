/** The messages, of which those in sight are drawn: scrolling reads on to both sides, and nothing moves under the eyes. */
import { ActionIcon, Badge, Center, Loader, Text } from '@mantine/core';
import { ArrowDown } from 'lucide-react';
import {
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type Ref,
  type RefObject,
} from 'react';
import { useTranslation } from 'react-i18next';
import { Virtuoso, type ListRange, type VirtuosoHandle } from 'react-virtuoso';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { MessageRow } from '../message/message-row.tsx';
import { SendingRow } from '../message/sending-row.tsx';
import type { Sending } from '../state/sending.ts';
import type { TimelineState } from '../state/timeline.ts';
import { useOpenConversation } from './open-conversation.ts';

/** Messages of one person within so long stand under one name. */
const GROUP_MILLIS = 5 * 60_000;
/** Drawn ahead above what is in sight; below it only what is in sight counts, since that is read. */
const PIXELS_AHEAD = 800;
/** Near enough to the end to be carried along by a new message. */
const END_PIXELS = 60;

type Item =
  | { readonly kind: 'message'; readonly message: ChatMessage; readonly before: ChatMessage | undefined }
  | { readonly kind: 'sending'; readonly sending: Sending };

export interface MessageListHandle {
  /** Shows a message, wherever in the history it is. */
  jumpTo(seq: number): void;
  toNewest(): void;
}

export interface MessageListProps {
  readonly ref: Ref<MessageListHandle>;
  /** The message that the conversation was opened for. */
  readonly target: number | undefined;
}

export function MessageList({ ref, target: first }: MessageListProps) {
  const { t } = useTranslation();
  const { sending } = useChat();
  const { complain, conv, timeline } = useOpenConversation();
  const state = useObserved(timeline, () => timeline.state);
  const outgoing = useObserved(sending, () => sending.in(conv));
  const items = useMemo(() => itemsOf(state, outgoing), [state, outgoing]);
  const list = useRef<VirtuosoHandle>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const [target, setTarget] = useState(first);
  const seen = useReading(state);
  const end = useStayingAtEnd(list, state);
  const toNewest = useCallback(() => {
    setTarget(undefined);
    if (timeline.state.isAtHead) list.current?.scrollToIndex({ index: 'LAST', align: 'end' });
    else timeline.goToHead().catch(complain);
  }, [complain, timeline]);
  useImperativeHandle(ref, () => ({
    jumpTo: (seq) => {
      setTarget(seq);
      end.leave();
      const at = items.findIndex((item) => item.kind === 'message' && item.message.seq === seq);
      if (at >= 0) list.current?.scrollToIndex({ index: at, align: 'center' });
      else timeline.goTo(seq).catch(complain);
    },
    toNewest,
  }));
  if (items.length === 0) return <NothingSaid />;
  return (
    <div className="parley-messages" {...end.touched}>
      <Virtuoso
        key={state.generation}
        ref={list}
        data={items}
        role="log"
        aria-live="off"
        aria-label={t('message.list')}
        firstItemIndex={state.messages[0]?.seq ?? 0}
        initialTopMostItemIndex={beginningOf(state, items)}
        computeItemKey={(_, item) => (item.kind === 'message' ? item.message.seq : item.sending.clientMsgId)}
        increaseViewportBy={{ top: PIXELS_AHEAD, bottom: 0 }}
        atBottomThreshold={END_PIXELS}
        alignToBottom
        followOutput={(isThere) => (isThere && state.isAtHead ? 'auto' : false)}
        startReached={() => void timeline.readOlder()}
        endReached={() => void timeline.readNewer()}
        atBottomStateChange={(isThere) => {
          end.arrived(isThere);
          setAtEnd(isThere);
        }}
        totalListHeightChanged={end.grown}
        rangeChanged={seen}
        components={{ Header: state.isFromStart ? Beginning : Older }}
        itemContent={(_, item) => <Drawn item={item} state={state} target={target} />}
      />
      {(!isAtEnd || !state.isAtHead) && <ToNewest onClick={toNewest} />}
    </div>
  );
}

function itemsOf({ messages, isAtHead }: TimelineState, outgoing: readonly Sending[]): Item[] {
  const said = messages.map((message, index): Item => ({ kind: 'message', message, before: messages[index - 1] }));
  return isAtHead ? [...said, ...outgoing.map((one): Item => ({ kind: 'sending', sending: one }))] : said;
}

/** Where the list begins: at the message that was asked for or not read yet, or what is there behind it; or at the end. */
function beginningOf({ beginAt }: TimelineState, items: readonly Item[]) {
  const at = items.findIndex((item) => item.kind === 'message' && beginAt !== undefined && item.message.seq >= beginAt);
  return at < 0 ? ({ index: 'LAST', align: 'end' } as const) : ({ index: at, align: 'center' } as const);
}

/** Who is at the end stays there while rows get their heights and reactions come, until they scroll themselves. */
function useStayingAtEnd(list: RefObject<VirtuosoHandle | null>, { beginAt, generation }: TimelineState) {
  const isStaying = useRef(false);
  /** Whether they scrolled since the list began: before that being at the end is where an unfinished list happens to be. */
  const hasMoved = useRef(false);
  useLayoutEffect(() => {
    isStaying.current = beginAt === undefined;
    hasMoved.current = false;
  }, [beginAt, generation]);
  const leave = () => {
    isStaying.current = false;
    hasMoved.current = true;
  };
  return {
    leave,
    touched: { onWheel: leave, onTouchMove: leave, onPointerDown: leave, onKeyDown: leave },
    arrived: (isThere: boolean) => {
      if (isThere && (beginAt === undefined || hasMoved.current)) isStaying.current = true;
    },
    grown: () => {
      if (isStaying.current) list.current?.scrollToIndex({ index: 'LAST', align: 'end' });
    },
  };
}

/** What is in sight of somebody who looks is read. */
function useReading(state: TimelineState): (range: ListRange) => void {
  const { client } = useChat();
  const { conv } = useOpenConversation();
  const end = useRef(0);
  const mark = useCallback(() => {
    if (!document.hidden && end.current > 0) client.receipt(conv, 'read', end.current);
  }, [client, conv]);
  useEffect(() => {
    document.addEventListener('visibilitychange', mark);
    return () => document.removeEventListener('visibilitychange', mark);
  }, [mark]);
  return useCallback(
    ({ endIndex }: ListRange) => {
      end.current = Math.min(endIndex, state.messages.at(-1)?.seq ?? 0);
      mark();
    },
    [mark, state],
  );
}

interface DrawnProps {
  readonly item: Item;
  readonly state: TimelineState;
  readonly target: number | undefined;
}

function Drawn({ item, state, target }: DrawnProps) {
  if (item.kind === 'sending') return <SendingRow sending={item.sending} />;
  const { before, message } = item;
  const isUnreadFirst = message.seq === state.unreadFrom;
  // What stands before the first one is not known yet: it is drawn as if it went on, so that it stays where it is then.
  const isCut = before === undefined && !state.isFromStart;
  const isNewDay = !isCut && (before === undefined || !isSameDay(before, message));
  const isJoined = !isNewDay && !isUnreadFirst && (isCut || (before !== undefined && goesOn(before, message)));
  return (
    <MessageRow
      message={message}
      day={isNewDay ? message.createdAt : undefined}
      isUnreadFirst={isUnreadFirst}
      isJoined={isJoined}
      isTarget={message.seq === target}
    />
  );
}

function isSameDay(one: ChatMessage, other: ChatMessage): boolean {
  return new Date(one.createdAt).toDateString() === new Date(other.createdAt).toDateString();
}

/** Whether a message stands under the name of the one before it. */
function goesOn(before: ChatMessage, { createdAt, sender }: ChatMessage): boolean {
  return before.sender === sender && before.deletedAt === undefined && createdAt - before.createdAt < GROUP_MILLIS;
}

function Older() {
  const { t } = useTranslation();
  return (
    <Center h={48}>
      <Loader size="sm" role="img" aria-label={t('app.loading')} />
    </Center>
  );
}

function Beginning() {
  const { t } = useTranslation();
  return (
    <Text size="sm" c="dimmed" ta="center" py="lg">
      {t('message.beginning')}
    </Text>
  );
}

function NothingSaid() {
  const { t } = useTranslation();
  return (
    <div className="parley-messages">
      <Center h="100%">
        <Text c="dimmed">{t('message.none')}</Text>
      </Center>
    </div>
  );
}

function ToNewest({ onClick }: { readonly onClick: () => void }) {
  const { t } = useTranslation();
  const { inbox } = useChat();
  const { conv } = useOpenConversation();
  const unread = useObserved(inbox, () => inbox.rowOf(conv)?.unread ?? 0);
  return (
    <ActionIcon
      className="parley-to-newest"
      variant="default"
      radius="xl"
      size="lg"
      onClick={onClick}
      aria-label={t('message.toNewest')}
    >
      <ArrowDown size={18} />
      {unread > 0 && (
        <Badge size="xs" color="blue.8" className="parley-to-newest-count">
          {unread}
        </Badge>
      )}
    </ActionIcon>
  );
}
