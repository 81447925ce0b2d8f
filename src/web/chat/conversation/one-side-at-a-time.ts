/** How rows are given to the list of messages, so that what is in sight stays where it is. */
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef } from 'react';
import type { Item } from './list-item.tsx';

/** A list that did not move for so long is at rest. */
const RESTING_MILLIS = 300;

interface Rows {
  readonly drawn: readonly Item[];
  /** Whether some came or went at the beginning: then what is in sight is as far from the end as before. */
  readonly isShift: boolean;
  /** To be called when the list moves. */
  readonly moved: () => void;
}

/**
 * The list tells by their number alone where rows came or went, and reckons from its end while some come or go at its beginning. So rows
 * that leave at the beginning stay until the list is at rest and nothing comes behind them, and those that leave at the end while
 * others come at the beginning, too.
 */
export function useOneSideAtATime(items: readonly Item[]): Rows {
  const [, drawAgain] = useReducer((times: number) => times + 1, 0);
  const before = useRef(items);
  const movedAt = useRef(-Infinity);
  const isAtRest = useRef(false);
  const [from, to] = seqsOf(items);
  const [fromBefore, toBefore] = seqsOf(before.current);
  const isBeginningLate = fromBefore > 0 && from > fromBefore && !(isAtRest.current && to === toBefore);
  const isEndLate = to < toBefore && from < fromBefore;
  const isLate = isBeginningLate || isEndLate;
  const drawn = isLate ? withLeaving(items, before.current) : items;
  const isShift = seqsOf(drawn)[0] !== fromBefore;
  useLayoutEffect(() => {
    before.current = drawn;
    isAtRest.current = false;
  });
  useEffect(() => {
    const rest = () => {
      if (performance.now() - movedAt.current < RESTING_MILLIS) return;
      isAtRest.current = true;
      drawAgain();
    };
    const timer = isLate ? setInterval(rest, RESTING_MILLIS) : undefined;
    return () => clearInterval(timer);
  }, [isLate]);
  const moved = useCallback(() => {
    movedAt.current = performance.now();
  }, []);
  return { drawn, isShift, moved };
}

/** The rows, and those that were there before them or behind them. */
function withLeaving(items: readonly Item[], before: readonly Item[]): readonly Item[] {
  const [from, to] = seqsOf(items);
  const leaving = (is: (seq: number) => boolean) =>
    before.filter(({ message }) => message !== undefined && is(message.seq));
  return [...leaving((seq) => seq < from), ...items, ...leaving((seq) => seq > to)];
}

/** The first and the last message of rows that have one. */
function seqsOf(items: readonly Item[]): readonly [from: number, to: number] {
  const [first] = items;
  const last = items.findLast(({ kind }) => kind === 'message');
  return [first?.message?.seq ?? 0, last?.message?.seq ?? 0];
}
