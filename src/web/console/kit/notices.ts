/** What the console tells without being asked: done, or gone wrong. Screen readers hear it as it appears. */
import { Observable } from '../../kit/observable.ts';
import { sentenceOf, t, type Key } from '../words/words.ts';

export class Notices extends Observable {
  #done = '';
  #wrong = '';

  get done(): string {
    return this.#done;
  }

  get wrong(): string {
    return this.#wrong;
  }

  say(key: Key, values: Readonly<Record<string, string | number>> = {}): void {
    this.#become(t(key, values), '');
  }

  complain(thrown: unknown): void {
    this.#become('', sentenceOf(thrown));
  }

  clear(): void {
    this.#become('', '');
  }

  #become(done: string, wrong: string): void {
    this.#done = done;
    this.#wrong = wrong;
    this.changed();
  }
}
