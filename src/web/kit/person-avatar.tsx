/** A person's picture, or the first letters of their name on a colour of their own, and whether they are there. */
import type { CSSProperties } from 'react';
import { harmlessName } from './harmless-text.ts';

export type Presence = 'online' | 'away' | 'offline';

const segmenter = new Intl.Segmenter();
/** Of the names that were shown; begun anew when there are so many. */
const INITIALS_KEPT_MAX = 1_000;
const keptInitials = new Map<string, string>();

/** The first letters of the first and of the last word, as a reader sees them. */
function initialsOf(name: string): string {
  const kept = keptInitials.get(name);
  if (kept !== undefined) return kept;
  const words = harmlessName(name, '?').split(/\s+/u);
  const ends = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  const firstOf = (word = '') => segmenter.segment(word)[Symbol.iterator]().next().value?.segment ?? '';
  const initials = ends.map((word) => firstOf(word).toLocaleUpperCase()).join('');
  if (keptInitials.size >= INITIALS_KEPT_MAX) keptInitials.clear();
  keptInitials.set(name, initials);
  return initials;
}

/** As page.css has them. */
const COLORS = 8;

function colorOf(key: string): number {
  let sum = 0;
  for (const char of key) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 65_536;
  return sum % COLORS;
}

export interface PersonAvatarProps {
  readonly id: string;
  readonly name: string;
  readonly picture?: string | undefined;
  readonly presence?: Presence | undefined;
  readonly size?: number;
}

/** The size that needs none stated: that of the messages. */
const USUAL_SIZE = 36;

/** Says nothing to a screen reader: the name stands beside it. Bare elements: lists of messages and people are full of them. */
export function PersonAvatar({ id, name, picture, presence = 'offline', size = USUAL_SIZE }: PersonAvatarProps) {
  const style = size === USUAL_SIZE ? undefined : ({ '--parley-face': `${size / 16}rem` } as CSSProperties);
  return (
    <span className="parley-face" aria-hidden="true" style={style}>
      {picture === undefined ? <span data-color={colorOf(id)}>{initialsOf(name)}</span> : <img src={picture} alt="" />}
      {presence !== 'offline' && <i data-presence={presence} />}
    </span>
  );
}
