/**
 * `cluster`: what several hosts cost. Posts at a host that is alone, at the one that leads two hosts over three NATS servers, and at the
 * one that follows it and hands them on; and per post the CPU of the host that follows and of the NATS servers, and the bytes of the stream.
 */
import { bySize, interleave, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import type { Server } from '../harness/server.ts';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { measurePosts, openPosts, type PostStage } from '../harness/posts.ts';

const POSTERS = 16;
const ROOMS = 8;
/** A schedule that one machine carries with three NATS servers and two hosts on it. */
const OPEN_LOOP_PER_SECOND = 100;
/** What a post may take with three replicas (issue: several hosts), in milliseconds. */
const [ACK_P50_MILLIS_MAX, ACK_P99_MILLIS_MAX] = [2, 15];
/** What the host that follows may spend on a post beside the one that leads. */
const FOLLOWER_SHARE_MAX = 0.2;
const NATS_SERVERS = 3;

const ALONE = 'alone';
const LEADS = 'at the host that leads';
const FOLLOWS = 'at a host that follows';

export const cluster: Bench = {
  name: 'cluster',
  say: 'posts at a host that is alone, at the one that leads two hosts, and at the one that follows and hands them on',
  async run(context) {
    const missing = unlessInstalled('nats-server', ['--version']);
    if (missing !== false) return context.recorder.note(`${missing}: nothing was measured`);
    const { recorder, shards } = context;
    recorder.parameters({
      posters: POSTERS,
      rooms: ROOMS,
      shards,
      hosts: 2,
      'NATS servers': NATS_SERVERS,
      'open loop posts/s': OPEN_LOOP_PER_SECOND,
    });
    const size = { people: POSTERS, rooms: ROOMS, members: POSTERS / ROOMS };
    const nats = await TestNats.start(NATS_SERVERS);
    const servers: Server[] = [];
    const stages: PostStage[] = [];
    try {
      const environment = { PARLEY_CLUSTER: nats.urls };
      const alone = await startParley(context, size);
      servers.push(alone);
      const leads = await startParley(context, size, environment);
      servers.unshift(leads);
      const follows = await leads.beside(environment);
      servers.unshift(follows);
      for (const [name, subject] of [
        [ALONE, alone],
        [LEADS, leads],
        [FOLLOWS, follows],
      ] as const) {
        // oxlint-disable-next-line no-await-in-loop -- One after the other.
        stages.push(await openPosts(context, { name, subject, posters: POSTERS }));
      }
      await runStages(context, stages, { follows, nats });
    } finally {
      await Promise.all(stages.map(async (stage) => await stage.poster.stop()));
      // The one that follows goes first: it would lead otherwise.
      for (const server of servers) {
        // oxlint-disable-next-line no-await-in-loop -- As above.
        await server.stop();
      }
      await nats.stop();
    }
  },
};

async function runStages(
  context: BenchContext,
  stages: readonly PostStage[],
  { follows, nats }: { readonly follows: Server; readonly nats: TestNats },
): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
  const seconds = bySize(context, { smoke: 0.3, default: 4, full: 8 });
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    const plan = { round, isWarmUp, seconds };
    const spent = () => [cpuMicros(follows.pid), nats.pids.reduce((sum, pid) => sum + cpuMicros(pid), 0)] as const;
    const [[followsBefore, natsBefore], bytesBefore] = [spent(), await nats.streamBytes()];
    const count = stage.next;
    await measurePosts(context, stage, { ...plan, name: 'closed loop' });
    const [[followsAfter, natsAfter], bytesAfter] = [spent(), await nats.streamBytes()];
    const perPost = (before: number, after: number) => (after - before) / (stage.next - count);
    if (stage.name === LEADS && !isWarmUp) {
      const [following, carrying] = [perPost(followsBefore, followsAfter), perPost(natsBefore, natsAfter)];
      recorder.round({ case: 'the host that follows', subject: FOLLOWS, round, values: { 'CPU µs/post': following } });
      const values = { 'CPU µs/post': carrying, 'stream bytes/post': perPost(bytesBefore, bytesAfter) };
      recorder.round({ case: 'the three NATS servers', subject: 'NATS', round, values });
    }
    await measurePosts(context, stage, { ...plan, name: 'open loop', perSecond: OPEN_LOOP_PER_SECOND });
  });
  recorder.ratio('closed loop', 'posts/s', LEADS, ALONE);
  recorder.ratio('closed loop', 'CPU µs/post', LEADS, ALONE);
  recorder.ratio('open loop', 'p50 ms', LEADS, ALONE);
  recorder.ratio('open loop', 'p50 ms', FOLLOWS, LEADS);
  const median = (metric: string) => recorder.median('open loop', LEADS, metric);
  recorder.bar('open loop', 'p50 ms', median('p50 ms'), '≤', ACK_P50_MILLIS_MAX);
  recorder.bar('open loop', 'p99 ms', median('p99 ms'), '≤', ACK_P99_MILLIS_MAX);
  const following = recorder.median('the host that follows', FOLLOWS, 'CPU µs/post') ?? Number.NaN;
  const leading = recorder.median('closed loop', LEADS, 'CPU µs/post') ?? Number.NaN;
  recorder.bar('the host that follows', 'CPU a post, follows / leads', following / leading, '≤', FOLLOWER_SHARE_MAX);
}
