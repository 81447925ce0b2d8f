/** Whether somebody is at the end of the list of messages, and stays there. */
import { useMemo, useRef, useState, type RefObject } from 'react';
import type { TimelineState } from '../state/timeline.ts';

/** From a turn of the wheel until the list is where that leads. */
const MOVING_MILLIS = 500;
/** Near enough to the end to be carried along by a new message. */
const END_PIXELS = 60;

/** What is below that which is in sight, in pixels. */
export function pixelsBelow({ clientHeight, scrollHeight, scrollTop }: HTMLElement): number {
  return scrollHeight - clientHeight - scrollTop;
}

type Beginning = Pick<TimelineState, 'beginAt' | 'generation' | 'isAtHead'>;

/**
 * Who is at the end stays there while rows get their heights, reactions come and others write, however fast, until they scroll
 * themselves: the list is put back to its end in the same picture.
 */
export class StayingAtEnd {
  readonly #scroller: RefObject<HTMLElement | null>;
  #list: Beginning;
  #isStaying: boolean;
  #wasThere = false;
  /** Whether they scrolled since the list began: before that being at the end is where an unfinished list happens to be. */
  #hasMoved = false;
  /** When they last moved: the list comes after their wheel, and until then says that it is where it was. */
  #movedAt = -Infinity;

  constructor(scroller: RefObject<HTMLElement | null>, list: Beginning) {
    this.#scroller = scroller;
    this.#list = list;
    this.#isStaying = list.beginAt === undefined;
  }

  /** They move, or do what may move the list. */
  leave(isUpwards: boolean): void {
    const element = this.#scroller.current;
    const before = element?.scrollTop ?? 0;
    const wasThere = this.#isStaying || (this.#list.isAtHead && this.#isThere());
    this.#isStaying = false;
    this.#hasMoved = true;
    this.#movedAt = performance.now();
    // Of who turns the wheel upwards it is certain, and older messages may come above them at once.
    if (!wasThere || isUpwards) return;
    // A click or a key that did not scroll, while others wrote, leaves nobody behind.
    setTimeout(() => {
      if (element !== null && element === this.#scroller.current && element.scrollTop >= before) this.#holdFromNow();
    }, MOVING_MILLIS);
  }

  /** They turn the wheel downwards: who is at the end, or comes there, is at it however high its rows turn out to be. */
  goDown(): void {
    this.#hasMoved = true;
    this.#movedAt = -Infinity;
  }

  /** They ask for the end. */
  stay(): void {
    this.#movedAt = -Infinity;
    this.#holdFromNow();
  }

  /** Rows came or went. What is added behind the end of whoever is there carries them along. */
  added(list: Beginning): void {
    if (list.generation !== this.#list.generation) {
      this.#isStaying = list.beginAt === undefined;
      this.#hasMoved = false;
      this.#wasThere = false;
    }
    this.#list = list;
    if (list.isAtHead && this.#wasThere && !this.#isMoving()) this.#isStaying = true;
  }

  /** Whatever moved or grew. Answers whether they are at the end of what is there. */
  changed(): boolean {
    const { beginAt, isAtHead } = this.#list;
    const isThere = this.#isThere();
    const isTheirs = beginAt === undefined || this.#hasMoved;
    if (isThere && isAtHead && isTheirs && !this.#isMoving()) this.#isStaying = true;
    this.#hold();
    // The end of what was read of a longer history is no end that carries anybody along.
    this.#wasThere = isAtHead && this.#isThere();
    return isThere || this.#isStaying;
  }

  #isThere(): boolean {
    const element = this.#scroller.current;
    return element !== null && pixelsBelow(element) <= END_PIXELS;
  }

  #isMoving(): boolean {
    return performance.now() - this.#movedAt < MOVING_MILLIS;
  }

  #holdFromNow(): void {
    this.#isStaying = true;
    this.#hold();
  }

  #hold(): void {
    const element = this.#scroller.current;
    if (this.#isStaying && element !== null) element.scrollTop = element.scrollHeight;
  }
}

/** Of one list of messages, which may begin anew. */
export function useStayingAtEnd(list: Beginning) {
  const scroller = useRef<HTMLDivElement>(null);
  const [end] = useState(() => new StayingAtEnd(scroller, list));
  const touched = useMemo(
    () => ({
      onWheel: ({ deltaY }: { readonly deltaY: number }) => {
        if (deltaY < 0) end.leave(true);
        if (deltaY > 0) end.goDown();
      },
      onTouchMove: () => end.leave(false),
      onPointerDown: () => end.leave(false),
      onKeyDown: () => end.leave(false),
    }),
    [end],
  );
  return { scroller, end, touched };
}
