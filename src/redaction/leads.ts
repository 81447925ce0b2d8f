/** What may begin with a literal of its own: one table over the first four bytes of all tokens and phrases. */
import { packLead } from './character-classes.ts';
import { PhraseTable } from './phrases.ts';
import { TokenTable } from './token-shapes.ts';

export const PHRASES = new PhraseTable();
export const TOKENS = new TokenTable();

/**
 * Leads at which a token or a phrase may begin, apart for capitals and small letters, each with the fourth bytes it may
 * go on with: most words are passed by with one load.
 */
const LEADS = new Uint32Array(1 << 16);
for (const literal of [...PHRASES.literals, ...TOKENS.literals]) addLead(literal);

function addLead(literal: string): void {
  const capital = (literal.charCodeAt(0) & 32) << 10;
  const fourth = literal.length > 3 ? 1 << (literal.charCodeAt(3) & 31) : -1;
  // A literal of two bytes goes on with any third one.
  for (let third = 0; third < 32; third += 1)
    if (literal.length < 3 || third === (literal.charCodeAt(2) & 31)) {
      const place = capital | packLead(`${literal.slice(0, 2)}${String.fromCharCode(third)}`, 0);
      LEADS[place] = (LEADS[place] as number) | fourth;
    }
}

/** Whether a token or a phrase may begin here. */
export function isLead(source: string, at: number): boolean {
  const fourths = LEADS[((source.charCodeAt(at) & 32) << 10) | packLead(source, at)] as number;
  return fourths !== 0 && ((fourths >>> (source.charCodeAt(at + 3) & 31)) & 1) === 1;
}
