/** A load generator process that holds sockets and counts what each of them is sent. */
import { answerAsks } from './child.ts';
import { EVENT_CLASS, EVENT_CLASSES, eventClass, eventOffset } from './dialect.ts';
import { nanosNow } from './monotonic.ts';
import { numberOf } from './payload.ts';
import { RawSocket, sourceAddress, type TextSink } from './raw-socket.ts';
import type { ConnectOrder, Connected, Received } from './receivers.ts';

/** Handshakes under way at once: enough to keep the server busy, few enough to fit any listen queue. */
const HANDSHAKES_MAX = 256;

const sockets: RawSocket[] = [];
let offset = 0;
const closed: Record<number, number> = {};

/** Counts since the last reset. `perSocket[i]` is also the index of the next message that socket i will get. */
let perSocket = new Uint32Array(0);
let firstAt = new Float64Array(0);
let lastAt = new Float64Array(0);
let reached = new Uint32Array(0);
let classes = new Float64Array(EVENT_CLASSES);
let order: number[] = [];
let beyond = 0;

const counter: TextSink = {
  wantsWhole: false,
  text: (bytes, at, _length, socket) => count(bytes, at, socket),
  closed: (code) => void (closed[code] = (closed[code] ?? 0) + 1),
};

/** One socket per process decodes what it gets, which proves content and order for all: they are sent the same bytes. */
const witness: TextSink = {
  ...counter,
  wantsWhole: true,
  text: (bytes, at, length, socket) => {
    if (eventClass(bytes, at + offset) === EVENT_CLASS.message) {
      const end = at + length - (offset === 0 ? 0 : 1);
      const event = JSON.parse(bytes.toString('utf8', at + offset, end)) as { data: { body: string } };
      order.push(numberOf(event.data.body));
    }
    count(bytes, at, socket);
  },
};

function count(bytes: Buffer, at: number, socket: RawSocket): void {
  const kind = eventClass(bytes, at + offset);
  classes[kind]! += 1;
  if (kind !== EVENT_CLASS.message) return;
  const index = perSocket[socket.index]!;
  perSocket[socket.index] = index + 1;
  if (index >= reached.length) {
    beyond += 1;
    return;
  }
  reached[index]! += 1;
  if (reached[index] === 1) firstAt[index] = nanosNow();
  if (reached[index] === sockets.length) lastAt[index] = nanosNow();
}

async function connect(given: ConnectOrder): Promise<Connected> {
  offset = eventOffset(given.dialect);
  const began = nanosNow();
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let i = next; i < given.paths.length; i = next) {
      next += 1;
      const { host, port, dialect } = given;
      const localAddress = sourceAddress(i);
      const address = { host, port, dialect, localAddress, path: given.paths[i] ?? '' };
      const socket = new RawSocket(sockets.length, address, i === 0 ? witness : counter);
      sockets.push(socket);
      // oxlint-disable-next-line no-await-in-loop -- A lane opens one socket after the other; the lanes run at once.
      await socket.opened;
    }
  };
  await Promise.all(Array.from({ length: HANDSHAKES_MAX }, lane));
  return { seconds: (nanosNow() - began) / 1e9 };
}

function reset(posts: number): void {
  perSocket = new Uint32Array(sockets.length);
  firstAt = new Float64Array(posts);
  lastAt = new Float64Array(posts);
  reached = new Uint32Array(posts);
  classes = new Float64Array(EVENT_CLASSES);
  order = [];
  beyond = 0;
  for (const socket of sockets) socket.reads = 0;
}

function collect(): Received {
  const whole = sockets.length;
  let wrong = beyond;
  for (const got of perSocket) if (got !== reached.length) wrong += 1;
  return {
    sockets: whole,
    wrongSockets: wrong,
    messages: classes[EVENT_CLASS.message] ?? 0,
    receipts: classes[EVENT_CLASS.receipt] ?? 0,
    typings: classes[EVENT_CLASS.typing] ?? 0,
    others: classes[EVENT_CLASS.other] ?? 0,
    reads: sockets.reduce((sum, socket) => sum + socket.reads, 0),
    firstAt,
    lastAt,
    order,
    closed,
  };
}

answerAsks({
  connect,
  reset: ({ posts }: { posts: number }) => reset(posts),
  frames: () => classes.reduce((sum, value) => sum + value, 0),
  messages: () => classes[EVENT_CLASS.message],
  closed: () => closed,
  collect,
});
