/** Tells listeners what happened, by type. */

/** Takes a listener away again. */
export type Unsubscribe = () => void;

export class Emitter<Events> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();

  /** Calls the listener for every event of the type from now on; the answer takes it away again. */
  on<Type extends keyof Events>(type: Type, listener: (event: Events[Type]) => void): Unsubscribe {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /**
   * Calls the listeners of the type, in the order they came. What one of them throws is the application's fault: it
   * surfaces as an uncaught error and keeps neither the others nor the client from going on.
   */
  emit<Type extends keyof Events>(type: Type, event: Events[Type]): void {
    for (const listener of [...(this.#listeners.get(type) ?? [])]) {
      try {
        (listener as (event: Events[Type]) => void)(event);
      } catch (thrown) {
        queueMicrotask(() => {
          throw thrown;
        });
      }
    }
  }
}
