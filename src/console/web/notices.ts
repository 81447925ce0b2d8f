/** What the console tells without being asked: done, or gone wrong. Screen readers hear it as it appears. */
import type { ParleyError } from '#src/client/parley-error.ts';
import { element, fill, type Complaints } from './elements.ts';
import { sentenceOf, t, type Key } from './language.ts';

export class Notices implements Complaints {
  readonly element: HTMLElement;
  readonly #done = element('p', { role: 'status', class: 'notice' });
  readonly #wrong = element('p', { role: 'alert', class: 'notice bad' });

  constructor() {
    // Both are there from the start: a live region that appears with its text is not read out.
    this.element = element('div', { class: 'notices' }, this.#done, this.#wrong);
  }

  say(key: Key, values: Readonly<Record<string, string | number>> = {}): void {
    fill(this.#done, t(key, values));
    fill(this.#wrong);
  }

  complain(error: ParleyError): void {
    fill(this.#done);
    fill(this.#wrong, sentenceOf(error));
  }

  clear(): void {
    fill(this.#done);
    fill(this.#wrong);
  }
}
