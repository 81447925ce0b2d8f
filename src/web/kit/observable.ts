/** State outside of React that screens follow: whoever changes it says so, and listeners are told once per turn. */
import { useSyncExternalStore } from 'react';

/** What comes faster is told of together: ten drawings a second are as many as an eye follows in a list that runs. */
const BURST_MILLIS = 100;

export class Observable {
  readonly #listeners = new Set<() => void>();
  #isTelling = false;
  #toldAt = -Infinity;
  #soon: ReturnType<typeof setTimeout> | undefined;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** A burst of changes, as after a reconnect, draws once. */
  protected changed(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    clearTimeout(this.#soon);
    this.#soon = undefined;
    queueMicrotask(() => {
      this.#isTelling = false;
      this.#toldAt = performance.now();
      for (const listener of this.#listeners) listener();
    });
  }

  /** For what others do, which may come many times a second: the first is told at once, and those right after it together. */
  protected changedByOthers(): void {
    if (this.#soon !== undefined) return;
    const wait = this.#toldAt + BURST_MILLIS - performance.now();
    if (wait <= 0) this.changed();
    else this.#soon = setTimeout(() => this.changed(), wait);
  }
}

/** A part of an observable's state; `read` answers the same object until it changed. */
export function useObserved<T>(observable: Observable, read: () => T): T {
  return useSyncExternalStore(observable.subscribe, read);
}
