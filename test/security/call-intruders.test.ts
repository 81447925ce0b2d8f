/**
 * People who press into calls: of a room that they left or were removed from, of a room where they take part and not in the call, and of
 * somebody who is shut to them; and what they write of who they are (SIG-01, SIG-04, SIG-06, SIG-08, GOV-02).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import { callControl } from '#test/support/control.ts';
import { startConsoleServer } from '#test/console/console-server.ts';
import { assertRefused, heardUpTo, start } from '#test/messaging/conversing.ts';
import type { Person, Reply } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

// Somebody whose connection is gone has left a call after a while, which is short here.
const host = await startConsoleServer({ PARLEY_CALL_LOST_SECONDS: '2' }, { shards: 2 });
const { server } = host;
after(async () => await host.stop());
const { ann, ben, cyn, mallory } = await server.people('ann', 'ben', 'cyn', 'mallory');
await start(server, ann, 'direct', ['ben']);
const theirs = (await start(server, ann, 'direct', ['mallory'])).id;

let attempts = 0;
const newCall = () => `intruded-${(attempts += 1)}`;
const seqs = new Map<string, number>();

/** Every step of a call, with a body that it takes. */
const STEPS: readonly (readonly [kind: string, step: string, body: object])[] = [
  ['call', 'invite', { video: true, room: 'r' }],
  ['call', 'join', {}],
  ['call', 'hold', {}],
  ['call', 'decline', {}],
  ['call', 'cancel', {}],
  ['call', 'end', {}],
  ['call', 'transfer', { target: 'cyn' }],
  ['webrtc', 'offer', { sdp: 'v=0' }],
  ['webrtc', 'answer', { sdp: 'v=0' }],
  ['webrtc', 'candidate', { candidate: 'c' }],
  ['webrtc', 'camera', { on: true }],
];

async function take(who: Person, to: string, call: string, step: string, kind = 'call', body?: object): Promise<Reply> {
  const sender = `${who.session.device_id} ${call}`;
  const seq = (seqs.get(sender) ?? 0) + 1;
  seqs.set(sender, seq);
  const payload = body ?? (step === 'invite' ? { video: true, room: 'r' } : {});
  return await server.api(who, 'POST', '/v1/signal', { to, kind, step, call, seq, body: payload });
}

async function accepted(...of: Parameters<typeof take>): Promise<void> {
  const { status, text } = await take(...of);
  assert.deepEqual([status, text], [202, '']);
}

const callOf = async (who: Person, call: string): Promise<LiveCallView | undefined> =>
  (await server.api<{ items: LiveCallView[] }>(who, 'GET', '/v1/calls')).body.items.find((one) => one.call === call);

/** Stanzas of a call on a socket: by whom, and which step. */
const heardOf = ({ events }: TestSocket, call: string) =>
  events
    .filter(({ data, type }) => type === 'signal' && data['call'] === call)
    .map(({ data }) => `${(data['sender'] as string | undefined) ?? '-'} ${String(data['step'])}`);

/** A call of ann and ben in a room where mallory and cyn take part too, and have not joined. */
async function callInRoom(): Promise<{ room: string; call: string }> {
  const { id: room } = await start(server, ann, 'room', ['ben', 'cyn', 'mallory']);
  const call = newCall();
  await accepted(ann, room, call, 'invite');
  await accepted(ben, room, call, 'join');
  return { room, call };
}

for (const how of ['leaves', 'is removed']) {
  for (const wasIn of [true, false]) {
    test(`SIG-04 who ${how} is out of the room’s call, ${wasIn ? 'which they were in' : 'where they were rung'}, and takes no step of it`, async () => {
      const { call, room } = await callInRoom();
      if (wasIn) await accepted(mallory, room, call, 'join');
      const [hers, his, spying] = [
        await connect(server, ann),
        await connect(server, ben),
        await connect(server, mallory),
      ];
      const out = await server.api(
        how === 'leaves' ? mallory : ann,
        'DELETE',
        `/v1/conversations/${room}/participants/mallory`,
      );
      assert.equal(out.status, 204, out.text);
      await until(async () => (await callOf(mallory, call)) === undefined, 'mallory to be out');
      const members = async () => JSON.stringify(await callOf(ann, call));
      await until(async () => !(await members()).includes('mallory'), 'the call to be without mallory');
      const spiedBefore = heardOf(spying, call).length;
      for (const [kind, step, body] of STEPS) {
        const toRoom = await take(mallory, room, call, step, kind, body);
        assertRefused(toRoom, 403, 'recipient_forbidden', 'to');
        // To the people in it, whom they know from elsewhere, or do not.
        const toBen = await take(mallory, 'ben', call, step, kind, body);
        assert.ok(toBen.status === 403, `${step}: ${toBen.status} ${toBen.text}`);
        // An invite of that id is a call of their own, and nobody's else.
        if (step === 'invite') continue;
        const toAnn = await take(mallory, 'ann', call, step, kind, body);
        assert.ok([403, 404, 409].includes(toAnn.status), `${step}: ${toAnn.status} ${toAnn.text}`);
      }
      // What the two go on with does not reach them.
      await accepted(ben, room, call, 'hold');
      await until(() => heardOf(hers, call).includes('ben hold'), 'ann to hear it');
      await heardUpTo(server, spying, ann, theirs);
      assert.deepEqual(heardOf(spying, call).slice(spiedBefore), []);
      // That they are out is told once, to those who were in it with them.
      for (const socket of [hers, his]) {
        const ofMallory = heardOf(socket, call).filter((one) => one.startsWith('mallory') && !one.endsWith('join'));
        assert.ok(ofMallory.length === 0 || ofMallory.join() === 'mallory end', ofMallory.join());
      }
      assert.ok(!(await members()).includes('mallory'));
      await take(ann, room, call, 'end');
      await Promise.all([hers, his, spying].map(async (socket) => await socket.close()));
    });
  }
}

