/** A person's picture, or the first letters of their name on a colour of their own, and whether they are there. */
import { Avatar, Indicator } from '@mantine/core';
import { harmlessName } from './harmless-text.ts';

export type Presence = 'online' | 'away' | 'offline';

/** The first letters of the first and of the last word, as a reader sees them. */
function initialsOf(name: string): string {
  const words = harmlessName(name, '?').split(/\s+/u);
  const ends = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  const segmenter = new Intl.Segmenter();
  return ends.map((word) => [...segmenter.segment(word ?? '')][0]?.segment.toLocaleUpperCase() ?? '').join('');
}

/** Backgrounds that dark letters can be read on, in both schemes. */
const COLORS = ['#cfe2ff', '#d3f2dd', '#ffe3c2', '#f5d5ea', '#e2d9f9', '#cdeff2', '#fbd9d3', '#e6ebb8'] as const;

function colorOf(key: string): string {
  let sum = 0;
  for (const char of key) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 65_536;
  return COLORS[sum % COLORS.length] as string;
}

export interface PersonAvatarProps {
  readonly id: string;
  readonly name: string;
  readonly picture?: string | undefined;
  readonly presence?: Presence | undefined;
  readonly size?: number;
}

/** Says nothing to a screen reader: the name stands beside it. */
export function PersonAvatar({ id, name, picture, presence = 'offline', size = 36 }: PersonAvatarProps) {
  const face = (
    <Avatar
      src={picture ?? null}
      alt=""
      size={size}
      radius="50%"
      aria-hidden="true"
      styles={{ placeholder: { background: colorOf(id), color: '#1b2733', fontWeight: 600 } }}
    >
      {initialsOf(name)}
    </Avatar>
  );
  if (presence === 'offline') return face;
  return (
    <Indicator
      color={presence === 'online' ? 'var(--parley-online)' : 'var(--parley-away)'}
      position="bottom-end"
      offset={Math.round(size / 8)}
      size={Math.max(8, Math.round(size / 3.6))}
      withBorder
      zIndex={1}
      data-presence={presence}
    >
      {face}
    </Indicator>
  );
}
