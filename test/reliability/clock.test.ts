/**
 * The machine's clock jumps, forwards and back. Promised is: the order of messages is that of seq and rev, never that
 * of time; nobody is silenced or let in for longer than the clock says; what is a matter of duration (deadlines, idle
 * times, the minute of refused frames) does not look at this clock at all. Instants are what the clock said, so
 * `created_at` may fall back with it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effective, makePersonActor } from '#actors/person/person.ts';
import { PresenceBudget } from '#actors/person/presence-budget.ts';
import { Revocations } from '#src/identity/credentials/revocations.ts';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { makeId } from '#src/base/ids.ts';
import { Authentication } from '#src/messaging/access/authentication.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { makeRoom, NOW, openHost, post } from '#test/actors/actor-host.ts';

const ROOM = 'c_clock';
const HOUR_MILLIS = 3_600_000;
const YEAR_MILLIS = 365 * 24 * HOUR_MILLIS;
/** Where the clock goes, one after the other. */
const JUMPS = [HOUR_MILLIS, -HOUR_MILLIS, YEAR_MILLIS, -2 * YEAR_MILLIS, 1, -1] as const;

function codeOf(action: () => unknown): ErrorCode | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

test('MSG-04 MSG-12 seq and rev go on by one whatever the clock does, and each message says what the clock said', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const said: unknown[] = [];
  for (const [at, jump] of JUMPS.entries()) {
    host.now = NOW + jump;
    const { status, body } = await host.reply(ROOM, post('bob', `after ${jump}`, `m-${at}`));
    said.push([status, body['seq'], Date.parse(body['created_at'] as string) - NOW]);
  }
  assert.deepEqual(
    said,
    JUMPS.map((jump, at) => [201, at + 1, jump]),
  );
  const revs = host
    .events(ROOM)
    .filter(({ type }) => type === 'message.new')
    .map(({ rev }) => rev as number);
  assert.deepEqual(
    revs,
    revs.map((_, at) => (revs[0] as number) + at),
  );
  // A repeat finds its message at any time.
  host.now = NOW - YEAR_MILLIS;
  assert.deepEqual((await host.reply(ROOM, post('bob', 'again', 'm-2'))).body['seq'], 3);
});

test('FRM-01 a jump of the clock silences nobody who types', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const typed = async (): Promise<number> => {
    host.system.deliver(`conversation:${ROOM}`, { kind: 'typing', user: 'bob', device: 'd_b' } as { kind: 'typing' });
    // What was asked later is answered later.
    await host.reply(ROOM, post('alice', 'x'));
    return host.events(ROOM).filter(({ type }) => type === 'typing').length;
  };
  assert.equal(await typed(), 1);
  assert.equal(await typed(), 1);
  host.now = NOW + YEAR_MILLIS;
  assert.equal(await typed(), 2);
  host.now = NOW;
  assert.equal(await typed(), 3);
  assert.equal(await typed(), 3);
});

test('CRD-02 a token is good while the clock is before its exp: gone with a jump ahead, back with the way back', () => {
  const tokens = new SessionTokens([{ id: 'k1', key: Buffer.alloc(32, 7), retired: null }]);
  const revocations = new Revocations();
  const authentication = new Authentication(tokens, revocations, ({ rnw, sid: found, iat: at }) => ({
    sid: found,
    iat: at,
    rnw,
  }));
  const iat = NOW / 1000;
  const sid = makeId('s', NOW);
  const token = tokens.sign({ sub: 'alice', sid, dev: makeId('d', NOW), iat, exp: iat + 900, rnw: iat + 9_000 });
  const at = (seconds: number) => codeOf(() => authentication.authenticate(token, seconds));
  assert.equal(at(iat), undefined);
  assert.equal(at(iat + YEAR_MILLIS / 1000), 'token_expired');
  assert.equal(at(iat), undefined);
  // Issued ahead of a clock that was set back: it stays good, and for no longer than its exp.
  assert.equal(at(iat - 3_600), undefined);
  assert.equal(at(iat + 900), 'token_expired');
  revocations.add({ sid, until: iat + 9_000 });
  assert.equal(at(iat - 3_600), 'session_revoked');
  // A revocation is kept until no token of the session could be renewed, by the clock as it is when it is swept.
  revocations.sweep(iat + 9_000);
  assert.equal(at(iat), 'session_revoked');
});

test('FRM-03 presence follows the sockets, not the clock: the event alone says the time', () => {
  const actor = makePersonActor({ audience: () => ({ people: ['friend'], rooms: [] }), budget: new PresenceBudget() });
  const state = actor.start('alice');
  const announced = (now: number): unknown[] =>
    actor
      .receive(state, { kind: 'announce' }, now)
      .map((effect) =>
        effect.kind === 'publishTo' ? (JSON.parse(effect.event) as { ts: number; data: { state: string } }) : effect,
      );
  actor.receive(state, { kind: 'connected', device: 'd_1', shard: 0, socket: 1 }, NOW);
  assert.deepEqual(announced(NOW - YEAR_MILLIS), [
    { type: 'presence', ts: (NOW - YEAR_MILLIS) / 1000, data: { user: 'alice', state: 'online' } },
  ]);
  actor.receive(state, { kind: 'disconnected', device: 'd_1', socket: 1 }, NOW + YEAR_MILLIS);
  assert.equal(effective(state), 'offline');
  assert.deepEqual(announced(NOW), [{ type: 'presence', ts: NOW / 1000, data: { user: 'alice', state: 'offline' } }]);
});
