/** `history-page`: pages of old messages read from all over a long conversation, alone and beside people who post to it. */
import { bySize, interleave, latencyMillis, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { fillRoom, membersOf, readJson } from '../harness/control.ts';
import { startPeer } from '../harness/peer.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import { Requests, type RunResult, type Target } from '../harness/requests.ts';
import { messagesPath, type Subject } from '../harness/subject.ts';

const READERS = 16;
/** Writers post one after the other without pause. Four of them cost the server about as much as the readers do. */
const WRITERS = 4;
const PAGE = 50;
/** CPU of the server for a page. */
const PAGE_MICROS_MAX = 50;
/** Distinct places in the history that are read in turn, spread by a fixed seed. */
const PLACES = 500;

interface Stage {
  subject: Subject;
  readers: Requests;
  pages: Target[];
  /** Only where there is something to write to. */
  writers?: Requests;
  posts: Target[];
  next: number;
}

export const historyPage: Bench = {
  name: 'history-page',
  say: 'pages of 50 from all over a long conversation, alone and beside writers',
  async run(context) {
    const history = bySize(context, { smoke: 300, default: 10_000, full: 100_000 });
    context.recorder.parameters({ history, page: PAGE, readers: READERS, writers: WRITERS, shards: context.shards });
    const size = { people: READERS, rooms: 1, members: READERS };
    const server = await startParley(context, size);
    const peer = await startPeer('bare uWS', size, context.pins.server);
    const stages: Stage[] = [];
    try {
      stages.push(await setParley(context, server, history));
      const { text } = await readJson(server, server.world.people[0]!, stages[0]!.pages[0]!.path);
      context.recorder.parameters({ 'bytes per page': text.length });
      stages.push(await setPeer(context, peer, text.length));
      await runStages(context, stages);
    } finally {
      const loads = stages.flatMap(({ readers, writers }) => (writers === undefined ? [readers] : [readers, writers]));
      await Promise.all(loads.map((load) => load.stop()));
      await Promise.all([server.stop(), peer.stop()]);
    }
  },
};

async function setParley(context: BenchContext, server: Subject, history: number): Promise<Stage> {
  const { generator } = context.pins;
  const room = server.world.rooms[0]!;
  const members = membersOf(server, room);
  await fillRoom(server, room, history, generator);
  const pages = Array.from({ length: PLACES }, (_, i): Target => {
    const beforeSeq = PAGE + 1 + ((Math.imul(i + 1, 0x9e3779b1) >>> 0) % (history - PAGE));
    const path = `${messagesPath(room)}?before_seq=${beforeSeq}&limit=${PAGE}`;
    return { method: 'GET', path, token: members[i % members.length]!.token, expect: PAGE };
  });
  const posts = members.map(({ token }): Target => ({
    method: 'POST',
    path: messagesPath(room),
    token,
    expect: 'message',
  }));
  const { host, port } = server;
  return {
    subject: server,
    readers: await Requests.open({ host, port, connections: READERS }, generator),
    writers: await Requests.open({ host, port, connections: WRITERS }, generator),
    pages,
    posts,
    next: 0,
  };
}

async function setPeer(context: BenchContext, peer: Subject, bytes: number): Promise<Stage> {
  const { host, port } = peer;
  const readers = await Requests.open({ host, port, connections: READERS }, context.pins.generator);
  return {
    subject: peer,
    readers,
    pages: [{ method: 'GET', path: `/canned/${bytes}`, token: 'nobody' }],
    posts: [],
    next: 0,
  };
}

async function runStages(context: BenchContext, stages: readonly Stage[]): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
  const seconds = bySize(context, { smoke: 0.3, default: 2, full: 4 });
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    await measurePages(context, stage, { round, isWarmUp, seconds });
    await measureBeside(context, stage, { round, isWarmUp, seconds });
  });
  recorder.ratio('pages alone', 'pages/s', 'parley', 'bare uWS');
  recorder.ratio('pages alone', 'CPU µs/page', 'parley', 'bare uWS');
  recorder.bar(
    'pages alone',
    'CPU µs/page',
    recorder.median('pages alone', 'parley', 'CPU µs/page'),
    '≤',
    PAGE_MICROS_MAX,
  );
}

interface Plan {
  round: number;
  isWarmUp: boolean;
  seconds: number;
}

async function readPages(stage: Stage, seconds: number): Promise<RunResult> {
  return await stage.readers.run({
    run: 'pages',
    first: 0,
    count: Number.MAX_SAFE_INTEGER,
    seconds,
    targets: stage.pages,
    verifyEvery: 50,
  });
}

async function measurePages(context: BenchContext, stage: Stage, plan: Plan): Promise<void> {
  await stage.readers.prepare();
  const before = cpuMicros(stage.subject.pid);
  const result = await readPages(stage, plan.seconds);
  const cpu = cpuMicros(stage.subject.pid) - before;
  context.recorder.checkRequests('pages alone', stage.subject.name, result);
  if (plan.isWarmUp) return;
  context.recorder.round({
    case: 'pages alone',
    subject: stage.subject.name,
    round: plan.round,
    values: {
      'pages/s': result.count / result.seconds,
      ...latencyMillis(result.latency),
      'CPU µs/page': cpu / result.count,
    },
    ns: percentilesOf(result.latency),
  });
}

async function measureBeside(context: BenchContext, stage: Stage, plan: Plan): Promise<void> {
  const { writers } = stage;
  if (writers === undefined) return;
  const post = {
    run: 'beside',
    first: stage.next,
    count: Number.MAX_SAFE_INTEGER,
    seconds: plan.seconds,
    targets: stage.posts,
    verifyEvery: 50,
  };
  await Promise.all([stage.readers.prepare(), writers.prepare()]);
  const [pages, posts] = await Promise.all([readPages(stage, plan.seconds), writers.run(post)]);
  stage.next += posts.count;
  for (const result of [pages, posts])
    context.recorder.checkRequests('pages beside writers', stage.subject.name, result);
  if (plan.isWarmUp) return;
  const written = latencyMillis(posts.latency);
  context.recorder.round({
    case: 'pages beside writers',
    subject: stage.subject.name,
    round: plan.round,
    values: {
      'pages/s': pages.count / pages.seconds,
      ...latencyMillis(pages.latency),
      'posts/s': posts.count / posts.seconds,
      'post p50 ms': written['p50 ms'] ?? 0,
      'post p99 ms': written['p99 ms'] ?? 0,
    },
    ns: percentilesOf(pages.latency),
  });
}
