/** Groups of people: the list, and a group with its members (POL-01). */
import { harmlessName } from '../../../kit/harmless-text.ts';
import { DataTable, listOf, useList } from '../../kit/data-table.tsx';
import { Actions, BackLink, Part, ScreenLink } from '../../kit/facts.tsx';
import { allOf, NAME_FIELD } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { formatNumber, namesIn } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';

type Group = ReplyOf<'get /groups/:group'>;

const KINDS = allOf<Group['kind']>({ group: true, unit: true });
const MEMBERS_FIELD = { kind: 'text', label: 'groups.members', hint: 'groups.members-hint', isName: true } as const;

export function GroupsScreen() {
  const [group] = useScreenContext().place.rest;
  return group === undefined ? <GroupList /> : <GroupPage id={group} />;
}

function GroupList() {
  const context = useScreenContext();
  const list = useList(async () => await context.call('get /groups', {}));
  return (
    <>
      <DataTable
        caption="groups.title"
        empty="groups.empty"
        list={list}
        columns={[
          { head: 'column.name', cell: ({ id, name }) => <ScreenLink to={`groups/${id}`}>{name}</ScreenLink> },
          { head: 'groups.kind', cell: ({ kind }) => word('group', kind) },
          { head: 'groups.members', isNumber: true, cell: ({ member_count: count }) => formatNumber(count) },
        ]}
      />
      {context.may('users:write') && (
        <Part title="groups.add">
          <FieldsForm
            fields={{
              name: NAME_FIELD,
              kind: {
                kind: 'choice',
                label: 'groups.kind',
                choices: KINDS.map((value) => ({ value, label: word('group', value) })),
              },
              members: MEMBERS_FIELD,
            }}
            submit="action.create"
            send={async ({ kind, members, name }) => {
              const body = { name, kind: kind as Group['kind'], members: namesIn(members) };
              const { id } = await context.call('post /groups', { body });
              context.go(`groups/${id}`);
            }}
          />
        </Part>
      )}
    </>
  );
}

function GroupPage({ id }: { readonly id: string }) {
  const context = useScreenContext();
  const group = useLoaded(async () => await context.call('get /groups/:group', { parameters: { group: id } }));
  return (
    <>
      <BackLink to="groups" label="groups.back" />
      <LoadedPlace of={group}>{(now) => <GroupOfPeople group={now} reload={group.reload} />}</LoadedPlace>
    </>
  );
}

interface GroupProps {
  readonly group: Group;
  readonly reload: () => Promise<void>;
}

function GroupOfPeople({ group, reload }: GroupProps) {
  const context = useScreenContext();
  const parameters = { group: group.id };
  const mayWrite = context.may('users:write');
  const change = async (body: { name?: string; add?: string[]; remove?: string[] }) => {
    await context.call('patch /groups/:group', { parameters, body });
  };
  const said = async () => {
    context.notices.say('notice.done');
    await reload();
  };
  return (
    <>
      <h2>{harmlessName(group.name)}</h2>
      <DataTable
        caption="groups.members"
        empty="groups.no-members"
        list={listOf(group.members)}
        keyOf={(user) => user}
        columns={[
          {
            head: 'people.user',
            cell: (user) => <ScreenLink to={`people/${encodeURIComponent(user)}`}>{user}</ScreenLink>,
          },
          mayWrite && {
            head: 'column.actions',
            cell: (user) => (
              <Work label="groups.remove" size="xs" work={async () => await change({ remove: [user] })} done={reload} />
            ),
          },
        ]}
      />
      {mayWrite && <GroupChanges group={group} change={change} said={said} />}
    </>
  );
}

interface GroupChangesProps {
  readonly group: Group;
  readonly change: (body: { name?: string; add?: string[] }) => Promise<void>;
  readonly said: () => Promise<void>;
}

function GroupChanges({ change, group, said }: GroupChangesProps) {
  const context = useScreenContext();
  return (
    <>
      <Part title="groups.take-in">
        <FieldsForm
          fields={{ members: MEMBERS_FIELD }}
          submit="groups.take-in"
          isClearing
          send={async ({ members }) => {
            await change({ add: namesIn(members) });
            await said();
          }}
        />
      </Part>
      <Part title="groups.rename">
        <FieldsForm
          fields={{ name: { ...NAME_FIELD, value: group.name } }}
          submit="action.save"
          send={async ({ name }) => {
            await change({ name });
            await said();
          }}
        />
      </Part>
      <Actions>
        <Work
          label="groups.delete"
          isDanger
          ask={t('groups.delete-asked', { name: group.name })}
          typed={group.name.trim()}
          work={async () => {
            await context.call('delete /groups/:group', { parameters: { group: group.id } });
            context.go('groups');
          }}
        />
      </Actions>
    </>
  );
}
