/** `room-fanout`: one room of N sockets, posts one at a time and in bursts; what a delivered frame costs the server. */
import { bySize, interleave, latencyMillis, withSubjects, type Bench, type BenchContext } from '../harness/bench.ts';
import { membersOf } from '../harness/control.ts';
import { hashOf } from '../harness/payload.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import { Receivers } from '../harness/receivers.ts';
import { Requests, type RunResult, type Target } from '../harness/requests.ts';
import { messagesPath, type Room, type Subject } from '../harness/subject.ts';

/** Our share above a bare `publish` to the same sockets: the kernel's send is the floor, ours is what stands on it. */
const FRAME_RATIO_MAX = 1.25;
/** Frames of a burst share their writes, so each must cost far less than one that leaves alone. */
const BURST_RATIO_MAX = 0.35;
/** Frames a second that a generator of one core counts without falling behind. */
const FRAMES_PER_SECOND = 30_000;
const POSTS_PER_SECOND_MAX = 200;
/** Posts of a burst, each from a connection of its own. */
const BURST = 64;

const SUBJECTS = ['parley', 'bare uWS', 'ws', 'Socket.IO'] as const;

/** Above this size the post is lost among its frames, and a second room of as many people only takes time to seed. */
const SILENT_ROOM_MAX = 1_000;

/** One subject with its sockets and its poster, for all rounds of a case. */
interface Stage {
  subject: Subject;
  receivers: Receivers;
  poster: Requests;
  targets: Target[];
  /** Posts to a second room, none of whose members is connected: what a post costs without any delivery. */
  silent: Target[];
  /** Number of the next post. */
  next: number;
}

export const roomFanout: Bench = {
  name: 'room-fanout',
  say: 'one room of N sockets; server CPU per delivered frame, post to last receiver, bursts',
  async run(context) {
    const sizes = bySize(context, { smoke: [8], default: [10, 100, 1_000], full: [10, 100, 1_000, 10_000] });
    context.recorder.parameters({ sizes, shards: context.shards, burst: BURST });
    for (const size of sizes) {
      const rooms = size <= SILENT_ROOM_MAX ? 2 : 1;
      // oxlint-disable-next-line no-await-in-loop -- One room size after the other.
      await withSubjects(context, SUBJECTS, { people: size * rooms, rooms, members: size }, async (subjects) => {
        await runRoom(context, size, subjects);
      });
    }
  },
};

async function runRoom(context: BenchContext, size: number, subjects: readonly Subject[]): Promise<void> {
  const stages: Stage[] = [];
  try {
    for (const subject of subjects) {
      // oxlint-disable-next-line no-await-in-loop -- Handshakes of one subject at a time.
      stages.push(await setStage(context, subject));
    }
    const rounds = bySize(context, { smoke: 1, default: 3, full: 7 });
    const seconds = bySize(context, { smoke: 0.2, default: 2, full: 3 });
    const perSecond = Math.max(2, Math.min(POSTS_PER_SECOND_MAX, Math.round(FRAMES_PER_SECOND / size)));
    const singles = Math.max(4, Math.round(perSecond * seconds));
    const bursts = bySize(context, { smoke: 1, default: 3, full: size > 1_000 ? 1 : 5 });
    await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
      await measurePostAlone(context, stage, { size, round, perSecond, posts: singles, isWarmUp });
      await measureBurst(context, stage, { size, round, bursts, isWarmUp });
    });
    compare(context, size);
  } finally {
    await Promise.all(stages.flatMap((stage) => [stage.receivers.stop(), stage.poster.stop()]));
  }
}

async function setStage(context: BenchContext, subject: Subject): Promise<Stage> {
  const { host, port, dialect, world } = subject;
  const { generator } = context.pins;
  const poster = await Requests.open({ host, port, connections: BURST }, generator);
  const [room, silentRoom] = world.rooms;
  const members = membersOf(subject, room!);
  const receivers = await Receivers.connect(
    { host, port, dialect, paths: members.map((person) => subject.socketPath(person)) },
    generator,
  );
  await receivers.settle();
  const silent = silentRoom === undefined ? [] : targetsOf(subject, silentRoom);
  return { subject, receivers, poster, targets: targetsOf(subject, room!), silent, next: 0 };
}

function targetsOf(subject: Subject, room: Room): Target[] {
  return membersOf(subject, room)
    .slice(0, BURST)
    .map((person): Target => {
      return { method: 'POST', path: messagesPath(room), token: person.token, expect: 'message' };
    });
}

interface RoundPlan {
  size: number;
  round: number;
  isWarmUp: boolean;
}

