/** Phrases of well-known programs, all of them in one table by what they begin with. */
import { packLead } from './character-classes.ts';
import type { Context } from './context.ts';
import { LOG_PHRASES, type Phrase } from './log-shapes.ts';
import { SESSION_PHRASES } from './session-shapes.ts';
import { SQL_PHRASES } from './sql-values.ts';
import { TELEPHONY_PHRASES } from './telephony-shapes.ts';

const ALL: readonly Phrase[] = [...LOG_PHRASES, ...SESSION_PHRASES, ...SQL_PHRASES, ...TELEPHONY_PHRASES];

/** Phrases by their first three bytes. */
export class PhraseTable {
  readonly #phrases = new Map<number, Phrase[]>();

  constructor() {
    for (const phrase of ALL) {
      const key = packLead(phrase[0], 0);
      this.#phrases.set(key, [...(this.#phrases.get(key) ?? []), phrase]);
    }
  }

  get literals(): string[] {
    return ALL.map(([literal]) => literal);
  }

  /** Carries out the rule of the phrase that starts here. Answers where the scan goes on, or -1. */
  cut(context: Context, start: number): number {
    const phrases = this.#phrases.get(packLead(context.source, start));
    if (phrases === undefined) return -1;
    for (const [literal, rule] of phrases) {
      if (!context.source.startsWith(literal, start)) continue;
      const next = rule(context, start, start + literal.length);
      if (next !== -1) return next;
    }
    return -1;
  }
}
