/** `search`: a mixed set of searches over a long history, and what keeping the index costs a post. */
import { bySize, interleave, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { cyrillicWordOf, seedHistory, wordOf } from '../harness/corpus.ts';
import { membersOf } from '../harness/control.ts';
import { percentileOf, percentilesOf } from '../harness/percentiles.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import { Requests, type Target } from '../harness/requests.ts';
import type { Server } from '../harness/server.ts';
import { messagesPath } from '../harness/subject.ts';

/** People who search in turn. */
const PEOPLE = 64;
/** At once: what one search takes, and not what it waits for others. */
const SEARCHERS = 1;
const POSTERS = 64;
const ROOMS = 16;
/** One room has half of the history, a hundred share the rest. */
const SMALL_ROOMS = 100;
const SEARCH_MILLIS_MAX = 50;
const POST_COST_MAX = 1.3;

/** Name → queries. Of a rank, so many words are more common. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  common: [3, 20, 50].map((rank) => wordOf(rank)),
  usual: [300, 800, 2_000].map((rank) => wordOf(rank)),
  rare: [9_000, 15_000, 19_990].map((rank) => wordOf(rank)),
  absent: ['xylophagous', 'zzyzx', 'jjqjj'],
  'three letters': [wordOf(500).slice(0, 3), 'wiq', 'xyz'],
  'two words': [`${wordOf(400)} ${wordOf(700)}`, `${wordOf(30)} ${wordOf(9_000)}`],
  phrase: [`"${wordOf(40)} ${wordOf(90)}"`, `"${wordOf(3_000)} ${wordOf(6_000)}"`],
  cyrillic: [50, 900, 12_000].map((rank) => cyrillicWordOf(rank)),
  han: ['中国', '学用', '的', '鑫'],
};

export const search: Bench = {
  name: 'search',
  say: 'searches for common, rare and absent words over a long history; posts with the index kept and not kept',
  async run(context) {
    const history = bySize(context, { smoke: 20_000, default: 1_000_000, full: 1_000_000 });
    context.recorder.parameters({ history, rooms: SMALL_ROOMS + 1, searchers: SEARCHERS, shards: context.shards });
    await measureSearches(context, history);
    await measurePosts(context);
  },
};

async function measureSearches(context: BenchContext, history: number): Promise<void> {
  const { recorder } = context;
  const server = await startParley(context, { people: PEOPLE, rooms: SMALL_ROOMS + 1, members: PEOPLE });
  let searchers: Requests | undefined;
  try {
    await server.down('SIGTERM');
    const [long, ...others] = server.world.rooms;
    const share = Math.floor(history / 2 / SMALL_ROOMS);
    const seeded = await seedHistory(server.data, [
      [long!, history / 2],
      ...others.map((room) => [room, share] as const),
    ]);
    recorder.parameters({
      'seconds to index all': Math.round(seeded.indexSeconds * 10) / 10,
      'MB before the index': Math.round(seeded.megabytesBefore),
      'MB with the index': Math.round(seeded.megabytesAfter),
    });
    await server.up();
    const { host, port } = server;
    searchers = await Requests.open({ host, port, connections: SEARCHERS }, context.pins.generator);
    await runSearches(context, server, searchers);
  } finally {
    await searchers?.stop();
    await server.stop();
  }
}

async function runSearches(context: BenchContext, server: Server, searchers: Requests): Promise<void> {
  const { recorder } = context;
  const people = membersOf(server, server.world.rooms[0]!);
  let turn = 0;
  const targetsOf = (queries: readonly string[]): Target[] =>
    Array.from({ length: queries.length * PEOPLE }, (_, i) => {
      const { token } = people[(turn += 1) % people.length]!;
      return { method: 'GET', path: `/v1/search?${new URLSearchParams({ q: queries[i % queries.length]! })}`, token };
    });
  const cases = [...Object.entries(QUERIES), ['mixed', Object.values(QUERIES).flat()] as const];
  const rounds = bySize(context, { smoke: 1, default: 3, full: 5 });
  const seconds = bySize(context, { smoke: 0.2, default: 1, full: 3 });
  await interleave(context, rounds, cases, async ([name, queries], round, isWarmUp) => {
    const targets = targetsOf(queries);
    await searchers.prepare();
    const before = cpuMicros(server.pid);
    const result = await searchers.run({
      run: name,
      first: 0,
      count: Number.MAX_SAFE_INTEGER,
      seconds: name === 'mixed' ? 3 * seconds : seconds,
      targets,
      verifyEvery: 50,
    });
    const cpu = cpuMicros(server.pid) - before;
    recorder.checkRequests(name, 'parley', result);
    if (isWarmUp) return;
    recorder.round({
      case: name,
      subject: 'parley',
      round,
      values: {
        'searches/s': result.count / result.seconds,
        'p50 ms': percentileOf(result.latency, 0.5) / 1e6,
        'p95 ms': percentileOf(result.latency, 0.95) / 1e6,
        'max ms': percentileOf(result.latency, 1) / 1e6,
        'CPU ms/search': cpu / 1000 / result.count,
      },
      ns: percentilesOf(result.latency),
    });
  });
  recorder.bar('mixed', 'p95 ms', recorder.median('mixed', 'parley', 'p95 ms'), '≤', SEARCH_MILLIS_MAX);
}

interface Posting {
  readonly name: string;
  readonly server: Server;
  readonly poster: Requests;
  readonly targets: Target[];
  next: number;
}

async function measurePosts(context: BenchContext): Promise<void> {
  const { recorder } = context;
  const stages: Posting[] = [];
  try {
    for (const setting of ['on', 'off'] as const) {
      // oxlint-disable-next-line no-await-in-loop -- One after the other.
      stages.push(await openPosting(context, setting));
    }
    const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
    const seconds = bySize(context, { smoke: 0.3, default: 3, full: 5 });
    await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
      await stage.poster.prepare();
      const before = cpuMicros(stage.server.pid);
      const { next: first, targets } = stage;
      const order = { run: 'post', first, count: Number.MAX_SAFE_INTEGER, seconds, targets, verifyEvery: 64 };
      const result = await stage.poster.run(order);
      const cpu = cpuMicros(stage.server.pid) - before;
      stage.next += result.count;
      recorder.checkRequests('posts', stage.name, result);
      if (isWarmUp) return;
      recorder.round({
        case: 'posts',
        subject: stage.name,
        round,
        values: {
          'posts/s': result.count / result.seconds,
          'p99 ms': percentilesOf(result.latency).p99 / 1e6,
          'CPU µs/post': cpu / result.count,
        },
        ns: percentilesOf(result.latency),
      });
    });
    recorder.ratio('posts', 'p99 ms', 'search on', 'search off');
    const ratio = recorder.ratio('posts', 'CPU µs/post', 'search on', 'search off');
    recorder.bar('posts', 'CPU µs/post, search on / off', ratio, '≤', POST_COST_MAX);
  } finally {
    await Promise.all(stages.map(({ poster }) => poster.stop()));
    await Promise.all(stages.map(({ server }) => server.stop()));
  }
}

async function openPosting(context: BenchContext, setting: 'on' | 'off'): Promise<Posting> {
  const size = { people: POSTERS, rooms: ROOMS, members: POSTERS / ROOMS };
  const server = await startParley(context, size, { PARLEY_SEARCH: setting });
  const { host, port, world } = server;
  const poster = await Requests.open({ host, port, connections: POSTERS }, context.pins.generator);
  const targets = world.rooms.flatMap((room) =>
    membersOf(server, room).map(({ token }): Target => {
      return { method: 'POST', path: messagesPath(room), token, expect: 'message' };
    }),
  );
  return { name: `search ${setting}`, server, poster, targets, next: 0 };
}
