/** Conversations: which there are, who is in them, owners for rooms that were left, archiving. Never what is said. */
import { useState } from 'react';
import { harmlessName } from '../../../kit/harmless-text.ts';
import { DataTable, useList, type Column } from '../../kit/data-table.tsx';
import { Actions, BackLink, Facts, Part, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import { USER_FIELD, type FieldSpecs } from '../../kit/field-specs.ts';
import { FieldsForm, Filters } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf, ReplyOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { formatNumber, given } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';
import { ArchiveActions } from './archive-actions.tsx';

type Registered = ReplyOf<'get /conversations/:id'>;
type Participant = ItemOf<'get /conversations/:id/participants'>;

export function ConversationsScreen() {
  const [id] = useScreenContext().place.rest;
  return id === undefined ? <ConversationList /> : <ConversationPage id={id} />;
}

const COLUMNS: readonly Column<Registered>[] = [
  {
    head: 'conversations.name',
    cell: (one) => <ScreenLink to={`conversations/${one.id}`}>{nameOf(one)}</ScreenLink>,
  },
  { head: 'people.kind', cell: ({ kind }) => word('conversation', kind) },
  { head: 'column.state', cell: (one) => <ConversationState of={one} /> },
  { head: 'groups.members', isNumber: true, cell: (one) => formatNumber(one.participant_count) },
  { head: 'conversations.messages', isNumber: true, cell: ({ messages }) => formatNumber(messages) },
  { head: 'conversations.active', cell: ({ last_activity_at: at }) => <When at={at} /> },
];

function filterFields() {
  return {
    q: { label: 'conversations.find', hint: 'conversations.find-hint', type: 'search', maxLength: 100 },
    which: {
      kind: 'choice',
      label: 'conversations.which',
      choices: [
        { value: '', label: t('conversations.all') },
        { value: 'room', label: word('conversation', 'room') },
        { value: 'direct', label: word('conversation', 'direct') },
        { value: 'secret', label: word('conversation', 'secret') },
        { value: 'orphaned', label: t('conversations.orphaned') },
      ],
    },
    sort: {
      kind: 'choice',
      label: 'people.order',
      choices: [
        { value: 'activity', label: t('conversations.by-activity') },
        { value: 'created', label: t('conversations.by-created') },
        { value: 'members', label: t('conversations.by-members') },
        { value: 'title', label: t('conversations.by-title') },
      ],
    },
  } as const satisfies FieldSpecs;
}

function ConversationList() {
  const context = useScreenContext();
  const { query } = context.place;
  const [asked, setAsked] = useState({
    q: query.get('q') ?? '',
    which: query.get('which') ?? '',
    sort: query.get('sort') ?? 'activity',
  });
  const which = asked.which === '' ? {} : asked.which === 'orphaned' ? { orphaned: 'true' } : { kind: asked.which };
  const list = useList<Registered>(
    async (after) =>
      await context.call('get /conversations', { query: { after, q: given(asked.q), ...which, sort: asked.sort } }),
    Object.values(asked),
  );
  return (
    <>
      <Filters
        fields={filterFields()}
        values={asked}
        onChange={(next) => {
          context.keepQuery(next);
          setAsked(next);
        }}
      />
      <DataTable
        caption="conversations.title"
        empty="conversations.empty"
        list={list}
        keyOf={({ id }) => id}
        bulk={
          context.may('conversations:write')
            ? (chosen, clear) => (
                <ArchiveActions
                  rooms={chosen}
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

function nameOf({ kind, title }: Pick<Registered, 'kind' | 'title'>): string {
  return title ?? (kind === 'room' ? t('conversations.untitled') : word('conversation', kind));
}

function ConversationState({ of: { archived_at: archived, orphaned, visibility } }: { readonly of: Registered }) {
  if (orphaned) return <StateBadge tone="bad">{t('conversations.orphaned')}</StateBadge>;
  if (archived !== undefined) return <StateBadge tone="warning">{t('conversations.archived')}</StateBadge>;
  return visibility === undefined ? '—' : <StateBadge tone="good">{t('conversations.public')}</StateBadge>;
}

function ConversationPage({ id }: { readonly id: string }) {
  const context = useScreenContext();
  const conversation = useLoaded(async () => await context.call('get /conversations/:id', { parameters: { id } }));
  return (
    <>
      <BackLink to="conversations" label="conversations.back" />
      <LoadedPlace of={conversation}>{(one) => <Conversation one={one} reload={conversation.reload} />}</LoadedPlace>
    </>
  );
}

interface ConversationProps {
  readonly one: Registered;
  readonly reload: () => Promise<void>;
}

function Conversation({ one, reload }: ConversationProps) {
  const context = useScreenContext();
  const mayWrite = context.may('conversations:write');
  return (
    <>
      <h2>{harmlessName(nameOf(one))}</h2>
      <Facts
        of={{
          'people.kind': word('conversation', one.kind),
          'conversations.topic': one.topic,
          'conversations.purpose': one.purpose,
          'column.state': <ConversationState of={one} />,
          'people.created': <When at={one.created_at} />,
          'conversations.active': <When at={one.last_activity_at} />,
          'conversations.messages': formatNumber(one.messages),
        }}
      />
      {one.kind === 'room' && mayWrite && <RoomButtons one={one} reload={reload} />}
      {one.orphaned && mayWrite && (
        <Part title="conversations.give">
          <FieldsForm
            fields={{ user: USER_FIELD }}
            submit="conversations.give"
            send={async ({ user }) => {
              const parameters = { id: one.id };
              await context.call('put /conversations/:id/owner', { parameters, body: { user: user.trim() } });
              context.notices.say('notice.done');
              await reload();
            }}
          />
        </Part>
      )}
      <Members id={one.id} />
    </>
  );
}

function Members({ id }: { readonly id: string }) {
  const context = useScreenContext();
  const list = useList<Participant>(
    async (after) =>
      await context.call('get /conversations/:id/participants', { parameters: { id }, query: { after } }),
  );
  return (
    <DataTable
      caption="groups.members"
      empty="groups.no-members"
      list={list}
      columns={[
        {
          head: 'people.user',
          cell: ({ user }) => <ScreenLink to={`people/${encodeURIComponent(user)}`}>{user}</ScreenLink>,
        },
        { head: 'conversations.role', cell: ({ role }) => word('member', role) },
      ]}
    />
  );
}

function RoomButtons({ one: { archived_at: since, avatar, id }, reload }: ConversationProps) {
  const context = useScreenContext();
  const isArchived = since !== undefined;
  const parameters = { id };
  return (
    <Actions>
      <Work
        label={isArchived ? 'conversations.bring-back' : 'conversations.archive'}
        ask={isArchived ? undefined : t('conversations.archive-asked')}
        work={async () =>
          await context.call('put /conversations/:id/archived', { parameters, body: { archived: !isArchived } })
        }
        done={reload}
      />
      {avatar !== undefined && (
        <Work
          label="people.remove-avatar"
          work={async () => await context.call('delete /conversations/:id/avatar', { parameters })}
          done={reload}
        />
      )}
    </Actions>
  );
}