/** Posts on a schedule slow enough that each is delivered before the next is due. */
async function measurePostAlone(
  context: BenchContext,
  stage: Stage,
  plan: RoundPlan & { perSecond: number; posts: number },
): Promise<void> {
  const { subject, receivers } = stage;
  const name = `room of ${plan.size}`;
  const first = stage.next;
  stage.next += plan.posts;
  await receivers.reset(plan.posts);
  await stage.poster.prepare();
  const cpuBefore = cpuMicros(subject.pid);
  const result = await stage.poster.run({
    run: 'alone',
    first,
    count: plan.posts,
    targets: stage.targets,
    perSecond: plan.perSecond,
    verifyEvery: 16,
  });
  await receivers.allDelivered();
  const cpu = cpuMicros(subject.pid) - cpuBefore;
  const received = await receivers.received();
  const silentCpu = await measureSilent(context, stage, plan);
  context.recorder.checkRequests(name, subject.name, result);
  checkDelivery(context, name, subject.name, received, first, plan.posts);
  if (plan.isWarmUp || received.wrongSockets > 0) return;
  // The witness says in which order posts came, so a time can be taken from the right post's intended instant.
  const toLast = received.order.map(
    (number, i) => (received.lastAt[i] ?? 0) - (result.intendedAt[number - first] ?? 0),
  );
  const latency = latencyMillis(toLast);
  context.recorder.round({
    case: name,
    subject: subject.name,
    round: plan.round,
    values: {
      'CPU µs/frame': cpu / received.messages,
      ...(silentCpu === undefined ? {} : { 'beyond the post': (cpu - silentCpu) / received.messages }),
      'to last p50 ms': latency['p50 ms'] ?? 0,
      'to last p99 ms': latency['p99 ms'] ?? 0,
      'frames/read': received.messages / received.reads,
    },
  });
}

/** CPU of as many posts at the same pace that nobody receives, or undefined where the case has no second room. */
async function measureSilent(
  context: BenchContext,
  stage: Stage,
  plan: { perSecond: number; posts: number },
): Promise<number | undefined> {
  const { subject, silent } = stage;
  if (silent.length === 0 || (subject.name !== 'parley' && subject.name !== 'bare uWS')) return undefined;
  await stage.poster.prepare();
  const before = cpuMicros(subject.pid);
  const order = {
    run: 'silent',
    first: stage.next,
    count: plan.posts,
    targets: silent,
    perSecond: plan.perSecond,
    verifyEvery: 16,
  };
  context.recorder.checkRequests('posts to a silent room', subject.name, await stage.poster.run(order));
  stage.next += plan.posts;
  return cpuMicros(subject.pid) - before;
}

/** Posts 64 at once and waits for the last delivery before the next burst. */
async function measureBurst(context: BenchContext, stage: Stage, plan: RoundPlan & { bursts: number }): Promise<void> {
  const { subject, receivers } = stage;
  const name = `room of ${plan.size}, bursts`;
  const posts = plan.bursts * BURST;
  const begin = stage.next;
  stage.next += posts;
  await receivers.reset(posts);
  await stage.poster.prepare();
  const cpuBefore = cpuMicros(subject.pid);
  const began = performance.now();
  const results: RunResult[] = [];
  for (let burst = 0; burst < plan.bursts; burst += 1) {
    results.push(
      // oxlint-disable-next-line no-await-in-loop -- One burst after the other.
      await stage.poster.run({
        run: 'burst',
        first: begin + burst * BURST,
        count: BURST,
        targets: stage.targets,
        verifyEvery: 16,
      }),
    );
  }
  await receivers.allDelivered();
  const seconds = (performance.now() - began) / 1000;
  const cpu = cpuMicros(subject.pid) - cpuBefore;
  const received = await receivers.received();
  for (const result of results) context.recorder.checkRequests(name, subject.name, result);
  checkDelivery(context, name, subject.name, received, begin, posts);
  if (plan.isWarmUp || received.wrongSockets > 0) return;
  context.recorder.round({
    case: name,
    subject: subject.name,
    round: plan.round,
    values: {
      'CPU µs/frame': cpu / received.messages,
      'frames/s': received.messages / seconds,
      'frames/read': received.messages / received.reads,
    },
  });
}

function checkDelivery(
  context: BenchContext,
  name: string,
  subject: string,
  received: Awaited<ReturnType<Receivers['received']>>,
  first: number,
  posts: number,
): void {
  const { recorder } = context;
  if (received.wrongSockets > 0) {
    recorder.fail(
      `${name}: ${subject} delivered ${received.messages} of ${posts * received.sockets}; closed ${JSON.stringify(received.closed)}`,
    );
  }
  const expected = Array.from({ length: posts }, (_, i) => first + i);
  recorder.delivered(`${name}, from ${first}`, subject, hashOf(received.order), hashOf(expected));
}

function compare(context: BenchContext, size: number): void {
  const { recorder } = context;
  const alone = `room of ${size}`;
  const metric = 'CPU µs/frame';
  const ratio = recorder.ratio(alone, metric, 'parley', 'bare uWS');
  recorder.bar(alone, `${metric}, parley / bare uWS`, ratio, '≤', FRAME_RATIO_MAX);
  const beyond = recorder.ratio(alone, 'beyond the post', 'parley', 'bare uWS');
  recorder.bar(alone, `${metric} beyond the post, parley / bare uWS`, beyond, '≤', FRAME_RATIO_MAX);
  for (const peer of ['ws', 'Socket.IO']) {
    recorder.ratio(alone, metric, 'parley', peer);
    recorder.ratio(alone, 'to last p99 ms', 'parley', peer);
  }
  recorder.ratio(alone, 'to last p99 ms', 'parley', 'bare uWS');
  const one = recorder.median(alone, 'parley', metric);
  const burst = recorder.median(`${alone}, bursts`, 'parley', metric);
  if (one !== undefined && burst !== undefined) {
    recorder.bar(`${alone}, bursts`, `${metric}, burst / one at a time`, burst / one, '≤', BURST_RATIO_MAX);
  }
  for (const peer of ['bare uWS', 'ws', 'Socket.IO']) recorder.ratio(`${alone}, bursts`, metric, 'parley', peer);
}
