/** The screens of settings: what is set, of secrets only that they are; changing and trying it (CON-02, VND-10). */
import type { SETTING_SCREENS, SettingScreenName } from '#src/settings/setting-screens.ts';
import type { SettingChanges, SettingsView } from '../console-api.ts';
import { badge, element, facts, fill, link, workButton, type Child } from '../elements.ts';
import { type Field, form, input, select, textarea, Ticks } from '../form.ts';
import { t, when, word } from '../language.ts';
import { loaded } from '../listing.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';
import { retentionPart } from './retention.ts';

/** How a value is asked for: a line, a whole number, yes or no, a text of several lines, the same as a secret, names mapped to roles, or one of a few. */
export type SettingKind = 'line' | 'number' | 'switch' | 'text' | 'secret' | 'secret-text' | 'map' | readonly string[];
type Kinds = {
  readonly [Name in SettingScreenName]: {
    readonly [FieldName in keyof (typeof SETTING_SCREENS)[Name]['fields']]: SettingKind;
  };
};

const SOURCES = ['local', 'identity'] as const;

/** Every field of every screen: one that is missing here does not compile. */
export const SETTING_KINDS: Kinds = {
  sso: {
    issuer: 'line',
    client_id: 'line',
    client_secret: 'secret',
    redirect_uri: 'line',
    scope: 'line',
    username_claim: 'line',
    roles_claim: 'line',
    groups_claim: 'line',
    roles: 'map',
    groups: 'map',
    bind_by_email: 'switch',
  },
  'sign-in': { sign_in_mode: SOURCES, platform_token: SOURCES, app_redirects: 'line' },
  'second-factors': { everybody: 'switch', groups: 'line', grace_days: 'number', exempt_providers: 'switch' },
  apns: {
    team_id: 'line',
    key_id: 'line',
    topic: 'line',
    environment: ['production', 'sandbox'],
    private_key: 'secret-text',
  },
  fcm: { project_id: 'line', service_account: 'secret-text' },
  turn: { uris: 'line', secret: 'secret', credential_seconds: 'number' },
  'ai-keys': { base_url: 'line', model: 'line', api_key: 'secret' },
  simpleone: { base_url: 'line', username: 'line', password: 'secret' },
  hrms: { base_url: 'line', api_token: 'secret' },
  ldap: {
    url: 'line',
    start_tls: 'switch',
    certificate: 'text',
    bind_dn: 'line',
    bind_password: 'secret',
    base_dn: 'line',
    user_filter: 'line',
    username_attribute: 'line',
    id_attribute: 'line',
    name_attribute: 'line',
    mail_attribute: 'line',
    group_base_dn: 'line',
    group_filter: 'line',
    creates_people: 'switch',
    sync_seconds: 'number',
    block_percent_max: 'number',
  },
  'external-stores': {
    endpoint: 'line',
    region: 'line',
    bucket: 'line',
    access_key_id: 'line',
    secret_access_key: 'secret',
    keeps_attachments: 'switch',
  },
  tls: { certificate: 'text', private_key: 'secret-text' },
  mail: {
    domain: 'line',
    dkim_selector: 'line',
    spf: 'line',
    dmarc_policy: ['none', 'quarantine', 'reject'],
    dmarc_reports: 'line',
    trusted_authserv_id: 'line',
    trusted_hops: 'number',
    trusted_agents: 'line',
    smtp_host: 'line',
    smtp_port: 'number',
    smtp_security: ['starttls', 'tls', 'none'],
    smtp_username: 'line',
    smtp_password: 'secret',
    language: ['en', 'ru'],
    from: 'line',
  },
  retention: { seconds: 'number' },
  profiles: {
    display_name: 'switch',
    title: 'switch',
    phone: 'switch',
    time_zone: 'switch',
    language: 'switch',
    status: 'switch',
    avatar: 'switch',
  },
  'room-invitations': { unasked_up_to: 'number', guests: ['asked', 'unasked'] },
  'custom-emoji': { everybody: 'switch', groups: 'line' },
  guests: { everybody: 'switch', groups: 'line', term_days: 'number', per_person: 'number' },
  quotas: {
    messages: 'number',
    message_bytes: 'number',
    attachment_bytes: 'number',
    rooms: 'number',
    meetings: 'number',
    calendars: 'number',
    calendar_entries: 'number',
    calendar_bytes: 'number',
    sign_ins: 'number',
    devices: 'number',
    installation_messages: 'number',
    installation_message_bytes: 'number',
    installation_attachment_bytes: 'number',
    installation_rooms: 'number',
    installation_meetings: 'number',
    installation_calendar_entries: 'number',
    installation_calendar_bytes: 'number',
  },
};

