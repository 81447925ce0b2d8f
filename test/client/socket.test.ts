/** The socket's life: waits between attempts, close codes, and what a failed handshake leads to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONNECT_MILLIS_MAX,
  type ConnectionReport,
  QUIET_MILLIS_MAX,
  Socket,
  STABLE_MILLIS,
  type Verdict,
  type WebSocketLike,
} from '#src/client/connection/socket.ts';
import { CLOSE_CODES } from '#src/protocol/sockets/close-codes.ts';
import { ManualTimers, settle } from './manual-timers.ts';

/** A WebSocket whose network is the test. */
class FakeSocket implements WebSocketLike {
  readonly url: string;
  readonly protocols: string[];
  readonly sent: string[] = [];
  readonly closedWith: (number | undefined)[] = [];
  readonly #listeners = new Map<string, (event: { data: unknown; code: number }) => void>();

  constructor(url: string, protocols: string[]) {
    this.url = url;
    this.protocols = protocols;
  }

  send(text: string): void {
    this.sent.push(text);
  }

  close(code?: number): void {
    this.closedWith.push(code);
  }

  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.set(type, listener as (event: { data: unknown; code: number }) => void);
  }

  happen(type: 'open' | 'message' | 'close' | 'error', event: { data?: unknown; code?: number } = {}): void {
    this.#listeners.get(type)?.({ data: event.data, code: event.code ?? 1006 });
  }
}

function setUp(random = () => 0.5) {
  const timers = new ManualTimers();
  const made: FakeSocket[] = [];
  const reports: ConnectionReport[] = [];
  const texts: string[] = [];
  const asked: string[] = [];
  const verdicts: Verdict[] = [];
  let token = 'token-1';
  const socket = new Socket({
    url: 'https://chat.example.org/',
    WebSocket: class extends FakeSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        made.push(this);
      }
    },
    timers,
    random,
    credentials: () => ({ token, device: 'd_1' }),
    probe: async () => {
      asked.push('probe');
      return verdicts.shift() ?? {};
    },
    renew: async (old) => {
      asked.push(`renew ${old}`);
      token = 'token-2';
      return verdicts.shift() ?? {};
    },
    onOpen: () => asked.push('open'),
    onText: (text) => texts.push(text),
    onQuiet: () => asked.push('quiet'),
    onReport: (report) => reports.push(report),
  });
  const last = () => {
    const latest = made.at(-1);
    assert.ok(latest !== undefined, 'no socket was made');
    return latest;
  };
  const waits = () =>
    reports.flatMap((report) => (report.state === 'waiting' && report.millis > 0 ? [report.millis] : []));
  return { timers, made, reports, texts, asked, verdicts, socket, last, waits };
}

test('SOC-01 VER-03 the handshake carries token, device and the version as subprotocol', () => {
  const { socket, last } = setUp();
  socket.open();
  assert.equal(last().url, 'wss://chat.example.org/v1/ws?device=d_1', 'the address has no token');
  assert.deepEqual(last().protocols, ['parley.1', 'parley-token.token-1']);
});

test('opening twice makes one socket', () => {
  const { socket, made } = setUp();
  socket.open();
  socket.open();
  assert.equal(made.length, 1);
});

test('text is passed on, binary is not, and frames go out only while open', () => {
  const { socket, last, texts } = setUp();
  socket.open();
  assert.equal(socket.send({ kind: 'presence', awake: true }), false);
  last().happen('open');
  assert.equal(socket.send({ kind: 'presence', awake: false }), true);
  last().happen('message', { data: '{}' });
  last().happen('message', { data: new ArrayBuffer(2) });
  assert.deepEqual(texts, ['{}']);
  assert.deepEqual(last().sent, ['{"kind":"presence","awake":false}']);
  last().happen('close', { code: 4003 });
  assert.equal(socket.send({ kind: 'presence', awake: true }), false);
});

