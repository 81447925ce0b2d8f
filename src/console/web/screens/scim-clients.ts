/** Clients that provision people over SCIM: making them, their tokens, and handing people to them. */
import type { ItemOf } from '../console-api.ts';
import { confirmed } from '../dialog.ts';
import { badge, element, fill, part, workButton } from '../elements.ts';
import { form, input, select } from '../form.ts';
import { t, when, word } from '../language.ts';
import { Listing, loaded } from '../listing.ts';
import { shownOnce } from '../shown-once.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';

type Client = ItemOf<'get /scim-clients'>;

const TONES = { active: 'good', token_ended: 'bad' } as const;

export const scimClientsScreen: Screen = {
  path: 'scim-clients',
  title: 'scim.title',
  section: 'access',
  needs: 'access:write',
  isForVendors: false,
  show: (stage) => {
    const once = element('div');
    const listing = clientsListing(stage, once);
    const reload = async () => await listing.reload();
    return [
      element('p', { class: 'hint' }, t('scim.hint')),
      once,
      listing.element,
      part('scim.create', createForm(stage, once, reload)),
      part('scim.adopt', adoptPart(stage)),
    ];
  },
};

function clientsListing(stage: ScreenContext, once: HTMLElement): Listing<Client> {
  const listing: Listing<Client> = new Listing<Client>({
    caption: 'scim.title',
    empty: 'scim.empty',
    load: async () => await stage.call('get /scim-clients', {}),
    columns: [
      { head: 'column.name', cell: ({ name }) => name },
      { head: 'column.state', cell: ({ state }) => badge(word('state', state), TONES[state]) },
      { head: 'scim.people-max', cell: ({ people_max: most }) => String(most) },
      { head: 'scim.token-made', cell: ({ token_made_at: at }) => when(at) },
      {
        head: 'vendor.used',
        cell: ({ last_used_at: at, last_used_address: address }) =>
          at === null ? t('list.never') : [when(at), ' ', address],
      },
      {
        head: 'column.actions',
        cell: (client) => actionsOf(stage, once, client, async () => await listing.reload()),
      },
    ],
  });
  return listing;
}

function actionsOf(
  stage: ScreenContext,
  once: HTMLElement,
  { id, name }: Client,
  reload: () => Promise<void>,
): HTMLElement[] {
  const parameters = { id };
  const renew = workButton('scim.renew', stage.notices, async () => {
    if (!(await confirmed('scim.renew', t('scim.renew-asked', { name }), 'scim.renew'))) return;
    const { token } = await stage.call('post /scim-clients/:id/token', { parameters });
    showToken(once, token);
    await reload();
  });
  const remove = workButton(
    'scim.remove',
    stage.notices,
    async () => {
      if (!(await confirmed('scim.remove', t('scim.remove-asked', { name }), 'scim.remove'))) return;
      await stage.call('delete /scim-clients/:id', { parameters });
      stage.notices.say('notice.done');
      await reload();
    },
    { class: 'danger' },
  );
  return [renew, remove];
}

function showToken(once: HTMLElement, token: string): void {
  fill(once, shownOnce({ title: 'scim.token', hint: 'scim.token-hint', secret: token }));
  once.scrollIntoView();
}

function createForm(stage: ScreenContext, once: HTMLElement, reload: () => Promise<void>): HTMLElement {
  const name = input({ label: 'column.name', name: 'name', attributes: { required: true, maxlength: 100 } });
  const most = input({
    label: 'scim.people-max',
    name: 'people_max',
    attributes: { required: true, type: 'number', min: 1, max: 200_000, value: '10000' },
  });
  const send = async () => {
    const body = { name: name.value.trim(), people_max: Number(most.value) };
    const { token } = await stage.call('post /scim-clients', { body });
    showToken(once, token);
    name.value = '';
    await reload();
  };
  return form({ submit: 'action.create', parts: [name, most], send });
}

/** Handing somebody who is here to a client, and taking them back. */
function adoptPart(stage: ScreenContext): HTMLElement {
  return loaded(
    async () => (await stage.call('get /scim-clients', {})).items,
    (clients) => {
      const client = select({
        label: 'scim.client',
        name: 'client',
        choices: clients.map(({ id, name }) => ({ value: id, label: name })),
      });
      const attributes = { required: true, maxlength: 256, spellcheck: 'false', autocapitalize: 'none' };
      const user = input({ label: 'people.user', name: 'user', attributes });
      const named = input({
        label: 'scim.user-name',
        name: 'user_name',
        hint: 'scim.user-name-hint',
        attributes: { ...attributes, required: false },
      });
      const said = element('p', { role: 'status' });
      const send = async () => {
        const parameters = { id: client.value, user: user.value.trim() };
        const userName = named.value.trim();
        const path = '/scim-clients/:id/people/:user' as const;
        if (userName === '') await stage.call(`delete ${path}`, { parameters });
        else await stage.call(`put ${path}`, { parameters, body: { user_name: userName } });
        fill(said, t('notice.done'));
      };
      return [form({ submit: 'action.save', parts: [client, user, named], send }), said];
    },
  );
}
