/** Access policies: who may see, message, call and invite whom, in the order in which they are tried (POL-01). */
import type { ItemOf, ReplyOf } from '../../console-api.ts';
import { confirmed } from '../../dialog.ts';
import { badge, element, link, part, workButton } from '../../elements.ts';
import { allOf, form, select, type Choice } from '../../form.ts';
import { t, word } from '../../language.ts';
import { Listing, loaded } from '../../listing.ts';
import type { Screen, ScreenContext } from '../../screen-context.ts';

type Policy = ItemOf<'get /policies'>;
type Groups = ReplyOf<'get /groups'>['items'];

const ACTIONS = allOf<Policy['action']>({ see: true, message: true, call: true, invite: true });
const EFFECTS = allOf<Policy['effect']>({ allow: true, deny: true });
const CROWDS = ['everyone', 'people', 'guests'] as const;

export const policiesScreen: Screen = {
  path: 'policies',
  title: 'policies.title',
  section: 'people',
  needs: 'users:read',
  isForVendors: false,
  show: (stage) => [
    element('p', { class: 'hint' }, t('policies.hint')),
    element('p', {}, link('settings/room-invitations', t('policies.invitations'))),
    loaded(
      async () => (await stage.call('get /groups', {})).items,
      (groups) => show(stage, groups),
    ),
  ],
};

function show(stage: ScreenContext, groups: Groups): Node[] {
  const mayWrite = stage.may('users:write');
  const nameOf = (selector: string) => groups.find(({ id }) => id === selector)?.name ?? word('crowd', selector);
  const listing: Listing<Policy> = new Listing<Policy>({
    caption: 'policies.title',
    empty: 'policies.empty',
    load: async () => await stage.call('get /policies', {}),
    columns: [
      { head: 'policies.position', cell: ({ position }) => position },
      {
        head: 'policies.effect',
        cell: ({ effect }) => badge(word('effect', effect), effect === 'allow' ? 'good' : 'bad'),
      },
      { head: 'policies.from', cell: ({ from }) => nameOf(from) },
      { head: 'policies.action', cell: ({ action }) => word('policy', action) },
      { head: 'policies.to', cell: ({ to }) => nameOf(to) },
      {
        head: 'column.actions',
        cell: (policy) => mayWrite && rowActions(stage, policy, async () => await listing.reload()),
      },
    ],
  });
  if (!mayWrite) return [listing.element];
  return [
    listing.element,
    part(
      'policies.add',
      addForm(stage, groups, async () => await listing.reload()),
    ),
  ];
}

function rowActions(stage: ScreenContext, { id, position }: Policy, reload: () => Promise<void>): Node[] {
  const parameters = { policy: id };
  const up = workButton('policies.up', stage.notices, async () => {
    await stage.call('patch /policies/:policy', { parameters, body: { position: position - 1 } });
    await reload();
  });
  const remove = workButton('action.delete', stage.notices, async () => {
    if (!(await confirmed('policies.delete', t('policies.delete-asked', { position }), 'action.delete'))) return;
    await stage.call('delete /policies/:policy', { parameters });
    stage.notices.say('notice.done');
    await reload();
  });
  return position > 1 ? [up, remove] : [remove];
}

function addForm(stage: ScreenContext, groups: Groups, reload: () => Promise<void>): HTMLElement {
  const crowds: Choice[] = [
    ...CROWDS.map((value) => ({ value, label: word('crowd', value) })),
    ...groups.map(({ id, name }) => ({ value: id, label: name })),
  ];
  const effect = select({
    label: 'policies.effect',
    name: 'effect',
    choices: EFFECTS.map((value) => ({ value, label: word('effect', value) })),
  });
  const from = select({ label: 'policies.from', name: 'from', choices: crowds });
  const action = select({
    label: 'policies.action',
    name: 'action',
    choices: ACTIONS.map((value) => ({ value, label: word('policy', value) })),
  });
  const to = select({ label: 'policies.to', name: 'to', choices: crowds });
  const send = async () => {
    const body = {
      action: action.value as Policy['action'],
      effect: effect.value as Policy['effect'],
      from: from.value,
      to: to.value,
    };
    await stage.call('post /policies', { body });
    stage.notices.say('notice.done');
    await reload();
  };
  return form({ submit: 'action.create', parts: [effect, from, action, to], send });
}
