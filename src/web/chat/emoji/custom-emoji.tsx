/** An emoji of the installation's own where it was written: a small picture, or its name while there is none. */
import { useEffect, useState, type ReactNode } from 'react';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';

/** Emoji in one text; one with more has their names, as whoever writes thousands of them wants to be a nuisance. */
const EMOJI_PER_TEXT_MAX = 100;
/** A time of day, as 10:30:45, is none. */
const WRITTEN = /(?<![\p{L}\p{N}]):([a-z0-9][a-z0-9_-]{0,31}):(?![\p{L}\p{N}])/gu;

export interface CustomEmojiProps {
  readonly name: string;
  /** Whether what stands around it has its name already. */
  readonly isNamed?: boolean;
}

export function CustomEmojiImage({ name, isNamed = false }: CustomEmojiProps): ReactNode {
  const { customEmojis } = useChat();
  const url = useObserved(customEmojis, () => customEmojis.pictureOf(name));
  const [broken, setBroken] = useState<string>();
  useEffect(() => customEmojis.show(name), [customEmojis, name]);
  const written = `:${name}:`;
  if (url === undefined || url === broken) return written;
  return (
    <img
      className="parley-emoji-own"
      src={url}
      // As it is written, so that a text that is copied has it, too.
      alt={isNamed ? '' : written}
      title={isNamed ? undefined : written}
      draggable={false}
      onError={() => setBroken(url)}
    />
  );
}

/** What a reaction is: an emoji of Unicode, or the picture of `:name:`. */
export function ReactionEmoji({ emoji }: { readonly emoji: string }): ReactNode {
  return emoji.startsWith(':') ? <CustomEmojiImage name={emoji.slice(1, -1)} isNamed /> : emoji;
}

/** Whether a whole text has its emoji drawn. */
export function drawsCustomEmoji(text: string): boolean {
  return [...text.matchAll(WRITTEN)].length <= EMOJI_PER_TEXT_MAX;
}

/** A part of a text with pictures where it names emoji. */
export function withCustomEmoji(text: string): ReactNode {
  const parts: ReactNode[] = [];
  let at = 0;
  for (const { 0: written, 1: name = '', index } of text.matchAll(WRITTEN)) {
    parts.push(text.slice(at, index), <CustomEmojiImage key={index} name={name} />);
    at = index + written.length;
  }
  return at === 0 ? text : [...parts, text.slice(at)];
}
