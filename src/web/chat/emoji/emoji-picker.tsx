/** The choice of emoji: the usual ones at once, all of them by group, and any of them by a word for it. */
import { Group, Text, TextInput, UnstyledButton } from '@mantine/core';
import { Search } from 'lucide-react';
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type Ref } from 'react';
import { useTranslation } from 'react-i18next';
import { useInViewport } from '@mantine/hooks';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { CustomEmojiImage } from './custom-emoji.tsx';
import {
  CUSTOM_GROUP,
  customEntryOf,
  findEmoji,
  readEmoji,
  rememberEmoji,
  usualEmoji,
  type Emoji,
} from './emoji-list.ts';

const COLUMNS = 8;
/** More than anybody looks through: another word narrows it. */
const FOUND_MAX = 96;

/** Unicode's groups in its order, each with one of its own for a sign. */
const GROUPS = [
  { key: 'emoji.usual', group: undefined, sign: '🕘' },
  { key: 'emoji.smileys', group: 0, sign: '😀' },
  { key: 'emoji.people', group: 1, sign: '👋' },
  { key: 'emoji.nature', group: 3, sign: '🐻' },
  { key: 'emoji.food', group: 4, sign: '🍔' },
  { key: 'emoji.travel', group: 5, sign: '🚗' },
  { key: 'emoji.activities', group: 6, sign: '⚽' },
  { key: 'emoji.objects', group: 7, sign: '💡' },
  { key: 'emoji.symbols', group: 8, sign: '🔣' },
  { key: 'emoji.flags', group: 9, sign: '🏁' },
  { key: 'emoji.custom', group: CUSTOM_GROUP, sign: '🏠' },
] as const;

type Shown = Pick<Emoji, 'emoji'> & Partial<Emoji>;

export interface EmojiPickerProps {
  readonly onPick: (emoji: string) => void;
  /** Whether the installation's own are among them. */
  readonly hasCustom: boolean;
}

export function EmojiPicker({ onPick, hasCustom }: EmojiPickerProps) {
  const { t } = useTranslation();
  const unicode = useAllEmoji();
  const custom = useCustomEmoji(hasCustom);
  // Those of one's own come first among what is found.
  const all = custom.length === 0 ? unicode : [...custom, ...(unicode ?? [])];
  const [query, setQuery] = useState('');
  const [group, setGroup] = useState<number>();
  const [usual] = useState(usualEmoji);
  const grid = useRef<HTMLDivElement>(null);
  const words = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // A touch keyboard that comes up by itself hides what one came to choose from.
    if (matchMedia('(hover: hover)').matches) words.current?.focus();
    else grid.current?.querySelector('button')?.focus();
  }, []);
  const shown = shownOf(all, query, group, usual);
  const pick = (emoji: string) => {
    rememberEmoji(emoji);
    onPick(emoji);
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Enter' && shown[0] !== undefined) pick(shown[0].emoji);
    else if (event.key === 'ArrowDown') grid.current?.querySelector('button')?.focus();
    else return;
    event.preventDefault();
  };
  return (
    <div className="parley-emoji-picker">
      <TextInput
        ref={words}
        type="search"
        size="sm"
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={press}
        leftSection={<Search size={14} aria-hidden="true" />}
        placeholder={t('emoji.search')}
        aria-label={t('emoji.search')}
      />
      <Grid ref={grid} shown={shown} onPick={pick} />
      <Text size="xs" c="dimmed" role="status" h={18} truncate>
        {shown.length === 0 && all !== undefined ? t('emoji.nothing') : ''}
      </Text>
      <Group gap={0} justify="space-between" wrap="nowrap" role="group" aria-label={t('emoji.groups')}>
        {GROUPS.filter((one) => one.group !== CUSTOM_GROUP || custom.length > 0).map(({ group: number, key, sign }) => (
          <UnstyledButton
            key={key}
            className="parley-emoji-group"
            aria-label={t(key)}
            title={t(key)}
            aria-pressed={query === '' && group === number}
            onClick={() => {
              setQuery('');
              setGroup(number);
            }}
          >
            {sign}
          </UnstyledButton>
        ))}
      </Group>
    </div>
  );
}

function shownOf(
  all: readonly Emoji[] | undefined,
  query: string,
  group: number | undefined,
  usual: readonly string[],
): readonly Shown[] {
  if (query.trim() !== '') return findEmoji(all ?? [], query).slice(0, FOUND_MAX);
  if (group !== undefined) return (all ?? []).filter((one) => one.group === group);
  return usual.map((emoji) => all?.find((one) => one.emoji === emoji) ?? { emoji });
}

/** Those of the installation, as they are now. */
function useCustomEmoji(hasCustom: boolean): readonly Emoji[] {
  const { customEmojis } = useChat();
  const all = useObserved(customEmojis, () => customEmojis.all);
  useEffect(() => {
    if (hasCustom) customEmojis.refresh();
  }, [customEmojis, hasCustom]);
  return useMemo(() => (hasCustom ? [...all.keys()].map(customEntryOf) : []), [all, hasCustom]);
}

function useAllEmoji(): readonly Emoji[] | undefined {
  const [all, setAll] = useState<readonly Emoji[]>();
  useEffect(() => {
    let isOver = false;
    readEmoji().then(
      (read) => {
        if (!isOver) setAll(read);
      },
      // The usual ones are there without it.
      () => undefined,
    );
    return () => {
      isOver = true;
    };
  }, []);
  return all;
}

interface GridProps {
  readonly ref: Ref<HTMLDivElement>;
  readonly shown: readonly Shown[];
  readonly onPick: (emoji: string) => void;
}

/** Arrows go from one to the next, as in a grid; the Tab key reaches the first alone. */
function Grid({ ref, shown, onPick }: GridProps) {
  const { t } = useTranslation();
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: COLUMNS, ArrowUp: -COLUMNS }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const buttons = [...event.currentTarget.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[Math.max(0, Math.min(buttons.length - 1, at + step))]?.focus();
  };
  return (
    <div ref={ref} className="parley-emoji" role="group" aria-label={t('emoji.title')} onKeyDown={press}>
      {shown.map(({ emoji, label, name }, index) => (
        <UnstyledButton
          key={emoji}
          className="parley-emoji-one"
          tabIndex={index === 0 ? 0 : -1}
          title={label}
          aria-label={label === undefined || name !== undefined ? emoji : `${emoji} ${label}`}
          onClick={() => onPick(emoji)}
        >
          {name === undefined ? emoji : <SeenEmoji name={name} />}
        </UnstyledButton>
      ))}
    </div>
  );
}

/** Its picture is read when it comes into sight: an installation may have a thousand. */
function SeenEmoji({ name }: { readonly name: string }) {
  const { ref, inViewport } = useInViewport();
  return (
    <span ref={ref} className="parley-emoji-seen">
      {inViewport ? <CustomEmojiImage name={name} isNamed /> : ''}
    </span>
  );
}