/** The screens that owners alone change. */
type Owners = {
  [Name in SettingScreenName]: (typeof SETTING_SCREENS)[Name] extends { readonly isOwners: true } ? Name : never;
}[SettingScreenName];
const OWNERS: Readonly<Record<Owners, true>> = {
  sso: true,
  'sign-in': true,
  'second-factors': true,
  ldap: true,
  'external-stores': true,
  retention: true,
};

type Testable = {
  [Name in SettingScreenName]: (typeof SETTING_SCREENS)[Name] extends { readonly isTestable: true } ? Name : never;
}[SettingScreenName];
const TESTABLE: Readonly<Record<Testable, true>> = { ldap: true, 'external-stores': true, tls: true, mail: true };

const NAMES = Object.keys(SETTING_KINDS) as SettingScreenName[];

export const settingsScreen: Screen = {
  path: 'settings',
  title: 'settings.title',
  section: 'access',
  needs: 'settings:read',
  isForVendors: true,
  show: (stage) => {
    const name = NAMES.find((each) => each === stage.place.rest[0]);
    if (name !== undefined) return showSettings(stage, name);
    const items = NAMES.map((each) => element('li', {}, link(`settings/${each}`, word('settings', each))));
    return [element('ul', {}, items)];
  },
};

function showSettings(stage: ScreenContext, name: SettingScreenName): readonly Node[] {
  const body = loaded(
    async () => await stage.api.settings(name, undefined, stage.signal),
    (view) => show(stage, name, view, () => body.reload()),
  );
  return [element('p', {}, link('settings', t('settings.back'))), body];
}

function show(stage: ScreenContext, name: SettingScreenName, view: SettingsView, reload: () => void): Child[] {
  const { changed_at: at, changed_by: by, effect, is_complete: isComplete, read_by: reader, say } = view;
  const head = [
    element('h2', {}, word('settings', name)),
    element('p', { lang: 'en' }, say),
    facts(
      [
        'column.state',
        badge(t(isComplete ? 'settings.complete' : 'settings.incomplete'), isComplete ? 'good' : 'warning'),
      ],
      ['settings.read-by', element('span', { lang: 'en' }, reader)],
      ['settings.effect', element('span', { lang: 'en' }, effect)],
      ['settings.changed', at === null ? t('list.never') : [when(at), ' ', by]],
    ),
  ];
  if (name === 'retention') return [...head, retentionPart(stage, reload)];
  const kinds = Object.entries<SettingKind>(SETTING_KINDS[name]);
  if (!stage.may(name in OWNERS ? 'access:write' : 'settings:write')) {
    const rows = kinds.map(([field]) =>
      element('div', {}, element('dt', {}, labelOf(field)), element('dd', {}, textOf(view.values[field]))),
    );
    return [...head, element('dl', { class: 'facts' }, rows)];
  }
  const controls = kinds.map(([field, kind]) => new SettingControl(field, kind, view.values[field]));
  const send = async () => {
    const changes = controls.flatMap((control) => control.change());
    const { dropped } = await stage.api.settings(name, Object.fromEntries(changes), stage.signal);
    if (dropped.length === 0) stage.notices.say('notice.done');
    else stage.notices.say('settings.dropped', { fields: dropped.map(labelOf).join(', ') });
    reload();
  };
  const parts = controls.flatMap((control) => control.parts);
  return [...head, form({ submit: 'action.save', parts, send }), name in TESTABLE && testPart(stage, name)];
}

