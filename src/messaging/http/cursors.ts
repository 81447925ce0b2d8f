/** Cursors of lists: what a list has to know to go on, as one text that is opaque to clients. */
import { Refusal } from '#src/protocol/errors.ts';

/** Not signed: a cursor selects among what the caller may read anyway. */
export function encodeCursor(parts: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/**
 * The parts of a cursor, as many as one of `lengths` says: cursors of the lists differ in that, so that none is taken
 * for another's.
 * @throws Refusal `cursor_invalid` for what no list gave.
 */
export function decodeCursor(text: string, field: string, lengths: readonly number[]): unknown[] {
  const invalid = new Refusal('cursor_invalid', { field });
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    throw invalid;
  }
  // The decoder passes over what is no base64url, so a damaged cursor could read like a whole one.
  if (!Array.isArray(parts) || !lengths.includes(parts.length) || encodeCursor(parts) !== text) throw invalid;
  return parts;
}
