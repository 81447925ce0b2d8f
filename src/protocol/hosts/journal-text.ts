/** The text of a journal as it travels: within its bounds, its newest lines whole. Both ends of the door cut alike. */
import { JOURNAL_CHUNK_BYTES_MAX } from './nodes.ts';

/** What the marker of a cut takes at most. */
const MARKER_BYTES_MAX = 64;

/**
 * A journal within JOURNAL_CHUNK_BYTES_MAX. What is longer loses lines from its start, and a first line says how much;
 * one line that is too long by itself is cut inside.
 */
export function cutJournal(text: string): { text: string; cutBytes: number } {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= JOURNAL_CHUNK_BYTES_MAX) return { text, cutBytes: 0 };
  const least = bytes.length - (JOURNAL_CHUNK_BYTES_MAX - MARKER_BYTES_MAX);
  const lineEnd = bytes.indexOf(10, least - 1);
  let start = lineEnd === -1 || lineEnd === bytes.length - 1 ? least : lineEnd + 1;
  // 10xxxxxx is the inside of a character of UTF-8.
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return { text: `[${start} bytes cut here]\n${new TextDecoder().decode(bytes.subarray(start))}`, cutBytes: start };
}
