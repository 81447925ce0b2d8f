/** A load generator process that plays people in rooms: they post, read and type, over the transport of the subject. */
import { answerAsks } from './child.ts';
import type { ChatOrder, ChatResult, MixOrder } from './chat.ts';
import { EVENT_CLASS, EVENT_CLASSES, eventClass, eventOffset } from './dialect.ts';
import { HttpConnection, requestText } from './http-connection.ts';
import { nanosNow, waitUntil } from './monotonic.ts';
import { postBody } from './payload.ts';
import { RawSocket, sourceAddress, type TextSink } from './raw-socket.ts';

/** Connections that the posts and receipts of all people share, where those travel over HTTP. */
const HTTP_CONNECTIONS = 64;

/** Gets the status and the body of an answer; for an acknowledged emit 200 and the acknowledged value. */
type Done = (status: number, seq: number) => void;

let order: ChatOrder;
let host = '';
const sockets: RawSocket[] = [];
const free: HttpConnection[] = [];
const waiting: { text: string; done: Done }[] = [];
const acks = new Map<number, Done>();
let lastAck = 0;
let classes = new Float64Array(EVENT_CLASSES);
/** Room → how many deliveries its k-th message of this run has had, and when the last came. */
let reached: Uint32Array[] = [];
let lastAt: Float64Array[] = [];
let got = new Uint32Array(0);
let closed = 0;

const sink: TextSink = {
  wantsWhole: false,
  text: (bytes, at, length, socket) => {
    // `43<id>[value]` answers an emit. It is short, so all of it is there.
    if (order.dialect === 'socket.io' && bytes[at + 1] === '3'.charCodeAt(0))
      return acknowledge(bytes.toString('latin1', at + 2, at + length));
    const kind = eventClass(bytes, at + eventOffset(order.dialect));
    classes[kind]! += 1;
    if (kind === EVENT_CLASS.message) deliver(socket.index);
  },
  closed: () => void (closed += 1),
};

function deliver(index: number): void {
  const room = order.people[index]!.room;
  const k = got[index]!;
  got[index] = k + 1;
  const counts = reached[room];
  if (counts === undefined || k >= counts.length) return;
  counts[k]! += 1;
  if (counts[k] === order.rooms[room]!.people.length) lastAt[room]![k] = nanosNow();
}

function acknowledge(text: string): void {
  const bracket = text.indexOf('[');
  const id = Number(text.slice(0, bracket));
  const done = acks.get(id);
  acks.delete(id);
  done?.(200, Number(text.slice(bracket + 1, -1)));
}

async function connect(given: ChatOrder): Promise<void> {
  order = given;
  host = `${order.host}:${order.port}`;
  for (const [i, person] of order.people.entries()) {
    const address = {
      host: order.host,
      port: order.port,
      dialect: order.dialect,
      path: person.path,
      localAddress: sourceAddress(i),
    };
    sockets.push(new RawSocket(i, address, sink));
    // oxlint-disable-next-line no-await-in-loop -- Sixteen handshakes at once are enough here.
    if (i % 16 === 15) await sockets[i]!.opened;
  }
  await Promise.all(sockets.map((socket) => socket.opened));
  if (order.dialect === 'plain') {
    for (let i = 0; i < HTTP_CONNECTIONS; i += 1) free.push(new HttpConnection({ host: order.host, port: order.port }));
    await Promise.all(free.map((connection) => connection.opened));
  }
}

/** Opens anew what was silent for long, so that no run begins with connections that the server closed. */
async function prepare(): Promise<void> {
  for (const [i, connection] of free.entries()) {
    if (connection.isFresh) continue;
    connection.destroy();
    free[i] = new HttpConnection({ host: order.host, port: order.port });
  }
  await Promise.all(free.map((connection) => connection.opened));
}

function request(text: string, done: Done): void {
  const pooled = free.pop();
  if (pooled === undefined) {
    waiting.push({ text, done });
    return;
  }
  // One that waited below the others for long may be closed by now.
  const connection = pooled.isFresh ? pooled : new HttpConnection({ host: order.host, port: order.port });
  if (connection !== pooled) pooled.destroy();
  connection.request(text, true, (status, _bytes, body) => {
    free.push(connection);
    const seq = body === undefined || status !== 201 ? 0 : (JSON.parse(body.toString()) as { seq: number }).seq;
    done(status, seq);
    const next = waiting.shift();
    if (next !== undefined) request(next.text, next.done);
  });
}

function emit(person: number, event: string, args: unknown[], done: Done): void {
  lastAck += 1;
  acks.set(lastAck, done);
  sockets[person]!.sendText(`42${lastAck}${JSON.stringify([event, ...args])}`);
}

function post(person: number, room: number, body: string, done: Done): void {
  const { id } = order.rooms[room]!;
  const { token } = order.people[person]!;
  if (order.dialect === 'socket.io') emit(person, 'post', [id, body], done);
  else request(requestText('POST', `/v1/conversations/${id}/messages`, host, token, body), done);
}

function read(person: number, room: number, seq: number, done: Done): void {
  const { id } = order.rooms[room]!;
  const { token } = order.people[person]!;
  if (order.dialect === 'socket.io') emit(person, 'receipt', [id, seq], done);
  else
    request(
      requestText('POST', `/v1/conversations/${id}/receipts`, host, token, `{"state":"read","seq":${seq}}`),
      done,
    );
}

