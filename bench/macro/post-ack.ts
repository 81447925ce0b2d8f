/**
 * `post-ack`: durable posts a second with 64 posters, and their latency at a fixed rate, beside an app that stores nothing
 * and beside the disk alone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  bySize,
  interleave,
  latencyMillis,
  startParley,
  withSubjects,
  type Bench,
  type BenchContext,
} from '../harness/bench.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import { Requests, type RunOrder, type Target } from '../harness/requests.ts';
import { messagesPath, type Subject } from '../harness/subject.ts';
import { timeDisk } from '../peers/disk.ts';

const POSTERS = 64;
const ROOMS = 16;
/** Durable posts must reach this share of what the same socket library answers without storing. */
const RATE_RATIO_MIN = 0.35;
const OPEN_LOOP_PER_SECOND = 1_000;
const ACK_MILLIS_MAX = 20;
/** The warm-up is so many times as long: the compiler works on the server's core for the first ten thousand posts. */
const WARM_UP_TIMES = 5;
/** What waits for the disk cannot be answered before it; as many files as the server has lanes on two cores. */
const DISK = 'the disk alone';
const DISK_FILES = 4;
/** Ours with `PARLEY_LOG_ARCHIVE` on the same disk: what it costs to be restored to any instant. */
const ARCHIVED = 'parley with an archive';
/** A generator busier than this was the bottleneck, so the rates say less than the CPU per post does. */
const GENERATOR_BUSY_MAX = 0.95;

interface Stage {
  name: string;
  subject: Subject;
  poster: Requests;
  targets: Target[];
  next: number;
}

export const postAck: Bench = {
  name: 'post-ack',
  say: '64 posters, each waiting for its durable acknowledgement; then 1,000 posts/s on a schedule',
  async run(context) {
    context.recorder.parameters({
      posters: POSTERS,
      rooms: ROOMS,
      shards: context.shards,
      'open loop posts/s': OPEN_LOOP_PER_SECOND,
    });
    const size = { people: POSTERS, rooms: ROOMS, members: POSTERS / ROOMS };
    await withSubjects(context, ['parley', 'bare uWS'], size, async (subjects) => {
      const archive = mkdtempSync(join(context.folder ?? tmpdir(), 'parley-bench-archive-'));
      const archived = await startParley(context, size, { PARLEY_LOG_ARCHIVE: archive });
      const stages: Stage[] = [];
      try {
        for (const subject of [...subjects, archived]) {
          // oxlint-disable-next-line no-await-in-loop -- One after the other.
          stages.push(await setStage(context, subject, subject === archived ? ARCHIVED : subject.name));
        }
        await runStages(context, stages);
      } finally {
        await Promise.all(stages.map((stage) => stage.poster.stop()));
        await archived.stop();
        rmSync(archive, { recursive: true, force: true });
      }
    });
  },
};

async function setStage(context: BenchContext, subject: Subject, name: string): Promise<Stage> {
  const { host, port, world } = subject;
  const poster = await Requests.open({ host, port, connections: POSTERS }, context.pins.generator);
  const people = new Map(world.people.map((person) => [person.username, person]));
  const targets = world.rooms.flatMap((room) =>
    room.members.map((member): Target => {
      return { method: 'POST', path: messagesPath(room), token: people.get(member)!.token, expect: 'message' };
    }),
  );
  return { name, subject, poster, targets, next: 0 };
}

async function runStages(context: BenchContext, stages: readonly Stage[]): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
  const seconds = bySize(context, { smoke: 0.3, default: 3, full: 5 });
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    const length = isWarmUp ? seconds * WARM_UP_TIMES : seconds;
    const plan = { round, isWarmUp, seconds: length };
    await measure(context, stage, { ...plan, name: 'closed loop' });
    await measure(context, stage, { ...plan, name: 'open loop', perSecond: OPEN_LOOP_PER_SECOND });
    if (stage.name !== 'parley' || isWarmUp) return;
    const values = latencyMillis(await timeDisk(context.folder ?? tmpdir(), DISK_FILES, seconds));
    recorder.round({ case: 'open loop', subject: DISK, round, values });
  });
  const ratio = recorder.ratio('closed loop', 'posts/s', 'parley', 'bare uWS');
  recorder.ratio('closed loop', 'CPU µs/post', 'parley', 'bare uWS');
  recorder.ratio('open loop', 'p99 ms', 'parley', 'bare uWS');
  recorder.ratio('closed loop', 'CPU µs/post', ARCHIVED, 'parley');
  recorder.ratio('open loop', 'p99 ms', ARCHIVED, 'parley');
  recorder.ratio('open loop', 'p99 ms', 'parley', DISK);
  recorder.bar('closed loop', 'posts/s, parley / bare uWS', ratio, '≥', RATE_RATIO_MIN);
  recorder.bar('open loop', 'p99 ms', recorder.median('open loop', 'parley', 'p99 ms'), '≤', ACK_MILLIS_MAX);
}

interface Plan {
  name: string;
  round: number;
  isWarmUp: boolean;
  seconds: number;
  perSecond?: number;
}

async function measure(context: BenchContext, stage: Stage, plan: Plan): Promise<void> {
  const { name, subject, poster, targets } = stage;
  const order: RunOrder =
    plan.perSecond === undefined
      ? {
          run: 'post',
          first: stage.next,
          count: Number.MAX_SAFE_INTEGER,
          seconds: plan.seconds,
          targets,
          verifyEvery: 64,
        }
      : {
          run: 'post',
          first: stage.next,
          count: Math.round(plan.perSecond * plan.seconds),
          perSecond: plan.perSecond,
          targets,
          verifyEvery: 64,
        };
  await poster.prepare();
  const serverBefore = cpuMicros(subject.pid);
  const posterBefore = cpuMicros(poster.pid);
  const result = await poster.run(order);
  const cpu = cpuMicros(subject.pid) - serverBefore;
  const busy = (cpuMicros(poster.pid) - posterBefore) / 1e6 / result.seconds;
  stage.next += result.count;
  context.recorder.checkRequests(plan.name, name, result);
  if (plan.isWarmUp) return;
  if (plan.perSecond === undefined && busy > GENERATOR_BUSY_MAX) {
    context.recorder.note(
      `${plan.name}, ${name}: the generator used ${(busy * 100).toFixed(0)} % of a core, so the server may answer more than it was asked`,
    );
  }
  context.recorder.round({
    case: plan.name,
    subject: name,
    round: plan.round,
    values: {
      'posts/s': result.count / result.seconds,
      ...latencyMillis(result.latency),
      'CPU µs/post': cpu / result.count,
      'generator busy %': busy * 100,
    },
    ns: percentilesOf(result.latency),
  });
}
