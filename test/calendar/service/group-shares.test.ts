/** Calendars that are shared with groups: rights follow the membership at once, by both doors, and go no further than it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { CalendarView } from '#src/protocol/calendars/calendars.ts';
import { ensureDefaultCalendar } from '#src/calendar/calendar-access.ts';
import { SHARES_PER_CALENDAR_MAX } from '#storage/calendars/calendar-records.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { startConsoleServer } from '#test/support/console.ts';
import type { Person } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import {
  allEntries,
  appPassword,
  assertRefused,
  call,
  eventText,
  makeCalendar,
  makeEntry,
  putObject,
} from './calling.ts';

const { console, server, stop } = await startConsoleServer();
after(stop);
const { alice, bob, carol, dave } = await server.people('alice', 'bob', 'carol', 'dave');
const TALK = { title: 'Talk', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z' };

async function makeGroup(name: string, members: readonly string[]): Promise<string> {
  const made = await console<{ id: string }>('POST', '/groups', { name, members });
  assert.equal(made.status, 201, made.text);
  return made.body.id;
}

async function changeGroup(group: string, add: readonly string[], remove: readonly string[]): Promise<void> {
  assert.equal((await console('PATCH', `/groups/${group}`, { add, remove })).status, 200);
}

const shareWith = async (who: Person, calendar: string, group: string, access: string) =>
  await call(server, who, 'PUT', `/v1/calendars/${calendar}/shares/groups/${group}`, { access });

const passwords = new Map<Person, Promise<Record<string, string>>>();

/** One app password of each is enough for all questions. */
async function passwordOf(who: Person): Promise<Record<string, string>> {
  const made = passwords.get(who) ?? appPassword(server, who);
  passwords.set(who, made);
  return await made;
}

/** What somebody may with a calendar by JSON, and whether it is in their home by CalDAV. */
async function seen(who: Person, calendar: string): Promise<[access: string | undefined, isInHome: boolean]> {
  const list = await call<{ items: CalendarView[] }>(server, who, 'GET', '/v1/calendars');
  const access = list.body.items.find(({ id }) => id === calendar)?.access;
  const one = await call<CalendarView & Record<string, unknown>>(server, who, 'GET', `/v1/calendars/${calendar}`);
  if (access === undefined) assertRefused(one, 'calendar_not_found');
  else assert.equal(one.body.access, access);
  const headers = { ...(await passwordOf(who)), depth: '1' };
  const home = await fetch(`${server.calendar}/dav/calendars/${who.username}/`, { method: 'PROPFIND', headers });
  return [access, (await home.text()).includes(calendar)];
}

test('CAL-04 what a group has its members have at once by both doors, as long as they are members', async () => {
  const group = await makeGroup('Readers', ['alice', 'bob']);
  const { id } = await makeCalendar(server, alice);
  await makeEntry(server, alice, id, TALK);
  await makeEntry(server, alice, id, { ...TALK, title: 'Doctor', visibility: 'private' });
  const shared = await shareWith(alice, id, group, 'read');
  assert.deepEqual([shared.status, shared.body], [200, { group, name: 'Readers', access: 'read' }]);
  assert.deepEqual(await seen(bob, id), ['read', true]);
  assert.deepEqual(await seen(carol, id), [undefined, false]);
  // The boundary of what is private is the same as for anybody whom it is shared with.
  assert.deepEqual(
    (await allEntries(server, bob, id)).map(({ title }) => title),
    ['Talk'],
  );
  assertRefused(await call(server, bob, 'POST', `/v1/calendars/${id}/entries`, TALK), 'right_missing');
  const headers = await passwordOf(bob);
  const put = () => putObject(server, headers, `/dav/calendars/bob/${id}/x.ics`, eventText('x'));
  assert.equal((await put()).status, 403);
  await changeGroup(group, ['carol'], ['bob']);
  assert.deepEqual(await seen(bob, id), [undefined, false]);
  // As for any calendar that is not there (RFC 4918, 9.7.1).
  assert.equal((await put()).status, 409);
  assert.deepEqual(await seen(carol, id), ['read', true]);
  assert.equal((await shareWith(alice, id, group, 'write')).status, 200);
  assert.equal((await call(server, carol, 'POST', `/v1/calendars/${id}/entries`, TALK)).status, 201);
  const listed = await call(server, alice, 'GET', `/v1/calendars/${id}/shares`);
  assert.deepEqual([listed.body['items'], listed.body['groups']], [[], [{ group, name: 'Readers', access: 'write' }]]);
  assert.equal((await call(server, alice, 'DELETE', `/v1/calendars/${id}/shares/groups/${group}`)).status, 204);
  assert.deepEqual(await seen(carol, id), [undefined, false]);
});

