/** The fields of every screen of settings: how each is asked for, and what was changed by what was typed. */
import type { SETTING_SCREENS, SettingScreenName } from '#src/settings/setting-screens.ts';
import type { Choice, FieldSpec, FieldSpecs } from '../../kit/field-specs.ts';
import type { SettingChanges } from '../../session/console-api.ts';
import { t, word } from '../../words/words.ts';

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
export const OWNERS: Readonly<Record<Owners, true>> = {
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
export const TESTABLE: Readonly<Record<Testable, true>> = {
  ldap: true,
  'external-stores': true,
  tls: true,
  mail: true,
};

export const SETTING_NAMES = Object.keys(SETTING_KINDS) as SettingScreenName[];

type SettingKinds = Readonly<Record<string, SettingKind>>;
type Values = Readonly<Record<string, unknown>>;

/** A secret is not shown, so that emptying its field cannot be what takes it away: a box beside it is. */
const REMOVAL = '.remove';

/** The fields of a form for settings, with what is set now. */
export function settingFields(kinds: SettingKinds, values: Values): FieldSpecs {
  return Object.fromEntries(
    Object.entries(kinds).flatMap(([name, kind]) => {
      const field: [string, FieldSpec] = [name, fieldOf(name, kind, isSecret(kind) ? '' : writtenOf(values[name]))];
      if (!isSecret(kind) || !isSet(values[name])) return [field];
      const choices = [{ value: 'remove', label: t('settings.remove') }];
      const removal: FieldSpec = { kind: 'ticks', label: 'settings.secret-set', choices };
      return [field, [`${name}${REMOVAL}`, removal]];
    }),
  );
}

/** What was changed by what was typed: nothing of what was left as it was. */
export function changesOf(kinds: SettingKinds, before: Values, typed: Values): SettingChanges {
  return Object.fromEntries(
    Object.entries(kinds).flatMap(([name, kind]): [string, unknown][] => {
      const written = typedText(typed[name]);
      const was = isSecret(kind) ? '' : writtenOf(before[name]);
      const removal = typed[`${name}${REMOVAL}`];
      if (written === was) return Array.isArray(removal) && removal.length === 1 ? [[name, null]] : [];
      return [[name, written.trim() === '' ? null : valueOf(kind, written)]];
    }),
  );
}

function typedText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function valueOf(kind: SettingKind, written: string): unknown {
  if (kind === 'switch') return written === 'true';
  // What is no number goes as it was written, and is refused with the field's name.
  if (kind === 'number') return /^\d+$/.test(written.trim()) ? Number(written) : written;
  // A key in PEM ends in a line's end, which is part of it; a line has blanks around it by mistake only.
  if (kind === 'text' || kind === 'secret-text') return written;
  return kind === 'map' ? readMap(written) : written.trim();
}

function isSecret(kind: SettingKind): boolean {
  return kind === 'secret' || kind === 'secret-text';
}

function fieldOf(name: string, kind: SettingKind, value: string): FieldSpec {
  const label = { raw: labelOf(name) };
  if (typeof kind !== 'string' || kind === 'switch') {
    const choices: Choice[] = ['', ...(kind === 'switch' ? ['true', 'false'] : kind)].map((each) => ({
      value: each,
      label: each === '' ? '—' : kind === 'switch' ? word('switch', each) : each,
    }));
    return { kind: 'choice', label, value, choices };
  }
  if (kind === 'line') return { label, value, isName: true };
  if (kind === 'number') return { label, value, isName: true, inputMode: 'numeric' };
  if (kind === 'secret') return { label, type: 'password', hint: 'settings.secret-hint', isName: true };
  const hint = { map: 'settings.map-hint', text: undefined, 'secret-text': 'settings.secret-hint' } as const;
  return { kind: 'text', label, value, hint: hint[kind], isName: true };
}

/** `client_id` as a reader sees it. It is the API's own name, so that it is found there, too. */
export function labelOf(name: string): string {
  return name.replaceAll('_', ' ');
}

function isSet(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { set?: unknown }).set === true;
}

/** A value for those who do not change it. */
export function textOf(value: unknown): string {
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
