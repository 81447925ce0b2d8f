/**
 * Every emoji with what it is called in the person's language, from emojibase's tables, which follow Unicode's. A table comes
 * with the first opening of the choice, in the one language that is shown.
 */
import { currentLanguage } from '../../kit/language.ts';
import { keep, readKept } from '../../kit/kept-values.ts';

export interface Emoji {
  readonly emoji: string;
  readonly label: string;
  /** Other words for it. */
  readonly tags: readonly string[];
  /** Unicode's group, by its number; those of modifiers are left out. */
  readonly group: number;
  /** What one of the installation's own is called between its colons. */
  readonly name?: string;
}

/** The group of the installation's own, which is none of Unicode's. */
export const CUSTOM_GROUP = -1;

/** One of the installation's own as the choice has it: words of its name find it. */
export function customEntryOf(name: string): Emoji {
  const emoji = `:${name}:`;
  return { emoji, label: emoji, tags: [name, ...name.split(/[_-]/u)], group: CUSTOM_GROUP, name };
}

/** As the compact tables have it. */
interface Entry {
  readonly unicode: string;
  readonly label: string;
  readonly tags?: readonly string[];
  readonly group?: number;
}

/** Skin tones and parts of hair, which are no emoji by themselves. */
const COMPONENTS = 2;
/** What the server takes for one emoji, as far as this browser knows them. */
const WHOLE = /^\p{RGI_Emoji}$/v;
const RECENT = 'parley.emoji';
const RECENT_MAX = 16;

const USUAL = [
  ...['👍', '❤️', '😂', '😮', '😢', '🙏', '🎉', '🔥'],
  ...['😀', '😉', '😊', '😍', '😘', '😎', '🤔', '🤨'],
  ...['😐', '😴', '😭', '😡', '🥳', '🤯', '🤝', '👋'],
  ...['👏', '💪', '👀', '👎', '👌', '✌️', '🤷', '🙌'],
  ...['✅', '❌', '❓', '❗', '💯', '⭐', '💡', '📌'],
  ...['☕', '🍰', '🍻', '🌞', '🌈', '🚀', '🐛', '🎂'],
];

export async function readEmoji(): Promise<readonly Emoji[]> {
  const table =
    currentLanguage() === 'ru'
      ? await import('emojibase-data/ru/compact.json', { with: { type: 'json' } })
      : await import('emojibase-data/en/compact.json', { with: { type: 'json' } });
  return (table.default as readonly Entry[]).flatMap(({ group, label, tags = [], unicode }) => {
    const emoji = wholeOf(unicode);
    return group === undefined || group === COMPONENTS || emoji === undefined ? [] : [{ emoji, label, tags, group }];
  });
}

/** As the server takes it: the tables have the mark for colours behind every emoji, also where none belongs. */
function wholeOf(unicode: string): string | undefined {
  return [unicode, unicode.replaceAll('\ufe0f', '')].find((text) => WHOLE.test(text));
}

/** Those that begin with each word of a query, or one of whose words does. */
export function findEmoji(all: readonly Emoji[], query: string): readonly Emoji[] {
  const wanted = query.toLocaleLowerCase().split(/\s+/u).filter(Boolean);
  return all.filter(({ emoji, label, tags }) => {
    const words = [label, ...tags].flatMap((text) => text.toLocaleLowerCase().split(/[\s-]+/u));
    return emoji === query.trim() || wanted.every((one) => words.some((word) => word.startsWith(one)));
  });
}

/** The last ones that were chosen in this browser, and behind them what most people choose. */
export function usualEmoji(): readonly string[] {
  return [...new Set([...recentEmoji(), ...USUAL])];
}

/** The installation's own are none of the usual ones: they have a group by themselves. */
export function rememberEmoji(emoji: string): void {
  if (!WHOLE.test(emoji)) return;
  keep(RECENT, [...new Set([emoji, ...recentEmoji()])].slice(0, RECENT_MAX));
}

function recentEmoji(): readonly string[] {
  const kept = readKept(RECENT);
  return Array.isArray(kept) ? kept.filter((one): one is string => typeof one === 'string' && WHOLE.test(one)) : [];
}
