/** Rooms and other things that are booked by inviting them: the list, and one with its rules. */
import { harmlessName } from '../../../kit/harmless-text.ts';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, BackLink, Facts, Hint, Part, ScreenLink } from '../../kit/facts.tsx';
import { allOf, NAME_FIELD, type Choice, type ValuesOf } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { formatNumber } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';

type Resource = ReplyOf<'get /resources/:resource'>;
type Group = ReplyOf<'get /groups'>['items'][number];

const KINDS = allOf<Resource['kind']>({ room: true, resource: true });
const BOOKERS = allOf<'everybody' | 'groups'>({ everybody: true, groups: true });
const CAPACITY_MAX = 100_000;
const MINUTES_MAX = 31 * 24 * 60;
const DAYS_MAX = 731;
const NEW: Omit<Resource, 'kind' | 'name' | 'rev' | 'user'> = {
  capacity: null,
  place: null,
  email: null,
  time_zone: 'UTC',
  booking_groups: null,
  duration_minutes_max: null,
  advance_days_max: 365,
  recurring: true,
};

export function ResourcesScreen() {
  const [user] = useScreenContext().place.rest;
  return user === undefined ? <ResourceList /> : <ResourcePage user={user} />;
}

/** The groups that may be named, without which nothing is made or changed. */
const groupsFor = async (context: ScreenContext) => (await context.call('get /groups', {})).items;

function ResourceList() {
  const context = useScreenContext();
  const list = useList(async () => await context.call('get /resources', {}));
  const groups = useLoaded(async () => await groupsFor(context));
  return (
    <>
      <Hint>{t('resources.hint')}</Hint>
      <DataTable
        caption="resources.title"
        empty="resources.empty"
        list={list}
        keyOf={({ user }) => user}
        columns={[
          { head: 'column.name', cell: ({ name, user }) => <ScreenLink to={`resources/${user}`}>{name}</ScreenLink> },
          { head: 'resources.kind', cell: ({ kind }) => word('resource', kind) },
          { head: 'resources.place', cell: ({ place }) => place ?? '' },
          {
            head: 'resources.capacity',
            isNumber: true,
            cell: ({ capacity }) => (capacity === null ? '' : formatNumber(capacity)),
          },
          { head: 'resources.bookers', cell: ({ booking_groups: ids }) => word('bookers', bookersOf(ids)) },
        ]}
      />
      {context.may('users:write') && (
        <Part title="resources.add">
          <LoadedPlace of={groups}>
            {(all) => (
              <FieldsForm
                fields={{ kind: KIND_FIELD(), ...fieldsOf({ ...NEW, name: '' }, all) }}
                submit="action.create"
                send={async ({ kind, ...values }) => {
                  const body = { kind: kind as Resource['kind'], ...readForm(values) };
                  const { user } = await context.call('post /resources', { body });
                  context.go(`resources/${user}`);
                }}
              />
            )}
          </LoadedPlace>
        </Part>
      )}
    </>
  );
}

function ResourcePage({ user }: { readonly user: string }) {
  const context = useScreenContext();
  const resource = useLoaded(
    async () => await context.call('get /resources/:resource', { parameters: { resource: user } }),
  );
  const groups = useLoaded(async () => await groupsFor(context));
  return (
    <>
      <BackLink to="resources" label="resources.back" />
      <LoadedPlace of={resource}>
        {(now) => (
          <>
            <h2>{harmlessName(now.name)}</h2>
            <Facts of={{ 'resources.kind': word('resource', now.kind), 'resources.user': now.user }} />
            <LoadedPlace of={groups}>
              {(all) => <Changes resource={now} groups={all} reload={resource.reload} />}
            </LoadedPlace>
          </>
        )}
      </LoadedPlace>
    </>
  );
}

interface ChangesProps {
  readonly resource: Resource;
  readonly groups: readonly Group[];
  readonly reload: () => Promise<void>;
}