for (const [name, code] of Object.entries({
  replaced: CLOSE_CODES.replaced,
  'too slow': CLOSE_CODES.tooSlow,
  draining: CLOSE_CODES.draining,
  'of the network': 1006,
  'last of the reconnect band': 4399,
  'first above the other band': 4500,
})) {
  test(`a close that is ${name} (${code}) reconnects after a wait`, async () => {
    const { socket, timers, made, last, reports } = setUp();
    socket.open();
    last().happen('open');
    last().happen('close', { code });
    assert.deepEqual(reports.at(-1), { state: 'waiting', millis: 1_000, code });
    await timers.pass(999);
    assert.equal(made.length, 1);
    await timers.pass(1);
    assert.equal(made.length, 2);
  });
}

for (const [code, reason] of [
  [CLOSE_CODES.abuse, 'refused'],
  [CLOSE_CODES.revoked, 'signed-out'],
  [CLOSE_CODES.clientTooOld, 'too-old'],
  [4499, 'refused'],
] as const) {
  test(`a close with ${code} stops: ${reason}`, async () => {
    const { socket, timers, made, last, reports } = setUp();
    socket.open();
    last().happen('open');
    last().happen('close', { code });
    assert.deepEqual(reports.at(-1), { state: 'stopped', reason, code });
    await timers.pass(3_600_000);
    assert.equal(made.length, 1);
    assert.deepEqual(timers.waits, []);
  });
}

test('4004 renews the token first, and reconnects with the new one', async () => {
  const { socket, timers, made, last, asked } = setUp();
  socket.open();
  last().happen('open');
  last().happen('close', { code: CLOSE_CODES.sessionOver });
  await settle();
  assert.deepEqual(asked, ['open', 'renew token-1']);
  assert.equal(made.length, 1);
  await timers.pass(1_000);
  assert.equal(made.length, 2);
  assert.equal(last().protocols[1], 'parley-token.token-2');
});

test('4004 on a session that cannot be renewed stops as signed out', async () => {
  const { socket, timers, made, last, verdicts, reports } = setUp();
  verdicts.push({ stop: 'signed-out' });
  socket.open();
  last().happen('open');
  last().happen('close', { code: CLOSE_CODES.sessionOver });
  await settle();
  assert.deepEqual(reports.at(-1), { state: 'stopped', reason: 'signed-out', code: 4004 });
  await timers.pass(3_600_000);
  assert.equal(made.length, 1);
});

test('waits between failed connections double from one second to sixteen, and each asks why', async () => {
  const { socket, timers, last, waits, asked } = setUp();
  socket.open();
  for (let count = 0; count < 6; count += 1) {
    last().happen('error');
    last().happen('close');
    await settle();
    await timers.pass(timers.waits[0] ?? 0);
  }
  assert.deepEqual(waits(), [1_000, 2_000, 4_000, 8_000, 16_000, 16_000]);
  assert.deepEqual(asked, Array(6).fill('probe'));
});

test('every wait is jittered by a factor in [0.5, 1.5)', async () => {
  const factors = [0, 0.25, 0.999];
  const { socket, timers, last, waits } = setUp(() => factors.shift() ?? 0);
  socket.open();
  for (let count = 0; count < 3; count += 1) {
    last().happen('close');
    await settle();
    await timers.pass(timers.waits[0] ?? 0);
  }
  assert.deepEqual(waits(), [500, 1_500, 5_996]);
});

for (const [millis, next] of [
  [STABLE_MILLIS - 1, 4_000],
  [STABLE_MILLIS, 1_000],
] as const) {
  test(`after two failures, a connection that lived ${millis} ms is followed by a wait of ${next} ms`, async () => {
    const { socket, timers, last, waits } = setUp();
    socket.open();
    for (let count = 0; count < 2; count += 1) {
      last().happen('close');
      await settle();
      await timers.pass(timers.waits[0] ?? 0);
    }
    last().happen('open');
    await timers.pass(millis);
    last().happen('close', { code: 4003 });
    assert.equal(waits().at(-1), next);
  });
}

