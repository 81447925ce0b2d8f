/** Holds the error catalogue's promises: frozen, used, translated (ERR-01, ERR-02, ERR-03). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CONSOLE_COMMON_ERRORS, consoleRoutes } from '#src/console/route-table.ts';
import { breaches, extendErrorList, readErrorList } from '#src/cli/docs/error-list.ts';
import { SCIM_ERRORS } from '#src/scim/answers.ts';
import { ERROR_CODES, ERRORS, RETIRED_CODES } from '#src/protocol/errors.ts';
import { ATTACHMENT_ROUTES } from '#src/protocol/attachments/attachment-routes.ts';
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
import { MEETING_ROUTES } from '#src/protocol/meetings/meeting-routes.ts';
import { NODE_ROUTES } from '#src/protocol/hosts/node-routes.ts';
import { FACTOR_SIGN_IN_ROUTES, OWN_FACTOR_ROUTES } from '#src/protocol/sessions/second-factor-routes.ts';
import { SSO_ROUTES } from '#src/protocol/sessions/sso-routes.ts';
import { RECOVERY_ROUTES } from '#src/protocol/directory/recovery-routes.ts';
import { COMMON_ERRORS, MESSAGING_ROUTES, SESSION_ROUTES } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';
import { ROOT, skeletonOf, typescriptSources } from './source.ts';

const stored = readFileSync(`${ROOT}docs/errors.json`, 'utf8');

test('ERR-02 no frozen code disappears or changes its status or sentence', () => {
  assert.deepEqual(breaches(readErrorList(stored), ERRORS, RETIRED_CODES), []);
});

test('ERR-02 every code of the catalogue is in the frozen list', () => {
  const frozen = readErrorList(stored);
  const missing = ERROR_CODES.filter((code) => frozen[code] === undefined);
  assert.deepEqual(missing, [], 'run “npm run docs”');
});

test('ERR-02 a breach of the frozen list is found', () => {
  const frozen = { gone: { status: 404, error: 'Gone.' }, kept: { status: 400, error: 'Kept.' } };
  const kept = { kept: { status: 400, error: 'Kept.' } };
  assert.deepEqual(breaches(frozen, kept, ['gone']), []);
  assert.match(breaches(frozen, kept, []).join(), /gone disappeared/);
  assert.match(breaches(frozen, { kept: { status: 403, error: 'Kept.' } }, ['gone']).join(), /kept was 400 and is 403/);
  assert.match(breaches(frozen, { kept: { status: 400, error: 'New.' } }, ['gone']).join(), /“Kept.” and reads “New.”/);
  assert.match(breaches(frozen, frozen, ['gone']).join(), /gone is retired and in use again/);
  assert.match(breaches({}, {}, ['never']).join(), /never is retired but was never listed/);
  assert.throws(() => extendErrorList(frozen, kept, []), /gone disappeared/);
});

test('ERR-02 the list only grows', () => {
  const frozen = { gone: { status: 404, error: 'Gone.' } };
  const list = extendErrorList(frozen, { added: { status: 400, error: 'Added.' } }, ['gone']);
  assert.deepEqual(Object.keys(readErrorList(list)), ['added', 'gone']);
});

/** Codes whose shape or sentence breaks ERR-01: lower case with underscores, and a sentence with its full stop. */
function shapeFaults(entries: Readonly<Record<string, { readonly error: string }>>): string[] {
  return Object.entries(entries)
    .filter(([code, { error }]) => !/^[a-z]+(?:_[a-z0-9]+)*$/.test(code) || !/^[A-Z].*\.$/.test(error))
    .map(([code]) => code);
}

test('ERR-01 codes are lower case with underscores, and sentences are sentences', () => {
  assert.deepEqual(shapeFaults(ERRORS), []);
  const bad = { 'Not-this': { error: 'A sentence.' }, or_this: { error: 'no sentence' }, this_one: { error: 'Fine.' } };
  assert.deepEqual(shapeFaults(bad), ['Not-this', 'or_this']);
});

/** Where the catalogue is declared rather than used. */
const DECLARING = new Set(['src/protocol/errors.ts', 'src/protocol/routes.ts', 'src/client/translations.ts']);
const isServer = (path: string) =>
  /^(?:src|actors|storage)\//.test(path) && !/^src\/(?:cli|client)\//.test(path) && !DECLARING.has(path);

/** The codes that a source gives as a literal to a refusal. */
function refusedCodes(source: string): string[] {
  const { code, strings } = skeletonOf(source);
  return [...code.matchAll(/\b(?:new Refusal|errorBody|statusOf)\(\s*"(\d+)"/g)].map(
    ([, index]) => strings[Number(index)] ?? '',
  );
}

test('ERR-02 every code that is refused with is in the catalogue', () => {
  const unknown = [...typescriptSources()]
    .filter(([path]) => isServer(path))
    .flatMap(([path, source]) => refusedCodes(source).map((code) => ({ path, code })))
    .filter(({ code }) => !Object.hasOwn(ERRORS, code));
  assert.deepEqual(unknown, []);
  assert.deepEqual(refusedCodes("throw new Refusal('one');\n// new Refusal('two')\nerrorBody('three', 'x')"), [
    'one',
    'three',
  ]);
});

/** The codes that appear as a string in none of the sources. */
function unusedCodes(codes: readonly string[], sources: Iterable<string>): string[] {
  const used = new Set([...sources].flatMap((source) => skeletonOf(source).strings));
  return codes.filter((code) => !used.has(code));
}

test('ERR-02 every code of the catalogue is sent by somebody', () => {
  const sources = [...typescriptSources()].filter(([path]) => isServer(path)).map(([, source]) => source);
  assert.deepEqual(unusedCodes(ERROR_CODES, sources), []);
  assert.deepEqual(unusedCodes(['a_b', 'c_d', 'e_f'], ["refuse('a_b') // 'e_f'", 'code: `c_d`']), ['e_f']);
});

test('ERR-04 every code is promised by a route, a frame or the upgrade', () => {
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
  };
  const routes: Readonly<Record<string, Route>> = { ...coordinator, ...MESSAGING_ROUTES, ...CALENDAR_ROUTES };
  const stated = [
    ...Object.values(routes),
    ...Object.values(ATTACHMENT_ROUTES),
    ...Object.values(ROOM_AVATAR_ROUTES),
    ...Object.values(CALENDAR_FILE_ROUTES),
    ...Object.values(CALENDAR_MAIL_ROUTES),
    ...Object.values(NODE_ROUTES),
    ...consoleRoutes().map(({ route }) => route),
  ];
  const promised = new Set<string>([
    ...COMMON_ERRORS,
    ...CONSOLE_COMMON_ERRORS,
    ...stated.flatMap((route) => [...route.errors]),
  ]);
  const socketOnly = ['device_forbidden', 'device_required', 'frame_invalid', 'frame_too_large', 'origin_forbidden'];
  // Known by their XML at the DAV door.
  const davOnly = ['app_password_invalid', 'calendar_name_taken', 'entry_uid_taken', 'properties_too_large'];
  const elsewhere = new Set([...socketOnly, ...davOnly, ...SCIM_ERRORS, 'socket_upgrade_required']);
  assert.deepEqual(
    ERROR_CODES.filter((code) => !promised.has(code) && !elsewhere.has(code)),
    [],
  );
});