function Changes({ groups, reload, resource }: ChangesProps) {
  const context = useScreenContext();
  const parameters = { resource: resource.user };
  if (!context.may('users:write')) return null;
  return (
    <>
      <Part title="resources.change">
        <Hint>{t('resources.change-hint')}</Hint>
        <FieldsForm
          key={resource.rev}
          fields={fieldsOf(resource, groups)}
          submit="action.save"
          send={async (values) => {
            // What somebody else changed meanwhile stays, where it is another field.
            const body = differencesOf(resource, readForm(values));
            if (Object.keys(body).length > 0) await context.call('patch /resources/:resource', { parameters, body });
            context.notices.say('notice.done');
            await reload();
          }}
        />
      </Part>
      <Actions>
        <Work
          label="resources.delete"
          isDanger
          ask={t('resources.delete-asked', { name: resource.name })}
          typed={resource.name.trim()}
          work={async () => {
            await context.call('delete /resources/:resource', { parameters });
            context.go('resources');
          }}
        />
      </Actions>
    </>
  );
}

const bookersOf = (groups: Resource['booking_groups']) => (groups === null ? 'everybody' : 'groups');

const choicesOf = (prefix: string, values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, label: word(prefix, value) }));

const KIND_FIELD = () => ({ kind: 'choice', label: 'resources.kind', choices: choicesOf('resource', KINDS) }) as const;

const numberText = (value: number | null): string => (value === null ? '' : String(value));

type Stated = Omit<Resource, 'kind' | 'rev' | 'user'>;

/** The fields as they stand, named as the server names them. */
function fieldsOf(stated: Stated, groups: readonly Group[]) {
  const named = stated.booking_groups ?? [];
  // A group that is not there any more is shown, to be taken out.
  const ids = [...groups.map(({ id, name }) => ({ value: id, label: name }))];
  const gone = named.filter((id) => !groups.some((group) => group.id === id)).map((id) => ({ value: id, label: id }));
  return {
    name: { ...NAME_FIELD, value: stated.name },
    place: { label: 'resources.place', maxLength: 200, value: stated.place ?? '' },
    capacity: {
      ...{ label: 'resources.capacity', hint: 'resources.capacity-hint', type: 'number', min: 1, max: CAPACITY_MAX },
      value: numberText(stated.capacity),
    },
    email: {
      label: 'resources.email',
      hint: 'resources.email-hint',
      type: 'email',
      maxLength: 254,
      value: stated.email ?? '',
    },
    time_zone: {
      label: 'resources.zone',
      hint: 'resources.zone-hint',
      isRequired: true,
      isName: true,
      value: stated.time_zone,
    },
    bookers: {
      ...{ kind: 'choice', label: 'resources.bookers', hint: 'resources.bookers-hint' },
      choices: choicesOf('bookers', BOOKERS),
      value: bookersOf(stated.booking_groups),
    },
    booking_groups: {
      ...{ kind: 'ticks', label: 'resources.groups', choices: [...ids, ...gone], ticked: named },
      isShown: ({ bookers }) => bookers === 'groups',
    },
    duration_minutes_max: {
      ...{ label: 'resources.minutes', hint: 'resources.minutes-hint', type: 'number', min: 5, max: MINUTES_MAX },
      value: numberText(stated.duration_minutes_max),
    },
    advance_days_max: {
      ...{
        label: 'resources.days',
        hint: 'resources.days-hint',
        type: 'number',
        min: 1,
        max: DAYS_MAX,
        isRequired: true,
      },
      value: String(stated.advance_days_max),
    },
    recurring: {
      ...{ kind: 'choice', label: 'resources.recurring', choices: choicesOf('switch', ['true', 'false']) },
      value: String(stated.recurring),
    },
  } as const satisfies Parameters<typeof FieldsForm>[0]['fields'];
}

function readForm({ bookers, recurring, ...values }: ValuesOf<ReturnType<typeof fieldsOf>>): Stated {
  const textOrNull = (value: string) => (value.trim() === '' ? null : value.trim());
  const numberOrNull = (value: string) => (value.trim() === '' ? null : Number(value));
  return {
    name: values.name.trim(),
    place: textOrNull(values.place),
    capacity: numberOrNull(values.capacity),
    email: textOrNull(values.email),
    time_zone: values.time_zone.trim(),
    booking_groups: bookers === 'everybody' ? null : [...values.booking_groups],
    duration_minutes_max: numberOrNull(values.duration_minutes_max),
    advance_days_max: Number(values.advance_days_max),
    recurring: recurring === 'true',
  };
}

/** The fields of a form that are other than they were. */
function differencesOf(before: Stated, after: Stated): Partial<Stated> {
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  const changed = Object.entries(after).filter(([name, value]) => !isSame(before[name as keyof Stated], value));
  return Object.fromEntries(changed);
}