test('a failed connection stops when the server says why, and waits as long as it asks', async () => {
  const { socket, timers, last, verdicts, reports } = setUp();
  verdicts.push({ retryAfter: 20 }, { stop: 'too-old' });
  socket.open();
  last().happen('close');
  await settle();
  assert.deepEqual(reports.at(-1), { state: 'waiting', millis: 21_000 });
  await timers.pass(21_000);
  last().happen('close');
  await settle();
  assert.deepEqual(reports.at(-1), { state: 'stopped', reason: 'too-old' });
});

test('a handshake that hangs is given up at its deadline, and what it does later is ignored', async () => {
  const { socket, timers, made, last, asked } = setUp();
  socket.open();
  const first = last();
  await timers.pass(CONNECT_MILLIS_MAX - 1);
  assert.deepEqual(first.closedWith, []);
  await timers.pass(1);
  assert.equal(first.closedWith.length, 1);
  await timers.pass(1_000);
  assert.equal(made.length, 2);
  first.happen('open');
  first.happen('message', { data: '{}' });
  first.happen('close');
  last().happen('open');
  assert.deepEqual(asked, ['probe', 'open']);
  assert.equal(socket.isOpen, true);
});

test('a failed handshake that is told by an error alone counts, and an error of an open socket waits for its close', async () => {
  const { socket, timers, made, last, asked, reports } = setUp();
  socket.open();
  last().happen('error');
  await timers.pass(1_000);
  assert.equal(made.length, 2);
  last().happen('open');
  last().happen('error');
  assert.equal(socket.isOpen, true);
  last().happen('close', { code: 4002 });
  assert.deepEqual(reports.at(-1), { state: 'waiting', millis: 2_000, code: 4002 });
  assert.deepEqual(asked, ['probe', 'open']);
});

test('an open socket that brings nothing is told of each time the bound passes, one that talks is not', async () => {
  const { socket, timers, last, asked } = setUp();
  socket.open();
  last().happen('open');
  await timers.pass(QUIET_MILLIS_MAX - 1);
  last().happen('message', { data: '{}' });
  await timers.pass(QUIET_MILLIS_MAX - 1);
  assert.deepEqual(asked, ['open']);
  await timers.pass(1);
  assert.deepEqual(asked, ['open', 'quiet']);
  await timers.pass(QUIET_MILLIS_MAX);
  assert.deepEqual(asked, ['open', 'quiet', 'quiet']);
  last().happen('close', { code: 4400 });
  assert.deepEqual(timers.waits, []);
});

test('a socket given up comes back as after any break, and what the dead one does is ignored', async () => {
  const { socket, timers, made, last, texts } = setUp();
  socket.open();
  socket.giveUp();
  assert.equal(made.length, 1);
  const dead = last();
  dead.happen('open');
  socket.giveUp();
  assert.equal(dead.closedWith.length, 1);
  await timers.pass(1_000);
  assert.equal(made.length, 2);
  dead.happen('message', { data: '{}' });
  dead.happen('close', { code: 4400 });
  last().happen('open');
  assert.equal(socket.isOpen, true);
  assert.deepEqual(texts, []);
});

test('waking connects at once while it waits, and does nothing while it asks', async () => {
  const { socket, made, last } = setUp();
  socket.open();
  last().happen('close');
  socket.wake();
  assert.equal(made.length, 1);
  await settle();
  socket.wake();
  assert.equal(made.length, 2);
  socket.wake();
  assert.equal(made.length, 2);
});

test('stopping ends the socket, the wait and the question under way', async () => {
  const { socket, timers, made, last, reports } = setUp();
  socket.open();
  last().happen('open');
  socket.stop('closed');
  assert.deepEqual(last().closedWith, [1000]);
  last().happen('close');
  socket.open();
  last().happen('close');
  socket.stop('closed');
  await settle();
  await timers.pass(3_600_000);
  assert.equal(made.length, 2);
  assert.deepEqual(reports.at(-1), { state: 'stopped', reason: 'closed' });
});