/** Trying what is saved. */
function testPart(stage: ScreenContext, name: SettingScreenName): HTMLElement {
  const said = element('p', { role: 'status' });
  const test = workButton('settings.test', stage.notices, async () => {
    const { detail, expires_at: until, ok } = await stage.api.testSettings(name, stage.signal);
    fill(said, badge(t(ok ? 'settings.works' : 'settings.fails'), ok ? 'good' : 'bad'), ' ', detail, ' ', when(until));
  });
  return element('div', {}, element('div', { class: 'actions' }, test), said);
}

/** One setting: its control, and what was changed by it. */
export class SettingControl {
  readonly #name: string;
  readonly #kind: SettingKind;
  readonly #field: Field;
  readonly #before: string;
  /** A secret is not shown, so that emptying its field cannot be what takes it away. */
  readonly #remove: Ticks | undefined;

  constructor(name: string, kind: SettingKind, value: unknown) {
    this.#name = name;
    this.#kind = kind;
    const isSecret = kind === 'secret' || kind === 'secret-text';
    this.#before = isSecret ? '' : writtenOf(value);
    this.#field = fieldOf(name, kind, this.#before);
    const removal = [{ value: 'remove', label: t('settings.remove') }];
    this.#remove = isSecret && isSet(value) ? new Ticks('settings.secret-set', removal) : undefined;
  }

  get parts(): readonly (Field | Ticks)[] {
    return this.#remove === undefined ? [this.#field] : [this.#field, this.#remove];
  }

  /** The entry of a change; none where nothing was changed. */
  change(): readonly [name: string, value: SettingChanges[string]][] {
    const written = this.#field.value;
    if (written === this.#before) return this.#remove?.values.length === 1 ? [[this.#name, null]] : [];
    if (written.trim() === '') return [[this.#name, null]];
    if (this.#kind === 'switch') return [[this.#name, written === 'true']];
    // What is no number goes as it was written, and is refused with the field's name.
    if (this.#kind === 'number') return [[this.#name, /^\d+$/.test(written.trim()) ? Number(written) : written]];
    // A key in PEM ends in a line's end, which is part of it; a line has blanks around it by mistake only.
    if (this.#kind === 'text' || this.#kind === 'secret-text') return [[this.#name, written]];
    return [[this.#name, this.#kind === 'map' ? readMap(written) : written.trim()]];
  }
}

function fieldOf(name: string, kind: SettingKind, value: string): Field {
  const label = { raw: labelOf(name) };
  const attributes = { spellcheck: 'false', autocapitalize: 'none' };
  if (typeof kind !== 'string' || kind === 'switch') {
    const choices = ['', ...(kind === 'switch' ? ['true', 'false'] : kind)].map((each) => ({
      value: each,
      label: each === '' ? '—' : each,
    }));
    return select({ label, name, value, choices });
  }
  if (kind === 'line' || kind === 'number') {
    const keyboard = kind === 'number' ? { inputmode: 'numeric' } : {};
    return input({ label, name, attributes: { ...attributes, ...keyboard, value } });
  }
  if (kind === 'secret') {
    return input({ label, name, hint: 'settings.secret-hint', attributes: { type: 'password', autocomplete: 'off' } });
  }
  const hint = { map: 'settings.map-hint', text: undefined, 'secret-text': 'settings.secret-hint' } as const;
  const key = hint[kind];
  const field = textarea({ label, name, attributes, ...(key === undefined ? {} : { hint: key }) });
  field.value = value;
  return field;
}

/** `client_id` as a reader sees it. It is the API's own name, so that it is found there, too. */
function labelOf(name: string): string {
  return name.replaceAll('_', ' ');
}

function isSet(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { set?: unknown }).set === true;
}

function textOf(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'set' in value)
    return t(isSet(value) ? 'settings.set' : 'settings.not-set');
  return writtenOf(value) || '—';
}

/** A value as its control holds it: a map as lines of `name = role`. */
function writtenOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, role]) => `${name} = ${String(role)}`)
    .join('\n');
}

/** Lines of `name = role`; the last sign of equality divides, since names may hold one. */
export function readMap(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf('=');
      return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
