/** `port-link`: messages and round trips between two threads, packed per turn by the link and posted one by one. */
import { MessageChannel, Worker } from 'node:worker_threads';
import { bySize, interleave, type Bench, type BenchContext } from '../harness/bench.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import type { LinkKind, LinkOrder, LinkResult } from './port-link.worker.ts';

const SUBJECTS = { parley: 'link', 'one by one': 'bare' } as const satisfies Record<string, LinkKind>;
/** Tells of one turn: what a busy shard has for a neighbour each time its loop turns. */
const TURN = 64;
const ASKS_AT_ONCE = 64;

interface Stage {
  name: keyof typeof SUBJECTS;
  sender: Worker;
  receiver: Worker;
}

export const portLink: Bench = {
  name: 'port-link',
  say: 'two threads; tells a second in turns of 64, asks with 64 and with 1 under way',
  async run(context) {
    const stages = (Object.keys(SUBJECTS) as Stage['name'][]).map(startStage);
    try {
      await runStages(context, stages);
    } finally {
      await Promise.all(stages.flatMap(({ sender, receiver }) => [sender.terminate(), receiver.terminate()]));
    }
  },
};

function startStage(name: Stage['name']): Stage {
  const { port1, port2 } = new MessageChannel();
  const entry = new URL('port-link.worker.ts', import.meta.url);
  const start = (role: string, port: typeof port1): Worker =>
    new Worker(entry, { workerData: { role, kind: SUBJECTS[name], port }, transferList: [port] });
  return { name, sender: start('sender', port1), receiver: start('receiver', port2) };
}

async function runStages(context: BenchContext, stages: readonly Stage[]): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 9 });
  const tells = bySize(context, { smoke: 2_000, default: 200_000, full: 1_000_000 });
  const asks = bySize(context, { smoke: 500, default: 50_000, full: 200_000 });
  recorder.parameters({ tells, asks, turn: TURN, 'asks at once': ASKS_AT_ONCE });
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    await measure(context, stage, 'tells', round, isWarmUp, { what: 'tells', count: tells, turn: TURN });
    await measure(context, stage, `asks, ${ASKS_AT_ONCE} at once`, round, isWarmUp, {
      what: 'asks',
      count: asks,
      turn: ASKS_AT_ONCE,
    });
    await measure(context, stage, 'asks, one at a time', round, isWarmUp, {
      what: 'asks',
      count: Math.ceil(asks / 10),
      turn: 1,
    });
  });
  for (const name of ['tells', `asks, ${ASKS_AT_ONCE} at once`, 'asks, one at a time']) {
    recorder.ratio(name, 'messages/s', 'parley', 'one by one');
    recorder.ratio(name, 'CPU µs/message', 'parley', 'one by one');
  }
  recorder.note(
    'the threads share the cores with nobody but are not pinned; the link also keeps deadlines, credits and a bound on what is unread, the peer nothing of the kind',
  );
}

async function measure(
  context: BenchContext,
  stage: Stage,
  name: string,
  round: number,
  isWarmUp: boolean,
  order: LinkOrder,
): Promise<void> {
  const before = process.cpuUsage();
  const result = await ask(stage.sender, order);
  const { user, system } = process.cpuUsage(before);
  // Sum of 0 … count−1: every message arrived, once and whole.
  const expected = (order.count * (order.count - 1)) / 2;
  if (result.sum !== expected)
    context.recorder.fail(`${name}: ${stage.name} carried messages that add up to ${result.sum}, sent was ${expected}`);
  if (isWarmUp) return;
  const { p50, p99 } = percentilesOf(result.latency);
  context.recorder.round({
    case: name,
    subject: stage.name,
    round,
    values: {
      'messages/s': order.count / result.seconds,
      'CPU µs/message': (user + system) / order.count,
      ...(result.latency.length === 0 ? {} : { 'p50 µs': p50 / 1000, 'p99 µs': p99 / 1000 }),
    },
  });
}

async function ask(sender: Worker, order: LinkOrder): Promise<LinkResult> {
  return await new Promise((resolve, reject) => {
    const failed = (error: unknown): void => reject(error instanceof Error ? error : new Error(String(error)));
    sender.once('error', failed);
    sender.once('message', (result: LinkResult) => {
      sender.off('error', failed);
      resolve(result);
    });
    sender.postMessage(order);
  });
}
