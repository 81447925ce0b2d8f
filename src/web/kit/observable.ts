/** State outside of React that screens follow: whoever changes it says so, and listeners are told once per turn. */
import { useSyncExternalStore } from 'react';

export class Observable {
  readonly #listeners = new Set<() => void>();
  #isTelling = false;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** A burst of changes, as after a reconnect, draws once. */
  protected changed(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    queueMicrotask(() => {
      this.#isTelling = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** A part of an observable's state; `read` answers the same object until it changed. */
export function useObserved<T>(observable: Observable, read: () => T): T {
  return useSyncExternalStore(observable.subscribe, read);
}
