/** The person's conversations, found by typing, and the ways to new ones. */
import { ActionIcon, CloseButton, Group, Skeleton, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { CalendarDays, Search } from 'lucide-react';
import { Fragment, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { VList } from 'virtua';
import { SEARCH_LENGTH_MAX } from '#src/protocol/limits.ts';
import { PersonAvatar } from '../../kit/person-avatar.tsx';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat, type Chat } from '../chat-context.ts';
import { titleOf } from '../conversation-words.ts';
import type { InboxRow } from '../state/inbox.ts';
import { useName } from '../state/people.ts';
import { ConversationRow } from './conversation-row.tsx';
import { Invitations } from './invitations.tsx';
import { NewConversation } from './new-conversation.tsx';

/** Drawn ahead of what is in sight. */
const PIXELS_AHEAD = 400;
/** A row is taken for so high until it was measured. */
const ROW_PIXELS = 62;

export function Sidebar() {
  const { t } = useTranslation();
  const [query, setQuery] = useState('');
  const chat = useChat();
  const rows = useFound(chat, query);
  const navigate = useNavigate();
  const open = (id: string | undefined) => {
    if (id !== undefined) void navigate({ to: '/c/$conv', params: { conv: id } });
  };
  const { conv } = useParams({ strict: false });
  const step = (by: number) => {
    const at = rows.findIndex(({ conversation }) => conversation.id === conv);
    open(rows[Math.max(0, at + by)]?.conversation.id);
  };
  const search = () => {
    setQuery('');
    void navigate({ to: '/search', search: { text: query.trim() } });
  };
  useHotkeys(
    [
      ['alt+ArrowDown', () => step(1)],
      ['alt+ArrowUp', () => step(-1)],
      ['mod+shift+F', search],
    ],
    [],
  );
  const openFirst = () => {
    if (rows.length === 0 && query.trim() !== '') return search();
    open(rows[0]?.conversation.id);
    setQuery('');
  };
  return (
    <nav className="parley-side" aria-label={t('list.title')}>
      <h1 className="parley-unseen parley-list-name">{t('list.title')}</h1>
      <Stack gap="xs" p="sm" pb={6}>
        <OwnLine />
        <SearchField query={query} onChange={setQuery} onOpen={openFirst} />
      </Stack>
      {query.trim() === '' ? (
        <Invitations />
      ) : (
        <Link to="/search" search={{ text: query.trim() }} className="parley-row" onClick={() => setQuery('')}>
          <Search size={18} aria-hidden="true" />
          <Text size="sm" truncate>
            {t('search.messages', { query: harmlessName(query) })}
          </Text>
        </Link>
      )}
      <Rows rows={rows} query={query} />
    </nav>
  );
}

function OwnLine() {
  const { t } = useTranslation();
  const { me, people } = useChat();
  const name = useName(people, me);
  const picture = useObserved(people, () => people.pictureOf(me));
  return (
    <Group justify="space-between" wrap="nowrap" gap="xs">
      <UnstyledButton component={Link} to="/settings" className="parley-own" title={t('settings.title')}>
        <PersonAvatar id={me} name={name} picture={picture} size={32} />
        <Text fw={600} truncate>
          <bdi>{name}</bdi>
        </Text>
      </UnstyledButton>
      <Group gap={4} wrap="nowrap">
        <ActionIcon
          component={Link}
          to="/calendar"
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={t('list.calendar')}
        >
          <CalendarDays size={20} />
        </ActionIcon>
        <NewConversation />
      </Group>
    </Group>
  );
}

interface SearchFieldProps {
  readonly query: string;
  readonly onChange: (query: string) => void;
  readonly onOpen: () => void;
}

function SearchField({ query, onChange, onOpen }: SearchFieldProps) {
  const { t } = useTranslation();
  const field = useRef<HTMLInputElement>(null);
  useHotkeys([['mod+K', () => field.current?.focus()]], []);
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !event.nativeEvent.isComposing) onOpen();
    if (event.key === 'Escape') onChange('');
  };
  return (
    <TextInput
      ref={field}
      type="search"
      value={query}
      onChange={(event) => onChange(event.currentTarget.value)}
      onKeyDown={press}
      leftSection={<Search size={16} aria-hidden="true" />}
      rightSection={
        query === '' ? null : <CloseButton size="sm" aria-label={t('list.clear')} onClick={() => onChange('')} />
      }
      maxLength={SEARCH_LENGTH_MAX}
      placeholder={t('list.search')}
      aria-label={t('list.search')}
      aria-keyshortcuts="Control+K"
    />
  );
}

/** Favourites first; with a query, those in whose title every word of it begins a word, or stands somewhere. */
function useFound(chat: Chat, query: string): readonly InboxRow[] {
  const { t } = useTranslation();
  const rows = useObserved(chat.inbox, () => chat.inbox.rows);
  const words = query
    .toLocaleLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== '');
  const found =
    words.length === 0
      ? rows
      : rows.filter(({ conversation }) => {
          const title = titleOf(chat, conversation, t).toLocaleLowerCase();
          return words.every((word) => title.includes(word));
        });
  return useMemo(
    () => [...found.filter((row) => row.isFavourite), ...found.filter((row) => !row.isFavourite)],
    [found],
  );
}

function Rows({ rows, query }: { readonly rows: readonly InboxRow[]; readonly query: string }) {
  const { t } = useTranslation();
  const { inbox } = useChat();
  const isLoaded = useObserved(inbox, () => inbox.isLoaded);
  if (!isLoaded && rows.length === 0) return <Waiting />;
  if (rows.length === 0) {
    return (
      <Text c="dimmed" size="sm" p="md" ta="center" role="status">
        {query === '' ? t('list.empty') : t('list.notFound', { query })}
      </Text>
    );
  }
  return (
    <VList className="parley-rows" tabIndex={-1} data={rows} itemSize={ROW_PIXELS} bufferSize={PIXELS_AHEAD}>
      {(row: InboxRow, index) => (
        <Fragment key={row.conversation.id}>
          <SectionHead rows={rows} index={index} />
          <ConversationRow row={row} />
        </Fragment>
      )}
    </VList>
  );
}

/** Over the first favourite, and over the first of the rest where there are favourites. */
function SectionHead({ rows, index }: { readonly rows: readonly InboxRow[]; readonly index: number }) {
  const { t } = useTranslation();
  const isFavourite = rows[index]?.isFavourite === true;
  const isFirst = index === 0 || rows[index - 1]?.isFavourite !== isFavourite;
  if (!isFirst || rows[0]?.isFavourite !== true) return null;
  return (
    <Text component="h2" size="xs" fw={600} c="dimmed" px="sm" pt="sm" pb={4}>
      {isFavourite ? t('list.favourites') : t('list.others')}
    </Text>
  );
}

function Waiting() {
  const { t } = useTranslation();
  return (
    <Stack gap="sm" p="sm" role="status" aria-label={t('app.loading')}>
      {[0, 1, 2, 3, 4].map((at) => (
        <Group key={at} wrap="nowrap">
          <Skeleton circle height={40} />
          <Stack gap={6} flex={1}>
            <Skeleton height={12} width="60%" />
            <Skeleton height={10} width="85%" />
          </Stack>
        </Group>
      ))}
    </Stack>
  );
}