test('CAL-04 of what somebody has by themselves and by groups the widest counts', async () => {
  const [few, many] = [await makeGroup('Few', ['alice', 'bob']), await makeGroup('Many', ['alice', 'bob', 'carol'])];
  const { id } = await makeCalendar(server, alice);
  await shareWith(alice, id, many, 'free_busy');
  assert.deepEqual((await seen(bob, id))[0], 'free_busy');
  assertRefused(await call(server, bob, 'GET', `/v1/calendars/${id}/changes`), 'right_missing');
  await shareWith(alice, id, few, 'delegate');
  assert.deepEqual([(await seen(bob, id))[0], (await seen(carol, id))[0]], ['delegate', 'free_busy']);
  assert.equal((await call(server, alice, 'PUT', `/v1/calendars/${id}/shares/bob`, { access: 'read' })).status, 200);
  assert.deepEqual((await seen(bob, id))[0], 'delegate');
  // Whoever leaves gives up what is theirs, and what the group has stays.
  assert.equal((await call(server, bob, 'DELETE', `/v1/calendars/${id}/shares/bob`)).status, 204);
  assert.deepEqual((await seen(bob, id))[0], 'delegate');
  assertRefused(await call(server, bob, 'DELETE', `/v1/calendars/${id}/shares/bob`), 'right_missing');
  const headers = await passwordOf(bob);
  const left = await fetch(`${server.calendar}/dav/calendars/bob/${id}/`, { method: 'DELETE', headers });
  assert.equal(left.status, 403);
  assert.equal((await console('DELETE', `/groups/${few}`)).status, 204);
  assert.deepEqual((await seen(bob, id))[0], 'free_busy');
});

test('POL-01 nobody shares with a group that is not theirs, and no group carries a calendar past the policies', async () => {
  const group = await makeGroup('Others', ['bob', 'dave']);
  const { id } = await makeCalendar(server, alice);
  for (const wrong of [group, `grp_${'0'.repeat(22)}`, 'bob', '%40bob']) {
    assertRefused(await shareWith(alice, id, wrong, 'read'), 'group_not_found');
  }
  assert.deepEqual(await seen(bob, id), [undefined, false]);
  await changeGroup(group, ['alice'], []);
  const alone = await makeGroup('Kept apart', ['dave']);
  const denied = { action: 'see', from: 'everyone', to: alone, effect: 'deny' };
  assert.equal((await console('POST', '/policies', denied)).status, 201);
  assert.equal((await shareWith(alice, id, group, 'read')).status, 200);
  assert.deepEqual(await seen(bob, id), ['read', true]);
  assert.deepEqual(await seen(dave, id), [undefined, false]);
  // A sharee shares nothing on, with no group.
  assertRefused(await shareWith(bob, id, group, 'delegate'), 'right_missing');
  assertRefused(await call(server, bob, 'DELETE', `/v1/calendars/${id}/shares/groups/${group}`), 'right_missing');
  assertRefused(await shareWith(dave, id, group, 'read'), 'calendar_not_found');
  const wide = await call(server, alice, 'PUT', `/v1/calendars/${id}/shares/groups/${group}`, { access: 'owner' });
  assertRefused(wide, 'field_invalid', 'access');
});

test('CAL-04 a calendar that is removed is gone for the members of its groups as well', async () => {
  const group = await makeGroup('Leavers', ['alice', 'bob']);
  const { id } = await makeCalendar(server, alice);
  await shareWith(alice, id, group, 'read');
  assert.equal((await call(server, alice, 'DELETE', `/v1/calendars/${id}`)).status, 204);
  assert.deepEqual(await seen(bob, id), [undefined, false]);
});

test('of a group of thousands as many are told of changes as a calendar has sharees', async (context) => {
  const members = Array.from({ length: SHARES_PER_CALENDAR_MAX + 1 }, (_, index) => `member${index}`);
  const calendars = Calendars.open(temporaryFolder(context), {
    now: () => 0,
    groups: {
      groupsOf: (user) => (members.includes(user) ? ['grp_many'] : []),
      membersOf: () => members,
      reaches: () => true,
    },
  });
  context.after(async () => await calendars.close());
  await ensureDefaultCalendar(calendars, 'alice');
  const id = calendars.ownedByName('alice', 'default') ?? '';
  await calendars.change((draft) => draft.share(id, '@grp_many', 'read'));
  assert.equal(calendars.viewersOf(id).length, 1 + SHARES_PER_CALENDAR_MAX);
  // Each of them has it all the same.
  assert.equal(calendars.accessOf(members.at(-1) ?? '', id), 'read');
});