test('SIG-08 who takes part in the room and not in its call holds, moves and ends nothing of it', async () => {
  const { call, room } = await callInRoom();
  const before = JSON.stringify(await callOf(ann, call));
  const hers = await connect(server, ann);
  for (const [kind, step, body] of STEPS) {
    // Whom it rings may join or decline, and their browser may make itself ready before.
    if (['invite', 'join', 'decline'].includes(step) || kind === 'webrtc') continue;
    const { status, text } = await take(mallory, room, call, step, kind, body);
    assert.ok(status >= 400, `${step}: ${status} ${text}`);
  }
  assert.equal(JSON.stringify(await callOf(ann, call)), before);
  await heardUpTo(server, hers, mallory, theirs);
  assert.deepEqual(heardOf(hers, call), []);
  await take(ann, room, call, 'end');
  await hers.close();
});

test('SIG-04 who is blocked is out of the call that they were in, and takes no step of it', async () => {
  const { call, room } = await callInRoom();
  await accepted(cyn, room, call, 'join');
  const [hers, his, spying] = [await connect(server, ann), await connect(server, ben), await connect(server, cyn)];
  await callControl(server.folder, 'user.block', { username: 'cyn' });
  assert.equal((await spying.closing()).code, 4401);
  const { status } = await take(cyn, room, call, 'hold');
  assert.ok([401, 403].includes(status), String(status));
  const parties = async () => JSON.stringify((await callOf(ben, call)) ?? assert.fail('the call is over'));
  await until(async () => !(await parties()).includes('"cyn"'), 'the call to be without them');
  await take(ann, room, call, 'end');
  await Promise.all([hers.close(), his.close()]);
});

test('SIG-01 SIG-06 GOV-02 whatever a stanza says of who sends it, by form, body, header or query, the server says who did', async () => {
  const call = newCall();
  const his = await connect(server, ben);
  for (const field of ['sender', 'from', 'user', 'username', 'device', 'device_id', 'caller', 'on_behalf_of']) {
    const stanza = { to: 'ben', kind: 'call', step: 'invite', call, seq: 1, body: { video: true, room: 'r' } };
    const outer = await server.api(ann, 'POST', '/v1/signal', { ...stanza, [field]: 'mallory' });
    assert.deepEqual([outer.status, outer.body['code']], [400, 'field_unknown'], field);
    const inner = await server.api(ann, 'POST', '/v1/signal', {
      ...stanza,
      body: { ...stanza.body, [field]: 'mallory' },
    });
    assert.deepEqual([inner.status, inner.body['code']], [400, 'field_unknown'], `body.${field}`);
  }
  const stanza = { to: 'ben', kind: 'call', step: 'invite', call, seq: 1, body: { video: true, room: 'r' } };
  for (const path of ['/v1/signal?sender=mallory', `/v1/signal?device=${mallory.session.device_id}`]) {
    const reply = await server.api(ann, 'POST', path, stanza);
    assert.deepEqual([reply.status, reply.body['code']], [400, 'query_invalid'], path);
  }
  // Twice in one form: whichever a reader takes, it is none of the server's.
  const twice = JSON.stringify(stanza)
    .replace('{', '{"sender":"mallory",')
    .replace(/\}$/, ',"__proto__":{"sender":"mallory"}}');
  assert.equal((await server.api(ann, 'POST', '/v1/signal', twice)).status, 400);
  const headers = { 'x-user': 'mallory', 'x-forwarded-user': 'mallory', 'remote-user': 'mallory', from: 'mallory' };
  assert.equal((await server.api(ann, 'POST', '/v1/signal', stanza, headers)).status, 202);
  const heard = await his.event(({ data, type }) => type === 'signal' && data['call'] === call, 'the invite');
  assert.equal(heard.data['sender'], 'ann');
  assert.ok(!JSON.stringify(heard).includes('mallory'));
  // A stanza is no frame of a socket.
  his.send({ kind: 'call', step: 'join', to: 'ann', call, seq: 1, sender: 'ann', body: {} });
  await his.event('error');
  assert.equal((await callOf(ben, call))?.state, 'ringing');
  seqs.set(`${ann.session.device_id} ${call}`, 1);
  await accepted(ann, 'ben', call, 'cancel');
  await his.close();
});
