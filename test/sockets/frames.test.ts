/** What a client may say over its socket: two frames, a bounded number of mistakes, and nothing about who it is. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import { RawSocket, textFrame } from '#test/support/raw-socket.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { anotherDevice, heardUpTo, start } from '#test/messaging/conversing.ts';

let server: TestServer;
let ann: Person;
let ben: Person;

before(async () => {
  server = await startServer({ shards: 2 });
  ({ ann, ben } = await server.people('ann', 'ben'));
});
after(async () => {
  await server.stop();
});

const typing = (conv: string) => ({ kind: 'typing', conv });

/** The answer to the next refused frame. */
async function refusedFrame(socket: TestSocket, frame: unknown, code: ErrorCode): Promise<void> {
  const count = socket.events.filter((event) => event.type === 'error').length;
  socket.send(frame);
  const error = (await socket.eventsOf('error', count + 1)).at(-1);
  assert.deepEqual(error?.data, { code, error: ERRORS[code].error });
}

test('SOC-06 FRM-01 typing reaches the others and none of the own devices', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const other = await anotherDevice(server, ann);
  const [mine, mineToo, his] = [await connect(server, ann), await connect(server, other), await connect(server, ben)];
  mine.send(typing(id));
  const event = await his.event('typing');
  assert.deepEqual({ ...event, ts: 0 }, { type: 'typing', conv: id, ts: 0, data: { user: 'ann' } });
  assert.deepEqual(await heardUpTo(server, mine, ben, id), []);
  assert.deepEqual(await heardUpTo(server, mineToo, ben, id), ['message.new']);
  for (const socket of [mine, mineToo, his]) await socket.close();
});

test('FRM-01 typing passes at most once in three seconds per person and conversation', async () => {
  const room = await start(server, ann, 'room', ['ben']);
  const second = await start(server, ann, 'room', ['ben']);
  const [mine, his] = [await connect(server, ann), await connect(server, ben)];
  for (let count = 0; count < 5; count += 1) mine.send(typing(room.id));
  mine.send(typing(second.id));
  await his.event((event) => event.type === 'typing' && event.conv === second.id);
  assert.deepEqual(await heardUpTo(server, his, ann, room.id), ['typing']);
  await Promise.all([mine.close(), his.close()]);
});

test('FRM-02 SOC-08 typing of somebody who does not take part reaches nobody', async () => {
  const { id } = await start(server, ben, 'room', []);
  const [hers, his] = [await connect(server, ann), await connect(server, ben)];
  await refusedFrame(hers, typing(id), 'conversation_forbidden');
  await refusedFrame(hers, typing(`${id.slice(0, -4)}zzzz`), 'conversation_forbidden');
  await refusedFrame(hers, typing('c_nothing'), 'frame_invalid');
  assert.deepEqual(await heardUpTo(server, his, ben, id), []);
  await Promise.all([hers.close(), his.close()]);
});

test('FRM-02 SOC-06 after a removal the same socket may not type and hears nothing', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const [hers, his] = [await connect(server, ann), await connect(server, ben)];
  his.send(typing(id));
  await hers.event('typing');
  const removed = await server.api(ann, 'DELETE', `/v1/conversations/${id}/participants/ben`);
  assert.equal(removed.status, 204);
  await his.event('membership');
  await refusedFrame(his, typing(id), 'conversation_forbidden');
  await heardUpTo(server, hers, ann, id);
  assert.ok(!his.events.some((event) => event.type === 'message.new'));
  await Promise.all([hers.close(), his.close()]);
});

