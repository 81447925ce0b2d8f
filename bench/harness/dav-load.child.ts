/** The generator of DAV load: repeats one request, or puts objects that all differ, over keep-alive connections. */
import { Agent, request } from 'node:http';
import { calendarObject } from './dav-objects.ts';
import { answerAsks } from './child.ts';
import type { DavRepeat, DavResult, DavTarget, PutOrder } from './dav-load.ts';
import { nanosNow } from './monotonic.ts';

let target: DavTarget | undefined;
const agent = new Agent({ keepAlive: true });

interface Reply {
  readonly status: number;
  readonly body: string;
  readonly nanos: number;
  readonly firstNanos: number;
}

function send(method: string, path: string, headers: Record<string, string>, body: string): Promise<Reply> {
  if (target === undefined) throw new Error('No server is open.');
  const { authorization, host, port } = target;
  const length = String(Buffer.byteLength(body));
  const began = nanosNow();
  return new Promise((resolve, reject) => {
    const all = { authorization, 'content-length': length, ...headers };
    const sent = request({ agent, host, port, method, path, headers: all }, (response) => {
      const chunks: Buffer[] = [];
      let first = 0;
      response.on('data', (chunk: Buffer) => {
        if (chunks.length === 0) first = nanosNow() - began;
        chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, body: text, nanos: nanosNow() - began, firstNanos: first });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function run(count: number, connections: number, one: (at: number) => Promise<Reply>): Promise<DavResult> {
  agent.maxSockets = connections;
  const latency = new Float64Array(count);
  const first = new Float64Array(count);
  const statuses: Record<number, number> = {};
  let next = 0;
  let body = '';
  const began = nanosNow();
  const lane = async (): Promise<void> => {
    while (next < count) {
      const at = next;
      next += 1;
      // oxlint-disable-next-line no-await-in-loop -- A connection carries one request at a time.
      const reply = await one(at);
      latency[at] = reply.nanos;
      first[at] = reply.firstNanos;
      statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
      body = reply.body;
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  return { seconds: (nanosNow() - began) / 1e9, latency, first, statuses, body };
}

answerAsks({
  open: (opened: DavTarget) => {
    target = opened;
  },
  repeat: async ({ method, path, headers, body, count, connections }: DavRepeat) =>
    await run(count, connections, async () => await send(method, path, headers, body)),
  put: async ({ path, first, count, seriesEvery, connections }: PutOrder) =>
    await run(count, connections, async (at) => {
      const { name, text } = calendarObject(first + at, seriesEvery);
      return await send('PUT', `${path}${name}`, { 'content-type': 'text/calendar' }, text);
    }),
});
