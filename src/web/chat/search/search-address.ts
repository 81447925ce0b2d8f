/** The part of the address that says what is searched for, which people write by hand, too. */
import { SEARCH_LENGTH_MAX } from '#src/protocol/limits.ts';
import type { SearchWords } from './search-words.ts';

/** What of it can be understood. */
export function readSearchWords(search: Record<string, unknown>): SearchWords {
  const { after, before, conv, from, hasFile, text } = search;
  return {
    // `?text=2026` is a number to whoever reads addresses.
    text: typeof text === 'string' || typeof text === 'number' ? String(text).slice(0, SEARCH_LENGTH_MAX) : '',
    ...(typeof conv === 'string' ? { conv } : {}),
    ...(typeof from === 'string' ? { from } : {}),
    ...(hasFile === true ? { hasFile } : {}),
    ...(typeof after === 'string' ? { after } : {}),
    ...(typeof before === 'string' ? { before } : {}),
  };
}
