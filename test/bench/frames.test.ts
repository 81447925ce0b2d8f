/** The load generators' frame reader: a generator that miscounts would blame the server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventClass, EVENT_CLASS, eventOffset, SOCKET_IO_PREFIX } from '#bench/harness/dialect.ts';
import { clientFrame, FrameReader, OPCODE } from '#bench/harness/frames.ts';

/** A frame as a server sends it: unmasked. */
function serverFrame(opcode: number, payload: string): Buffer {
  const bytes = Buffer.from(payload);
  if (bytes.length < 126) return Buffer.concat([Buffer.from([0x80 | opcode, bytes.length]), bytes]);
  if (bytes.length <= 0xffff) {
    return Buffer.concat([Buffer.from([0x80 | opcode, 126, bytes.length >> 8, bytes.length & 255]), bytes]);
  }
  const head = Buffer.alloc(10);
  head[0] = 0x80 | opcode;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(bytes.length), 2);
  return Buffer.concat([head, bytes]);
}

function readAll(chunks: readonly Buffer[], wantsWhole: boolean): string[] {
  const seen: string[] = [];
  const reader = new FrameReader({
    wantsWhole,
    frame: (opcode, bytes, at, length) => {
      const end = wantsWhole ? at + length : at + Math.min(length, 40);
      seen.push(`${opcode}:${length}:${bytes.toString('utf8', at, end)}`);
    },
  });
  for (const chunk of chunks) reader.read(chunk, chunk.length);
  return seen;
}

const long = 'a'.repeat(300);
const huge = 'b'.repeat(70_000);
const stream = Buffer.concat([
  serverFrame(OPCODE.text, 'short'),
  serverFrame(OPCODE.text, long),
  serverFrame(OPCODE.ping, ''),
  serverFrame(OPCODE.text, huge),
  serverFrame(OPCODE.text, ''),
  serverFrame(OPCODE.close, '\u000f\u00a2bye'),
]);

test('frames of all three length forms in one chunk are seen once each, with their first bytes', () => {
  assert.deepEqual(readAll([stream], false), [
    '1:5:short',
    `1:300:${'a'.repeat(40)}`,
    '9:0:',
    `1:70000:${'b'.repeat(40)}`,
    '1:0:',
    '8:6:\u000f\u00a2bye',
  ]);
});

test('a stream cut at any byte gives the same frames', () => {
  const whole = readAll([stream], false);
  const cuts = [...Array(400).keys(), stream.length - 8, stream.length - 3, stream.length - 1].slice(1);
  for (const cut of cuts) {
    assert.deepEqual(readAll([stream.subarray(0, cut), stream.subarray(cut)], false), whole, `cut at ${cut}`);
  }
});

test('a stream that comes byte by byte gives the same frames, also when they are wanted whole', () => {
  const bytes = Array.from(stream, (_, i) => stream.subarray(i, i + 1));
  assert.deepEqual(readAll(bytes, false), readAll([stream], false));
  assert.equal(readAll(bytes, true)[1], `1:300:${long}`);
});

test('a masked frame from a server is refused', () => {
  const masked = clientFrame(OPCODE.text, 'hello');
  assert.throws(() => readAll([masked], false), { message: 'the server sent a masked frame' });
});

test('a client frame is masked, and above 125 bytes carries a two-byte length', () => {
  assert.deepEqual([...clientFrame(OPCODE.text, 'hi')], [0x81, 0x82, 0, 0, 0, 0, 104, 105]);
  assert.deepEqual([...clientFrame(OPCODE.text, 'x'.repeat(126)).subarray(0, 4)], [0x81, 0xfe, 0, 126]);
  assert.throws(() => clientFrame(OPCODE.text, 'x'.repeat(65_536)), {
    message: 'load generators send no frame above 64 KiB',
  });
});

test('an event is told by two letters of its type, in both dialects', () => {
  const classes = (type: string): number[] => {
    const event = `{"type":"${type}","conv":"c_x"}`;
    return [
      eventClass(Buffer.from(event), 0),
      eventClass(Buffer.from(`${SOCKET_IO_PREFIX}${event}]`), eventOffset('socket.io')),
    ];
  };
  const { message, receipt, typing, other } = EVENT_CLASS;
  assert.deepEqual(classes('message.new'), [message, message]);
  assert.deepEqual(classes('receipt'), [receipt, receipt]);
  assert.deepEqual(classes('typing'), [typing, typing]);
  for (const type of [
    'message.edit',
    'message.delete',
    'membership',
    'reaction',
    'presence',
    'pin',
    'inbox',
    'error',
  ]) {
    assert.deepEqual(classes(type), [other, other], type);
  }
});
