/**
 * `web`: what the app takes in Chromium, beside a plain page that opens the same socket and shows the same as bare elements:
 * loading, switching rooms, a long history scrolled, messages arriving, and a message on its way from one browser to another.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { buildApp } from '#test/web/built-app.ts';
import { servePlainPage, type PlainSite } from '../browser/plain-site.ts';
import { CHROMIUM, Viewer, type ViewerName } from '../browser/viewer.ts';
import { bySize, interleave, startParley, type BenchContext, type Bench } from '../harness/bench.ts';
import { readJson } from '../harness/control.ts';
import { seedHistory } from '../harness/corpus.ts';
import { within } from '../harness/deadline.ts';
import { textOf } from '../harness/payload.ts';
import { percentileOf, percentilesOf } from '../harness/percentiles.ts';
import { Requests } from '../harness/requests.ts';
import type { Server } from '../harness/server.ts';
import { messagesPath, type Person, type Room } from '../harness/subject.ts';

/** Two at the app, two at the plain page, and who posts. */
const PEOPLE = 6;
const POSTS_PER_SECOND = 50;
/** A quick turn of the wheel: more than half of what is in sight with each frame. */
const SCROLLED_PIXELS = 500;
/** Of the longest room, as by the bar beside it: a message is in sight for one frame or two. */
const DRAGGED_PIXELS = 2_000;
/** Between two actions of a person, so that what the one left to do is not counted with the other. */
const PAUSE_MILLIS = 200;
/** What is not shown by then is lost. */
const SHOWN_SECONDS_MAX = 20;

const FIRST_SCRIPT_BYTES_MAX = 320_000;
const COLD_MILLIS_MAX = 1_500;
const WARM_MILLIS_MAX = 500;
const SWITCH_MILLIS_MAX = 100;
const TASK_MILLIS_MAX = 50;
const HEAP_MIB_MAX = 150;
const DROPPED_PERCENT_MAX = 5;
const SHOWN_MILLIS_MAX = 100;

const APP: ViewerName = 'app';
const PLAIN: ViewerName = 'plain page';
const LOADS = { cold: 'cold load to the list', warm: 'warm load to the list' };
const SWITCHES = { first: 'switching rooms, the first time', again: 'switching rooms, again' };
const SCROLL = 'a long room scrolled end to end';
const LONGEST = 'the longest room scrolled end to end';
const ARRIVING = `${POSTS_PER_SECOND} messages/s arriving`;
const SHOWN = 'posted in one browser, shown in another';

interface Stage {
  readonly server: Server;
  readonly site: PlainSite;
  /** Rooms that are switched between, those with a long history, and the one in which messages arrive. */
  readonly rooms: readonly Room[];
  readonly long: Room;
  readonly longest: Room;
  readonly busy: Room;
  /** The newest text of each room. */
  readonly newest: ReadonlyMap<string, string>;
}

export const web: Bench = {
  name: 'web',
  say: 'the app in Chromium beside a plain page: loads, switching rooms, scrolling, messages arriving, posted until shown',
  async run(context) {
    if (CHROMIUM === undefined) return context.recorder.note('no Chromium on this machine: nothing was measured');
    buildApp();
    const rooms = bySize(context, { smoke: 3, default: 12, full: 12 });
    const history = bySize(context, { smoke: 300, default: 5_000, full: 5_000 });
    const longest = bySize(context, { smoke: 600, default: 100_000, full: 100_000 });
    context.recorder.parameters({ rooms, history, longest, 'posts/s': POSTS_PER_SECOND, shards: context.shards });
    const site = await servePlainPage();
    const size = { people: PEOPLE, rooms: rooms + 3, members: PEOPLE };
    const server = await startParley(context, size, { PARLEY_ALLOWED_ORIGINS: site.origin });
    try {
      await runAll(context, await setStage(context, server, site, { history, longest }));
    } finally {
      await server.stop();
      site.stop();
    }
  },
};

