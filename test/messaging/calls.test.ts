/** Calls over the real server with two shards: who rings, who wins, who hears what, and what is left after (SIG-04…08). */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { startServer, type Person, type Reply, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { anotherDevice, assertRefused, post, start } from './conversing.ts';

const TURN_SECRET = 'a secret that coturn knows too';

let server: TestServer;
let ann: Person;
let ben: Person;
let cyn: Person;
let direct: string;
let attempts = 0;

before(async () => {
  server = await startServer({
    shards: 2,
    environment: {
      // Longer than a busy machine takes from a ring to an answer, and to restart a shard.
      PARLEY_RING_SECONDS: '4',
      PARLEY_CALL_LOST_SECONDS: '8',
      PARLEY_TURN_URIS: 'stun:turn.example.org, turn:turn.example.org?transport=udp,turns:turn.example.org:5349',
      PARLEY_TURN_SECRET: TURN_SECRET,
      PARLEY_DEBUG_HOOKS: '1',
    },
  });
  ({ ann, ben, cyn } = await server.people('ann', 'ben', 'cyn'));
  ({ id: direct } = await start(server, ann, 'direct', ['ben']));
  await start(server, ann, 'direct', ['cyn']);
  await start(server, ben, 'direct', ['cyn']);
});
after(async () => {
  await server.stop();
});

const newCall = () => `call-${(attempts += 1)}`;
const seqs = new Map<string, number>();

interface Step {
  readonly to: string;
  readonly call: string;
  readonly step: string;
  readonly kind?: string;
  readonly body?: object;
  readonly seq?: number;
}

async function take(who: Person, { to, call, step, kind = 'call', body, seq }: Step): Promise<Reply> {
  const sender = `${who.session.device_id} ${call}`;
  const next = seq ?? (seqs.get(sender) ?? 0) + 1;
  seqs.set(sender, next);
  const payload = body ?? (step === 'invite' ? { video: true, room: 'r' } : {});
  return await server.api(who, 'POST', '/v1/signal', { to, kind, step, call, seq: next, body: payload });
}

async function accepted(who: Person, step: Step): Promise<void> {
  const { status, text } = await take(who, step);
  assert.deepEqual([status, text], [202, '']);
}

async function callsOf(who: Person): Promise<LiveCallView[]> {
  const { status, body, text } = await server.api<{ items: LiveCallView[] }>(who, 'GET', '/v1/calls');
  assert.equal(status, 200, text);
  return body.items;
}

const callIn = async (who: Person, call: string) => (await callsOf(who)).find((one) => one.call === call);

/** Waits for a step of an attempt on a socket; `reason` as the body has it. */
async function hears(socket: TestSocket, call: string, step: string, reason?: string) {
  return await socket.event(({ type, data }) => {
    const body = data['body'] as { reason?: string } | undefined;
    return type === 'signal' && data['call'] === call && data['step'] === step && body?.reason === reason;
  }, `${step} of ${call}`);
}

const heardOf = (socket: TestSocket, call: string) =>
  socket.events
    .filter(({ type, data }) => type === 'signal' && data['call'] === call)
    .map(({ data }) => `${(data['sender'] as string | undefined) ?? '-'} ${String(data['step'])}`);

async function close(...sockets: TestSocket[]): Promise<void> {
  await Promise.all(sockets.map((socket) => socket.close()));
}

test('SIG-08 eight devices ring; all join at once, one wins, and the others are told', async () => {
  const devices: Person[] = [];
  // Sign-ins are counted by address, so one after the other.
  for (let count = 0; count < 8; count += 1) devices.push(await anotherDevice(server, ben));
  const sockets = await Promise.all(devices.map((device) => connect(server, device)));
  const hers = await connect(server, ann);
  const call = newCall();
  await accepted(ann, { to: 'ben', call, step: 'invite' });
  const rung = await Promise.all(sockets.map((socket) => hears(socket, call, 'invite')));
  assert.deepEqual(rung[7]?.data['sender'], 'ann');
  const replies = await Promise.all(devices.map((device) => take(device, { to: 'ann', call, step: 'join' })));
  const winners = replies.flatMap(({ status }, index) => (status === 202 ? [index] : []));
  assert.equal(winners.length, 1);
  for (const reply of replies.filter(({ status }) => status !== 202)) {
    assertRefused(reply, 409, 'call_already_joined');
  }
  await Promise.all(
    sockets.map(async (socket, index) => {
      if (index !== winners[0]) await hears(socket, call, 'cancel', 'answered_elsewhere');
    }),
  );
  await hears(hers, call, 'join');
  assert.deepEqual(heardOf(hers, call), ['ben join']);
  const seen = await callIn(ben, call);
  assert.deepEqual(
    [seen?.state, seen?.you, seen?.device, seen?.to],
    ['joined', 'joined', devices[winners[0] ?? 0]?.session.device_id, 'ann'],
  );
  await accepted(ann, { to: 'ben', call, step: 'end' });
  await Promise.all(sockets.map((socket) => hears(socket, call, 'end', 'completed')));
  assert.equal(await callIn(ann, call), undefined);
  await close(hers, ...sockets);
});

test('SIG-08 it does not matter whether a direct call is addressed to the person or to the conversation', async () => {
  const hers = await connect(server, ann);
  const call = newCall();
  await accepted(ann, { to: direct, call, step: 'invite' });
  assert.equal((await callIn(ben, call))?.to, direct);
  await accepted(ben, { to: 'ann', call, step: 'join' });
  await hears(hers, call, 'join');
  assertRefused(await take(ben, { to: direct, call, step: 'join' }), 409, 'call_already_joined');
  await accepted(ben, { to: direct, call, step: 'end' });
  assert.equal((await hears(hers, call, 'end', 'completed')).conv, direct);
  await close(hers);
});

test('GOV-01 an id of a call lives between the same people only, and is free again when the call is over', async () => {
  const call = newCall();
  const room = await start(server, ann, 'room', ['ben', 'cyn']);
  const other = await start(server, cyn, 'room', ['ben']);
  const socket = await connect(server, ben);
  await accepted(ann, { to: room.id, call, step: 'invite' });
  await accepted(cyn, { to: room.id, call, step: 'join' });
  // Cyn is in the call, so she knows its id; an attempt that she begins under it elsewhere would be taken for this one.
  const elsewhere = [
    { to: 'ben', call, step: 'invite' },
    { to: other.id, call, step: 'invite' },
    { to: other.id, call, step: 'join' },
  ];
  for (const step of elsewhere) assertRefused(await take(cyn, step), 409, 'call_id_taken', 'call');
  assert.equal((await callIn(ben, call))?.to, room.id);
  assert.deepEqual(heardOf(socket, call), ['ann invite', 'cyn join']);
  // What was refused for another reason holds no id.
  assertRefused(await take(ann, { to: room.id, call, step: 'invite', seq: 9 }), 409, 'call_already_started');
  await accepted(cyn, { to: room.id, call, step: 'end' });
  await until(async () => (await callIn(ben, call)) === undefined, 'the end of the call');
  await accepted(cyn, { to: 'ben', call, step: 'invite', seq: 20 });
  await accepted(cyn, { to: 'ben', call, step: 'cancel', seq: 21 });
  await close(socket);
});

test('GOV-01 of many who begin calls of one id at once in different places, one does', async () => {
  const call = newCall();
  const rooms = await Promise.all(Array.from({ length: 6 }, async () => await start(server, ann, 'room', ['ben'])));
  const replies = await Promise.all(
    rooms.map(
      async ({ id }, at) => await take(at % 2 === 0 ? ann : ben, { to: id, call, step: 'invite', seq: at + 1 }),
    ),
  );
  assert.deepEqual(
    replies.map(({ status }) => status).toSorted((a, b) => a - b),
    [202, 409, 409, 409, 409, 409],
  );
  assert.equal((await callsOf(ann)).filter((one) => one.call === call).length, 1);
  await until(async () => (await callIn(ann, call)) === undefined, 'its ringing to end');
});

test('SIG-08 glare: of two invites that cross, the one with the smaller id stays on both sides', async () => {
  const [hers, his] = [await connect(server, ann), await connect(server, ben)];
  const [small, large] = [`a-${newCall()}`, `b-${newCall()}`];
  await Promise.all([
    accepted(ann, { to: 'ben', call: large, step: 'invite' }),
    accepted(ben, { to: direct, call: small, step: 'invite' }),
  ]);
  for (const socket of [hers, his]) {
    const over = await hears(socket, large, 'end', 'glare');
    assert.deepEqual(over.data['body'], { reason: 'glare', into: small });
  }
  assert.deepEqual([await callIn(ann, large), (await callIn(ann, small))?.you], [undefined, 'ringing']);
  await accepted(ann, { to: 'ben', call: small, step: 'join' });
  await accepted(ben, { to: 'ann', call: small, step: 'end' });
  await close(hers, his);
});

test('in a group a decline settles one person’s devices, and the host’s leaving goes unnoticed by the rest', async () => {
  const { id: room } = await start(server, ann, 'room', ['ben', 'cyn']);
  const benToo = await anotherDevice(server, ben);
  const [hers, his, hisToo, third] = await Promise.all([ann, ben, benToo, cyn].map((who) => connect(server, who)));
  assert.ok(hers !== undefined && his !== undefined && hisToo !== undefined && third !== undefined);
  const call = newCall();
  await accepted(ann, { to: room, call, step: 'invite' });
  await hears(third, call, 'invite');
  await accepted(ben, { to: room, call, step: 'decline', body: { reason: 'later' } });
  await hears(hisToo, call, 'cancel', 'declined_elsewhere');
  await hears(hers, call, 'decline', 'later');
  assert.deepEqual([(await callIn(ben, call))?.you, (await callIn(cyn, call))?.you], ['declined', 'ringing']);
  await accepted(cyn, { to: room, call, step: 'join' });
  await accepted(benToo, { to: room, call, step: 'join' });
  await accepted(ann, { to: room, call, step: 'end' });
  await hears(third, call, 'end');
  const seen = await callIn(ann, call);
  assert.deepEqual(
    [seen?.state, seen?.participants.map(({ user }) => user), seen?.you],
    ['joined', ['cyn', 'ben'], 'ringing'],
  );
  await accepted(cyn, { to: room, call, step: 'end' });
  await hears(hers, call, 'end', 'completed');
  await close(hers, his, hisToo, third);
});

test('a call is transferred with the consent of its target, who was not part of the conversation', async () => {
  const [hers, his, third] = [await connect(server, ann), await connect(server, ben), await connect(server, cyn)];
  const call = newCall();
  await accepted(ann, { to: direct, call, step: 'invite' });
  await accepted(ben, { to: direct, call, step: 'join' });
  const offer = { to: direct, call, step: 'transfer' };
  assertRefused(await take(ann, offer), 400, 'field_invalid', 'body.target');
  for (const target of ['nobody', 'ann']) {
    const [status, code] =
      target === 'ann' ? ([400, 'field_invalid'] as const) : ([403, 'recipient_forbidden'] as const);
    assertRefused(await take(ann, { ...offer, body: { target }, seq: 9 }), status, code, 'body.target');
  }
  await accepted(ann, { ...offer, body: { target: 'cyn' }, seq: 2 });
  const rung = await hears(third, call, 'transfer');
  assert.deepEqual([rung.data['to'], rung.data['sender'], rung.conv], ['cyn', 'ann', undefined]);
  const offered = await callIn(cyn, call);
  assert.deepEqual([offered?.state, offered?.you, offered?.to], ['transferring', 'ringing', 'ann']);
  await accepted(cyn, { to: 'ann', call, step: 'join' });
  await hears(his, call, 'join');
  await hears(hers, call, 'end', 'transferred');
  assert.deepEqual((await callIn(ben, call))?.participants, [
    { user: 'ben', held: false },
    { user: 'cyn', held: false },
  ]);
  await accepted(ben, { to: direct, call, kind: 'webrtc', step: 'offer' });
  await hears(third, call, 'offer');
  await accepted(cyn, { to: 'ann', call, kind: 'webrtc', step: 'answer' });
  await hears(his, call, 'answer');
  assertRefused(await take(ann, { to: direct, call, step: 'join', seq: 3 }), 409, 'call_over');
  await accepted(cyn, { to: 'ann', call, step: 'end' });
  await hears(his, call, 'end', 'completed');
  await close(hers, his, third);
});

test('a call is held and taken up again, by the device that is in it', async () => {
  const his = await connect(server, ben);
  const call = newCall();
  await accepted(ann, { to: 'ben', call, step: 'invite' });
  await accepted(ben, { to: 'ann', call, step: 'join' });
  await accepted(ann, { to: 'ben', call, step: 'hold', body: { held: true } });
  await hears(his, call, 'hold');
  assert.deepEqual([(await callIn(ann, call))?.state, (await callIn(ann, call))?.you], ['held', 'held']);
  await accepted(ann, { to: 'ben', call, step: 'hold', body: { held: false } });
  assert.equal((await callIn(ben, call))?.state, 'joined');
  const annToo = await anotherDevice(server, ann);
  assertRefused(await take(annToo, { to: 'ben', call, step: 'hold' }), 409, 'call_not_joined');
  assertRefused(
    await take(ann, { to: 'ben', call, step: 'transfer', body: { target: 'ben' } }),
    409,
    'call_already_joined',
    'body.target',
  );
  await accepted(ann, { to: 'ben', call, step: 'end' });
  await close(his);
});

test('SIG-08 nobody there: ringing ends by itself, also without the caller and with nobody connected', async () => {
  const hers = await connect(server, ann);
  const call = newCall();
  await accepted(ann, { to: 'ben', call, step: 'invite' });
  await hears(hers, call, 'end', 'missed');
  assertRefused(await take(ben, { to: 'ann', call, step: 'join' }), 409, 'call_over');
  await close(hers);
  const alone = newCall();
  await accepted(ann, { to: 'ben', call: alone, step: 'invite' });
  await until(async () => (await callIn(ben, alone)) === undefined, 'the call to be over');
});

test('a device that slept reads the live calls and joins', async () => {
  const call = newCall();
  const hers = await connect(server, ann);
  await accepted(ann, { to: direct, call, step: 'invite' });
  const late = await connect(server, ben);
  assert.deepEqual(heardOf(late, call), []);
  const seen = await callIn(ben, call);
  assert.deepEqual(seen, {
    call,
    to: direct,
    state: 'ringing',
    host: 'ann',
    video: true,
    room: 'r',
    started_at: seen?.started_at,
    participants: [{ user: 'ann', held: false }],
    you: 'ringing',
    device: null,
  });
  assert.deepEqual(await callsOf(cyn), []);
  await accepted(ben, { to: seen?.to ?? '', call, step: 'join' });
  await hears(hers, call, 'join');
  await accepted(ann, { to: direct, call, step: 'end' });
  await close(hers, late);
});

test('a party whose socket is gone for too long has left', async () => {
  const [hers, his] = [await connect(server, ann), await connect(server, ben)];
  const call = newCall();
  await accepted(ann, { to: 'ben', call, step: 'invite' });
  await accepted(ben, { to: 'ann', call, step: 'join' });
  hers.raw.terminate();
  const lost = await hears(his, call, 'end', 'lost');
  assert.equal(lost.data['sender'], 'ann');
  await hears(his, call, 'end', 'completed');
  await close(his);
});

test('whoever is taken out of the room is out of its call', async () => {
  const { id: room } = await start(server, ann, 'room', ['ben', 'cyn']);
  const [hers, third] = [await connect(server, ann), await connect(server, cyn)];
  const call = newCall();
  await accepted(ann, { to: room, call, step: 'invite' });
  await accepted(ben, { to: room, call, step: 'join' });
  await accepted(cyn, { to: room, call, step: 'join' });
  assert.equal((await server.api(ann, 'DELETE', `/v1/conversations/${room}/participants/cyn`)).status, 204);
  await hears(third, call, 'end', 'removed');
  await hears(hers, call, 'end', 'removed');
  assertRefused(await take(cyn, { to: room, call, step: 'hold' }), 403, 'recipient_forbidden', 'to');
  assert.equal(await callIn(cyn, call), undefined);
  assert.equal((await server.api(ann, 'DELETE', `/v1/conversations/${room}`)).status, 204);
  await hears(hers, call, 'end', 'removed');
  await until(async () => (await callIn(ann, call)) === undefined, 'the call to be over');
  await close(hers, third);
});

test('SIG-04 GOV-03 a call is not for strangers, and its steps say nothing of who takes them', async () => {
  const call = newCall();
  assertRefused(await take(ann, { to: 'zed', call, step: 'invite' }), 403, 'recipient_forbidden', 'to');
  await accepted(ann, { to: 'ben', call, step: 'invite', seq: 1 });
  for (const field of ['sender', 'from', 'user', 'device']) {
    const stanza = { to: 'ben', kind: 'call', step: 'hold', call, seq: 2, body: {}, [field]: 'ben' };
    assertRefused(await server.api(ann, 'POST', '/v1/signal', stanza), 400, 'field_unknown', field);
  }
  for (const step of ['join', 'end', 'decline', 'hold']) {
    assertRefused(await take(cyn, { to: 'ben', call, step }), 404, 'call_not_found');
  }
  await accepted(ann, { to: 'ben', call, step: 'cancel', seq: 2 });
});

test('MSG-07 an outcome that contradicts what the server saw is refused, one of an unknown call believed', async () => {
  const call = newCall();
  await accepted(ann, { to: 'ben', call, step: 'invite' });
  await accepted(ben, { to: direct, call, step: 'decline' });
  const outcome = async (result: string, duration: number, more: object = {}) =>
    await post(server, ann, direct, { kind: 'call', body: { outcome: { result, duration, flags: [] }, ...more } });
  assertRefused(await outcome('completed', 61, { call }), 409, 'call_outcome_contradicts');
  assertRefused(await outcome('cancelled', 0, { call }), 409, 'call_outcome_contradicts');
  assertRefused(await outcome('declined', 0, { call, user: 'ben' }), 400, 'field_unknown', 'body.user');
  const told = await outcome('declined', 0, { call });
  assert.equal(told.status, 201);
  assert.deepEqual(told.body.body, { outcome: { result: 'declined', duration: 0, flags: [] }, call });
  assert.equal((await outcome('completed', 61, { call: 'long-ago' })).status, 201);
});

test('GET /v1/calls/ice: credentials for coturn that expire, and nothing secret beside', async () => {
  const earliest = Math.floor(Date.now() / 1000) + 21_600;
  const { status, body, text } = await server.api<{
    ice_servers: { urls: string[]; username?: string; credential?: string }[];
    expires_at: string;
  }>(ann, 'GET', '/v1/calls/ice');
  assert.equal(status, 200, text);
  const [stun, turn] = body.ice_servers;
  assert.deepEqual(stun, { urls: ['stun:turn.example.org'] });
  assert.deepEqual(turn?.urls, ['turn:turn.example.org?transport=udp', 'turns:turn.example.org:5349']);
  const [expiry, user] = (turn?.username ?? '').split(':');
  assert.equal(user, 'ann');
  assert.ok(Number(expiry) >= earliest && Number(expiry) <= earliest + 60);
  assert.equal(Date.parse(body.expires_at), Number(expiry) * 1000);
  assert.equal(
    turn?.credential,
    createHmac('sha1', TURN_SECRET)
      .update(turn?.username ?? '')
      .digest('base64'),
  );
  assert.ok(!text.includes(TURN_SECRET));
});

test('calls are counted: live ones by state, ended ones by result', async () => {
  const call = newCall();
  await accepted(ann, { to: 'ben', call, step: 'invite' });
  const metrics = async () =>
    await (await fetch(`${server.messaging}/healthz`, { headers: { accept: 'text/plain' } })).text();
  assert.match(await metrics(), /^parley_calls_live\{state="ringing"\} 1$/m);
  await accepted(ann, { to: 'ben', call, step: 'cancel' });
  const text = await metrics();
  assert.match(text, /^parley_calls_live\{state="ringing"\} 0$/m);
  assert.match(text, /^parley_calls_ended_total\{result="cancelled"\} [1-9]/m);
});

// The last one: it takes a shard down.
test('SUR-01 a shard that dies gives its calls back: joined ones go on, ringing ones end in time', async () => {
  const names = ['one', 'two', 'three', 'four'].map((name) => `${name}-${newCall()}`);
  const rooms = await Promise.all(names.map(async () => (await start(server, ann, 'room', ['ben'])).id));
  const sockets = [await connect(server, ann), await connect(server, ben)];
  for (const [index, call] of names.entries()) {
    await accepted(ann, { to: rooms[index] ?? '', call, step: 'invite' });
    if (index > 0) await accepted(ben, { to: rooms[index] ?? '', call, step: 'join' });
  }
  const deaths = () => server.output.filter((line) => line.includes('a shard died')).length;
  const died = deaths();
  server.process.kill('SIGUSR2');
  await until(() => deaths() > died, 'a shard to die');
  const seen = await until(async () => {
    // Connections to the thread that died are cut.
    const reply = await server.api<{ items: LiveCallView[] }>(ben, 'GET', '/v1/calls').catch(() => undefined);
    return reply?.status === 200 ? reply.body.items : false;
  }, 'the calls to be read again');
  const joined = seen.filter(({ state }) => state === 'joined').map(({ call }) => call);
  assert.deepEqual(joined.toSorted(), names.slice(1).toSorted());
  for (const socket of sockets) if (socket.closed === undefined) socket.raw.terminate();
  const hers = await connect(server, ann);
  const last = { to: rooms[1] ?? '', call: names[1] ?? '', step: 'end' };
  await until(async () => (await take(ben, last).catch(() => undefined))?.status === 202, 'the hang-up to be taken');
  await hears(hers, names[1] ?? '', 'end', 'completed');
  await until(async () => (await callIn(ben, names[0] ?? '')) === undefined, 'ringing to end');
  await close(hers);
});
