/** What scans: the pseudonyms of one key, the names of keys seen so far, and nested scans of what was decoded. */
import type { Context } from './context.ts';
import { NESTING_MAX } from './encoded-regions.ts';
import type { ValueRules } from './json-walk.ts';
import { KeyCache, type KeyClass } from './keys.ts';
import { TOKENS } from './leads.ts';
import { startState, type LineState } from './private-keys.ts';
import type { Pseudonyms } from './pseudonyms.ts';
import { Scan } from './scan.ts';
import { type Span, Spans } from './spans.ts';
import { seenOf } from './unseen.ts';

export class Scanner {
  readonly #pseudonyms: Pseudonyms;
  readonly #keys = new KeyCache();
  readonly #rules: ValueRules;

  constructor(pseudonyms: Pseudonyms, rules: ValueRules) {
    this.#pseudonyms = pseudonyms;
    this.#rules = rules;
  }

  /** Scans whole lines; `state` carries over what they leave to the next ones. Text is bytes in a Latin-1 string. */
  scan(source: string, state: LineState, isExplained = false): Spans {
    return this.#scanned(source, isExplained, (context) => new Scan(context, state).run(0));
  }

  /** A value that stands alone under a key: a string of JSON that was parsed. */
  scanValue(
    source: string,
    keyClass: KeyClass,
    state: LineState,
    cut: (context: Context, keyClass: KeyClass) => number,
  ): Spans {
    return this.#scanned(source, false, (context) => {
      const next = keyClass === 'none' ? -1 : cut(context, keyClass);
      new Scan(context, state).run(Math.max(next, 0));
    });
  }

  /** What a text decoded out of another one would lose; beyond three encodings nothing is looked for. */
  #nested(text: string, depth: number): readonly Span[] {
    if (depth > NESTING_MAX) return [];
    return this.#scanned(text, true, (context) => new Scan(context, startState()).run(0), depth).list;
  }

  /** What a scan puts into a text; one with things that nobody sees is scanned without them. */
  #scanned(source: string, isExplained: boolean, scan: (context: Context) => void, depth = 0): Spans {
    const spans = new Spans(source, isExplained);
    const plain = seenOf(source);
    if (plain === undefined) {
      scan(this.#context(source, spans, depth));
      return spans;
    }
    const found = new Spans(plain.text, true);
    scan(this.#context(plain.text, found, depth));
    for (const span of found.list) {
      const { start, end, replacement, class: spanClass } = plain.place(span);
      spans.put(start, end, replacement, spanClass);
    }
    return spans;
  }

  #context(source: string, spans: Spans, depth = 0): Context {
    return {
      source,
      spans,
      pseudonyms: this.#pseudonyms,
      keys: this.#keys,
      tokens: TOKENS,
      rules: this.#rules,
      line: { from: 1, to: 0 },
      scanNested: (text) => this.#nested(text, depth + 1),
    };
  }
}
