/** Groups of people: the list, and a group with its members (POL-01). */
import type { ReplyOf } from '../../console-api.ts';
import { confirmed } from '../../dialog.ts';
import { element, link, part, workButton, type Child } from '../../elements.ts';
import { allOf, form, input, select, textarea } from '../../form.ts';
import { formatNumber, t, word } from '../../language.ts';
import { Listing, loaded } from '../../listing.ts';
import type { Screen, ScreenContext } from '../../screen-context.ts';

type Group = ReplyOf<'get /groups/:group'>;

export const groupsScreen: Screen = {
  path: 'groups',
  title: 'groups.title',
  section: 'people',
  needs: 'users:read',
  isForVendors: false,
  show: (stage) => {
    const [group] = stage.place.rest;
    return group === undefined ? showList(stage) : showGroup(stage, group);
  },
};

function showList(stage: ScreenContext): readonly Node[] {
  const listing = new Listing({
    caption: 'groups.title',
    empty: 'groups.empty',
    load: async () => await stage.call('get /groups', {}),
    columns: [
      { head: 'column.name', cell: ({ id, name }) => link(`groups/${id}`, name) },
      { head: 'groups.kind', cell: ({ kind }) => word('group', kind) },
      { head: 'groups.members', cell: ({ member_count: count }) => formatNumber(count) },
    ],
  });
  if (!stage.may('users:write')) return [listing.element];
  const name = nameField('');
  const members = membersField();
  const kind = select({
    label: 'groups.kind',
    name: 'kind',
    choices: allOf<Group['kind']>({ group: true, unit: true }).map((value) => ({ value, label: word('group', value) })),
  });
  const send = async () => {
    const body = { name: name.value, kind: kind.value as Group['kind'], members: namesIn(members.value) };
    const { id } = await stage.call('post /groups', { body });
    stage.go(`groups/${id}`);
  };
  return [listing.element, part('groups.add', form({ submit: 'action.create', parts: [name, kind, members], send }))];
}

function showGroup(stage: ScreenContext, id: string): readonly Node[] {
  const parameters = { group: id };
  const body = loaded(
    async () => await stage.call('get /groups/:group', { parameters }),
    (group) => show(stage, group, () => body.reload()),
  );
  return [element('p', {}, link('groups', t('groups.back'))), body];
}

function show(stage: ScreenContext, group: Group, reload: () => void): Child[] {
  const parameters = { group: group.id };
  const mayWrite = stage.may('users:write');
  const change = async (body: { name?: string; add?: string[]; remove?: string[] }) => {
    await stage.call('patch /groups/:group', { parameters, body });
    stage.notices.say('notice.done');
    reload();
  };
  const members = new Listing({
    caption: 'groups.members',
    empty: 'groups.no-members',
    load: async () => ({ items: group.members, next: null }),
    columns: [
      { head: 'people.user', cell: (user) => link(`people/${encodeURIComponent(user)}`, user) },
      {
        head: 'column.actions',
        cell: (user) =>
          mayWrite && workButton('groups.remove', stage.notices, async () => await change({ remove: [user] })),
      },
    ],
  });
  if (!mayWrite) return [element('h2', {}, group.name), members.element];
  const name = nameField(group.name);
  const added = membersField();
  const remove = workButton(
    'groups.delete',
    stage.notices,
    async () => {
      if (!(await confirmed('groups.delete', t('groups.delete-asked', { name: group.name }), 'groups.delete'))) return;
      await stage.call('delete /groups/:group', { parameters });
      stage.go('groups');
    },
    { class: 'danger' },
  );
  return [
    element('h2', {}, group.name),
    members.element,
    part(
      'groups.take-in',
      form({ submit: 'groups.take-in', parts: [added], send: async () => await change({ add: namesIn(added.value) }) }),
    ),
    part(
      'groups.rename',
      form({ submit: 'action.save', parts: [name], send: async () => await change({ name: name.value }) }),
    ),
    element('div', { class: 'actions' }, remove),
  ];
}

function nameField(value: string) {
  return input({ label: 'column.name', name: 'name', attributes: { required: true, maxlength: 100, value } });
}

function membersField() {
  return textarea({
    label: 'groups.members',
    name: 'members',
    hint: 'groups.members-hint',
    attributes: { spellcheck: 'false' },
  });
}

/** Names between blanks or commas, each once. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((name) => name !== ''))];
}
