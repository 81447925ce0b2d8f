/** Signalling over the real server: what may be said, to whom, in which order, and who hears it. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join as joinPath } from 'node:path';
import { after, before, test } from 'node:test';
import { startServer, type Person, type Reply, type TestServer } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { anotherDevice, assertRefused, heardUpTo, start } from '#test/messaging/conversing.ts';

let server: TestServer;
let ann: Person;
let ben: Person;
let cyn: Person;

before(async () => {
  server = await startServer({ shards: 2 });
  ({ ann, ben, cyn } = await server.people('ann', 'ben', 'cyn'));
});
after(async () => {
  await server.stop();
});

const INVITE = { kind: 'call', step: 'invite', body: { video: true, room: 'r1' } };

async function signal(who: Person, stanza: unknown): Promise<Reply> {
  return await server.api(who, 'POST', '/v1/signal', stanza);
}

async function accepted(who: Person, stanza: unknown): Promise<void> {
  const reply = await signal(who, stanza);
  assert.deepEqual({ status: reply.status, text: reply.text }, { status: 202, text: '' });
}

const signalsOf = (socket: TestSocket) => socket.events.filter((event) => event.type === 'signal');

test('SIG-02 SIG-03 every step of every family passes and no other', async () => {
  const dee = await server.person('dee');
  const { id } = await start(server, ann, 'room', ['ben', 'dee']);
  const socket = await connect(server, dee);
  const seqs = new Map<string, number>();
  const take = async (who: Person, kind: string, step: string, call: string) => {
    const seq = (seqs.get(`${who.username} ${call}`) ?? 0) + 1;
    seqs.set(`${who.username} ${call}`, seq);
    const body = step === 'invite' ? { video: false, room: 'r' } : step === 'transfer' ? { target: 'dee' } : {};
    await accepted(who, { to: id, kind, step, call, seq, body });
  };
  for (const call of ['one', 'two', 'three']) await take(ann, 'call', 'invite', call);
  await take(ben, 'call', 'decline', 'one');
  await take(ann, 'call', 'cancel', 'one');
  await take(ben, 'call', 'join', 'two');
  for (const step of ['hold', 'transfer', 'end']) await take(ann, 'call', step, 'two');
  for (const step of ['offer', 'answer', 'candidate', 'camera']) await take(ann, 'webrtc', step, 'three');
  for (const step of ['subscribe', 'unsubscribe']) await take(ann, 'sub', step, 'four');
  for (const [kind, passing] of [
    ['call', 'offer'],
    ['webrtc', 'invite'],
    ['sub', 'invite'],
  ]) {
    for (const step of ['ring', 'Invite', '', 'constructor', passing]) {
      assertRefused(await signal(ann, { to: id, kind, step, body: {} }), 400, 'signal_step_unknown', 'step');
    }
  }
  for (const kind of ['message', 'Call', '', 'toString', 7, null]) {
    assertRefused(await signal(ann, { to: id, kind, step: 'invite' }), 400, 'signal_kind_unknown', 'kind');
  }
  await heardUpTo(server, socket, ann, id);
  const heard = signalsOf(socket).map(({ data }) =>
    [data['sender'] ?? '-', data['call'], data['kind'], data['step']].join(' '),
  );
  assert.deepEqual(heard.toSorted(), [
    '- one call end',
    '- two call cancel',
    '- two call end',
    'ann four sub subscribe',
    'ann four sub unsubscribe',
    'ann one call cancel',
    'ann one call invite',
    'ann three call invite',
    'ann three webrtc answer',
    'ann three webrtc camera',
    'ann three webrtc candidate',
    'ann three webrtc offer',
    'ann two call end',
    'ann two call hold',
    'ann two call invite',
    'ann two call transfer',
    'ben one call decline',
    'ben two call join',
  ]);
  await accepted(ann, { to: id, kind: 'call', step: 'end', call: 'three', seq: 6, body: {} });
  await socket.close();
});

test('SIG-01 a stanza has its six fields and nothing else', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  for (const field of ['sender', 'from', 'user', 'device', 'ts', 'type', 'id']) {
    assertRefused(
      await signal(ann, { to: id, ...INVITE, call: 'x', seq: 1, [field]: 'ben' }),
      400,
      'field_unknown',
      field,
    );
  }
  assertRefused(await signal(ann, { ...INVITE }), 400, 'field_invalid', 'to');
  assertRefused(await signal(ann, { to: id, ...INVITE, call: 'x', seq: -1 }), 400, 'field_invalid', 'seq');
  assertRefused(await signal(ann, { to: id, ...INVITE, call: 'x', seq: 1.5 }), 400, 'field_invalid', 'seq');
  assertRefused(await signal(ann, { to: id, ...INVITE, call: '' }), 400, 'field_invalid', 'call');
});

test('SIG-05 an invite says whether with video and into which room', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const invite = { to: id, kind: 'call', step: 'invite', call: 'x', seq: 1 };
  assertRefused(await signal(ann, { ...invite, body: { room: 'r' } }), 400, 'field_invalid', 'body.video');
  assertRefused(
    await signal(ann, { ...invite, body: { video: 'yes', room: 'r' } }),
    400,
    'field_invalid',
    'body.video',
  );
  assertRefused(await signal(ann, { ...invite, body: { video: true } }), 400, 'field_invalid', 'body.room');
  assertRefused(await signal(ann, { ...invite, body: { video: true, room: 7 } }), 400, 'field_invalid', 'body.room');
  assertRefused(
    await signal(ann, { ...invite, body: { video: true, room: 'r', sdp: '' } }),
    400,
    'field_unknown',
    'body.sdp',
  );
});

test('SIG-01 GOV-02 no depth of a body carries an identity field', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const offer = { to: id, kind: 'webrtc', step: 'offer', call: 'x', seq: 1 };
  for (const field of ['sender', 'from', 'user']) {
    const nested = { ...offer, body: { sdp: { lines: [{ [field]: 'ben' }] } } };
    assertRefused(await signal(ann, nested), 400, 'field_unknown', `body.sdp.lines.0.${field}`);
    assertRefused(await signal(ann, { ...offer, body: { [field]: 'ben' } }), 400, 'field_unknown', `body.${field}`);
  }
  await accepted(ann, { to: id, ...INVITE, call: 'x', seq: 1 });
  await accepted(ann, { ...offer, seq: 2, body: { sdp: { lines: [{ origin: 'ben' }] } } });
});

test('SIG-04 GOV-04 one answer for a recipient that is not there and one that shares nothing', async () => {
  const { zed } = await server.people('zed');
  const theirs = await start(server, zed, 'room', []);
  const unknown = `${theirs.id.slice(0, -4)}0000`;
  for (const to of ['zed', 'nobody-at-all', theirs.id, unknown, 'Not A Name', 'cyn', 'c_0']) {
    assertRefused(await signal(ann, { to, ...INVITE, call: 'x', seq: 1 }), 403, 'recipient_forbidden', 'to');
  }
  const answers = await Promise.all(
    ['zed', 'nobody-at-all'].map((to) => signal(ann, { to, ...INVITE, call: 'x', seq: 1 })),
  );
  assert.equal(answers[0]?.text, answers[1]?.text);
});

test('SIG-04 membership that has ended no longer opens a recipient', async () => {
  await server.person('zack');
  const { id } = await start(server, ann, 'room', ['zack']);
  await accepted(ann, { to: 'zack', ...INVITE, call: 'to-zack', seq: 1 });
  assert.equal((await server.api(ann, 'DELETE', `/v1/conversations/${id}/participants/zack`)).status, 204);
  assertRefused(await signal(ann, { to: 'zack', ...INVITE, call: 'y', seq: 1 }), 403, 'recipient_forbidden', 'to');
});

test('SIG-06 a person hears it with the sender that the server set, and third parties do not', async () => {
  const { id } = await start(server, ann, 'room', ['ben', 'cyn']);
  const annToo = await anotherDevice(server, ann);
  const sockets = {
    sending: await connect(server, ann),
    hersToo: await connect(server, annToo),
    his: await connect(server, ben),
    third: await connect(server, cyn),
  };
  await accepted(ann, { to: 'ben', ...INVITE, call: 'to-ben', seq: 1 });
  const event = await sockets.his.event('signal');
  assert.deepEqual(event, {
    type: 'signal',
    ts: event.ts,
    data: { to: 'ben', ...INVITE, call: 'to-ben', seq: 1, sender: 'ann' },
  });
  assert.deepEqual((await sockets.hersToo.event('signal')).data, event.data);
  for (const socket of [sockets.sending, sockets.third]) {
    await heardUpTo(server, socket, ben, id);
    assert.equal(signalsOf(socket).length, 0);
  }
  for (const socket of Object.values(sockets)) await socket.close();
});

test('SIG-06 SUR-01 a stanza is not stored: it is in no file, and who connects later does not hear it', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const earlier = await connect(server, cyn);
  // On every shard somebody hears it, so that it is on its way nowhere any more when the late one connects.
  const devices = await Promise.all(Array.from({ length: 8 }, () => anotherDevice(server, ben)));
  const witnesses = await Promise.all(devices.map((device) => connect(server, device)));
  await accepted(ann, { to: id, ...INVITE, body: { video: true, room: 'only-in-a-stanza' }, call: 'gone', seq: 1 });
  await Promise.all(witnesses.map((witness) => witness.event('signal')));
  const late = await connect(server, ben);
  assert.deepEqual(await heardUpTo(server, late, ann, id), []);
  const history = await server.api<{ items: unknown[] }>(ben, 'GET', `/v1/conversations/${id}/messages`);
  assert.equal(history.body.items.length, 1);
  assert.equal(signalsOf(earlier).length, 0);
  const holding = async (text: string): Promise<string[]> => {
    const files = await readdir(server.folder, { recursive: true, withFileTypes: true });
    const names: string[] = [];
    for (const { name, parentPath } of files.filter((file) => file.isFile())) {
      if ((await readFile(joinPath(parentPath, name))).includes(text)) names.push(name);
    }
    return names;
  };
  // What was posted is found by the same look once the log is brought to LMDB, so what is not found by then is not there.
  await until(async () => (await holding(id)).length > 0, 'what was posted is in a file');
  assert.deepEqual(await holding('only-in-a-stanza'), []);
  await Promise.all([earlier, late, ...witnesses].map((socket) => socket.close()));
});

test('SIG-07 a person joins an attempt once', async () => {
  const { id } = await start(server, ann, 'room', ['ben', 'cyn']);
  const join = { to: id, kind: 'call', step: 'join', call: 'party', body: {} };
  await accepted(ben, { ...join, seq: 1 });
  assertRefused(await signal(ben, { ...join, seq: 2 }), 409, 'call_already_joined');
  const benToo = await anotherDevice(server, ben);
  assertRefused(await signal(benToo, { ...join, seq: 1 }), 409, 'call_already_joined');
  await accepted(cyn, { ...join, seq: 1 });
  await accepted(ben, { ...join, call: 'another', seq: 1 });
});

test('SIG-07 steps of a sender arrive in the order of seq, a late one is refused', async () => {
  const { id } = await start(server, ann, 'room', ['ben', 'cyn']);
  const socket = await connect(server, ben);
  const candidate = { to: id, kind: 'webrtc', step: 'candidate', call: 'ordered', body: {} };
  await accepted(ann, { to: id, ...INVITE, call: 'ordered', seq: 1 });
  // The one that is missing is waited for; the two that follow leave in their order, whichever is asked first.
  const overtaking = [accepted(ann, { ...candidate, seq: 3 }), accepted(ann, { ...candidate, seq: 2 })];
  await Promise.all(overtaking);
  await accepted(ann, { ...candidate, seq: 6 });
  assertRefused(await signal(ann, { ...candidate, seq: 5 }), 409, 'signal_out_of_order', 'seq');
  assertRefused(await signal(ann, { ...candidate, seq: 6 }), 409, 'signal_out_of_order', 'seq');
  await accepted(cyn, { ...candidate, seq: 1 });
  await accepted(ann, { ...candidate, seq: 7 });
  const heard = (await socket.eventsOf('signal', 6)).map(
    ({ data }) => `${String(data['sender'])} ${String(data['seq'])}`,
  );
  assert.deepEqual(heard, ['ann 1', 'ann 2', 'ann 3', 'ann 6', 'cyn 1', 'ann 7']);
  await socket.close();
});

test('SUR-02 a call step as a message is refused and counted as a retired form', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const reply = await server.api(ann, 'POST', `/v1/conversations/${id}/messages`, {
    kind: 'call',
    body: { action: 'invite' },
    client_msg_id: 'step',
  });
  assertRefused(reply, 410, 'call_step_is_signalling');
  const health = await server.api<{ retired_forms: Record<string, number> }>(undefined, 'GET', '/healthz');
  assert.equal(health.body.retired_forms['call_step_is_signalling'], 1);
});
