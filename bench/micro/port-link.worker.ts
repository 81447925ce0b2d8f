/** A thread of the port-link bench: sends or receives, over the runtime's link or over a bare port. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { PortLink, type LinkHandler } from '#actors/runtime/port-link.ts';

/** `link`: the actors' own link. `bare`: `postMessage` of one object per message. */
export type LinkKind = 'link' | 'bare';

export interface LinkOrder {
  what: 'tells' | 'asks';
  count: number;
  /** Tells per turn of the event loop, or asks under way at once. */
  turn: number;
}

export interface LinkResult {
  seconds: number;
  /** Sum of the numbers of all messages that the other side got. */
  sum: number;
  /** Nanoseconds per round trip. */
  latency: Float64Array;
}

/** What both kinds can do. */
interface Sender {
  /** False when the other side is too far behind to take it. */
  tell(number: number): boolean;
  ask(number: number): Promise<void>;
  /** The sum of what the other side has got since it was last asked; answers after everything told before. */
  sum(): Promise<number>;
}

/** What a shard tells its neighbour for one socket's sake: a topic and an event of the usual size. */
function bodyOf(number: number): object {
  return { number, topic: 'c_0000000000000000000000', event: EVENT };
}
const EVENT = 'x'.repeat(300);
const DEADLINE_MILLIS = 60_000;

const { role, kind, port } = workerData as { role: 'sender' | 'receiver'; kind: LinkKind; port: MessagePort };

let sum = 0;
function takeSum(): number {
  const taken = sum;
  sum = 0;
  return taken;
}

/** The link with what this bench has no use for: a sender whose tell is refused tells it again, so nothing is missed. */
function linkOf(handler: Pick<LinkHandler, 'tell' | 'ask'>): PortLink {
  const nothing = (): void => undefined;
  return new PortLink(port, { ...handler, overrun: nothing, timedOut: nothing, dropped: nothing, closed: nothing });
}

function receive(): void {
  const count = (body: unknown): void => void (sum += (body as { number: number }).number);
  if (kind === 'link') {
    linkOf({
      tell: (_to, body) => count(body),
      ask: (to, body, ask) => {
        if (to === 'sum') return ask.settle({ ok: true, value: takeSum() });
        count(body);
        ask.settle({ ok: true, value: null });
      },
    });
    return;
  }
  port.on('message', (message: { ask?: number; to: string; body: unknown }) => {
    if (message.to === 'sum') return port.postMessage({ ask: message.ask, value: takeSum() });
    count(message.body);
    if (message.ask !== undefined) port.postMessage({ ask: message.ask, value: null });
  });
}

function linkSender(): Sender {
  const link = linkOf({ tell: () => undefined, ask: () => undefined });
  const ask = async (to: string, body: unknown): Promise<unknown> => {
    // Deadlines are of the machine's monotonic clock, as `hrtime` reads it.
    const answer = await link.ask(to, body, Number(process.hrtime.bigint()) / 1e6 + DEADLINE_MILLIS);
    if (!answer.ok) throw new Error(`the link answered ${answer.code}`);
    return answer.value;
  };
  return {
    tell: (number) => link.tell('peer', bodyOf(number)),
    ask: async (number) => void (await ask('peer', bodyOf(number))),
    sum: async () => Number(await ask('sum', null)),
  };
}

function bareSender(): Sender {
  const asks = new Map<number, (value: unknown) => void>();
  let last = 0;
  port.on('message', (message: { ask: number; value: unknown }) => {
    asks.get(message.ask)?.(message.value);
    asks.delete(message.ask);
  });
  const ask = async (to: string, body: unknown): Promise<unknown> => {
    last += 1;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    asks.set(last, resolve);
    port.postMessage({ ask: last, to, due: Date.now() + DEADLINE_MILLIS, body });
    return await promise;
  };
  return {
    tell: (number) => {
      port.postMessage({ to: 'peer', body: bodyOf(number) });
      return true;
    },
    ask: async (number) => void (await ask('peer', bodyOf(number))),
    sum: async () => Number(await ask('sum', null)),
  };
}

async function tellAll(sender: Sender, order: LinkOrder): Promise<void> {
  for (let number = 0; number < order.count;) {
    const end = Math.min(order.count, number + order.turn);
    while (number < end && sender.tell(number)) number += 1;
    // oxlint-disable-next-line no-await-in-loop -- A turn of the event loop between batches is what is measured.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function askAll(sender: Sender, order: LinkOrder): Promise<Float64Array> {
  const latency = new Float64Array(order.count);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let number = next; number < order.count; number = next) {
      next += 1;
      const began = performance.now();
      // oxlint-disable-next-line no-await-in-loop -- A lane has one ask under way.
      await sender.ask(number);
      latency[number] = (performance.now() - began) * 1e6;
    }
  };
  await Promise.all(Array.from({ length: order.turn }, lane));
  return latency;
}

async function send(sender: Sender, order: LinkOrder): Promise<LinkResult> {
  const began = performance.now();
  let latency = new Float64Array(0);
  if (order.what === 'tells') await tellAll(sender, order);
  else latency = (await askAll(sender, order)) as Float64Array<ArrayBuffer>;
  const total = await sender.sum();
  return { seconds: (performance.now() - began) / 1000, sum: total, latency };
}

if (role === 'receiver') receive();
else {
  const sender = kind === 'link' ? linkSender() : bareSender();
  parentPort?.on(
    'message',
    (order: LinkOrder) => void send(sender, order).then((result) => parentPort?.postMessage(result)),
  );
}
