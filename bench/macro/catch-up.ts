/** `catch-up`: a client that missed 1,000 changes gets them in one reply; then everyone asks for them at once. */
import { CHANGES_REPLY_MAX } from '#src/protocol/limits.ts';
import { bySize, interleave, latencyMillis, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { fillRoom, membersOf, readJson } from '../harness/control.ts';
import { startPeer } from '../harness/peer.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import { Requests, type Target } from '../harness/requests.ts';
import type { Subject } from '../harness/subject.ts';

/** Server time of one such reply: a room of a thousand that comes back at once is through in a second of a core. */
const REPLY_MILLIS_MAX = 1;

interface Stage {
  subject: Subject;
  alone: Requests;
  together: Requests;
  targets: Target[];
}

export const catchUp: Bench = {
  name: 'catch-up',
  say: '1,000 missed changes in one reply: one client at a time, then all clients at once',
  async run(context) {
    const clients = bySize(context, { smoke: 10, default: 200, full: 1_000 });
    const missed = bySize(context, { smoke: 100, default: CHANGES_REPLY_MAX, full: CHANGES_REPLY_MAX });
    const server = await startParley(context, { people: clients, rooms: 1, members: clients });
    const peer = await startPeer('bare uWS', { people: clients, rooms: 1, members: clients }, context.pins.server);
    const stages: Stage[] = [];
    try {
      const room = server.world.rooms[0]!;
      const members = membersOf(server, room);
      const { value } = await readJson(server, members[0]!, `/v1/conversations/${room.id}`);
      await fillRoom(server, room, missed, context.pins.generator);
      const path = `/v1/conversations/${room.id}/changes?after_rev=${Number(value['rev'])}`;
      const bytes = (await readJson(server, members[0]!, path)).text.length;
      context.recorder.parameters({ clients, changes: missed, 'bytes per reply': bytes, shards: context.shards });
      stages.push(
        await setStage(
          context,
          server,
          clients,
          members.map(({ token }) => ({ method: 'GET', path, token, expect: missed })),
        ),
        await setStage(
          context,
          peer,
          clients,
          members.map(({ token }) => ({ method: 'GET', path: `/canned/${bytes}`, token })),
        ),
      );
      await runStages(context, stages, clients);
    } finally {
      await Promise.all(stages.flatMap((stage) => [stage.alone.stop(), stage.together.stop()]));
      await Promise.all([server.stop(), peer.stop()]);
    }
  },
};

async function setStage(context: BenchContext, subject: Subject, clients: number, targets: Target[]): Promise<Stage> {
  const { host, port } = subject;
  const { generator } = context.pins;
  const alone = await Requests.open({ host, port, connections: 1 }, generator);
  const together = await Requests.open({ host, port, connections: clients }, generator);
  return { subject, alone, together, targets };
}

async function runStages(context: BenchContext, stages: readonly Stage[], clients: number): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
  const replies = bySize(context, { smoke: 5, default: 50, full: 100 });
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    await measure(context, stage, stage.alone, { name: 'one at a time', count: replies, round, isWarmUp });
    await measure(context, stage, stage.together, { name: `${clients} at once`, count: clients, round, isWarmUp });
  });
  for (const name of ['one at a time', `${clients} at once`]) {
    recorder.ratio(name, 'CPU ms/reply', 'parley', 'bare uWS');
    recorder.bar(name, 'CPU ms/reply', recorder.median(name, 'parley', 'CPU ms/reply'), '≤', REPLY_MILLIS_MAX);
  }
  recorder.note(
    'the peer sends as many bytes from memory: what is above it is reading the changes and checking who asks',
  );
}

async function measure(
  context: BenchContext,
  stage: Stage,
  requests: Requests,
  plan: { name: string; count: number; round: number; isWarmUp: boolean },
): Promise<void> {
  const { subject, targets } = stage;
  await requests.prepare();
  const before = cpuMicros(subject.pid);
  const result = await requests.run({ run: 'catch-up', first: 0, count: plan.count, targets, verifyEvery: 10 });
  const cpu = cpuMicros(subject.pid) - before;
  context.recorder.checkRequests(plan.name, subject.name, result);
  if (plan.isWarmUp) return;
  context.recorder.round({
    case: plan.name,
    subject: subject.name,
    round: plan.round,
    values: {
      'replies/s': result.count / result.seconds,
      ...latencyMillis(result.latency),
      'CPU ms/reply': cpu / 1000 / result.count,
    },
    ns: percentilesOf(result.latency),
  });
}
