/** The messages, of which those in sight are drawn: scrolling reads on to both sides, and nothing moves under the eyes. */
import { ActionIcon, Badge, Center, Loader, Text } from '@mantine/core';
import { ArrowDown } from 'lucide-react';
import {
  useCallback,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type Ref,
  type RefObject,
} from 'react';
import { useTranslation } from 'react-i18next';
import { Virtualizer, type CustomContainerComponentProps, type VirtualizerHandle } from 'virtua';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import type { Sending } from '../state/sending.ts';
import type { TimelineState } from '../state/timeline.ts';
import { ListItem, type Item } from './list-item.tsx';
import { useOneSideAtATime } from './one-side-at-a-time.ts';
import { useOpenConversation } from './open-conversation.ts';
import { useReading } from './reading.ts';
import { pixelsBelow, useStayingAtEnd, type StayingAtEnd } from './staying-at-end.ts';

/** Drawn ahead of what is in sight, and so near to either end more is read. */
const PIXELS_AHEAD = 800;
/** Ahead of it in the first picture of a list: enough for rows that turn out to be lower than they were taken for. */
const PIXELS_AHEAD_FIRST = 200;
/** Until a row was measured it is taken for so high: between one of one line under the one before it (28) and one with a name (52). */
const ROW_PIXELS = 36;

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
  const { sending } = useChat();
  const { complain, conv, timeline } = useOpenConversation();
  const state = useObserved(timeline, () => timeline.state);
  const outgoing = useObserved(sending, () => sending.in(conv));
  const items = useMemo(() => itemsOf(state, outgoing), [state, outgoing]);
  const rows = useRef<VirtualizerHandle>(null);
  const shown = useRef<readonly Item[]>(items);
  const [target, setTarget] = useState(first);
  const { end, scroller, touched } = useStayingAtEnd(state);
  const [isAtEnd, setAtEnd] = useState(true);
  const toNewest = useCallback(() => {
    setTarget(undefined);
    if (timeline.state.isAtHead) end.stay();
    else timeline.goToHead().catch(complain);
  }, [complain, end, timeline]);
  useImperativeHandle(ref, () => ({
    jumpTo: (seq) => {
      setTarget(seq);
      end.leave(false);
      const at = shown.current.findIndex(({ message }) => message?.seq === seq);
      if (at >= 0) rows.current?.scrollToIndex(at, { align: 'center' });
      else timeline.goTo(seq).catch(complain);
    },
    toNewest,
  }));
  if (items.length === 0) return <NothingSaid />;
  return (
    <div className="parley-messages" {...touched}>
      <Messages
        key={state.generation}
        rows={rows}
        shown={shown}
        scroller={scroller}
        state={state}
        items={items}
        target={target}
        end={end}
        onEnd={setAtEnd}
      />
      {(!isAtEnd || !state.isAtHead) && <ToNewest onClick={toNewest} />}
    </div>
  );
}

interface MessagesProps {
  readonly rows: RefObject<VirtualizerHandle | null>;
  /** The rows as they are drawn. */
  readonly shown: RefObject<readonly Item[]>;
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly state: TimelineState;
  readonly items: readonly Item[];
  readonly target: number | undefined;
  readonly end: StayingAtEnd;
  readonly onEnd: (isThere: boolean) => void;
}

/** From one beginning of the list to the next: each begins at a place of its own. */
function Messages({ end, items, onEnd, rows, scroller, shown, state, target }: MessagesProps) {
  const { t } = useTranslation();
  const { timeline } = useOpenConversation();
  const { drawn, isShift, moved, stopped } = useOneSideAtATime(items);
  const seen = useReading(rows, scroller, shown);
  const [isBegun, setBegun] = useState(false);
  /** Whatever moved or grew: who is at the end is held there, what is in sight is read, and more is read where that is near. */
  const look = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    moved();
    onEnd(end.changed());
    seen();
    // Before its first picture it is not where it begins.
    if (!isBegun) return;
    if (element.scrollTop < PIXELS_AHEAD) void timeline.readOlder();
    if (pixelsBelow(element) < PIXELS_AHEAD) void timeline.readNewer();
  }, [end, isBegun, moved, onEnd, scroller, seen, timeline]);
  useLayoutEffect(() => {
    const at = beginningOf(state, items);
    if (at !== undefined) rows.current?.scrollToIndex(at.index, { align: at.align });
    const frame = requestAnimationFrame(() => setBegun(true));
    return () => cancelAnimationFrame(frame);
    // Only where it begins: what comes later is where it is already.
  }, []);
  useLayoutEffect(() => {
    shown.current = drawn;
    end.added(state);
    look();
  }, [drawn, end, look, shown, state]);
  const { unreadFrom } = state;
  // Until the first message is drawn, what stands above it is not.
  const isFromStart = state.isFromStart && drawn[0]?.message?.seq === items[0]?.message?.seq;
  const draw = useCallback(
    (item: Item) => (
      <ListItem
        key={item.kind === 'message' ? item.message.seq : item.sending.clientMsgId}
        item={item}
        isFromStart={isFromStart}
        unreadFrom={unreadFrom}
        target={target}
        t={t}
      />
    ),
    [isFromStart, unreadFrom, target, t],
  );
  return (
    // What scrolls is reached by the keyboard.
    <div
      ref={scroller}
      className="parley-scroller"
      role="log"
      aria-live="off"
      aria-label={t('message.list')}
      tabIndex={0}
    >
      <div className="parley-above" />
      {isFromStart ? <NothingOlder /> : <Older />}
      <Virtualizer
        ref={rows}
        as={Rows}
        data={drawn}
        startMargin={HEAD_PIXELS}
        itemSize={ROW_PIXELS}
        bufferSize={isBegun ? PIXELS_AHEAD : PIXELS_AHEAD_FIRST}
        shift={isShift}
        onScroll={look}
        onScrollEnd={stopped}
        onResize={look}
      >
        {draw}
      </Virtualizer>
    </div>
  );
}

/** The list takes the mouse away from its rows while it scrolls, which it does for as long as others write. */
function Rows({ style, ...rest }: CustomContainerComponentProps) {
  return <div {...rest} style={{ ...style, pointerEvents: undefined }} />;
}

function itemsOf({ messages, isAtHead }: TimelineState, outgoing: readonly Sending[]): Item[] {
  const said = messages.map((message, index): Item => ({ kind: 'message', message, before: messages[index - 1] }));
  return isAtHead ? [...said, ...outgoing.map((one): Item => ({ kind: 'sending', sending: one }))] : said;
}

/** Where the list begins: at the message that was asked for or not read yet, or what is there behind it; undefined for the end. */
function beginningOf({ beginAt }: TimelineState, items: readonly Item[]) {
  if (beginAt === undefined) return undefined;
  const at = items.findIndex((item) => item.kind === 'message' && item.message.seq >= beginAt);
  return at < 0 ? ({ index: items.length - 1, align: 'end' } as const) : ({ index: at, align: 'center' } as const);
}

/** Above the oldest message that is here. What takes its place is as tall, so that nothing moves. */
const HEAD_PIXELS = 48;

function Older() {
  const { t } = useTranslation();
  return (
    <Center h={HEAD_PIXELS}>
      <Loader size="sm" role="img" aria-label={t('app.loading')} />
    </Center>
  );
}

function NothingOlder() {
  return <div style={{ height: HEAD_PIXELS }} />;
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
