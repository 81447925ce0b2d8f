/** The tables inside the written documents that are generated: settings, routes, errors, limits, rights, close codes. */
import { availableParallelism } from 'node:os';
import { SETTINGS, variableOf } from '#src/config.ts';
import { CLOSE_CODES, type CloseReason, mayReconnect } from '#src/protocol/sockets/close-codes.ts';
import { ROLES } from '#src/protocol/conversations/conversations.ts';
import { ACCOUNT_RIGHT_RULES } from '#src/protocol/directory/account-rights.ts';
import { ERRORS, statusOf } from '#src/protocol/errors.ts';
import { STATED_POLICIES } from '#src/limits/policies.ts';
import { QUOTAS } from '#src/protocol/quotas.ts';
import { RATE_LIMITS } from '#src/protocol/rate-limits.ts';
import { CONVERSATION_RIGHTS, rightsIn } from '#src/protocol/conversations/rights.ts';
import { AVATAR_ROUTES } from '#src/protocol/account/avatar-routes.ts';
import { CUSTOM_EMOJI_ROUTES } from '#src/protocol/conversations/custom-emoji-routes.ts';
import { ROOM_AVATAR_ROUTES } from '#src/protocol/conversations/room-avatar-routes.ts';
import { OWN_DATA_ROUTES } from '#src/protocol/account/own-data-routes.ts';
import { ACCOUNT_MAIL_ROUTES } from '#src/protocol/account/account-mail.ts';
import { SECURITY_NOTICE_ROUTES } from '#src/protocol/account/security-notices.ts';
import { ACCOUNT_ROUTES } from '#src/protocol/account/account-routes.ts';
import { APP_PASSWORD_ROUTES } from '#src/protocol/sessions/app-password-routes.ts';
import { CALENDAR_FILE_ROUTES } from '#src/protocol/calendars/calendar-file-routes.ts';
import { CALENDAR_MAIL_ROUTES } from '#src/protocol/calendars/calendar-mail-routes.ts';
import { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import { CLIENT_RELEASE_ROUTES } from '#src/protocol/hosts/client-releases.ts';
import { DIRECTORY_ROUTES } from '#src/protocol/directory/directory-routes.ts';
import { GUEST_ROUTES } from '#src/protocol/directory/guest-routes.ts';
import { INTERNAL_ROUTES } from '#src/protocol/services/internal-routes.ts';
import { MEETING_ROUTES } from '#src/protocol/meetings/meeting-routes.ts';
import { FACTOR_SIGN_IN_ROUTES, OWN_FACTOR_ROUTES } from '#src/protocol/sessions/second-factor-routes.ts';
import { SSO_ROUTES } from '#src/protocol/sessions/sso-routes.ts';
import { RECOVERY_ROUTES } from '#src/protocol/directory/recovery-routes.ts';
import { MESSAGING_ROUTES, SESSION_ROUTES } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';
import { CLOSE_MEANINGS } from './asyncapi.ts';

/**
 * Defaults that follow from the machine, in words, and what they are on one with that many cores: a document that
 * printed this machine's number would differ on the next.
 */
const MACHINE_DEFAULTS: Readonly<Record<string, { say: string; on: (cores: number) => number }>> = {
  shards: { say: 'number of cores, from 2 to 64', on: (cores) => Math.min(Math.max(cores, 2), 64) },
  lanes: { say: 'number of cores, from 4 to 64', on: (cores) => Math.min(Math.max(cores, 4), 64) },
};

/** A Markdown table. Pipes inside cells are escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(markdownRow).join('\n');
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/**
 * The text between `<!-- name -->` and `<!-- /name -->`, replaced.
 * @throws Error when the document has no such pair of markers.
 */
export function replaceBetweenMarkers(document: string, name: string, content: string): string {
  const start = document.indexOf(`<!-- ${name} -->`);
  const end = document.indexOf(`<!-- /${name} -->`);
  if (start === -1 || end < start) throw new Error(`The document has no <!-- ${name} --> … <!-- /${name} -->.`);
  return `${document.slice(0, start)}<!-- ${name} -->\n\n${content}\n\n${document.slice(end)}`;
}

/** Settings: variable, default, meaning. */
export function settingsTable(): string {
  const rows = Object.entries(SETTINGS).map(([name, setting]) => [
    `\`${variableOf(name)}\``,
    defaultInWords(name, setting.default),
    setting.say,
  ]);
  return markdownTable(['Variable', 'Default', 'What it does'], rows);
}

function defaultInWords(name: string, value: string | number | boolean | undefined): string {
  const machine = MACHINE_DEFAULTS[name];
  if (machine !== undefined) {
    if (machine.on(availableParallelism()) === value) return machine.say;
    throw new Error(`The default of ${name} is no longer “${machine.say}”.`);
  }
  if (value === undefined && name.endsWith('Url')) return 'the address it listens on';
  return value === undefined || value === '' ? 'none' : `\`${value}\``;
}

const CALLERS: Readonly<Record<Route['auth'], string>> = {
  none: 'anyone',
  session: 'session',
  renewable: 'session, also expired',
  service: 'service',
};

/** Routes for clients: method and path, who may ask, what it does. */
export function routesTable(): string {
  const coordinator = {
    ...SESSION_ROUTES,
    ...SSO_ROUTES,
    ...FACTOR_SIGN_IN_ROUTES,
    ...OWN_FACTOR_ROUTES,
    ...RECOVERY_ROUTES,
    ...APP_PASSWORD_ROUTES,
    ...ACCOUNT_ROUTES,
    ...ACCOUNT_MAIL_ROUTES,
    ...SECURITY_NOTICE_ROUTES,
    ...AVATAR_ROUTES,
    ...CUSTOM_EMOJI_ROUTES,
    ...OWN_DATA_ROUTES,
    ...DIRECTORY_ROUTES,
    ...GUEST_ROUTES,
    ...MEETING_ROUTES,
    ...CLIENT_RELEASE_ROUTES,
    ...INTERNAL_ROUTES,
  };
  const tables = {
    ...coordinator,
    ...MESSAGING_ROUTES,
    ...ROOM_AVATAR_ROUTES,
    ...CALENDAR_ROUTES,
    ...CALENDAR_FILE_ROUTES,
    ...CALENDAR_MAIL_ROUTES,
  } as Readonly<Record<string, Route>>;
  const rows = Object.values(tables).map((route) => [
    `\`${route.method.toUpperCase()} ${route.path.replaceAll(/:(\w+)/g, '{$1}')}\``,
    CALLERS[route.auth],
    route.summary,
  ]);
  return markdownTable(['Form', 'Who', 'What it does'], rows);
}

/** The error catalogue: code, status, sentence. */
export function errorsTable(): string {
  const rows = Object.entries(ERRORS)
    .toSorted(([a, { status: x }], [b, { status: y }]) => x - y || (a < b ? -1 : 1))
    .map(([code, { status, error }]) => [`\`${code}\``, String(status), error]);
  return markdownTable(['Code', 'Status', 'Sentence'], rows);
}

/** Close codes of the socket. */
export function closeCodesTable(): string {
  const rows = Object.entries(CLOSE_CODES).map(([reason, code]) => [
    String(code),
    CLOSE_MEANINGS[reason as CloseReason],
    mayReconnect(code) ? 'yes' : 'no',
  ]);
  return markdownTable(['Code', 'Why', 'Reconnect'], rows);
}

/** Rights of an account: who has each, and what a request without it is answered. */
export function accountRightsTable(): string {
  const rows = Object.entries(ACCOUNT_RIGHT_RULES).map(([right, { refused, say }]) => [
    `\`${right}\``,
    say,
    `${statusOf(refused)} \`${refused}\``,
  ]);
  return markdownTable(['Right', 'Who has it', 'Without it'], rows);
}

/** Rights by role in a room, and of both people in a direct and in a secret chat. */
export function rightsTable(): string {
  const pairs = (['direct', 'secret'] as const).map((kind) => rightsIn(kind, 'member'));
  const columns = [...ROLES.map((role) => rightsIn('room', role)), ...pairs];
  const rows = CONVERSATION_RIGHTS.map((right) => [
    `\`${right}\``,
    ...columns.map((granted) => (granted.includes(right) ? 'yes' : '–')),
  ]);
  return markdownTable(['Right', ...ROLES.map((role) => `room ${role}`), 'direct', 'secret'], rows);
}

/** A constant of `src/protocol/limits.ts` as it stands in the source: its comment, and what lies beyond it. */
export interface LimitComment {
  readonly name: string;
  readonly say: string;
  /** The code, or what else happens; empty when the comment says it in its sentence. */
  readonly beyond: string;
}

/** The exported constants of the limits' source with their comments; one without a comment shares the one above. */
export function readLimitComments(source: string): LimitComment[] {
  let comment = '';
  return [...source.matchAll(/\/\*\*([\s\S]*?)\*\/|^export const (\w+)/gm)].flatMap(([, text, name]) => {
    if (name === undefined) {
      comment = (text ?? '').replaceAll(/\s*\n\s*\* ?/g, ' ').trim();
      return [];
    }
    const beyond = /\[([^\]]+)\]\s*$/.exec(comment)?.[1] ?? '';
    return [{ name, say: comment.replace(/\s*\[[^\]]+\]\s*$/, ''), beyond }];
  });
}