test('FRM-03 presence is effective over all devices of the person', async () => {
  const { dan, eva } = await server.people('dan', 'eva');
  await start(server, eva, 'direct', ['dan']);
  const watcher = await connect(server, eva);
  const states = () => watcher.events.filter((event) => event.type === 'presence' && event.data['user'] === 'dan');
  const next = async (count: number) => {
    const events = await until(() => (states().length >= count ? states() : undefined), `${count} presence events`);
    return events.map(({ data }) => data['state']);
  };
  const phone = await connect(server, dan);
  const laptop = await connect(server, await anotherDevice(server, dan));
  assert.deepEqual(await next(1), ['online']);
  phone.send({ kind: 'presence', awake: false });
  laptop.send({ kind: 'presence', awake: false });
  assert.deepEqual(await next(2), ['online', 'away']);
  laptop.send({ kind: 'presence', awake: true });
  assert.deepEqual(await next(3), ['online', 'away', 'online']);
  await laptop.close();
  assert.deepEqual(await next(4), ['online', 'away', 'online', 'away']);
  assert.equal(phone.closed, undefined);
  await phone.close();
  assert.deepEqual(await next(5), ['online', 'away', 'online', 'away', 'offline']);
  await watcher.close();
});

test('FRM-03 who comes later reads who is there, as the events told those who were there before', async () => {
  const { fay, gil, hal, ida } = await server.people('fay', 'gil', 'hal', 'ida');
  await start(server, fay, 'room', ['gil', 'hal']);
  const watcher = await connect(server, gil);
  const [hers, his, stranger] = [await connect(server, fay), await connect(server, hal), await connect(server, ida)];
  const heard = (user: string, state: string) =>
    watcher.event(({ type, data }) => type === 'presence' && data['user'] === user && data['state'] === state);
  const presence = async (who: Person) => {
    const { body } = await server.api<{ items: unknown[]; next: null }>(who, 'GET', '/v1/presence');
    return body;
  };
  await Promise.all([heard('fay', 'online'), heard('hal', 'online'), heard('gil', 'online')]);
  his.send({ kind: 'presence', awake: false });
  await heard('hal', 'away');
  const there = [
    { user: 'fay', state: 'online' },
    { user: 'gil', state: 'online' },
    { user: 'hal', state: 'away' },
  ];
  const { items, next } = await presence(gil);
  assert.deepEqual([new Set(items), next], [new Set(there), null]);
  assert.deepEqual(await presence(ida), { items: [], next: null });
  await hers.close();
  await heard('fay', 'offline');
  assert.deepEqual(new Set((await presence(gil)).items), new Set(there.slice(1)));
  await Promise.all([watcher.close(), his.close(), stranger.close()]);
});

const AWRY: readonly (readonly [string, unknown])[] = [
  ['SOC-07 the key type', { kind: 'presence', awake: true, type: 'message.new' }],
  ['SOC-07 only the key type', { type: 'typing' }],
  ['SOC-07 FRM-04 a sender', { kind: 'presence', awake: true, sender: 'ben' }],
  ['SOC-07 FRM-04 a from', { kind: 'presence', awake: true, from: 'ben' }],
  ['SOC-07 FRM-04 a user', { kind: 'presence', awake: true, user: 'ben' }],
  ['SOC-06 a third kind', { kind: 'message', body: 'hello' }],
  ['SOC-06 a wrong value', { kind: 'presence', awake: 'yes' }],
  ['SOC-06 a missing field', { kind: 'typing' }],
  ['SOC-06 a list', []],
  ['SOC-06 null', 'null'],
  ['SOC-06 no JSON', '{"kind":'],
  ['SOC-06 nothing', ''],
  ['SOC-06 binary data', Buffer.from('{"kind":"presence","awake":true}')],
];

for (const [what, frame] of AWRY) {
  test(`${what} in a frame is refused with an error event`, async () => {
    const socket = await connect(server, ann);
    await refusedFrame(socket, frame, 'frame_invalid');
    assert.equal(socket.closed, undefined);
    await socket.close();
  });
}

test('SOC-07 SOC-08 a typing frame with a person or a type is never delivered', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const [hers, his] = [await connect(server, ann), await connect(server, ben)];
  for (const extra of [{ type: 'typing' }, { user: 'ben' }, { sender: 'ann' }, { from: 'ann' }]) {
    await refusedFrame(hers, { ...typing(id), ...extra }, 'frame_invalid');
  }
  assert.deepEqual(await heardUpTo(server, his, ann, id), []);
  assert.ok(!his.events.some((event) => event.type === 'error'));
  await Promise.all([hers.close(), his.close()]);
});

