/** Signalling over the real server: what may be said, to whom, in which order, and who hears it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startServer, type Person, type Reply, type TestServer } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { anotherDevice, assertRefused, heardUpTo, start } from '#test/messaging/conversing.ts';

let server: TestServer;
let ann: Person;
let ben: Person;
let cyn: Person;

before(async () => {
  server = await startServer();
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
  const { id } = await start(server, ann, 'room', ['ben']);
  const socket = await connect(server, ben);
  const families: Record<string, string[]> = {
    call: ['invite', 'cancel', 'join', 'end', 'decline', 'hold', 'transfer'],
    webrtc: ['offer', 'answer', 'candidate', 'camera'],
    sub: ['subscribe', 'unsubscribe'],
  };
  for (const [kind, steps] of Object.entries(families)) {
    for (const step of steps) {
      const body = step === 'invite' ? { video: false, room: 'r' } : {};
      await accepted(ann, { to: id, kind, step, call: `${kind}-${step}`, seq: 1, body });
    }
    for (const step of ['ring', 'Invite', '', 'constructor', ...(kind === 'call' ? ['offer'] : ['invite'])]) {
      assertRefused(await signal(ann, { to: id, kind, step, body: {} }), 400, 'signal_step_unknown', 'step');
    }
  }
  for (const kind of ['message', 'Call', '', 'toString', 7, null]) {
    assertRefused(await signal(ann, { to: id, kind, step: 'invite' }), 400, 'signal_kind_unknown', 'kind');
  }
  const heard = (await socket.eventsOf('signal', 13)).map(
    ({ data }) => `${String(data['kind'])} ${String(data['step'])}`,
  );
  assert.deepEqual(
    heard,
    Object.entries(families).flatMap(([kind, steps]) => steps.map((step) => `${kind} ${step}`)),
  );
  await heardUpTo(server, socket, ann, id);
  assert.equal(signalsOf(socket).length, 13);
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
  await accepted(ann, { ...offer, body: { sdp: { lines: [{ origin: 'ben' }] } } });
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
  await accepted(ann, { to: 'zack', ...INVITE, call: 'x', seq: 1 });
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

test('SIG-06 a stanza is not stored: who connects later does not hear it', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const earlier = await connect(server, cyn);
  await accepted(ann, { to: id, ...INVITE, call: 'gone', seq: 1 });
  const late = await connect(server, ben);
  assert.deepEqual(await heardUpTo(server, late, ann, id), []);
  const history = await server.api<{ items: unknown[] }>(ben, 'GET', `/v1/conversations/${id}/messages`);
  assert.equal(history.body.items.length, 1);
  assert.equal(signalsOf(earlier).length, 0);
  await Promise.all([earlier.close(), late.close()]);
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
  for (const seq of [1, 2, 5]) await accepted(ann, { ...candidate, seq });
  assertRefused(await signal(ann, { ...candidate, seq: 4 }), 409, 'signal_out_of_order', 'seq');
  assertRefused(await signal(ann, { ...candidate, seq: 5 }), 409, 'signal_out_of_order', 'seq');
  await accepted(cyn, { ...candidate, seq: 1 });
  await accepted(ann, { ...candidate, seq: 6 });
  const heard = (await socket.eventsOf('signal', 5)).map(
    ({ data }) => `${String(data['sender'])} ${String(data['seq'])}`,
  );
  assert.deepEqual(heard, ['ann 1', 'ann 2', 'ann 5', 'cyn 1', 'ann 6']);
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
