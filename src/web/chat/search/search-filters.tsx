/** What narrows a search: a conversation, a person, files alone, days. */
import { Checkbox, Group, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SEARCHED_NAME_LENGTH_MAX } from '#src/protocol/limits.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { titleOf } from '../conversation-words.ts';
import type { SearchWords } from './search-words.ts';

const FOUND_MAX = 20;

export interface SearchFiltersProps {
  readonly words: SearchWords;
  readonly onChange: (change: Partial<SearchWords>) => void;
}

export function SearchFilters({ words, onChange }: SearchFiltersProps) {
  const { t } = useTranslation();
  const { after = '', before = '', hasFile = false } = words;
  return (
    <Group gap="xs" align="flex-end" role="group" aria-label={t('search.filters')}>
      <InConversation words={words} onChange={onChange} />
      <FromPerson words={words} onChange={onChange} />
      <TextInput
        type="date"
        label={t('search.after')}
        value={after}
        onChange={(event) => onChange({ after: dayOrNone(event.currentTarget.value) })}
      />
      <TextInput
        type="date"
        label={t('search.before')}
        value={before}
        onChange={(event) => onChange({ before: dayOrNone(event.currentTarget.value) })}
      />
      <Checkbox
        label={t('search.hasFile')}
        checked={hasFile}
        onChange={(event) => onChange({ hasFile: event.currentTarget.checked || undefined })}
        mb={8}
      />
    </Group>
  );
}

/** What takes a filter away: an option as the others are, for whoever chooses by keys. */
const ANY = '';

function anyOf(chosen: string | undefined, label: string) {
  return chosen === undefined ? [] : [{ value: ANY, label }];
}

const dayOrNone = (text: string) => (text === '' ? undefined : text);

function InConversation({ words, onChange }: SearchFiltersProps) {
  const { t } = useTranslation();
  const chat = useChat();
  const rows = useObserved(chat.inbox, () => chat.inbox.rows);
  const titles = useObserved(chat.people, () =>
    JSON.stringify(rows.map(({ conversation }) => titleOf(chat, conversation, t))),
  );
  const named = JSON.parse(titles) as string[];
  const data = rows.map(({ conversation }, index) => ({ value: conversation.id, label: named[index] ?? '' }));
  const isKnown = words.conv === undefined || data.some(({ value }) => value === words.conv);
  const other = isKnown ? [] : [{ value: words.conv ?? '', label: t('list.untitled') }];
  return (
    <Select
      label={t('search.in')}
      placeholder={t('search.anywhere')}
      data={[...anyOf(words.conv, t('search.anywhere')), ...data, ...other]}
      value={words.conv ?? null}
      onChange={(conv) => onChange({ conv: conv === ANY ? undefined : (conv ?? undefined) })}
      limit={FOUND_MAX}
      searchable
      nothingFoundMessage={t('search.noConversation')}
    />
  );
}

/** People are found by the server, since a directory may be large. */
function FromPerson({ words, onChange }: SearchFiltersProps) {
  const { t } = useTranslation();
  const { client, me, people } = useChat();
  const [found, setFound] = useState<readonly { value: string; label: string }[]>([]);
  const chosen = words.from;
  const name = useObserved(people, () => (chosen === undefined ? '' : people.nameOf(chosen)));
  const own = useObserved(people, () => people.nameOf(me));
  const look = (query: string) => {
    if (query.trim() === '' || query === name) return setFound([]);
    client.directory.search(query, { limit: FOUND_MAX }).then(
      ({ items }) =>
        setFound(
          items.map(({ display_name, user }) => ({ value: user, label: harmlessName(display_name ?? user, user) })),
        ),
      // The field goes on offering whom it knows.
      () => undefined,
    );
  };
  const known = [
    ...anyOf(chosen, t('search.anybody')),
    { value: me, label: own },
    ...(chosen === undefined ? [] : [{ value: chosen, label: name }]),
    ...found,
  ];
  return (
    <Select
      label={t('search.from')}
      placeholder={t('search.anybody')}
      data={known.filter(({ value }, index) => known.findIndex((one) => one.value === value) === index)}
      value={chosen ?? null}
      onChange={(from) => onChange({ from: from === ANY ? undefined : (from ?? undefined) })}
      onSearchChange={look}
      maxLength={SEARCHED_NAME_LENGTH_MAX}
      // The server has matched already, by beginnings of words.
      filter={({ options }) => options}
      searchable
      nothingFoundMessage={t('people.nobody')}
    />
  );
}
