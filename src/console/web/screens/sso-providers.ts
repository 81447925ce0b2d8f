/** The providers that people sign in at with their apps: what is set, changing them, and whose account is whose (CRD-13). */
import type { Input, ItemOf } from '../console-api.ts';
import { confirmed } from '../dialog.ts';
import { badge, element, fill, link, part, workButton, type Child } from '../elements.ts';
import { form, input } from '../form.ts';
import { t } from '../language.ts';
import { Listing, loaded } from '../listing.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';
import { SettingControl, type SettingKind } from './settings.ts';

type Provider = ItemOf<'get /sso/providers'>;

/** The settings of a provider, by the API's own names. */
const KINDS: Readonly<Record<Exclude<keyof Provider, 'id' | 'logout_uri' | 'redirect_uri'>, SettingKind>> = {
  name: 'line',
  issuer: 'line',
  client_id: 'line',
  client_secret: 'secret',
  scope: 'line',
  username_claim: 'line',
  groups_claim: 'line',
  groups: 'map',
  creates_people: 'switch',
  bind_by_email: 'switch',
};

export const ssoProvidersScreen: Screen = {
  path: 'sso-providers',
  title: 'sso-providers.title',
  section: 'access',
  needs: 'settings:read',
  isForVendors: true,
  show: (stage) => {
    const [id] = stage.place.rest;
    return id === undefined ? showList(stage) : showProvider(stage, id);
  },
};

function showList(stage: ScreenContext): readonly Node[] {
  const listing = new Listing<Provider>({
    caption: 'sso-providers.title',
    empty: 'sso-providers.empty',
    load: async () => await stage.call('get /sso/providers', {}),
    columns: [
      { head: 'column.name', cell: ({ id, name }) => link(`sso-providers/${id}`, name) },
      { head: 'identity.issuer', cell: ({ issuer }) => element('code', {}, issuer) },
      {
        head: 'sso-providers.creates',
        cell: ({ creates_people: makes }) => badge(t(makes ? 'sso-providers.yes' : 'sso-providers.no'), 'plain'),
      },
    ],
  });
  if (!stage.may('access:write')) return [listing.element];
  const id = input({
    label: 'sso-providers.id',
    name: 'provider',
    hint: 'sso-providers.id-hint',
    attributes: { required: true, maxlength: 32, spellcheck: 'false', autocapitalize: 'none' },
  });
  const send = async () => {
    stage.go(`sso-providers/${id.value.trim()}`);
    await Promise.resolve();
  };
  return [listing.element, part('sso-providers.add', form({ submit: 'action.create', parts: [id], send }))];
}

function showProvider(stage: ScreenContext, id: string): readonly Node[] {
  const body = loaded(
    async () => (await stage.call('get /sso/providers', {})).items.find((each) => each.id === id),
    (provider) => show(stage, id, provider, () => body.reload()),
  );
  return [element('p', {}, link('sso-providers', t('sso-providers.back'))), body];
}

function show(stage: ScreenContext, id: string, provider: Provider | undefined, reload: () => void): Child[] {
  const parameters = { provider: id };
  const addresses =
    provider !== undefined &&
    element(
      'div',
      {},
      element('p', {}, t('sso-providers.addresses')),
      element(
        'ul',
        {},
        [provider.redirect_uri, provider.logout_uri].map((uri) => element('li', {}, element('code', {}, uri))),
      ),
    );
  const head = [element('h2', {}, provider?.name ?? id), addresses];
  if (!stage.may('access:write')) return head;
  const controls = Object.entries(KINDS).map(
    ([field, kind]) => new SettingControl(field, kind, provider?.[field as keyof Provider]),
  );
  const send = async () => {
    const changes = new Map(controls.flatMap((control) => control.change()));
    // The form is whole: what was not changed stays as it is, and what was emptied is left out.
    const fields = Object.keys(KINDS).flatMap((field) => {
      const isSecret = field === 'client_secret';
      const value = changes.has(field)
        ? changes.get(field)
        : isSecret
          ? undefined
          : provider?.[field as keyof Provider];
      return value === undefined || (value === null && !isSecret) ? [] : [[field, value]];
    });
    const body = Object.fromEntries(fields) as Input<'put /sso/providers/:provider'>['body'];
    const { dropped } = await stage.call('put /sso/providers/:provider', { parameters, body });
    if (dropped.length === 0) stage.notices.say('notice.done');
    else stage.notices.say('settings.dropped', { fields: 'client secret' });
    reload();
  };
  const remove = workButton(
    'sso-providers.remove',
    stage.notices,
    async () => {
      if (
        !(await confirmed(
          'sso-providers.remove',
          t('sso-providers.remove-asked', { name: id }),
          'sso-providers.remove',
        ))
      )
        return;
      await stage.call('delete /sso/providers/:provider', { parameters });
      stage.go('sso-providers');
    },
    { class: 'danger' },
  );
  return [
    ...head,
    form({ submit: 'action.save', parts: controls.flatMap((control) => control.parts), send }),
    provider !== undefined && element('div', { class: 'actions' }, remove),
    provider !== undefined && bindingPart(stage, id),
  ];
}

/** Binding a person to an account of the provider, and taking that away. */
function bindingPart(stage: ScreenContext, provider: string): HTMLElement {
  const attributes = { required: true, maxlength: 255, spellcheck: 'false', autocapitalize: 'none' };
  const user = input({ label: 'people.user', name: 'user', attributes });
  const subject = input({
    label: 'identity.subject',
    name: 'subject',
    hint: 'sso-providers.subject-hint',
    attributes: { ...attributes, required: false },
  });
  const said = element('p', { role: 'status' });
  const send = async () => {
    const parameters = { provider, user: user.value.trim() };
    const body = { subject: subject.value.trim() };
    const path = '/sso/providers/:provider/identities/:user' as const;
    if (body.subject === '') await stage.call(`delete ${path}`, { parameters });
    else await stage.call(`put ${path}`, { parameters, body });
    fill(said, t('notice.done'));
  };
  return part('sso-providers.bind', form({ submit: 'action.save', parts: [user, subject], send }), said);
}
