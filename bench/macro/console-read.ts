/**
 * `console-read`: a vendor reads de-personalised pages of the audit trail as fast as they come, while people post. What
 * is asked is not how fast that is but what the people notice.
 */
import { bySize, interleave, latencyMillis, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { membersOf } from '../harness/control.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import { Requests, type Target } from '../harness/requests.ts';
import type { Server } from '../harness/server.ts';
import { messagesPath } from '../harness/subject.ts';
import { ConsoleOwner } from '../harness/vendor.ts';

const POSTERS = 16;
const ROOMS = 16;
/** A fifth of what the server takes: the people's wait is then the server's doing and not a queue of their own. */
const POSTS_PER_SECOND = 500;
const READERS = 2;
const PAGE = 100;
/** People notice a reader when their p99 grows by more than rounds differ by themselves. */
const P99_RATIO_MAX = 1.25;

const CASE = 'posts on a schedule';
const ALONE = 'nobody reads';
const BESIDE = 'a vendor reads';

interface Stage {
  readonly name: string;
  readonly reads: boolean;
}

interface Load {
  readonly posters: Requests;
  readonly posts: Target[];
  readonly readers: Requests;
  readonly pages: Target[];
  next: number;
}

export const consoleRead: Bench = {
  name: 'console-read',
  say: 'de-personalised reads of the console beside people who post',
  async run(context) {
    const size = { people: POSTERS * 2, rooms: ROOMS, members: POSTERS };
    context.recorder.parameters({ 'posts/s': POSTS_PER_SECOND, readers: READERS, page: PAGE, shards: context.shards });
    const server = await startParley(context, size);
    let load: Load | undefined;
    try {
      load = await openLoad(context, server);
      await runStages(context, load);
    } finally {
      await Promise.all([load?.posters.stop(), load?.readers.stop()]);
      await server.stop();
    }
  },
};

async function openLoad(context: BenchContext, server: Server): Promise<Load> {
  const { generator } = context.pins;
  const owner = await ConsoleOwner.make(server.coordinator, server.data);
  // Each group is an entry of the trail with a few people in it.
  const groups = Array.from({ length: PAGE }, async (_, i) => {
    const members = server.world.people.slice(i % POSTERS, (i % POSTERS) + 5).map(({ username }) => username);
    await owner.ask('POST', '/groups', { name: `Group ${i}`, members });
  });
  await Promise.all(groups);
  const token = await owner.vendorToken();
  const { host, port } = server;
  const consolePort = Number(new URL(server.coordinator).port);
  return {
    posters: await Requests.open({ host, port, connections: POSTERS }, generator),
    posts: server.world.rooms.map((room): Target => {
      const { token: poster } = membersOf(server, room)[0]!;
      return { method: 'POST', path: messagesPath(room), token: poster, expect: 'message' };
    }),
    readers: await Requests.open({ host, port: consolePort, connections: READERS }, generator),
    pages: [{ method: 'GET', path: `/admin/api/audit?limit=${PAGE}`, token, expect: PAGE }],
    next: 0,
  };
}

async function runStages(context: BenchContext, load: Load): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
  const seconds = bySize(context, { smoke: 0.3, default: 3, full: 6 });
  const stages: Stage[] = [
    { name: ALONE, reads: false },
    { name: BESIDE, reads: true },
  ];
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    await measure(context, load, stage, { round, isWarmUp, seconds });
  });
  const ratio = recorder.ratio(CASE, 'p99 ms', BESIDE, ALONE);
  recorder.bar(CASE, `p99 ms, ${BESIDE} / ${ALONE}`, ratio, '≤', P99_RATIO_MAX);
}

async function measure(
  { recorder }: BenchContext,
  load: Load,
  stage: Stage,
  plan: { round: number; isWarmUp: boolean; seconds: number },
): Promise<void> {
  const { posters, posts, readers, pages } = load;
  await Promise.all([posters.prepare(), readers.prepare()]);
  const posting = posters.run({
    run: 'console-read',
    first: load.next,
    count: Math.round(POSTS_PER_SECOND * plan.seconds),
    perSecond: POSTS_PER_SECOND,
    targets: posts,
    verifyEvery: 64,
  });
  const reading = stage.reads
    ? readers.run({
        run: 'pages',
        first: 0,
        count: Number.MAX_SAFE_INTEGER,
        seconds: plan.seconds,
        targets: pages,
        verifyEvery: 16,
      })
    : undefined;
  const [posted, read] = await Promise.all([posting, reading]);
  load.next += posted.count;
  recorder.checkRequests(CASE, stage.name, posted);
  if (read !== undefined) recorder.checkRequests(CASE, `${stage.name}: pages`, read);
  if (plan.isWarmUp) return;
  recorder.round({
    case: CASE,
    subject: stage.name,
    round: plan.round,
    values: {
      'posts/s': posted.count / posted.seconds,
      ...latencyMillis(posted.latency),
      'pages/s': read === undefined ? 0 : read.count / read.seconds,
      'page p99 ms': read === undefined ? 0 : (latencyMillis(read.latency)['p99 ms'] ?? 0),
    },
    ns: percentilesOf(posted.latency),
  });
}
