import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatInstant } from '#src/base/time.ts';
import { CONSOLE_INVITATION_SECONDS, INVITATION_SECONDS } from '#src/directory/enrollment.ts';
import { consoleRoleOf } from '#src/identity/console/console-role-record.ts';
import { PASSWORD, START, startCoordinator } from './coordinator-fixture.ts';

const BY = { actor: 'user:root', address: '127.0.0.1' };
const PHONE = '+79161234567';
const GONE = 'invitation_used';
const at = (seconds: number) => formatInstant(START + seconds * 1000);

type Coordinator = Awaited<ReturnType<typeof startCoordinator>>;

async function enrolGuest({ enrollment, post }: Coordinator, seconds: number, username = 'visitor'): Promise<string> {
  const form = { kind: 'guest', phone: PHONE, guest_until: at(seconds), display_name: 'Vera' } as const;
  const { path } = await enrollment.invite(form, 'alice', BY);
  assert.equal((await post(path, { username, password: PASSWORD })).status, 201);
  return path;
}

test('CRD-07 an invitation of each kind makes its account once', async (context) => {
  const coordinator = await startCoordinator(context);
  const { accounts, enrollment, people, post } = coordinator;
  await people.add('root', PASSWORD);
  const kinds = [
    [{ kind: 'person', display_name: 'Pia', title: 'Nurse' }, 'pia', undefined, INVITATION_SECONDS],
    [{ kind: 'admin' }, 'ada', 'administrator', CONSOLE_INVITATION_SECONDS],
    [{ kind: 'owner' }, 'otto', 'owner', CONSOLE_INVITATION_SECONDS],
  ] as const;
  for (const [form, username, role, seconds] of kinds) {
    const { path, expiresAt } = await enrollment.invite(form, 'root', BY);
    assert.match(path, /^\/v1\/enroll\/inv_[0-9a-z]{32}$/);
    assert.equal(expiresAt, at(seconds));
    assert.equal((await post(path, { username, password: PASSWORD })).status, 201);
    assert.equal(consoleRoleOf(accounts, username), role);
    const again = await post(path, { username: `${username}2`, password: PASSWORD });
    assert.deepEqual([again.status, again.json.code], [410, GONE]);
  }
  assert.deepEqual(coordinator.directory.read('ada', 'pia'), {
    user: 'pia',
    display_name: 'Pia',
    title: 'Nurse',
    kind: 'person',
    state: 'active',
    rev: 2,
  });
  const events = accounts.auditEntries({ limit: 2 });
  assert.deepEqual(
    events.map(({ event, actor, details }) => [event, actor, details['kind']]),
    [
      ['enrollment.exchanged', 'user:otto', 'owner'],
      ['enrollment.invited', 'user:root', 'owner'],
    ],
  );
});

test('CRD-07 an invitation ends at its second, and a taken username leaves it as it is', async (context) => {
  const { enrollment, people, post, clock } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const { path } = await enrollment.invite({ kind: 'person' }, 'root', BY);
  const other = await enrollment.invite({ kind: 'person' }, 'root', BY);
  clock.advance(INVITATION_SECONDS - 1);
  assert.equal((await post(path, { username: 'alice', password: PASSWORD })).json.code, 'username_taken');
  assert.equal((await post(path, { username: 'bob', password: PASSWORD })).status, 201);
  clock.advance(1);
  assert.equal((await post(other.path, { username: 'carl', password: PASSWORD })).json.code, GONE);
  await enrollment.sweep();
  assert.equal((await post(other.path, { username: 'carl', password: PASSWORD })).json.code, GONE);
});

test('GST-01 a guest has a phone, a term and who invited it, all from the invitation', async (context) => {
  const coordinator = await startCoordinator(context);
  const { people, guests, post, access, announced } = coordinator;
  await people.add('alice', PASSWORD);
  const path = await enrolGuest(coordinator, 3600);
  assert.deepEqual(guests.list(undefined, 10), {
    items: [
      {
        user: 'visitor',
        display_name: 'Vera',
        phone: PHONE,
        expires_at: at(3600),
        is_over: false,
        invited_by: 'alice',
      },
    ],
    next: null,
  });
  assert.equal((await post(path, { username: 'second', password: PASSWORD })).json.code, GONE);
  assert.equal(access.isGuest('visitor'), true);
  // Every thread knew that this is a guest before anybody was told of it.
  assert.deepEqual(
    announced.slice(-2).map(({ what }) => what),
    ['policies', 'directory'],
  );
});

