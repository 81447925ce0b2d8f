/**
 * Words of other people, made fit to stand on one line among ours: what turns the direction of the writing round or hides is
 * shown as what it is not, a name is to be read (UTS 55).
 */

/** Marks that turn or isolate the direction, and what is not seen at all: ZWSP, word joiner, BOM, soft hyphen, Hangul fillers. */
const UNSEEN = /[\u034f\p{Cc}\u00ad\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/gu;
/** Letters that are not seen (tags), but for those of a flag, which they follow: a whole sentence can be written in them. */
const TAGS = /(?<!\u{1f3f4}[\u{e0020}-\u{e007e}]{0,6})[\u{e0000}-\u{e007f}]/gu;
/** Marks on one letter beyond what any writing needs: they would be drawn over the lines around. */
const MARKS = /(\p{M}{4})\p{M}+/gu;

/** A name of a person, a room or a file on one line: without what cannot be seen; `instead` where nothing is left. */
export function harmlessName(text: string, instead = '…'): string {
  const readable = text.replaceAll(UNSEEN, '').replaceAll(TAGS, '').replaceAll(MARKS, '$1').trim();
  return readable === '' ? instead : readable;
}

/** The text of a message: line breaks and joiners stay, marks that reorder lines go, and marks do not pile up. */
export function harmlessText(text: string): string {
  return text.replaceAll(/[\u202a-\u202e\u2066-\u2069]/gu, '').replaceAll(MARKS, '$1');
}
