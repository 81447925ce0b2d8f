/**
 * How wide the window is for the text that is in it. Media queries cannot tell: their rem is that of the browser's settings, and the
 * text of the app may be half as large again (`appearance.ts`), for which a window is as narrow as if it were zoomed.
 */
import { Observable, useObserved } from './observable.ts';

/** The widest window of each, in rem: one pane beside another from `medium` on, a third from `large` on. */
const BREAKPOINTS = [
  ['narrow', 48],
  ['medium', 62],
  ['large', 75],
  ['wide', Infinity],
] as const;

export type Breakpoint = (typeof BREAKPOINTS)[number][0];

class BreakpointStore extends Observable {
  #now: Breakpoint = 'wide';

  get now(): Breakpoint {
    return this.#now;
  }

  start(): void {
    addEventListener('resize', () => this.look());
    this.look();
  }

  /** Looks again: the text has another size. */
  look(): void {
    const { documentElement } = document;
    const rem = Number.parseFloat(getComputedStyle(documentElement).fontSize);
    const [name] = BREAKPOINTS.find(([, most]) => innerWidth <= most * rem) ?? BREAKPOINTS[3];
    documentElement.dataset['breakpoint'] = name;
    if (name === this.#now) return;
    this.#now = name;
    this.changed();
  }
}

/** Of this window; stylesheets read it off the page as `data-breakpoint`. */
export const breakpoint = new BreakpointStore();

export function useBreakpoint(): Breakpoint {
  return useObserved(breakpoint, () => breakpoint.now);
}
