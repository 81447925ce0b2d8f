/** What is said of something that was just done, for a while, with the way to take it back where there is one. */
import { sentenceOf } from '../../kit/language.ts';
import { Observable } from '../../kit/observable.ts';

export interface Notice {
  readonly text: string;
  readonly isTrouble: boolean;
  readonly undo?: () => void;
}

/** Long enough to read it and to press its button. */
const SHOWN_MILLIS = 8_000;

export class Notices extends Observable {
  #notice: Notice | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  get notice(): Notice | undefined {
    return this.#notice;
  }

  say(text: string, undo?: () => void): void {
    this.#show({ text, isTrouble: false, ...(undo === undefined ? {} : { undo }) });
    this.#timer = setTimeout(() => this.clear(), SHOWN_MILLIS);
  }

  /** What a call failed with stays until the next one, or until it is closed. */
  refuse(thrown: unknown): void {
    this.#show({ text: sentenceOf(thrown), isTrouble: true });
  }

  clear(): void {
    this.#show(undefined);
  }

  #show(notice: Notice | undefined): void {
    clearTimeout(this.#timer);
    this.#notice = notice;
    this.changed();
  }
}