/** Writes the histories, and has everybody have read them: who switches between rooms has mostly seen what is there. */
async function setStage(
  context: BenchContext,
  server: Server,
  site: PlainSite,
  counts: { readonly history: number; readonly longest: number },
): Promise<Stage> {
  const messages = bySize(context, { smoke: 120, default: 300, full: 300 });
  await server.down('SIGTERM');
  const [longest, long, busy, ...rooms] = server.world.rooms as [Room, Room, Room, ...Room[]];
  const others = [busy, ...rooms].map((room) => [room, messages] as const);
  await seedHistory(server.data, [[longest, counts.longest], [long, counts.history], ...others]);
  await server.up();
  const newest = new Map<string, string>();
  // oxlint-disable-next-line no-await-in-loop -- Few, and outside any measurement.
  for (const room of server.world.rooms) newest.set(room.id, await readUp(server, room));
  return { server, site, rooms, long, longest, busy, newest };
}

/** Has everybody have read a room up to its newest message, and answers that one's text. */
async function readUp(server: Server, room: Room): Promise<string> {
  const { people } = server.world;
  const { value } = await readJson(server, people[0] as Person, `${messagesPath(room)}?limit=1`);
  const [message] = value['items'] as [{ body: string; seq: number }];
  for (const { token } of people) {
    // oxlint-disable-next-line no-await-in-loop -- Few, and outside any measurement.
    const reply = await fetch(`http://${server.host}:${server.port}/v1/conversations/${room.id}/receipts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ state: 'read', seq: message.seq }),
    });
    if (!reply.ok) throw new Error(`a receipt was answered ${reply.status}`);
  }
  return message.body;
}

async function runAll(context: BenchContext, stage: Stage): Promise<void> {
  const { server, site } = stage;
  const [ada, bea, carl, dan] = server.world.people as [Person, Person, Person, Person];
  const viewers: Viewer[] = [];
  const open = async (viewer: Promise<Viewer>): Promise<Viewer> => {
    viewers.push(await viewer);
    return viewers.at(-1) as Viewer;
  };
  try {
    const app = await open(Viewer.ofApp(server, ada));
    const plain = await open(Viewer.ofPlainPage(server, carl, site.origin));
    await measureFirstScript(context, stage, app);
    await measureLoads(context, [app, plain]);
    await measureSwitches(context, stage, [app, plain]);
    await measureArriving(context, stage, [app, plain]);
    await measureScrolling(context, stage, SCROLL, [app, plain]);
    // The plain page keeps every element that it ever showed, which nobody would do with a hundred thousand: the bar is the app's alone.
    await measureScrolling(context, stage, LONGEST, [app]);
    const friends = [
      await open(Viewer.ofApp(server, bea)),
      await open(Viewer.ofPlainPage(server, dan, site.origin)),
    ] as const;
    await measureShown(context, stage, [
      [app, friends[0]],
      [plain, friends[1]],
    ]);
    for (const { complaints, name } of viewers)
      for (const complaint of new Set(complaints)) context.recorder.fail(`${name}: ${complaint}`);
  } finally {
    await Promise.all(viewers.map((viewer) => viewer.stop()));
  }
}

async function measureFirstScript({ recorder }: BenchContext, { site }: Stage, app: Viewer): Promise<void> {
  const name = 'first JavaScript';
  await app.load();
  const names = await app.page.evaluate(() =>
    performance.getEntriesByType('resource').flatMap((one) => (one.name.endsWith('.js') ? [one.name] : [])),
  );
  const sizes = await Promise.all(
    names.map(async (url) => {
      const reply = await fetch(url, { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } });
      return Number(reply.headers.get('content-length'));
    }),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  recorder.round({ case: name, subject: APP, round: 0, values: { 'KB gzipped': bytes / 1000, files: names.length } });
  recorder.round({
    case: name,
    subject: PLAIN,
    round: 0,
    values: { 'KB gzipped': site.gzippedBytes / 1000, files: 1 },
  });
  recorder.bar(name, 'KB gzipped', bytes / 1000, '≤', FIRST_SCRIPT_BYTES_MAX / 1000);
}

async function measureLoads(context: BenchContext, viewers: readonly Viewer[]): Promise<void> {
  const { recorder } = context;
  const metric = 'ms to the list';
  const rounds = bySize(context, { smoke: 1, default: 7, full: 11 });
  await interleave(context, rounds, viewers, async (viewer, round, isWarmUp) => {
    await viewer.forgetPages();
    const cold = await viewer.load();
    await sleep(5 * PAUSE_MILLIS);
    const warm = await viewer.load();
    if (isWarmUp) return;
    const subject = viewer.name;
    recorder.round({ case: LOADS.cold, subject, round, values: { [metric]: cold } });
    recorder.round({ case: LOADS.warm, subject, round, values: { [metric]: warm } });
  });
  for (const name of Object.values(LOADS)) recorder.ratio(name, metric, APP, PLAIN);
  recorder.bar(LOADS.cold, metric, recorder.median(LOADS.cold, APP, metric), '≤', COLD_MILLIS_MAX);
  recorder.bar(LOADS.warm, metric, recorder.median(LOADS.warm, APP, metric), '≤', WARM_MILLIS_MAX);
}

async function measureSwitches(context: BenchContext, stage: Stage, viewers: readonly Viewer[]): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 3, full: 5 });
  const visit = async (viewer: Viewer): Promise<number[]> => {
    const taken: number[] = [];
    for (const { id } of stage.rooms) {
      // oxlint-disable-next-line no-await-in-loop -- A person looks at one room after the other.
      taken.push(await viewer.switchTo(id, stage.newest.get(id) ?? ''));
      // oxlint-disable-next-line no-await-in-loop -- The same.
      await sleep(PAUSE_MILLIS);
    }
    return taken;
  };
  const visitOften = async (viewer: Viewer, visits: number) => {
    const before = await viewer.mainThreadMillis();
    const millis: number[] = [];
    // oxlint-disable-next-line no-await-in-loop -- The second visit comes after the first.
    for (let at = 0; at < visits; at += 1) millis.push(...(await visit(viewer)));
    return { millis, cpu: ((await viewer.mainThreadMillis()) - before) / millis.length };
  };
  await interleave(context, rounds, viewers, async (viewer, round, isWarmUp) => {
    await viewer.load();
    await sleep(5 * PAUSE_MILLIS);
    for (const [name, visits] of [
      [SWITCHES.first, 1],
      [SWITCHES.again, 2],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- Those again come after the first.
      const { cpu, millis } = await visitOften(viewer, visits);
      if (isWarmUp) continue;
      const { ns, values } = latencies(millis);
      recorder.round({
        case: name,
        subject: viewer.name,
        round,
        values: { ...values, 'main thread ms/switch': cpu },
        ns,
      });
    }
  });
  for (const name of Object.values(SWITCHES)) {
    recorder.ratio(name, 'p95 ms', APP, PLAIN);
    recorder.bar(name, 'p95 ms', recorder.median(name, APP, 'p95 ms'), '≤', SWITCH_MILLIS_MAX);
  }
}

async function measureArriving(context: BenchContext, stage: Stage, viewers: readonly Viewer[]): Promise<void> {
  const { recorder } = context;
  const { busy, newest, server } = stage;
  const { host, port, world } = server;
  const rounds = bySize(context, { smoke: 1, default: 3, full: 5 });
  const seconds = bySize(context, { smoke: 1, default: 10, full: 20 });
  const count = POSTS_PER_SECOND * seconds;
  const poster = await Requests.open({ host, port, connections: 4 }, context.pins.generator);
  let [first, last] = [0, newest.get(busy.id) ?? ''];
  const targets = [{ method: 'POST' as const, path: messagesPath(busy), token: world.people.at(-1)?.token ?? '' }];
  try {
    await interleave(context, rounds, viewers, async (viewer, round, isWarmUp) => {
      await leave(viewers.filter((one) => one !== viewer));
      // Who has not read what came while the other page was looked at begins there, and not at the end.
      await readUp(server, busy);
      await viewer.load();
      await viewer.switchTo(busy.id, last);
      await sleep(5 * PAUSE_MILLIS);
      const before = await viewer.mainThreadMillis();
      await viewer.page.evaluate(() => window.probe.watch());
      // Last of all: a page of a machine that does much else takes seconds to answer, and the server closes what is silent.
      await poster.prepare();
      const order = { run: 'arriving', first, count, perSecond: POSTS_PER_SECOND, targets, verifyEvery: 64 };
      recorder.checkRequests(ARRIVING, viewer.name, await poster.run(order));
      first += count;
      last = textOf(first - 1);
      const frames = await viewer.page.evaluate(() => window.probe.watched());
      const cpu = (await viewer.mainThreadMillis()) - before;
      try {
        await within('the last message to be shown', SHOWN_SECONDS_MAX, shownIn(viewer, last));
      } catch (error) {
        // Whoever was at the end has to be there after it.
        recorder.fail(`${ARRIVING}: ${viewer.name}: ${String(error)}`);
      }
      if (isWarmUp) return;
      recorder.round({
        case: ARRIVING,
        subject: viewer.name,
        round,
        values: {
          'dropped frames %': frames.droppedPercent,
          'longest gap ms': frames.longestGapMillis,
          'long tasks': frames.longTasks,
          'main thread ms/message': cpu / count,
        },
      });
    });
  } finally {
    await poster.stop();
  }
  recorder.ratio(ARRIVING, 'main thread ms/message', APP, PLAIN);
  recorder.bar(
    ARRIVING,
    'dropped frames %',
    recorder.median(ARRIVING, APP, 'dropped frames %'),
    '≤',
    DROPPED_PERCENT_MAX,
  );
}

/** Pages that are not looked at do nothing meanwhile. */
async function leave(viewers: readonly Viewer[]): Promise<void> {
  await Promise.all(viewers.map(async (viewer) => await viewer.page.goto('about:blank')));
}

async function shownIn(viewer: Viewer, text: string): Promise<number> {
  return await viewer.page.evaluate(async (words) => await window.probe.shown(words), text);
}

async function measureScrolling(
  context: BenchContext,
  { long, longest, newest }: Stage,
  name: typeof SCROLL | typeof LONGEST,
  viewers: readonly Viewer[],
): Promise<void> {
  const { recorder } = context;
  const [room, pixels] = name === SCROLL ? [long, SCROLLED_PIXELS] : [longest, DRAGGED_PIXELS];
  for (const viewer of viewers) {
    // oxlint-disable-next-line no-await-in-loop -- Pages must not disturb each other.
    await leave(viewers.filter((one) => one !== viewer));
    // oxlint-disable-next-line no-await-in-loop -- The same.
    const values = await scrollThrough(viewer, room, newest.get(room.id) ?? '', pixels);
    recorder.round({ case: name, subject: viewer.name, round: 0, values });
  }
  const task = recorder.median(name, APP, 'longest task ms');
  if (viewers.length > 1) recorder.ratio(name, 'heap at most MiB', APP, PLAIN);
  recorder.bar(name, 'longest task ms', task, '≤', TASK_MILLIS_MAX);
  recorder.bar(name, 'heap at most MiB', recorder.median(name, APP, 'heap at most MiB'), '≤', HEAP_MIB_MAX);
}

const SCROLL_SECONDS_MAX = 1_800;
const HEAP_LOOK_MILLIS = 1_000;

async function scrollThrough(
  viewer: Viewer,
  room: Room,
  text: string,
  pixels: number,
): Promise<Record<string, number>> {
  await viewer.load();
  await viewer.switchTo(room.id, text);
  await sleep(5 * PAUSE_MILLIS);
  let heap = 0;
  const looking = setInterval(() => {
    viewer.heapBytes(false).then(
      (bytes) => (heap = Math.max(heap, bytes)),
      // The page is on its way to the next case.
      () => undefined,
    );
  }, HEAP_LOOK_MILLIS);
  try {
    const began = performance.now();
    const before = await viewer.mainThreadMillis();
    await viewer.page.evaluate(() => window.probe.watch());
    await within(
      'the first message to be in sight',
      SCROLL_SECONDS_MAX,
      viewer.page.evaluate(async (by) => await window.probe.scrollToFirst(by), pixels),
    );
    const { droppedPercent, longestTaskMillis, longTasks } = await viewer.page.evaluate(() => window.probe.watched());
    const seconds = (performance.now() - began) / 1000;
    const cpu = (await viewer.mainThreadMillis()) - before;
    heap = Math.max(heap, await viewer.heapBytes(false));
    return {
      seconds,
      'longest task ms': longestTaskMillis,
      'long tasks': longTasks,
      'dropped frames %': droppedPercent,
      'main thread s': cpu / 1000,
      'heap at most MiB': heap / 2 ** 20,
      'heap at the end MiB': (await viewer.heapBytes(true)) / 2 ** 20,
    };
  } finally {
    clearInterval(looking);
  }
}

async function measureShown(
  context: BenchContext,
  { busy, server }: Stage,
  pairs: readonly (readonly [Viewer, Viewer])[],
): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 3, full: 5 });
  const posts = bySize(context, { smoke: 3, default: 40, full: 100 });
  let number = 0;
  await interleave(context, rounds, pairs, async ([from, to], round, isWarmUp) => {
    await leave(pairs.flat().filter((one) => one !== from && one !== to));
    // Who has not read what the other pair wrote begins there, and not at the end.
    await readUp(server, busy);
    for (const viewer of [from, to]) {
      // oxlint-disable-next-line no-await-in-loop -- One after the other.
      await viewer.load();
      // oxlint-disable-next-line no-await-in-loop -- The same.
      await viewer.page.locator(`a[href$="#/c/${busy.id}"]`).click();
    }
    const field = from.page.locator('main textarea');
    await field.waitFor();
    await sleep(5 * PAUSE_MILLIS);
    const taken: number[] = [];
    for (let post = 0; post < posts; post += 1) {
      const text = `from one browser to the other, number ${String((number += 1)).padStart(6, '0')}`;
      const shown = shownIn(to, text);
      // oxlint-disable-next-line no-await-in-loop -- As a person writes.
      await field.fill(text);
      // oxlint-disable-next-line no-await-in-loop -- The same.
      await field.press('Enter');
      // oxlint-disable-next-line no-await-in-loop -- The same.
      const at = await within(`“${text}” to be shown`, SHOWN_SECONDS_MAX, shown);
      // oxlint-disable-next-line no-await-in-loop -- The same.
      taken.push(at - (await from.page.evaluate(() => window.probe.pressedAt)));
      // oxlint-disable-next-line no-await-in-loop -- The same.
      await sleep(PAUSE_MILLIS / 2);
    }
    if (isWarmUp) return;
    recorder.round({ case: SHOWN, subject: from.name, round, ...latencies(taken) });
  });
  recorder.ratio(SHOWN, 'p95 ms', APP, PLAIN);
  recorder.bar(SHOWN, 'p95 ms', recorder.median(SHOWN, APP, 'p95 ms'), '≤', SHOWN_MILLIS_MAX);
}

function latencies(millis: readonly number[]) {
  const samples = Float64Array.from(millis);
  return {
    values: {
      'p50 ms': percentileOf(samples, 0.5),
      'p95 ms': percentileOf(samples, 0.95),
      'max ms': percentileOf(samples, 1),
    },
    ns: percentilesOf(millis.map((one) => one * 1e6)),
  };
}
