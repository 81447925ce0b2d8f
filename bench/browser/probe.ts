/**
 * What is put into every page before its own scripts: it acts as a person does and says when the picture had what came of it.
 * A thing is shown once the frame that has it was drawn. The app and the plain page are looked at by the same names: rows of the
 * list link to an address that ends in `#/c/<conversation>`, and a message is an `article` with its `data-seq`.
 */

export interface FrameReport {
  readonly frames: number;
  /** Frames of 60 a second that were not drawn, in hundredths of those that were due. */
  readonly droppedPercent: number;
  readonly longestGapMillis: number;
}

export interface TaskReport {
  /** Tasks of more than 50 ms. */
  readonly longTasks: number;
  /** 0 where none was longer than 50 ms: the browser tells of no shorter ones. */
  readonly longestTaskMillis: number;
}

export interface Probe {
  /** Milliseconds from the beginning of the navigation until the list had its first row. */
  readonly listShown: Promise<number>;
  /** Presses a row of the list, and answers after how many milliseconds the newest message of its conversation was in sight. */
  switchTo(conv: string, text: string): Promise<number>;
  /** Scrolls the open conversation from its end to its first message, so many pixels a frame. */
  scrollToFirst(pixels: number): Promise<void>;
  /** Fulfilled once a text is in sight, with the instant in milliseconds since the epoch. */
  shown(text: string): Promise<number>;
  /** When Enter was pressed last, in milliseconds since the epoch. */
  readonly pressedAt: number;
  /** Begins to count frames and long tasks. */
  watch(): void;
  watched(): FrameReport & TaskReport;
}

declare global {
  interface Window {
    probe: Probe;
  }
}

/** Runs inside the page, so it holds all that it uses. */
export function installProbe(): void {
  const FRAME_MILLIS = 1000 / 60;
  let frames: number[] = [];
  let tasks: number[] = [];
  let isWatching = false;
  let pressedAt = 0;

  new PerformanceObserver((list) => {
    if (isWatching) tasks.push(...list.getEntries().map(({ duration }) => duration));
  }).observe({ type: 'longtask' });
  addEventListener(
    'keydown',
    ({ key }) => {
      if (key === 'Enter') pressedAt = performance.timeOrigin + performance.now();
    },
    true,
  );

  /** Looks at each frame, and answers when the first one was drawn that had it. */
  const drawn = async (holds: () => boolean): Promise<number> =>
    await new Promise((resolve) => {
      const look = () => {
        if (!holds()) {
          requestAnimationFrame(look);
          return;
        }
        const { port1, port2 } = new MessageChannel();
        port1.addEventListener('message', () => resolve(performance.now()));
        port1.start();
        port2.postMessage(0);
      };
      requestAnimationFrame(look);
    });

  const isInSight = (text: string): boolean => {
    const place = document.querySelector('main')?.getBoundingClientRect();
    if (place === undefined) return false;
    // The newest ones are the last ones of the page.
    const articles = [...document.querySelectorAll('main article[data-seq]')].toReversed();
    const found = articles.find((article) => article.textContent.includes(text));
    if (found === undefined || !found.checkVisibility({ visibilityProperty: true })) return false;
    const { bottom, top } = found.getBoundingClientRect();
    return top < place.bottom && bottom > place.top;
  };

  const countFrame = (at: number) => {
    if (!isWatching) return;
    frames.push(at);
    requestAnimationFrame(countFrame);
  };

  window.probe = {
    listShown: drawn(() => document.querySelector('a[href*="#/c/"]') !== null),
    get pressedAt() {
      return pressedAt;
    },
    async switchTo(conv, text) {
      const row = document.querySelector<HTMLAnchorElement>(`a[href$="#/c/${conv}"]`);
      if (row === null) throw new Error(`The list does not show ${conv}.`);
      const began = performance.now();
      row.click();
      return (await drawn(() => isInSight(text))) - began;
    },
    async scrollToFirst(pixels) {
      await drawn(() => {
        const list = document.querySelector('main [role=log], main [data-scroller]');
        if (list === null) return false;
        const isFirst = document.querySelector('main article[data-seq="1"]') !== null;
        if (isFirst && list.scrollTop <= 0) return true;
        // The app holds who is at the end there until they scroll themselves.
        list.dispatchEvent(new WheelEvent('wheel', { bubbles: true, deltaY: -pixels }));
        list.scrollTop -= pixels;
        return false;
      });
    },
    async shown(text) {
      return performance.timeOrigin + (await drawn(() => isInSight(text)));
    },
    watch() {
      [frames, tasks, isWatching] = [[], [], true];
      requestAnimationFrame(countFrame);
    },
    watched() {
      isWatching = false;
      const gaps = frames.slice(1).map((at, index) => at - (frames[index] ?? 0));
      const due = gaps.map((gap) => Math.max(1, Math.round(gap / FRAME_MILLIS)));
      const all = due.reduce((sum, count) => sum + count, 0);
      return {
        frames: gaps.length,
        droppedPercent: all === 0 ? 0 : (100 * (all - gaps.length)) / all,
        longestGapMillis: Math.max(0, ...gaps),
        longTasks: tasks.length,
        longestTaskMillis: Math.max(0, ...tasks),
      };
    },
  };
}
