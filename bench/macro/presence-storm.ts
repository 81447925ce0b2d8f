/** `presence-storm`: everybody falls asleep and wakes without end while people post. What is asked is what they notice. */
import { bySize, interleave, latencyMillis, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import type { Chat } from '../harness/chat.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import type { Server } from '../harness/server.ts';
import { seatChat } from './chat-mix.ts';

const MEMBERS = 10;
const POSTS_PER_SECOND = 100;
/** Everybody changes once in so many seconds: more often than presence is told of one person. */
const FLAP_SECONDS = 2;
/** People notice a storm when their p99 grows by more than rounds differ by themselves. */
const P99_RATIO_MAX = 1.25;

const CASE = 'posts on a schedule';
const CALM = 'nobody flaps';
const STORM = 'everybody flaps';

export const presenceStorm: Bench = {
  name: 'presence-storm',
  say: 'people whose presence flaps, beside people who post',
  async run(context) {
    const people = bySize(context, { smoke: 40, default: 2_000, full: 10_000 });
    context.recorder.parameters({
      people,
      members: MEMBERS,
      shards: context.shards,
      'posts/s': POSTS_PER_SECOND,
      'changes/s': people / FLAP_SECONDS,
    });
    const server = await startParley(context, { people, rooms: people / MEMBERS, members: MEMBERS });
    let chat: Chat | undefined;
    try {
      chat = await seatChat(context, server, server.world.rooms);
      await runStages(context, server, chat, people / FLAP_SECONDS);
    } finally {
      await chat?.stop();
      await server.stop();
    }
  },
};

async function runStages(context: BenchContext, server: Server, chat: Chat, awakesPerSecond: number): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 5 });
  const seconds = bySize(context, { smoke: 0.5, default: 4, full: 10 });
  const messages = Math.round(POSTS_PER_SECOND * seconds);
  const stages = [
    { name: CALM, awakesPerSecond: 0 },
    { name: STORM, awakesPerSecond },
  ];
  let first = 0;
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    await chat.prepare();
    const before = cpuMicros(server.pid);
    const result = await chat.run({
      run: 'storm',
      first,
      messages,
      messagesPerSecond: POSTS_PER_SECOND,
      receiptsPerMessage: 0,
      typingPerSecond: 0,
      awakesPerSecond: stage.awakesPerSecond,
    });
    first += messages;
    const cpu = cpuMicros(server.pid) - before;
    const refused = Object.entries(result.statuses).filter(([status]) => status !== '201');
    if (refused.length > 0 || result.closed > 0 || result.delivered.messages !== messages * MEMBERS) {
      recorder.fail(`${stage.name}: ${JSON.stringify([result.statuses, result.closed, result.delivered])}`);
    }
    if (isWarmUp || result.toLast.length === 0) return;
    const [ack, last] = [latencyMillis(result.ack), latencyMillis(result.toLast)];
    recorder.round({
      case: CASE,
      subject: stage.name,
      round,
      values: {
        'ack p99 ms': ack['p99 ms'] ?? 0,
        'to last p50 ms': last['p50 ms'] ?? 0,
        'to last p99 ms': last['p99 ms'] ?? 0,
        'presence frames': result.delivered.others,
        'CPU ms': cpu / 1000,
      },
      ns: percentilesOf(result.toLast),
    });
    recorder.checkLag(CASE, stage.name, result.lag);
  });
  const ratio = recorder.ratio(CASE, 'to last p99 ms', STORM, CALM);
  recorder.bar(CASE, `to last p99 ms, ${STORM} / ${CALM}`, ratio, '≤', P99_RATIO_MAX);
}