function type(person: number): void {
  const { id } = order.rooms[order.people[person]!.room]!;
  sockets[person]!.sendText(
    order.dialect === 'socket.io' ? `42["typing","${id}"]` : `{"kind":"typing","conv":"${id}"}`,
  );
}

/** One run of the mix: messages and typing on their schedules, receipts as messages are acknowledged. */
class Mix {
  readonly mix: MixOrder;
  readonly ack: number[] = [];
  readonly lag: number[] = [];
  readonly statuses: Record<number, number> = {};
  /** Room → seq → instant at which the message was due. */
  readonly due: Map<number, number>[] = order.rooms.map(() => new Map<number, number>());
  readonly #reading = new Set<number>();
  receipts = 0;
  typings = 0;
  open = 0;

  constructor(mix: MixOrder) {
    this.mix = mix;
  }

  async messages(start: number): Promise<void> {
    for (let i = 0; i < this.mix.messages; i += 1) {
      const intended = start + (i / this.mix.messagesPerSecond) * 1e9;
      const wait = waitUntil(intended);
      // oxlint-disable-next-line no-await-in-loop -- The schedule is what is awaited.
      if (wait !== undefined) await wait;
      this.lag.push(nanosNow() - intended);
      this.#post(i, intended);
    }
  }

  async typing(start: number, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const wait = waitUntil(start + (i / this.mix.typingPerSecond) * 1e9);
      // oxlint-disable-next-line no-await-in-loop -- The schedule is what is awaited.
      if (wait !== undefined) await wait;
      type(i % order.people.length);
      this.typings += 1;
    }
  }

  /** Everybody falls asleep in the first turn, wakes in the second, and so on. */
  async flapping(start: number, count: number, perSecond: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const wait = waitUntil(start + (i / perSecond) * 1e9);
      // oxlint-disable-next-line no-await-in-loop -- The schedule is what is awaited.
      if (wait !== undefined) await wait;
      const isAwake = Math.floor(i / order.people.length) % 2 === 1;
      sockets[i % order.people.length]!.sendText(`{"kind":"presence","awake":${isAwake}}`);
    }
  }

  #post(i: number, intended: number): void {
    const room = i % order.rooms.length;
    const { people } = order.rooms[room]!;
    const turn = Math.floor(i / order.rooms.length) % people.length;
    this.open += 1;
    post(people[turn]!, room, postBody(this.mix.run, this.mix.first + i), (status, seq) => {
      this.open -= 1;
      this.ack.push(nanosNow() - intended);
      this.#count(status);
      this.due[room]!.set(seq, intended);
      for (let k = 1; k <= this.mix.receiptsPerMessage; k += 1)
        this.#read(people[(turn + k) % people.length]!, room, seq);
    });
  }

  /** A person sends one receipt at a time, as a client does, so none overtakes another. */
  #read(person: number, room: number, seq: number): void {
    if (this.#reading.has(person)) return;
    this.#reading.add(person);
    this.open += 1;
    this.receipts += 1;
    read(person, room, seq, (status) => {
      this.open -= 1;
      this.#reading.delete(person);
      this.#count(status);
    });
  }

  #count(status: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
  }

  /** Nanoseconds from when a message was due until the last of its room had it. */
  toLast(): number[] {
    return this.due.flatMap((bySeq, room) => {
      const seqs = [...bySeq.keys()].toSorted((a, b) => a - b);
      return seqs.map((seq, k) => (lastAt[room]![k] ?? 0) - bySeq.get(seq)!);
    });
  }
}

let current: Mix | undefined;

async function run(mix: MixOrder): Promise<void> {
  const perRoom = order.rooms.map((_, room) => Math.max(0, Math.ceil((mix.messages - room) / order.rooms.length)));
  reached = perRoom.map((count) => new Uint32Array(count));
  lastAt = perRoom.map((count) => new Float64Array(count));
  got = new Uint32Array(order.people.length);
  classes = new Float64Array(EVENT_CLASSES);
  current = new Mix(mix);
  const start = nanosNow() + 5e6;
  const seconds = mix.messages / mix.messagesPerSecond;
  const awakes = mix.awakesPerSecond ?? 0;
  await Promise.all([
    current.messages(start),
    current.typing(start, Math.floor(seconds * mix.typingPerSecond)),
    current.flapping(start, Math.floor(seconds * awakes), awakes),
  ]);
}

function progress(): { open: number; delivered: number } {
  return { open: current?.open ?? 0, delivered: classes.reduce((sum, value) => sum + value, 0) };
}

function collect(): ChatResult {
  if (current === undefined) throw new Error('nothing has run');
  const { ack, lag, statuses, receipts, typings } = current;
  const counts = {
    messages: classes[1] ?? 0,
    receipts: classes[2] ?? 0,
    typings: classes[3] ?? 0,
    others: classes[0] ?? 0,
  };
  const isWhole = lastAt.every((times) => times.every((at) => at > 0));
  return {
    ack: Float64Array.from(ack),
    lag: Float64Array.from(lag),
    toLast: Float64Array.from(isWhole ? current.toLast() : []),
    statuses,
    sent: { receipts, typings },
    delivered: counts,
    closed,
  };
}

answerAsks({ connect, prepare, run, progress, collect });