test('GST-01 at the second its term ends a guest cannot sign in, renew or call, and its sessions end', async (context) => {
  const coordinator = await startCoordinator(context);
  const { people, login, post, call, clock, withToken, guests, announced } = coordinator;
  await people.add('alice', PASSWORD);
  await enrolGuest(coordinator, 600);
  const session = await login('visitor');
  assert.deepEqual([session.exp, session.rnw], [START / 1000 + 600, START / 1000 + 600]);
  const read = async () =>
    (await call('GET', '/v1/directory', { headers: { authorization: `Bearer ${session.token}` } })).json.code;
  clock.advance(599);
  assert.equal((await withToken('/v1/auth/renew', session.token)).json.exp, START / 1000 + 600);
  assert.equal(await read(), undefined);
  await guests.sweep();
  assert.notEqual(announced.at(-1)?.what, 'revoked');
  clock.advance(1);
  assert.equal(await read(), 'token_expired');
  assert.equal((await withToken('/v1/auth/renew', session.token)).json.code, 'session_over');
  assert.equal((await post('/v1/auth/login', { username: 'visitor', password: PASSWORD })).json.code, 'login_failed');
  await guests.sweep();
  assert.deepEqual(
    announced.slice(-2).map(({ what }) => what),
    ['revoked', 'directory'],
  );
  const told = announced.length;
  await guests.sweep();
  assert.equal(announced.length, told);
});

test('GST-01 a term is extended, shortened and ended, within its bounds', async (context) => {
  const coordinator = await startCoordinator(context);
  const { people, login, post, withToken, guests, clock, announced } = coordinator;
  await people.add('alice', PASSWORD);
  await enrolGuest(coordinator, 100_000);
  const session = await login('visitor');
  assert.equal((await guests.changeTerm('visitor', at(60), BY)).expires_at, at(60));
  assert.equal((await withToken('/v1/auth/renew', session.token)).json.exp, START / 1000 + 60);
  const outside = { code: 'field_invalid', field: 'expires_at' };
  await assert.rejects(guests.changeTerm('visitor', at(0), BY), outside);
  await assert.rejects(guests.changeTerm('visitor', at(366 * 86_400 + 1), BY), outside);
  assert.equal((await guests.end('visitor', BY)).is_over, true);
  assert.equal(announced.findLast(({ what }) => what === 'revoked')?.what, 'revoked');
  assert.equal((await withToken('/v1/auth/renew', session.token)).json.code, 'session_revoked');
  assert.equal((await post('/v1/auth/login', { username: 'visitor', password: PASSWORD })).status, 401);
  clock.advance(10);
  await guests.changeTerm('visitor', at(366 * 86_400), BY);
  assert.equal((await login('visitor')).user, 'visitor');
  await assert.rejects(guests.end('alice', BY), { code: 'guest_not_found' });
});

test('a number has one guest at a time', async (context) => {
  const coordinator = await startCoordinator(context);
  const { people, enrollment, guests, post, clock } = coordinator;
  await people.add('alice', PASSWORD);
  const form = { kind: 'guest', phone: PHONE, guest_until: at(3600) } as const;
  const early = await enrollment.invite(form, 'alice', BY);
  await enrolGuest(coordinator, 60);
  await assert.rejects(enrollment.invite(form, 'alice', BY), { code: 'phone_taken' });
  assert.equal((await post(early.path, { username: 'other', password: PASSWORD })).json.code, 'phone_taken');
  clock.advance(60);
  assert.equal((await post(early.path, { username: 'other', password: PASSWORD })).status, 201);
  await assert.rejects(guests.changeTerm('visitor', at(7200), BY), { code: 'phone_taken' });
});

test('a guest is invited by a person and for a term within bounds', async (context) => {
  const { enrollment } = await startCoordinator(context);
  const invite = (until: string, inviter: string | undefined) =>
    enrollment.invite({ kind: 'guest', phone: PHONE, guest_until: until }, inviter, BY);
  await assert.rejects(invite(at(60), undefined), { code: 'right_missing' });
  for (const until of [at(0), at(-60), at(366 * 86_400 + 1)]) {
    await assert.rejects(invite(until, 'alice'), { code: 'field_invalid', field: 'guest_until' });
  }
});
