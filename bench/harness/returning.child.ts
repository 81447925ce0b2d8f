/** A load generator process whose clients lose their server, come back to it and ask what they missed. */
import { answerAsks } from './child.ts';
import type { CameBack, ReturnOrder } from './returning.ts';
import { HttpConnection, requestText } from './http-connection.ts';
import { nanosNow } from './monotonic.ts';
import { RawSocket, sourceAddress, type TextSink } from './raw-socket.ts';

/** Clients on their way back at once. Those of a real storm are spread by jitter; these come as fast as they are let in. */
const RETURNS_MAX = 256;

interface InboxReply {
  items: { last_message?: { seq: number } }[];
  next: string | null;
  sync: string;
}

let sockets: RawSocket[] = [];
const cursors: string[] = [];
let closed: Record<number, number> = {};

const sink: TextSink = {
  wantsWhole: false,
  text: () => undefined,
  closed: (code) => void (closed[code] = (closed[code] ?? 0) + 1),
};

/** Opens a client's socket, then reads over a connection of its own what the socket could not have told it. */
async function comeBack(order: ReturnOrder, index: number): Promise<void> {
  const client = order.clients[index]!;
  const { host, port } = order;
  const localAddress = sourceAddress(index);
  const socket = new RawSocket(index, { host, port, path: client.socketPath, dialect: 'plain', localAddress }, sink);
  sockets.push(socket);
  await socket.opened;
  const connection = new HttpConnection({ host, port, localAddress });
  const cursor = cursors[index];
  const path =
    order.reads === 'inbox'
      ? `/v1/inbox${cursor === undefined ? '' : `?after=${encodeURIComponent(cursor)}`}`
      : order.reads;
  const { status, body } = await get(connection, requestText('GET', path, `${host}:${port}`, client.token));
  connection.destroy();
  if (status !== 200) throw new Error(`${order.reads} was answered ${status}`);
  if (order.reads !== 'inbox') return;
  const reply = JSON.parse(body) as InboxReply;
  if (reply.next !== null) throw new Error('the inbox of a client in one room took more than a page');
  cursors[index] = reply.sync;
  if (order.missedSeq === undefined) return;
  const seqs = reply.items.map((item) => item.last_message?.seq);
  if (seqs.length !== 1 || seqs[0] !== order.missedSeq)
    throw new Error(`missed ${order.missedSeq}, was told ${seqs.join(',') || 'nothing'}`);
}

async function get(connection: HttpConnection, text: string): Promise<{ status: number; body: string }> {
  return await new Promise((resolve) => {
    connection.request(text, true, (status, _bytes, body) => resolve({ status, body: body?.toString() ?? '' }));
  });
}

/** Brings every client back. One that fails is counted with its reason, and the others go on. */
async function bringBack(order: ReturnOrder): Promise<CameBack> {
  sockets = [];
  closed = {};
  const began = nanosNow();
  const tookNanos = new Float64Array(order.clients.length);
  const failures: string[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let i = next; i < order.clients.length; i = next) {
      next += 1;
      const from = nanosNow();
      try {
        // oxlint-disable-next-line no-await-in-loop -- A lane brings back one client after the other.
        await comeBack(order, i);
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
      tookNanos[i] = nanosNow() - from;
    }
  };
  await Promise.all(Array.from({ length: RETURNS_MAX }, lane));
  return { seconds: (nanosNow() - began) / 1e9, tookNanos, failures: failures.slice(0, 5), failed: failures.length };
}

answerAsks({ bringBack, closed: () => closed });
