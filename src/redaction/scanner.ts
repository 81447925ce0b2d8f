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
    const spans = new Spans(source, isExplained);
    new Scan(this.#context(source, spans), state).run(0);
    return spans;
  }

  /** A value that stands alone under a key: a string of JSON that was parsed. */
  scanValue(
    source: string,
    keyClass: KeyClass,
    state: LineState,
    cut: (context: Context, keyClass: KeyClass) => number,
  ): Spans {
    const spans = new Spans(source, false);
    const context = this.#context(source, spans);
    const next = keyClass === 'none' ? -1 : cut(context, keyClass);
    new Scan(context, state).run(Math.max(next, 0));
    return spans;
  }

  /** What a text decoded out of another one would lose; beyond three encodings nothing is looked for. */
  #nested(text: string, depth: number): readonly Span[] {
    if (depth > NESTING_MAX) return [];
    const spans = new Spans(text, true);
    new Scan(this.#context(text, spans, depth), startState()).run(0);
    return spans.list;
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
