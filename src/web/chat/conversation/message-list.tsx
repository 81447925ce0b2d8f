/** The messages, of which those in sight are drawn: scrolling reads on to both sides, and nothing moves under the eyes. */
import { ActionIcon, Badge, Center, Loader, Text } from '@mantine/core';
import { ArrowDown } from 'lucide-react';
import {
  memo,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type Ref,
} from 'react';
import { useTranslation } from 'react-i18next';
import { Virtuoso, type ListRange, type VirtuosoHandle } from 'react-virtuoso';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import type { Words } from '../../kit/language.ts';
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
const AHEAD = { top: PIXELS_AHEAD, bottom: 0 };
/** Of who is at the end: what is said next is in sight as soon as it is drawn. */
const AHEAD_AT_END = { top: PIXELS_AHEAD, bottom: 400 };
/** Nobody scrolls sooner than that in a list that was not there before. */
const SHOWN_MILLIS = 200;
/** Below the top of those that are drawn first there are no more than these. */
const ALL_BELOW = { top: PIXELS_AHEAD, bottom: 10_000 };
/** Those of one line without a name are hardly higher: so many of them fill a screen. */
const ROW_PIXELS_LEAST = 30;
/**
 * About that of a message of one line under a name: until rows were measured they are reckoned by it, where the list is held at its end
 * whatever they turn out to be. Elsewhere the list finds its place by a row that it measures first.
 */
