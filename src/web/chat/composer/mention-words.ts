/** Mentions as they are typed: `@username`, or `@all`; which of them are meant, and which one is being written. */
import type { Mention } from '#src/protocol/conversations/messages.ts';
import { MENTIONS_PER_MESSAGE_MAX } from '#src/protocol/limits.ts';

const TYPED = /(?<![\w@.])@([a-z0-9][a-z0-9._-]{0,63})/giu;

/** The mentions of a text: who takes part is mentioned, and whatever else stands behind an @ is text. */
export function mentionsIn(text: string, isThere: (user: string) => boolean, mayMentionAll: boolean): Mention[] {
  const found: Mention[] = [];
  for (const { 0: whole, 1: typed = '', index } of text.matchAll(TYPED)) {
    // A full stop at the end of a sentence is none of the name's.
    const user = typed.toLowerCase().replace(/[.-]+$/u, '');
    const place = { offset: index, length: whole.length - (typed.length - user.length) };
    if (isThere(user)) found.push({ username: user, ...place });
    else if (user === 'all' && mayMentionAll) found.push({ all: true, ...place });
  }
  return found.slice(0, MENTIONS_PER_MESSAGE_MAX);
}

/** What of a mention is written right before the caret; undefined where none is. */
export function mentionBefore(
  text: string,
  caret: number,
): { readonly query: string; readonly from: number } | undefined {
  const match = /(?:^|[\s(])@([\p{L}\p{N}._-]{0,64})$/u.exec(text.slice(0, caret));
  const query = match?.[1];
  return query === undefined ? undefined : { query, from: caret - query.length - 1 };
}

/** What of an emoji's `:name:` is written right before the caret; undefined where none is, and for `:p`, which is a face. */
export function emojiBefore(
  text: string,
  caret: number,
): { readonly query: string; readonly from: number } | undefined {
  const query = /(?:^|[^\p{L}\p{N}:]):([a-z0-9][a-z0-9_-]{1,31})$/u.exec(text.slice(0, caret))?.[1];
  return query === undefined ? undefined : { query, from: caret - query.length - 1 };
}
