/** What of a message is searched: without schemas, since browsers mark in it what was found. */
import type { Message } from './messages.ts';

/**
 * What of a message is searched, and what its highlights count in: the body of a text, what the body of another kind
 * says to readers, line by line (caption, description and name of a file, name of a place or a contact). Empty for a deleted message.
 */
export function searchedText({ body }: Pick<Message, 'body'>): string {
  if (typeof body === 'string') return body;
  if (body === undefined) return '';
  const { caption, alt, name } = body as Readonly<Record<string, unknown>>;
  return [caption, alt, name].filter((text) => typeof text === 'string').join('\n');
}
