/** A load generator process that plays people who call each other: an invite, eight devices that ring, a join, an end. */
import { answerAsks } from './child.ts';
import type { CallersOrder, CallsOrder, CallsResult } from './callers.ts';
import { within } from './deadline.ts';
import { HttpConnection, requestText } from './http-connection.ts';
import { nanosNow, waitUntil } from './monotonic.ts';
import { RawSocket, type TextSink } from './raw-socket.ts';

/** A call that takes longer has lost an event. */
const CALL_SECONDS = 20;

let order: CallersOrder;
let host = '';
let connections: HttpConnection[] = [];
/** `<call> <step>` → who waits for that many of them. */
const awaited = new Map<string, { left: number; done: () => void }>();

const sink: TextSink = {
  wantsWhole: true,
  text: (bytes, at, length) => {
    const { type, data } = JSON.parse(bytes.toString('utf8', at, at + length)) as {
      type: string;
      data: { call?: string; step?: string };
    };
    if (type !== 'signal') return;
    const waiting = awaited.get(`${data.call} ${data.step}`);
    if (waiting === undefined) return;
    waiting.left -= 1;
    if (waiting.left === 0) waiting.done();
  },
  closed: () => undefined,
};

async function connect(given: CallersOrder): Promise<void> {
  order = given;
  host = `${order.host}:${order.port}`;
  const paths = order.pairs.flatMap(({ path, devices }) => [path, ...devices.map((device) => device.path)]);
  const address = { host: order.host, port: order.port, dialect: 'plain' as const };
  const sockets = paths.map((path, index) => new RawSocket(index, { ...address, path }, sink));
  await Promise.all(sockets.map((socket) => socket.opened));
}

/** Resolves with the instant at which so many sockets have heard that step. */
function heard(call: string, step: string, count: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  awaited.set(`${call} ${step}`, {
    left: count,
    done: () => {
      awaited.delete(`${call} ${step}`);
      resolve(nanosNow());
    },
  });
  return within(`${step} of ${call}`, CALL_SECONDS, promise);
}

function signal(connection: HttpConnection, token: string, stanza: object): Promise<number> {
  const text = requestText('POST', '/v1/signal', host, token, JSON.stringify({ kind: 'call', ...stanza }));
  return new Promise((resolve) => connection.request(text, false, resolve));
}

async function run({ run: name, calls, callsPerSecond }: CallsOrder): Promise<CallsResult> {
  const ring: number[] = [];
  const settle: number[] = [];
  const lag: number[] = [];
  const statuses: Record<number, number> = {};
  for (const connection of connections) connection.destroy();
  connections = order.pairs.map(() => new HttpConnection({ host: order.host, port: order.port }));
  await Promise.all(connections.map((connection) => connection.opened));
  const count = (status: number) => void (statuses[status] = (statuses[status] ?? 0) + 1);
  const start = nanosNow() + 5e6;
  // A pair has one call at a time; the pairs take turns on the schedule.
  const playing = order.pairs.map(async ({ token, caller, callee, devices }, pair) => {
    const connection = connections[pair]!;
    for (let i = pair; i < calls; i += order.pairs.length) {
      const due = start + (i / callsPerSecond) * 1e9;
      const wait = waitUntil(due);
      // oxlint-disable-next-line no-await-in-loop -- The schedule is what is awaited.
      if (wait !== undefined) await wait;
      lag.push(nanosNow() - due);
      const call = `${name}-${i}`;
      const rung = heard(call, 'invite', devices.length);
      const body = { video: false, room: call };
      // oxlint-disable-next-line no-await-in-loop -- A call is one thing after the other.
      count(await signal(connection, token, { to: callee, step: 'invite', call, seq: 1, body }));
      // oxlint-disable-next-line no-await-in-loop
      ring.push((await rung) - due);
      const told = heard(call, 'cancel', devices.length - 1);
      const joining = nanosNow();
      const winner = devices[i % devices.length]!;
      // oxlint-disable-next-line no-await-in-loop
      count(await signal(connection, winner.token, { to: caller, step: 'join', call, seq: 1, body: {} }));
      // oxlint-disable-next-line no-await-in-loop
      settle.push((await told) - joining);
      // The hang-up is heard by every device but the caller's, and the end by all.
      const over = heard(call, 'end', 2 * devices.length + 1);
      // oxlint-disable-next-line no-await-in-loop
      count(await signal(connection, token, { to: callee, step: 'end', call, seq: 2, body: {} }));
      // oxlint-disable-next-line no-await-in-loop
      await over;
    }
  });
  await Promise.all(playing);
  const floats = (numbers: number[]) => Float64Array.from(numbers);
  return { ring: floats(ring), settle: floats(settle), lag: floats(lag), statuses };
}

answerAsks({ connect, run });