const ROW_PIXELS = 52;
/** From a turn of the wheel until the list is where that leads. */
const MOVING_MILLIS = 500;
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
  const { drawn, isWhole, drawAll } = useEndFirst(state, items);
  const end = useStayingAtEnd(state);
  const { stay } = end;
  const toNewest = useCallback(() => {
    setTarget(undefined);
    stay();
    if (timeline.state.isAtHead) list.current?.scrollToIndex({ index: 'LAST', align: 'end' });
    else timeline.goToHead().catch(complain);
  }, [complain, stay, timeline]);
  useImperativeHandle(ref, () => ({
    jumpTo: (seq) => {
      setTarget(seq);
      end.leave(false);
      const at = drawn.findIndex((item) => item.kind === 'message' && item.message.seq === seq);
      if (at >= 0) list.current?.scrollToIndex({ index: at, align: 'center' });
      else timeline.goTo(seq).catch(complain);
    },
    toNewest,
  }));
  const { isFromStart, unreadFrom } = state;
  const draw = useCallback(
    (_: number, item: Item) => (
      <Drawn item={item} isFromStart={isFromStart} unreadFrom={unreadFrom} target={target} t={t} />
    ),
    [isFromStart, unreadFrom, target, t],
  );
  if (items.length === 0) return <NothingSaid />;
  return (
    <div className="parley-messages" data-held={state.beginAt === undefined || undefined} {...end.touched}>
      <Virtuoso
        key={state.generation}
        ref={list}
        data={drawn}
        role="log"
        aria-live="off"
        aria-label={t('message.list')}
        firstItemIndex={(state.messages[0]?.seq ?? 0) + items.length - drawn.length}
        {...(state.beginAt === undefined
          ? { defaultItemHeight: ROW_PIXELS, initialItemCount: drawn.length, skipAnimationFrameInResizeObserver: true }
          : { initialTopMostItemIndex: beginningOf(state, items) })}
        computeItemKey={(_, item) => (item.kind === 'message' ? item.message.seq : item.sending.clientMsgId)}
        increaseViewportBy={!isWhole ? ALL_BELOW : isAtEnd && state.isAtHead ? AHEAD_AT_END : AHEAD}
        atBottomThreshold={END_PIXELS}
        alignToBottom
        followOutput={end.added}
        scrollerRef={end.scroller}
        startReached={() => (isWhole ? void timeline.readOlder() : drawAll())}
        endReached={() => void timeline.readNewer()}
        atBottomStateChange={(isThere) => setAtEnd(end.arrived(isThere))}
        totalListHeightChanged={end.grown}
        rangeChanged={seen}
        components={{ Header: isWhole && isFromStart ? Beginning : Older }}
        itemContent={draw}
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

/**
 * Who is at the end stays there while rows get their heights, reactions come and others write, however fast, until they scroll
 * themselves. The list is watched as the browser lays it out and held at its end before it is drawn: what it reckons of its heights
 * comes later.
 */
function useStayingAtEnd({ beginAt, generation, isAtHead }: TimelineState) {
  const isStaying = useRef(false);
  /** Whether they scrolled since the list began: before that being at the end is where an unfinished list happens to be. */
  const hasMoved = useRef(false);
  const scroller = useRef<HTMLElement>(null);
  const watched = useRef<Element>(null);
  const [observer] = useState(() => new ResizeObserver(() => hold()));
  const hold = () => {
    const element = scroller.current;
    if (isStaying.current && element !== null) element.scrollTop = element.scrollHeight;
  };
  useEffect(() => () => observer.disconnect(), [observer]);
  useLayoutEffect(() => {
    isStaying.current = beginAt === undefined;
    hasMoved.current = false;
  }, [beginAt, generation]);
  /** When they last moved: the list comes after their wheel, and until then says that it is where it was. */
  const movedAt = useRef(-Infinity);
  const leave = (isUpwards: boolean) => {
    const element = scroller.current;
    const before = element?.scrollTop ?? 0;
    const wasThere = isStaying.current || (element !== null && pixelsBelow(element) <= END_PIXELS);
    isStaying.current = false;
    hasMoved.current = true;
    movedAt.current = performance.now();
    // Of who turns the wheel upwards it is certain, and older messages may come above them at once.
    if (!wasThere || isUpwards) return;
    // A click or a key that did not scroll, while others wrote, leaves nobody behind.
    setTimeout(() => {
      if (element === null || element !== scroller.current || element.scrollTop < before) return;
      isStaying.current = true;
      hold();
    }, MOVING_MILLIS);
  };
  const stay = useCallback(() => {
    isStaying.current = true;
    movedAt.current = -Infinity;
  }, []);
  const isMoving = () => performance.now() - movedAt.current < MOVING_MILLIS;
  /** Answers whether they are at the end, or held there. */
  const arrived = (isThere: boolean) => {
    if (isThere && !isMoving() && (beginAt === undefined || hasMoved.current)) isStaying.current = true;
    return isThere || isStaying.current;
  };
  return {
    leave,
    stay,
    touched: {
      onWheel: ({ deltaY }: { readonly deltaY: number }) => leave(deltaY < 0),
      onTouchMove: () => leave(false),
      onPointerDown: () => leave(false),
      onKeyDown: () => leave(false),
    },
    scroller: (element: HTMLElement | Window | null) => {
      scroller.current = element instanceof HTMLElement ? element : null;
    },
    arrived,
    /** Something was added while they were there or not. */
    added: (isThere: boolean) => {
      if (isAtHead && isThere && !isMoving()) isStaying.current = true;
      return false;
    },
    grown: () => {
      const list = scroller.current?.querySelector('[data-testid="virtuoso-item-list"]') ?? null;
      if (list !== null && scroller.current !== null && list !== watched.current) {
        observer.disconnect();
        observer.observe(list, { box: 'border-box' });
        // The field under it grows, too.
        observer.observe(scroller.current);
        watched.current = list;
      }
      hold();
    },
  };
}

function pixelsBelow({ clientHeight, scrollHeight, scrollTop }: HTMLElement): number {
  return scrollHeight - clientHeight - scrollTop;
}

/**
 * A list that begins at its end has what fills the screen there drawn at once, and what is above it when that is in sight: to find its
 * end in all that is there takes a list of rows whose heights are not known yet several frames.
 */
function useEndFirst({ beginAt, generation }: TimelineState, items: readonly Item[]) {
  const [wholeSince, setWholeSince] = useState<number>();
  useEffect(() => {
    const timer = setTimeout(() => setWholeSince(generation), SHOWN_MILLIS);
    return () => clearTimeout(timer);
  }, [generation]);
  const count = Math.ceil(window.innerHeight / ROW_PIXELS_LEAST);
  const isWhole = beginAt !== undefined || wholeSince === generation || items.length <= count;
  const drawn = useMemo(() => (isWhole ? items : items.slice(-count)), [count, isWhole, items]);
  return { drawn, isWhole, drawAll: () => setWholeSince(generation) };
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
  readonly isFromStart: boolean;
  readonly unreadFrom: number | undefined;
  readonly target: number | undefined;
  readonly t: Words;
}

/** Items are made anew with each change; what is drawn of one depends on its message and the one before it. */
function drawsTheSame({ item, ...rest }: DrawnProps, { item: other, ...others }: DrawnProps): boolean {
  const isSame =
    item.kind === 'message'
      ? other.kind === 'message' && item.message === other.message && item.before === other.before
      : other.kind === 'sending' && item.sending === other.sending;
  return (
    isSame &&
    rest.isFromStart === others.isFromStart &&
    rest.unreadFrom === others.unreadFrom &&
    rest.target === others.target &&
    rest.t === others.t
  );
}

const Drawn = memo(function Drawn({ item, isFromStart, t, target, unreadFrom }: DrawnProps) {
  if (item.kind === 'sending') return <SendingRow sending={item.sending} />;
  const { before, message } = item;
  const isUnreadFirst = message.seq === unreadFrom;
  // What stands before the first one is not known yet: it is drawn as if it went on, so that it stays where it is then.
  const isCut = before === undefined && !isFromStart;
  const isNewDay = !isCut && (before === undefined || !isSameDay(before, message));
  const isJoined = !isNewDay && !isUnreadFirst && (isCut || (before !== undefined && goesOn(before, message)));
  return (
    <MessageRow
      message={message}
      day={isNewDay ? message.createdAt : undefined}
      isUnreadFirst={isUnreadFirst}
      isJoined={isJoined}
      isTarget={message.seq === target}
      t={t}
    />
  );
}, drawsTheSame);

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
