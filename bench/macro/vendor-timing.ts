/**
 * `vendor-timing`: what a vendor learns from how long an answer takes (RED-10, VND-16). A filter is asked for what is right of
 * raw data and shown to no vendor, and for what is right of nothing, in random order; the two kinds of times are held
 * against each other by Welch's t, as `dudect` does. A vendor's answers are paced by what the one before cost, which makes
 * a difference tenfold: so each guess is sent twice at once, and the time between the two answers is taken.
 */
import { ADDRESS, startVendorScene, type VendorScene } from '#test/security/vendor-scene.ts';
import { bySize, type Bench, type BenchContext } from '../harness/bench.ts';
import { percentilesOf } from '../harness/percentiles.ts';

/** Beyond it two kinds of times differ for certain, as `dudect` has it (Reparaz, Balasch and Verbauwhede 2017). */
const T_MAX = 4.5;
/** Parts of all times that are looked at, from the quickest on: what is slower is more the machine's doing. The worst counts. */
const CROPS = [0.3, 0.5, 0.7, 0.9, 1];

type Kind = 'right' | 'wrong';

interface Guess {
  readonly name: string;
  readonly right: string;
  readonly wrong: string;
  /** Whether a vendor is shown the right one: its answer differs, and the test has to say so. */
  readonly isShown?: true;
}

export const vendorTiming: Bench = {
  name: 'vendor-timing',
  say: 'times of right and wrong guesses of what a vendor is not shown',
  async run(context) {
    const samples = bySize(context, { smoke: 4, default: 120, full: 400 });
    context.recorder.parameters({ 'samples of a kind': samples, crops: CROPS });
    context.recorder.note('The server is not pinned: it is the one of the tests, with their people.');
    const scene = await startVendorScene();
    try {
      // One by one, as the answers to a vendor are made one at a time.
      // oxlint-disable-next-line no-await-in-loop
      for (const guess of guessesOf(scene)) await judge(context, scene, guess, samples);
    } finally {
      await scene.host.stop();
    }
  },
};

function guessesOf({ ids }: VendorScene): Guess[] {
  const filter = (path: string, right: string, wrong: string, isShown?: true): Guess => {
    const [of, to] = [right, wrong].map((text) => `${path}${encodeURIComponent(text)}`) as [string, string];
    return { name: `${path}${right}`, right: of, wrong: to, ...(isShown && { isShown }) };
  };
  const { device, session } = ids;
  return [
    filter('/audit?actor=', 'user:ivanova', 'user:zzzzzzz'),
    filter('/audit?prefix=', 'user:iv', 'user:zz'),
    filter('/audit?prefix=', ADDRESS, '203.0.113.~~'),
    filter('/audit?about=', device, `${device.slice(0, -8)}00000000`),
    filter('/calendar/audit?actor=', 'user:ivanova', 'user:zzzzzzz'),
    filter('/logs?text=', '"user":"gusev"', '"user":"zzzzz"'),
    filter('/logs?text=', '"user":"g', '"user":"~'),
    filter('/client-sessions?after=', session, `${session.slice(0, -8)}00000000`),
    filter('/audit?prefix=', '203.0.113.x', '203.0.113.y', true),
  ];
}

async function judge(
  { recorder }: BenchContext,
  scene: VendorScene,
  { isShown, name, ...paths }: Guess,
  samples: number,
): Promise<void> {
  const bodies = { right: new Set<string>(), wrong: new Set<string>() };
  const times: Record<Kind, number[]> = { right: [], wrong: [] };
  // The first of each kind warms what is compiled on the way, and is thrown away.
  for (let taken = -1; taken < samples; taken += 1) {
    const order: readonly Kind[] = Math.random() < 0.5 ? ['right', 'wrong'] : ['wrong', 'right'];
    for (const kind of order) {
      // oxlint-disable-next-line no-await-in-loop -- One guess at a time: two beside each other would wait for one another.
      const { nanos, text } = await ask(scene, paths[kind]);
      bodies[kind].add(text);
      if (taken >= 0) times[kind].push(nanos);
    }
  }
  const isTold = !(bodies.right.size === 1 && bodies.wrong.size === 1 && bodies.right.isSubsetOf(bodies.wrong));
  if (isTold !== (isShown ?? false)) recorder.fail(`${name}: the answers ${isTold ? 'differ' : 'are alike'}`);
  for (const kind of ['right', 'wrong'] as const) {
    const values = { 'median ms': median(times[kind]) / 1e6 };
    recorder.round({ case: name, subject: kind, round: 0, values, ns: percentilesOf(times[kind]) });
  }
  const difference = Math.max(...CROPS.map((crop) => Math.abs(welch(...cropped(crop, times.right, times.wrong)))));
  recorder.bar(name, '|t| of the two kinds', difference, isShown ? '≥' : '≤', T_MAX);
}

/**
 * Sends a guess twice at once. Answers the text, and the nanoseconds from the first answer until the second: the rest behind the
 * first and the making of the second, and nothing of the rest that a guess before has left.
 */
async function ask({ read }: VendorScene, path: string): Promise<{ nanos: number; text: string }> {
  const answers = [1, 2].map(async () => ({ ...(await read(path)), at: performance.now() }));
  const [one, other] = (await Promise.all(answers)) as [Answer, Answer];
  return { nanos: Math.abs(other.at - one.at) * 1e6, text: `${one.status} ${one.text}` };
}

interface Answer extends Awaited<ReturnType<VendorScene['read']>> {
  /** In milliseconds of `performance.now`. */
  readonly at: number;
}

function median(samples: readonly number[]): number {
  return samples.toSorted((a, b) => a - b)[samples.length >> 1] ?? NaN;
}

/** Both kinds without what is slower than that part of all of them. */
function cropped(crop: number, right: readonly number[], wrong: readonly number[]): [number[], number[]] {
  const all = [...right, ...wrong].toSorted((a, b) => a - b);
  const bound = all[Math.ceil(crop * all.length) - 1] ?? Infinity;
  const below = (sample: number) => sample <= bound;
  return [right.filter(below), wrong.filter(below)];
}

/** Welch's t of two samples: how many standard errors their means lie apart; 0 where a part holds one kind alone, which the whole shows. */
function welch(of: readonly number[], to: readonly number[]): number {
  if (Math.min(of.length, to.length) < 2) return 0;
  const [a, b] = [moments(of), moments(to)];
  return (a.mean - b.mean) / Math.sqrt(a.variance / of.length + b.variance / to.length);
}

function moments(samples: readonly number[]): { mean: number; variance: number } {
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  const squares = samples.reduce((sum, sample) => sum + (sample - mean) ** 2, 0);
  return { mean, variance: squares / (samples.length - 1) };
}
