/** Search in messages: what is typed and what narrows it stand in the address, so that going back finds the same. */
import { ActionIcon, Alert, Button, Group, Loader, Stack, Text, TextInput, Title } from '@mantine/core';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { ArrowLeft, Search } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SEARCH_LENGTH_MAX } from '#src/protocol/limits.ts';
import { useChat } from '../chat-context.ts';
import { titleOf } from '../conversation-words.ts';
import { FoundMessage } from './found-message.tsx';
import { useFoundMessages } from './found-messages.ts';
import { SearchFilters } from './search-filters.tsx';
import { readTyped, type SearchNames, type SearchWords } from './search-words.ts';

const USERNAME = /^@?([a-z0-9][a-z0-9._-]{0,63})$/iu;
const route = getRouteApi('/search');

export function SearchScreen() {
  const { t } = useTranslation();
  const words = route.useSearch();
  const navigate = useNavigate();
  const change = (next: SearchWords) => void navigate({ to: '/search', search: next, replace: true });
  const found = useFoundMessages(words);
  return (
    <section className="parley-search" aria-label={t('search.title')}>
      <header className="parley-head">
        <ActionIcon
          component={Link}
          to="/"
          variant="subtle"
          color="gray"
          className="parley-back"
          aria-label={t('app.toList')}
        >
          <ArrowLeft size={20} />
        </ActionIcon>
        <Title order={1} size="md">
          {t('search.title')}
        </Title>
      </header>
      <Stack gap="xs" p="md" className="parley-search-form">
        <SearchLine words={words} onChange={change} />
        <SearchFilters words={words} onChange={(part) => change({ ...words, ...part })} />
      </Stack>
      <div className="parley-search-found" tabIndex={0} role="region" aria-label={t('search.found')}>
        {found.items.map((hit) => (
          <FoundMessage key={`${hit.conversation_id}/${hit.seq}`} hit={hit} />
        ))}
        <Outcome found={found} isAsked={words.text !== ''} />
      </div>
    </section>
  );
}

interface SearchLineProps {
  readonly words: SearchWords;
  readonly onChange: (words: SearchWords) => void;
}

/** What is typed is searched for by Enter: operators go to where the filters are. */
function SearchLine({ words, onChange }: SearchLineProps) {
  const { t } = useTranslation();
  const names = useSearchNames();
  const [typed, setTyped] = useState(words.text);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setTyped(words.text), [words.text]);
  useEffect(() => field.current?.focus(), []);
  const ask = () => {
    const read = readTyped(typed, names);
    setTyped(read.text);
    onChange({ ...words, ...read });
  };
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <Group gap="xs" wrap="nowrap" align="flex-end">
        <TextInput
          ref={field}
          flex={1}
          type="search"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          leftSection={<Search size={16} aria-hidden="true" />}
          label={t('search.words')}
          description={t('search.how')}
          maxLength={SEARCH_LENGTH_MAX}
        />
        <Button type="submit">{t('search.send')}</Button>
      </Group>
    </form>
  );
}

/** A conversation by its whole title or the one that begins so; a person by username. */
function useSearchNames(): SearchNames {
  const { t } = useTranslation();
  const chat = useChat();
  return {
    conversation: (name) => {
      const wanted = name.toLocaleLowerCase();
      const titled = chat.inbox.rows.map(({ conversation }) => ({
        id: conversation.id,
        title: titleOf(chat, conversation, t).toLocaleLowerCase(),
      }));
      const exact = titled.find(({ title }) => title === wanted);
      return (exact ?? titled.find(({ title }) => title.startsWith(wanted)))?.id;
    },
    person: (name) => USERNAME.exec(name)?.[1]?.toLowerCase(),
  };
}

interface OutcomeProps {
  readonly found: ReturnType<typeof useFoundMessages>;
  readonly isAsked: boolean;
}

function Outcome({ found: { isSearching, items, more, next, refused }, isAsked }: OutcomeProps) {
  const { t } = useTranslation();
  const isOver = isAsked && !isSearching && refused === undefined && next === null;
  const said = !isAsked ? t('search.hint') : isOver && items.length === 0 ? t('search.nothing') : '';
  return (
    <Stack align="center" p="md" gap="xs">
      {refused !== undefined && (
        <Alert color="red" role="alert">
          {refused}
        </Alert>
      )}
      {isSearching && <Loader size="sm" role="img" aria-label={t('app.loading')} />}
      <Text c="dimmed" role="status">
        {isOver && items.length > 0 ? t('search.count', { count: items.length }) : said}
      </Text>
      {!isSearching && typeof next === 'string' && (
        <Button variant="default" onClick={more}>
          {t('browse.more')}
        </Button>
      )}
    </Stack>
  );
}
