/** As much of a message that was found as shows why: some words around the first place, and the places marked. */
import type { SearchHit } from '#src/client/messaging-api.ts';
import { searchedText } from '#src/protocol/conversations/searched-text.ts';
import { harmlessText } from '../../kit/harmless-text.ts';
import { withoutPairs } from '../message/plain-line.ts';

/** Shown in front of the first place, and from its beginning on. */
const BEFORE_LENGTH = 60;
const FROM_LENGTH = 200;

export interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

/** Who is mentioned is called as `nameOf` says, but where what was searched stands in it. */
export function snippetOf(
  hit: Pick<SearchHit, 'body' | 'highlights' | 'mentions'>,
  nameOf: (user: string) => string,
): readonly Piece[] {
  const text = searchedText(hit);
  const called = (begin: number, end: number): string => {
    let [at, line] = [begin, ''];
    for (const mention of hit.mentions ?? []) {
      const { length, offset } = mention;
      if ('all' in mention || offset < at || offset + length > end) continue;
      line += `${withoutPairs(text.slice(at, offset))}@${nameOf(mention.username)}`;
      at = offset + length;
    }
    return line + withoutPairs(text.slice(at, end));
  };
  const first = hit.highlights[0]?.[0] ?? 0;
  const from = first <= BEFORE_LENGTH ? 0 : first - BEFORE_LENGTH;
  const to = Math.min(text.length, first + FROM_LENGTH);
  const pieces: Piece[] = [];
  const add = (begin: number, end: number, isMarked: boolean) => {
    // Whoever looks for marks of formatting, or for a username, is to see that.
    const piece = harmlessLine(isMarked ? text.slice(begin, end) : called(begin, end));
    if (piece !== '') pieces.push({ text: piece, isMarked });
  };
  let at = from;
  for (const [begin, end] of hit.highlights) {
    if (begin >= to || begin < at) continue;
    add(at, begin, false);
    add(begin, Math.min(end, to), true);
    at = Math.min(end, to);
  }
  add(at, to, false);
  const [head, tail] = [from > 0 ? [CUT] : [], to < text.length ? [CUT] : []];
  return [...head, ...pieces, ...tail];
}

const CUT: Piece = { text: '…', isMarked: false };

/** On one line; a character that the cut went through is left out. */
function harmlessLine(text: string): string {
  return harmlessText(text.toWellFormed().replaceAll('\ufffd', '').replaceAll(/\s+/gu, ' '));
}