/** How often one person may do what. */
export function ratesTable(): string {
  const rows = Object.entries(RATE_LIMITS).map(([name, { perSecond, burst, say }]) => [
    `\`${name}\``,
    perSecond.toLocaleString('en-GB'),
    burst.toLocaleString('en-GB'),
    say,
  ]);
  return markdownTable(['Bucket', 'A second', 'At once', 'What counts'], rows);
}

/** How much people may use: the table of quotas. */
export function quotasTable(): string {
  const often = { stored: '', day: ' a day', '30 days': ' in 30 days' } as const;
  const rows = Object.entries(QUOTAS).map(([name, { beyond, default: usual, ofAll, say, unit, window }]) => [
    `\`${name}\``,
    `${usual.toLocaleString('en-US')} ${unit}${often[window]}`,
    ofAll ? 'yes' : 'no',
    say,
    beyond,
  ]);
  return markdownTable(['Quota', 'A person’s', 'Also of all', 'Who is counted, and why so much', 'Refused'], rows);
}

/** How often everything else may happen: policies of one kind of caller or one purpose. */
export function policiesTable(): string {
  const rows = Object.entries(STATED_POLICIES).map(([name, { beyond, burst, perSecond, say, strict }]) => [
    `\`${name}\``,
    paceInWords(perSecond),
    strict === true ? `${burst}, in any minute` : burst.toLocaleString('en-GB'),
    say,
    beyond,
  ]);
  return markdownTable(['Policy', 'For ever', 'At once', 'What counts', 'Beyond it'], rows);
}

/** 0.1 → `6 a minute`. */
function paceInWords(perSecond: number): string {
  const units = [
    ['second', 1],
    ['minute', 60],
    ['hour', 3_600],
  ] as const;
  const [unit, seconds] = units.find(([, each]) => perSecond * each >= 1) ?? ['hour', 3_600];
  return `${Math.round(perSecond * seconds).toLocaleString('en-GB')} ${unit === 'hour' ? 'an' : 'a'} ${unit}`;
}

/** The limits with their numbers. `values` is the module, `source` its text. */
export function limitsTable(source: string, values: Readonly<Record<string, unknown>>): string {
  const rows = readLimitComments(source).map(({ name, say, beyond }) => {
    const value = values[name];
    if (typeof value !== 'number') throw new Error(`The limit ${name} is not a number.`);
    return [`\`${name}\``, value.toLocaleString('en-GB'), say, /^[a-z_]+$/.test(beyond) ? `\`${beyond}\`` : beyond];
  });
  return markdownTable(['Limit', 'Value', 'Why', 'Beyond it'], rows);
}
