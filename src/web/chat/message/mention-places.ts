/**
 * Where people are mentioned in a text: marks that stand there while the text is read as Markdown, so that formatting never takes a
 * mention apart, and what stands there afterwards.
 */
import type { Mention } from '#src/protocol/conversations/messages.ts';

/** Of no script; a text's own ones are taken out before. */
const [OPEN, CLOSE] = ['\ue000', '\ue001'];
/** A mark, with the mention's place among the mentions. */
export const PLACE = /\ue000(\d+)\ue001/u;
const PLACES = new RegExp(PLACE, 'gu');

/** The text with a mark for each mention, whose offsets are of the text as it was sent. */
export function withPlaces(text: string, mentions: readonly Mention[]): string {
  const bare = (part: string) => part.replaceAll(/[\ue000\ue001]/gu, '');
  let at = 0;
  let placed = '';
  for (const [index, { offset, length }] of mentions.entries()) {
    placed += `${bare(text.slice(at, offset))}${OPEN}${index}${CLOSE}`;
    at = offset + length;
  }
  return placed + bare(text.slice(at));
}

/** The text with words in the place of each mark. */
export function fillPlaces(text: string, mentions: readonly Mention[], wordsOf: (mention: Mention) => string): string {
  return text.replaceAll(PLACES, (_, index: string) => {
    const mention = mentions[Number(index)];
    return mention === undefined ? '' : wordsOf(mention);
  });
}
