/**
 * Whose session ends is out of the calls that they were in with it, at once: nobody who is blocked or signed out stays listed in a
 * call until their connection is given up (SIG-08, CRD-08). Connections are given up after ten minutes here.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { startConsoleServer } from '#test/console/console-server.ts';
import { start } from '#test/messaging/conversing.ts';
import { callControl } from '#test/support/control.ts';
import { request, type Person } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

const host = await startConsoleServer({ PARLEY_CALL_LOST_SECONDS: '600' }, { shards: 2 });
const { server } = host;
after(async () => await host.stop());
const { ann, ben, cyn, dan, eve, fay, gus } = await server.people('ann', 'ben', 'cyn', 'dan', 'eve', 'fay', 'gus');

let attempts = 0;
const newCall = () => `ended-callers-${(attempts += 1)}`;
const seqs = new Map<string, number>();

async function take(who: Person, to: string, call: string, step: string, body: object = {}): Promise<void> {
  const sender = `${who.session.device_id} ${call}`;
  const seq = (seqs.get(sender) ?? 0) + 1;
  seqs.set(sender, seq);
  const payload = step === 'invite' ? { video: true, room: 'r' } : body;
  const stanza = { to, kind: 'call', step, call, seq, body: payload };
  const { status, text } = await server.api(who, 'POST', '/v1/signal', stanza);
  assert.deepEqual([status, text], [202, '']);
}

const callOf = async (who: Person, call: string): Promise<LiveCallView | undefined> =>
  (await server.api<{ items: LiveCallView[] }>(who, 'GET', '/v1/calls')).body.items.find((one) => one.call === call);
/** Who is in a call, as somebody else reads it. */
const inCall = async (who: Person, call: string) =>
  (await callOf(who, call))?.participants.map(({ user }) => user).toSorted();
const ends = ({ events }: TestSocket, call: string) =>
  events
    .filter(({ data, type }) => type === 'signal' && data['call'] === call && data['step'] === 'end')
    .map(
      ({ data }) => `${(data['sender'] as string | undefined) ?? '-'} ${(data['body'] as { reason: string }).reason}`,
    );

const { id: room } = await start(server, ann, 'room', ['ben', 'cyn', 'dan', 'eve', 'fay']);

/** A call in the room that ann began, and that these joined. */
async function callWith(...others: Person[]): Promise<string> {
  const call = newCall();
  await take(ann, room, call, 'invite');
  for (const who of others) await take(who, room, call, 'join');
  return call;
}

/** Ways in which a session ends; each by the time that it is answered. */
const WAYS: readonly (readonly [how: string, who: Person, end: () => Promise<unknown>])[] = [
  ['is blocked', cyn, async () => await callControl(server.folder, 'user.block', { username: 'cyn' })],
  [
    'signs out',
    dan,
    async () => {
      const out = await request('POST', `${server.coordinator}/v1/auth/logout`, { token: dan.session.token });
      assert.ok(out.status < 300, out.text);
    },
  ],
  [
    'is signed out in the console',
    eve,
    async () => {
      const [, claims = ''] = eve.session.token.split('.');
      const { sid } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { sid: string };
      const ended = await host.call('administrator', 'DELETE', `/users/eve/sessions/${sid}`);
      assert.equal(ended.status, 204, ended.text);
    },
  ],
];

for (const [how, who, end] of WAYS) {
  test(`SIG-08 CRD-08 who ${how} is out of the call at once, the others hear it once, and it goes on`, async () => {
    const call = await callWith(ben, who);
    const hers = await connect(server, ann);
    assert.deepEqual(await inCall(ben, call), ['ann', 'ben', who.username].toSorted());
    await end();
    await until(() => ends(hers, call).length > 0, 'the others to hear it');
    assert.deepEqual(await inCall(ben, call), ['ann', 'ben']);
    await take(ann, room, call, 'end');
    await until(() => ends(hers, call).some((one) => one.startsWith('-')), 'the end of the call');
    assert.deepEqual(ends(hers, call), [`${who.username} lost`, '- completed']);
    await hers.close();
  });
}

test('SIG-08 a call of two is over when one of them is blocked, and so is one that the blocked one rings', async () => {
  await start(server, ann, 'direct', ['gus']);
  const hers = await connect(server, ann);
  const [spoken, ringing] = [newCall(), newCall()];
  await take(gus, 'ann', spoken, 'invite');
  await take(ann, 'gus', spoken, 'join');
  await take(gus, 'ann', ringing, 'invite');
  await callControl(server.folder, 'user.block', { username: 'gus' });
  await until(() => ends(hers, spoken).length > 1 && ends(hers, ringing).length > 1, 'both to be over');
  assert.deepEqual(ends(hers, spoken), ['gus lost', '- completed']);
  assert.deepEqual(ends(hers, ringing), ['gus lost', '- failed']);
  for (const call of [spoken, ringing]) assert.equal(await callOf(ann, call), undefined);
  await hers.close();
});

test('SIG-08 a session on another device that ends leaves its person in the call, and a renewal does', async () => {
  const call = await callWith(fay);
  const login = { username: fay.username, password: fay.password };
  const other = await request<Session>('POST', `${server.coordinator}/v1/auth/login`, { body: login });
  assert.equal(other.status, 200, other.text);
  const renewed = await request<Session>('POST', `${server.coordinator}/v1/auth/renew`, { token: fay.session.token });
  assert.equal(renewed.status, 200, renewed.text);
  const out = await request('POST', `${server.coordinator}/v1/auth/logout`, { token: other.body.token });
  assert.ok(out.status < 300, out.text);
  assert.deepEqual(await inCall(ann, call), ['ann', 'fay']);
  await take(ann, room, call, 'end');
});
