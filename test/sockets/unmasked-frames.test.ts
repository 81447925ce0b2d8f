/**
 * Frames of a client that are not masked (RFC 6455, section 5.1). The socket library reads what comes before any of our code does,
 * says nothing of the bit, and takes the first four bytes for the mask: so the connection is not ended at once. This is what ends it.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { REFUSED_FRAMES_PER_MINUTE_MAX } from '#src/protocol/limits.ts';
import { RawSocket } from '#test/support/raw-socket.ts';
import { startServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { start } from '#test/messaging/conversing.ts';

/** The least that the setting takes. */
const server = await startServer({ shards: 2, environment: { PARLEY_SOCKET_IDLE_SECONDS: '8' } });
after(async () => await server.stop());
const { ann, ben, cat } = await server.people('ann', 'ben', 'cat');
await start(server, ann, 'direct', ['ben']);

function unmasked(text: string): Buffer {
  const said = Buffer.from(text);
  return Buffer.concat([Buffer.of(0x81, said.length), said]);
}
const AWAY = JSON.stringify({ kind: 'presence', awake: false });
const refusals = (bytes: Buffer) => bytes.toString('latin1').split('"code":"frame_invalid"').length - 1;

test('SOC-06 a connection that sends one and says nothing behind it ends with its idle time, unanswered', async () => {
  const socket = await RawSocket.open(server, cat);
  socket.tcp.write(unmasked(AWAY));
  assert.equal(refusals(await socket.readOn()), 0);
  assert.equal(socket.tcp.destroyed, true);
});

test('SOC-06 FRM-02 one after the other is refused, the one beyond the limit ends the connection, and none counts', async () => {
  const watcher = await connect(server, ann);
  const socket = await RawSocket.open(server, ben);
  await watcher.event(({ data, type }) => type === 'presence' && data['user'] === 'ben' && data['state'] === 'online');
  // Four bytes behind each are what the library waits for.
  const one = Buffer.concat([unmasked(AWAY), Buffer.alloc(4)]);
  for (let count = 0; count <= REFUSED_FRAMES_PER_MINUTE_MAX; count += 1) socket.tcp.write(one);
  const bytes = await socket.readOn();
  assert.ok(refusals(bytes) >= REFUSED_FRAMES_PER_MINUTE_MAX, bytes.toString('latin1'));
  // A close frame of two bytes and more: 4400.
  assert.ok(bytes.includes(Buffer.of(4400 >> 8, 4400 & 0xff)), 'it was closed with 4400');
  await watcher.event(({ data, type }) => type === 'presence' && data['user'] === 'ben' && data['state'] === 'offline');
  const states = watcher.events.filter(({ data, type }) => type === 'presence' && data['user'] === 'ben');
  assert.ok(!states.some(({ data }) => data['state'] === 'away'), JSON.stringify(states));
  await watcher.close();
});
