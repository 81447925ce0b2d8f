/** People: who there is, inviting more, and what is done with several at once (DIR-01). A person's own page is `person.tsx`. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { DataTable, useList, type Column } from '../../kit/data-table.tsx';
import { Actions, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import type { FieldSpecs } from '../../kit/field-specs.ts';
import { Filters } from '../../kit/fields-form.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { given } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';
import { BulkActions } from './bulk-actions.tsx';
import { invite } from './invitation.tsx';
import { importPeople } from './people-import.tsx';
import { PersonPage } from './person.tsx';

type User = ItemOf<'get /users'>;

const TONES = { active: 'good', blocked: 'bad', left: 'plain', over: 'plain' } as const;

export function PeopleScreen() {
  const [username] = useScreenContext().place.rest;
  return username === undefined ? <PeopleList /> : <PersonPage username={username} />;
}

const COLUMNS: readonly Column<User>[] = [
  {
    head: 'people.user',
    cell: ({ user }) => <ScreenLink to={`people/${encodeURIComponent(user)}`}>{user}</ScreenLink>,
  },
  { head: 'people.name', cell: ({ display_name: name }) => name },
  {
    head: 'column.state',
    cell: ({ state }) => <StateBadge tone={TONES[state]}>{word('state', state)}</StateBadge>,
  },
  { head: 'people.kind', cell: ({ kind, role }) => word('kind', role === 'owner' ? 'owner' : kind) },
  { head: 'people.email', cell: ({ email }) => email },
  { head: 'people.groups', cell: ({ groups }) => groups.map(({ name }) => name).join(', ') },
  { head: 'people.created', cell: ({ created_at: at }) => <When at={at} /> },
];

function filterFields() {
  return {
    text: { label: 'people.filter', hint: 'people.filter-hint', type: 'search', maxLength: 100 },
    sort: {
      kind: 'choice',
      label: 'people.order',
      choices: [
        { value: '', label: t('people.order-best') },
        { value: 'user', label: t('people.order-user') },
        { value: 'name', label: t('people.order-name') },
        { value: 'changed', label: t('people.order-changed') },
      ],
    },
  } as const satisfies FieldSpecs;
}

function PeopleList() {
  const context = useScreenContext();
  const { query } = context.place;
  const [asked, setAsked] = useState({ text: query.get('text') ?? '', sort: query.get('sort') ?? '' });
  const list = useList<User>(
    async (after) =>
      await context.call('get /users', {
        query: { after, q: given(asked.text), ...(asked.sort === '' ? {} : { sort: asked.sort }) },
      }),
    [asked.text, asked.sort],
  );
  const mayWrite = context.may('users:write');
  return (
    <>
      {mayWrite && (
        <Actions>
          <Button onClick={() => invite(context)}>{t('people.invite')}</Button>
          <Button variant="default" onClick={() => importPeople(context)}>
            {t('import.title')}
          </Button>
        </Actions>
      )}
      <Filters
        fields={filterFields()}
        values={asked}
        onChange={(next) => {
          context.keepQuery(next);
          setAsked(next);
        }}
      />
      <DataTable
        caption="people.title"
        empty="people.empty"
        list={list}
        keyOf={({ user }) => user}
        bulk={
          mayWrite
            ? (chosen, clear) => (
                <BulkActions
                  people={chosen}
                  done={() => {
                    clear();
                    void list.reload();
                  }}
                />
              )
            : undefined
        }
        columns={COLUMNS}
      />
    </>
  );
}
