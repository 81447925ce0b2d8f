/**
 * `neighbours`: what one hostile person costs the others. People post on a schedule and sign in, alone and beside each
 * kind of request that was found to hurt; the server runs with its limits as they are by default.
 */
import { z } from 'zod';
import { Attacks, type AttackOrder, type HostileRequest } from '../harness/attacks.ts';
import { bySize, interleave, latencyMillis, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { membersOf } from '../harness/control.ts';
import { calendarObject } from '../harness/dav-objects.ts';
import { nanosNow } from '../harness/monotonic.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import { Requests, type Target } from '../harness/requests.ts';
import type { Server } from '../harness/server.ts';
import { messagesPath, type Person } from '../harness/subject.ts';

/** Each of them posts five times a second, half of what a person may. */
const POSTERS = 100;
const POSTS_PER_SECOND = 500;
const MEMBERS = 10;
/** From the instant at which it was due to the next one. */
const SIGN_IN_EVERY_MILLIS = 250;
/** As many at once as the person likes who found it. */
const MANY = 64;
const FEW = 8;
const HREFS = 9_990;
const TERMS = 400;
const LARGE_TEXT = 48_000 / 3;
/** A neighbour is noticed when the others' wait grows by more than half. */
const RATIO_MAX = 1.5;

const POSTS = 'posts of the others';
const SIGN_INS = 'sign-ins of the others';
/** A round has too few of them for a 99th percentile. */
const ALL_SIGN_INS = 'sign-ins of the others, of all rounds together';
const CALM = 'calm';

interface Stage {
  readonly name: string;
  readonly attack?: Omit<AttackOrder, 'seconds'>;
}

interface Load {
  readonly server: Server;
  readonly posters: Requests;
  readonly posts: Target[];
  readonly hostile: Attacks;
  /** Those who sign in, each on the device that they have. */
  readonly others: readonly Person[];
  /** By stage, nanoseconds that each took, of all rounds. */
  readonly signIns: Map<string, number[]>;
  next: number;
}

export const neighbours: Bench = {
  name: 'neighbours',
  say: 'posts and sign-ins of the others beside one hostile person',
  async run(context) {
    const size = { people: POSTERS + 20, rooms: POSTERS / MEMBERS, members: MEMBERS };
    context.recorder.parameters({ 'posts/s': POSTS_PER_SECOND, posters: POSTERS, shards: context.shards });
    const server = await startParley(context, size, { PARLEY_RATE_LIMITS: '1' });
    const hostile = new Attacks(context.pins.generator);
    let posters: Requests | undefined;
    try {
      const { host, port } = server;
      posters = await Requests.open({ host, port, connections: MANY }, context.pins.generator);
      const posts = server.world.rooms.flatMap((room) =>
        membersOf(server, room).map(({ token }): Target => {
          return { method: 'POST', path: messagesPath(room), token, expect: 'message' };
        }),
      );
      const free = server.world.people.slice(POSTERS);
      const [mallory, ...others] = free;
      if (mallory === undefined) throw new Error('Nobody was seeded.');
      const attacks = await prepareAttacks(context, server, mallory);
      const load = { server, posters, posts, hostile, others, signIns: new Map<string, number[]>(), next: 0 };
      await runStages(context, load, [{ name: CALM }, ...attacks]);
    } finally {
      await Promise.all([posters?.stop(), hostile.stop()]);
      await server.stop();
    }
  },
};

const made = z.object({ password: z.string() });
const conversation = z.object({ id: z.string() });

/** Makes what the attacks need, and says what each of them sends. */
async function prepareAttacks(context: BenchContext, server: Server, mallory: Person): Promise<Stage[]> {
  const { calendar, coordinator } = server;
  const messaging = `http://${server.host}:${server.port}`;
  const bearer = { authorization: `Bearer ${mallory.token}` };
  const json = { ...bearer, 'content-type': 'application/json' };
  const body = (value: unknown) => ({ headers: json, body: JSON.stringify(value) });
  const { password } = made.parse(await ask('POST', `${coordinator}/v1/app-passwords`, body({ name: 'bench' })));
  const room = conversation.parse(
    await ask('POST', `${messaging}/v1/conversations`, body({ kind: 'room', participants: [] })),
  );
  const tablet = await server.addDevice(mallory.username);
  const basic = `Basic ${Buffer.from(`${mallory.username}:${password}`).toString('base64')}`;
  const dav = { authorization: basic, 'content-type': 'application/xml; charset=utf-8', depth: '1' };
  const path = `${calendar}/dav/calendars/${mallory.username}/bench/`;
  await ask('MKCALENDAR', path, { headers: dav });
  const series = bySize(context, { smoke: 20, default: 300, full: 300 });
  const puts = Array.from({ length: series }, (_, at) => calendarObject(at, 1));
  const ical = { authorization: basic, 'content-type': 'text/calendar' };
  // A few at a time: the first requests of an app password are judged one by one.
  for (let at = 0; at < puts.length; at += FEW) {
    // oxlint-disable-next-line no-await-in-loop -- In turn, so that nothing waits too long.
    await Promise.all(
      puts
        .slice(at, at + FEW)
        .map(async ({ name, text }) => await ask('PUT', path + name, { headers: ical, body: text })),
    );
  }
  const NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"';
  const { pathname } = new URL(path);
  const hrefs = `<D:href>${pathname}bench-0.ics</D:href>`.repeat(HREFS);
  const match = (n: number) =>
    `<D:property-search><D:prop><D:displayname/></D:prop><D:match>person ${n}</D:match></D:property-search>`;
  const report = (url: string, inside: string, gzip = false): HostileRequest => {
    return { method: 'REPORT', url, headers: dav, body: inside, gzip };
  };
  const span = '<C:time-range start="20260101T000000Z" end="20270101T000000Z"/>';
  const meetings = `${coordinator}/v1/meetings`;
  const few = (name: string, ...requests: HostileRequest[]): Stage => ({
    name,
    attack: { requests, connections: FEW },
  });
  const many = (name: string, ...requests: HostileRequest[]): Stage => ({
    name,
    attack: { requests, connections: MANY },
  });
  return [
    few(
      'multiget of one, 9,990 times',
      report(
        path,
        `<C:calendar-multiget ${NAMESPACES}><D:prop><C:calendar-data/></D:prop>${hrefs}</C:calendar-multiget>`,
        true,
      ),
    ),
    few('free-busy of 300 series', report(path, `<C:free-busy-query ${NAMESPACES}>${span}</C:free-busy-query>`)),
    few(
      'principal search of 400 terms',
      report(
        `${calendar}/dav/principals/`,
        `<D:principal-property-search ${NAMESPACES} test="anyof">${Array.from({ length: TERMS }, (_, n) => match(n)).join('')}<D:prop><D:displayname/></D:prop></D:principal-property-search>`,
      ),
    ),
    many('directory × 64', { method: 'GET', url: `${coordinator}/v1/directory`, headers: bearer }),
    many('healthz × 64', { method: 'GET', url: `${coordinator}/healthz` }),
    few('DAV PUT', { method: 'PUT', url: `${path}put-{n}.ics`, headers: ical, body: eventText() }),
    few('posts of 48 KB', {
      method: 'POST',
      url: `${messaging}/v1/conversations/${room.id}/messages`,
      ...body({ kind: 'text', body: '€'.repeat(LARGE_TEXT) }),
    }),
    few(
      'meetings made and cancelled',
      { method: 'POST', url: meetings, ...body({ title: 'x', lobby: 'open', participants: [] }) },
      { method: 'POST', url: `${meetings}/{id}/cancel`, headers: bearer },
    ),
    // On a device of its own: the session that the other attacks use would end with it otherwise.
    few('sign-ins on one device', {
      method: 'POST',
      url: `${coordinator}/v1/auth/login`,
      ...body(server.signInForm(tablet)),
    }),
  ];
}

function eventText(): string {
  return calendarObject(1, 2).text.replace('bench-1@', 'put-{n}@');
}

/** @throws Error with the status when it is refused. */
async function ask(method: string, url: string, init: RequestInit): Promise<unknown> {
  const reply = await fetch(url, { method, ...init });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${url} was answered ${reply.status} ${text}`);
  return text.startsWith('{') ? JSON.parse(text) : undefined;
}

async function runStages(context: BenchContext, load: Load, stages: readonly Stage[]): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 3, full: 5 });
  const seconds = bySize(context, { smoke: 0.15, default: 10, full: 20 });
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    await measure(context, load, stage, { round, isWarmUp, seconds });
  });
  for (const [name, nanos] of load.signIns) {
    const values = { ...latencyMillis(nanos), 'sign-ins': nanos.length };
    recorder.round({ case: ALL_SIGN_INS, subject: name, round: 0, values, ns: percentilesOf(nanos) });
  }
  for (const { name, attack } of stages) {
    if (attack === undefined) continue;
    for (const [group, metric] of [
      [POSTS, 'p99 ms'],
      [POSTS, 'p50 ms'],
      [SIGN_INS, 'p50 ms'],
      [ALL_SIGN_INS, 'p99 ms'],
    ] as const) {
      recorder.bar(group, `${metric}, ${name} / ${CALM}`, recorder.ratio(group, metric, name, CALM), '≤', RATIO_MAX);
    }
  }
}

async function measure(
  { recorder }: BenchContext,
  load: Load,
  { attack, name }: Stage,
  plan: { round: number; isWarmUp: boolean; seconds: number },
): Promise<void> {
  const { hostile, posters, posts } = load;
  await posters.prepare();
  const attacking = attack === undefined ? undefined : hostile.run({ ...attack, seconds: plan.seconds });
  const posting = posters.run({
    run: 'neighbours',
    first: load.next,
    count: Math.round(POSTS_PER_SECOND * plan.seconds),
    perSecond: POSTS_PER_SECOND,
    targets: posts,
    verifyEvery: 64,
  });
  const signIns = await signInFor(load, plan.seconds);
  const [posted, attacked] = await Promise.all([posting, attacking]);
  load.next += posted.count;
  recorder.checkRequests(POSTS, name, posted);
  if (plan.isWarmUp) return;
  load.signIns.set(name, [...(load.signIns.get(name) ?? []), ...signIns]);
  const asked = Object.values(attacked?.statuses ?? {}).reduce((sum, count) => sum + count, 0);
  const served = Object.entries(attacked?.statuses ?? {}).reduce(
    (sum, [status, n]) => sum + (status[0] === '2' ? n : 0),
    0,
  );
  const about = { 'asked/s': asked / plan.seconds, 'served/s': served / plan.seconds };
  for (const [group, latency, more] of [
    [POSTS, posted.latency, about],
    [SIGN_INS, signIns, {}],
  ] as const) {
    const values = { ...latencyMillis(latency), ...more };
    recorder.round({ case: group, subject: name, round: plan.round, values, ns: percentilesOf(latency) });
  }
}

/** Others sign in, one every so often whether the one before is in or not; nanoseconds that each took. */
async function signInFor({ others, server }: Load, seconds: number): Promise<number[]> {
  const times = Math.max(1, Math.floor((seconds * 1_000) / SIGN_IN_EVERY_MILLIS));
  return await Promise.all(
    Array.from({ length: times }, async (_, at) => {
      await new Promise((resolve) => setTimeout(resolve, at * SIGN_IN_EVERY_MILLIS));
      const person = others[at % others.length]!;
      const began = nanosNow();
      await server.signIn(person);
      return nanosNow() - began;
    }),
  );
}
