/** How rows are given to the list of messages, so that what is in sight stays where it is. */
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef } from 'react';
import type { Item } from './list-item.tsx';

/** A list that did not move for so long is at rest. */
const RESTING_MILLIS = 300;
/** What happened while a page came waits no longer than that to be drawn: whoever scrolls on and on sees it move no more than all else. */
const HELD_MILLIS = 1_000;

interface Rows {
  readonly drawn: readonly Item[];
  /** Whether some came or went at the beginning: then what is in sight is as far from the end as before. */
  readonly isShift: boolean;
  /** To be called when the list moves. */
  readonly moved: () => void;
  /** To be called when the list says that it moves no more. */
  readonly stopped: () => void;
}

/**
 * The list tells by their number alone where rows came or went, and when some came or went at its beginning, it reckons from its end
 * until it stops: a row below that grows then would move what is in sight. So older rows are given to it alone, once it has measured
 * what was drawn before them, and what else happened once it stopped; and rows that leave at the beginning stay until it is at rest
 * and nothing comes behind them.
 */
export function useOneSideAtATime(items: readonly Item[]): Rows {
  const [, drawAgain] = useReducer((times: number) => times + 1, 0);
  const before = useRef(items);
  const movedAt = useRef(-Infinity);
  const isAtRest = useRef(false);
  const isMeasured = useRef(false);
  /** Until when it reckons from its end. */
  const heldUntil = useRef(-Infinity);
  const [from, to] = seqsOf(items);
  const [fromBefore, toBefore] = seqsOf(before.current);
  const isOlder = from > 0 && from < fromBefore;
  const isWaiting = isOlder && !isMeasured.current;
  const draw = () => {
    if (fromBefore === 0) return items;
    if (isOlder) return isWaiting ? before.current : withOlder(items, before.current, fromBefore);
    if (performance.now() < heldUntil.current) return before.current;
    const isLeaving = from > fromBefore && !(isAtRest.current && to === toBefore);
    return isLeaving ? withLeaving(items, before.current, from) : items;
  };
  const drawn = draw();
  const isLate = drawn !== items;
  const isShift = seqsOf(drawn)[0] !== fromBefore;
  useLayoutEffect(() => {
    if (isShift && fromBefore > 0) heldUntil.current = performance.now() + HELD_MILLIS;
    before.current = drawn;
    isAtRest.current = false;
    if (!isWaiting) isMeasured.current = false;
  });
  useEffect(() => {
    if (!isWaiting) return undefined;
    // What is drawn in a picture is measured at its end: by the second one from now, all that was drawn up to now.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        isMeasured.current = true;
        drawAgain();
      });
    });
    return () => cancelAnimationFrame(frame);
  }, [isWaiting]);
  useEffect(() => {
    const rest = () => {
      const now = performance.now();
      isAtRest.current = now - movedAt.current >= RESTING_MILLIS;
      if (isAtRest.current || now >= heldUntil.current) drawAgain();
    };
    const timer = isLate ? setInterval(rest, RESTING_MILLIS) : undefined;
    return () => clearInterval(timer);
  }, [isLate]);
  const moved = useCallback(() => {
    movedAt.current = performance.now();
  }, []);
  const stopped = useCallback(() => {
    if (heldUntil.current < performance.now()) return;
    heldUntil.current = -Infinity;
    drawAgain();
  }, []);
  return { drawn, isShift, moved, stopped };
}

/** The rows as they were, with those that came before them, which the first of them has above it now. */
function withOlder(items: readonly Item[], [first, ...rest]: readonly Item[], from: number): readonly Item[] {
  const older = items.filter(({ message }) => message !== undefined && message.seq < from);
  const joined = first?.kind === 'message' ? [{ ...first, before: older.at(-1)?.message }] : [];
  return [...older, ...joined, ...rest];
}

/** The rows, and those that were there before them. */
function withLeaving(items: readonly Item[], before: readonly Item[], from: number): readonly Item[] {
  return [...before.filter(({ message }) => message !== undefined && message.seq < from), ...items];
}

/** The first and the last message of rows that have one. */
function seqsOf(items: readonly Item[]): readonly [from: number, to: number] {
  const [first] = items;
  const last = items.findLast(({ kind }) => kind === 'message');
  return [first?.message?.seq ?? 0, last?.message?.seq ?? 0];
}
