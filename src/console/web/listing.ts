/**
 * A list of the server's as a table: page by page, with a state for loading, for nothing there, and for what went
 * wrong. On a narrow screen the rows become cards, each value under the name of its column.
 */
import { toParleyError } from '#src/client/parley-error.ts';
import { button, element, fill, type Child } from './elements.ts';
import { sentenceOf, t, type Key } from './language.ts';

export interface Column<T> {
  readonly head: Key;
  readonly cell: (item: T) => Child;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** What to ask the next page with; null at the end. */
  readonly next: string | null;
}

export interface ListingOptions<T> {
  readonly caption: Key;
  readonly empty: Key;
  readonly columns: readonly Column<T>[];
  readonly load: (after: string | undefined) => Promise<Page<T>>;
}

export class Listing<T> {
  readonly element: HTMLElement;
  readonly #options: ListingOptions<T>;
  readonly #rows = element('tbody');
  readonly #state = element('p', { class: 'state', role: 'status' });
  readonly #foot = element('div', { class: 'actions' });
  #items: readonly T[] = [];
  #next: string | null = null;
  /** Counts loadings, so that a late answer to an earlier question changes nothing. */
  #loading = 0;

  constructor(options: ListingOptions<T>) {
    this.#options = options;
    const { caption, columns } = options;
    const heads = columns.map(({ head }) => element('th', { scope: 'col' }, t(head)));
    const table = element(
      'table',
      {},
      element('caption', {}, t(caption)),
      element('thead', {}, element('tr', {}, heads)),
      this.#rows,
    );
    // Wide tables are scrolled by key, too, so what scrolls takes the focus.
    const scroller = element(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t(caption) },
      table,
    );
    this.element = element('div', { class: 'listing' }, scroller, this.#state, this.#foot);
    void this.reload();
  }

  get items(): readonly T[] {
    return this.#items;
  }

  /** Reads the list afresh, from its first page. */
  async reload(): Promise<void> {
    await this.#load(undefined);
  }

  #show(): void {
    const { columns, empty } = this.#options;
    const rows = this.#items.map((item) =>
      element(
        'tr',
        {},
        columns.map(({ head, cell }) => element('td', { 'data-head': t(head) }, element('div', {}, cell(item)))),
      ),
    );
    fill(this.#rows, rows);
    fill(this.#state, rows.length === 0 && t(empty));
    const next = this.#next;
    fill(this.#foot, next !== null && button('list.more', () => void this.#load(next)));
  }

  async #load(after: string | undefined): Promise<void> {
    this.#loading += 1;
    const loading = this.#loading;
    this.element.setAttribute('aria-busy', 'true');
    fill(this.#state, t('list.loading'));
    fill(this.#foot);
    try {
      const { items, next } = await this.#options.load(after);
      if (loading !== this.#loading) return;
      this.#items = after === undefined ? items : [...this.#items, ...items];
      this.#next = next;
      this.#show();
    } catch (error) {
      if (loading !== this.#loading) return;
      fill(this.#state, element('span', { class: 'bad' }, sentenceOf(toParleyError(error))));
      fill(
        this.#foot,
        button('action.retry', () => void this.#load(after)),
      );
    }
    this.element.removeAttribute('aria-busy');
  }
}

/** Something read once, with the same states as a list: loading, shown, gone wrong and tried again. */
export function loaded<T>(
  read: () => Promise<T>,
  show: (value: T) => readonly Child[],
): HTMLElement & { reload(): void } {
  const place = element('div', { class: 'loaded' });
  const load = async () => {
    place.setAttribute('aria-busy', 'true');
    if (place.childElementCount === 0) fill(place, element('p', { class: 'state', role: 'status' }, t('list.loading')));
    try {
      fill(place, show(await read()));
    } catch (error) {
      const sentence = element('p', { class: 'state bad', role: 'alert' }, sentenceOf(toParleyError(error)));
      fill(
        place,
        sentence,
        button('action.retry', () => void load()),
      );
    }
    place.removeAttribute('aria-busy');
  };
  void load();
  return Object.assign(place, { reload: () => void load() });
}