test('SOC-08 a frame has 1,024 bytes at most', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const [hers, his] = [await connect(server, ann), await connect(server, ben)];
  const text = JSON.stringify(typing(id));
  await refusedFrame(hers, text.padEnd(1_025), 'frame_too_large');
  hers.send(text.padEnd(1_024));
  assert.deepEqual((await his.event('typing')).data, { user: 'ann' });
  await Promise.all([hers.close(), his.close()]);
});

test('SOC-08 a frame in fragments counts as one, and its parts together have the limit', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const [hers, his] = [await connect(server, ann), await connect(server, ben)];
  const text = JSON.stringify(typing(id));
  hers.raw.send(text.slice(0, 10), { fin: false });
  hers.raw.send(text.slice(10), { fin: true });
  assert.deepEqual((await his.event('typing')).data, { user: 'ann' });
  for (let part = 0; part < 4; part += 1) hers.raw.send(' '.repeat(300), { fin: part === 3 });
  assert.equal((await hers.event('error')).data['code'], 'frame_too_large');
  await Promise.all([hers.close(), his.close()]);
});

test('SOC-08 beyond 16 KiB the connection is cut', async () => {
  const socket = await connect(server, ann);
  await refusedFrame(socket, ' '.repeat(16 * 1024), 'frame_too_large');
  socket.send(' '.repeat(16 * 1024 + 1));
  assert.equal((await socket.closing()).code, 1006);
});

test('SOC-08 text that is not UTF-8 ends its own connection and reaches nobody', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const [socket, his] = [await connect(server, ann), await connect(server, ben)];
  socket.raw.send(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), { binary: false });
  assert.equal((await socket.closing()).code, 1006);
  assert.deepEqual(await heardUpTo(server, his, ann, id), []);
  await his.close();
});

test('SOC-08 eight refused frames leave the socket open, the ninth within a minute closes it', async () => {
  const { id } = await start(server, ann, 'room', ['ben']);
  const [hers, his] = [await connect(server, ann), await connect(server, ben)];
  for (let count = 0; count < 8; count += 1) await refusedFrame(hers, { kind: 'nothing' }, 'frame_invalid');
  assert.deepEqual(await heardUpTo(server, hers, ben, id), []);
  hers.send({ kind: 'nothing' });
  hers.send(typing(id));
  assert.deepEqual(await hers.closing(), { code: 4400, reason: 'abuse' });
  assert.equal(hers.events.filter((event) => event.type === 'error').length, 9);
  assert.ok(!(await heardUpTo(server, his, ben, id)).includes('typing'));
  const again = await connect(server, ann);
  assert.equal(again.closed, undefined);
  await Promise.all([again.close(), his.close()]);
});

test('SOC-08 refused frames are counted by code', async () => {
  const reply = await server.api<{ refusals: Record<string, number> }>(undefined, 'GET', '/healthz');
  const { refusals } = reply.body;
  assert.ok((refusals['frame_invalid'] ?? 0) >= AWRY.length, reply.text);
  assert.ok((refusals['frame_too_large'] ?? 0) >= 3, reply.text);
});

test('an unmasked frame is never taken for what it says: its first four bytes are read as the mask', async () => {
  const socket = await RawSocket.open(server, ben);
  const said = Buffer.from(JSON.stringify({ kind: 'presence', awake: false }));
  // The library waits for as many bytes as a masked frame would have.
  socket.tcp.write(Buffer.concat([Buffer.of(0x81, said.length), said, Buffer.alloc(4)]));
  // Behind it the connection is in step again: a frame that is right passes, and one that is not is answered.
  socket.tcp.write(Buffer.concat([textFrame(JSON.stringify({ kind: 'presence', awake: true })), textFrame('[]')]));
  let bytes = Buffer.alloc(0);
  socket.tcp.on('data', (part: Buffer) => (bytes = Buffer.concat([bytes, part])));
  socket.tcp.resume();
  const answers = () => bytes.toString('latin1').split('"code":"frame_invalid"').length - 1;
  await until(() => answers() === 2, 'an answer to each of the two frames that are none');
  socket.end();
});
