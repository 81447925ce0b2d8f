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
import { measurePosts, openPosts, type PostStage } from '../harness/posts.ts';
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
      const stages: PostStage[] = [];
      try {
        for (const subject of [...subjects, archived]) {
          const name = subject === archived ? ARCHIVED : subject.name;
          // oxlint-disable-next-line no-await-in-loop -- One after the other.
          stages.push(await openPosts(context, { name, subject, posters: POSTERS }));
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

async function runStages(context: BenchContext, stages: readonly PostStage[]): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
  const seconds = bySize(context, { smoke: 0.3, default: 3, full: 5 });
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    const length = isWarmUp ? seconds * WARM_UP_TIMES : seconds;
    const plan = { round, isWarmUp, seconds: length };
    await measurePosts(context, stage, { ...plan, name: 'closed loop' });
    await measurePosts(context, stage, { ...plan, name: 'open loop', perSecond: OPEN_LOOP_PER_SECOND });
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
