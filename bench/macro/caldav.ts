/**
 * `caldav`: a calendar of 10,000 objects as its clients read and write it, beside Radicale's with the same objects: all of
 * it, what changed, a hundred objects, a month of a thousand series, polls without change, durable writes.
 */
import { z } from 'zod';
import { bySize, interleave, latencyMillis, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { calendarObject } from '../harness/dav-objects.ts';
import { DavLoad, type DavRepeat, type DavResult } from '../harness/dav-load.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import type { Server } from '../harness/server.ts';
import { hasRadicale, startRadicale } from '../peers/radicale.ts';

/** Every tenth object is a series without end: a thousand of ten thousand. */
const SERIES_EVERY = 10;
const PUT_CONNECTIONS = 8;
const MULTIGET_HREFS = 100;

const INITIAL = 'initial sync-collection';
const DELTA = 'delta of one';
const MULTIGET = 'multiget of 100';
const MONTH = 'month of the series';
const POLL = 'poll without change';
const PUT = 'durable PUT, eight-way';

const BARS: readonly (readonly [string, string, '≤' | '≥', number])[] = [
  [INITIAL, 'p50 ms', '≤', 250],
  [INITIAL, 'first byte ms', '≤', 30],
  [DELTA, 'p50 ms', '≤', 5],
  [MULTIGET, 'p50 ms', '≤', 15],
  [MONTH, 'p50 ms', '≤', 30],
  [POLL, 'requests/s', '≥', 3_000],
  [PUT, 'requests/s', '≥', 300],
];

interface Peer {
  readonly name: 'parley' | 'Radicale';
  readonly load: DavLoad;
  /** The calendar. */
  readonly path: string;
  /** The number of the next object that nobody put yet. */
  next: number;
  /** How often what a case needs is asked in one round. */
  readonly counts: Readonly<Record<string, number>>;
}

const created = z.object({ password: z.string() });

export const caldav: Bench = {
  name: 'caldav',
  say: 'a calendar of 10,000 objects read and written over CalDAV, beside Radicale',
  async run(context) {
    const objects = bySize(context, { smoke: 200, default: 10_000, full: 10_000 });
    context.recorder.parameters({ objects, series: objects / SERIES_EVERY, shards: context.shards });
    const server = await startParley(context, { people: 2, rooms: 1, members: 2 });
    const stops: (() => Promise<void>)[] = [async () => await server.stop()];
    try {
      const peers = [await openParley(context, server, objects, stops)];
      if (hasRadicale()) peers.push(await openRadicale(context, objects, stops));
      else context.recorder.note('Radicale is not installed (apt-get install radicale): there is nothing beside it');
      await measureAll(context, peers);
      if (context.size === 'full') await fill(context, peers[0] as Peer);
    } finally {
      // oxlint-disable-next-line no-await-in-loop -- Generators end before the servers that they ask.
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

async function openParley(
  context: BenchContext,
  server: Server,
  objects: number,
  stops: (() => Promise<void>)[],
): Promise<Peer> {
  const [person] = server.world.people;
  if (person === undefined) throw new Error('Nobody was seeded.');
  const reply = await fetch(`${server.coordinator}/v1/app-passwords`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${person.token}` },
    body: JSON.stringify({ name: 'bench' }),
  });
  const { password } = created.parse(await reply.json());
  const authorization = `Basic ${Buffer.from(`${person.username}:${password}`).toString('base64')}`;
  const { hostname, port } = new URL(server.calendar);
  const load = await DavLoad.open({ host: hostname, port: Number(port), authorization }, context.pins.generator);
  stops.push(async () => await load.stop());
  const path = `/dav/calendars/${person.username}/bench/`;
  await load.repeat({ method: 'MKCALENDAR', path, headers: {}, body: '', count: 1, connections: 1 });
  const order = { path, first: 0, count: objects, seriesEvery: SERIES_EVERY, connections: PUT_CONNECTIONS };
  check(context, 'filling', 'parley', await load.put(order), [201]);
  const counts = { [INITIAL]: 5, [DELTA]: 50, [MULTIGET]: 20, [MONTH]: 10, [POLL]: 6_000, [PUT]: 800 };
  return { name: 'parley', load, path, next: objects, counts: context.size === 'smoke' ? {} : counts };
}

async function openRadicale(context: BenchContext, objects: number, stops: (() => Promise<void>)[]): Promise<Peer> {
  const { generator, server: cores } = context.pins;
  const radicale = await startRadicale(objects, SERIES_EVERY, cores);
  stops.push(async () => await radicale.stop());
  const authorization = `Basic ${Buffer.from('bench:bench').toString('base64')}`;
  const load = await DavLoad.open({ host: '127.0.0.1', port: radicale.port, authorization }, generator);
  stops.push(async () => await load.stop());
  const path = '/bench/calendar/';
  // It reads every object once and keeps what it made of it; that is its start, and is not measured.
  await load.repeat(syncOrder({ path }, ''));
  const counts = { [INITIAL]: 1, [DELTA]: 1, [MULTIGET]: 1, [MONTH]: 1, [POLL]: 10, [PUT]: 16 };
  return { name: 'Radicale', load, path, next: objects, counts: context.size === 'smoke' ? {} : counts };
}

const NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:CS="http://calendarserver.org/ns/"';

function reportOrder(path: string, body: string): DavRepeat {
  const headers = { depth: '1', 'content-type': 'application/xml; charset=utf-8' };
  return { method: 'REPORT', path, headers, body, count: 1, connections: 1 };
}

function syncOrder({ path }: Pick<Peer, 'path'>, token: string): DavRepeat {
  const body = `<D:sync-collection ${NAMESPACES}><D:sync-token>${token}</D:sync-token><D:sync-level>1</D:sync-level><D:prop><D:getetag/><D:getcontenttype/></D:prop></D:sync-collection>`;
  return reportOrder(path, body);
}

function tokenIn(text: string): string {
  const token = /<(?:\w+:)?sync-token>([^<]+)</.exec(text)?.[1];
  if (token === undefined) throw new Error(`An answer has no sync-token: ${text.slice(0, 200)}`);
  return token;
}

async function measureAll(context: BenchContext, peers: readonly Peer[]): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 3, full: 5 });
  await interleave(context, rounds, peers, async (peer, round, isWarmUp) => {
    await measureRound(context, peer, round, isWarmUp);
  });
  for (const [name, metric, relation, bound] of BARS) {
    recorder.bar(name, metric, recorder.median(name, 'parley', metric), relation, bound);
    if (peers.length > 1) recorder.ratio(name, metric, 'parley', 'Radicale');
  }
}

async function measureRound(context: BenchContext, peer: Peer, round: number, isWarmUp: boolean): Promise<void> {
  const { load, path } = peer;
  const record = (name: string, result: DavResult, statuses: readonly number[] = [207]) => {
    check(context, name, peer.name, result, statuses);
    if (isWarmUp) return;
    const values = {
      ...latencyMillis(result.latency),
      // What has no body has no first byte of it.
      ...(result.body === '' ? {} : { 'first byte ms': percentilesOf(result.first).p50 / 1e6 }),
      'requests/s': result.latency.length / result.seconds,
    };
    context.recorder.round({ case: name, subject: peer.name, round, values, ns: percentilesOf(result.latency) });
  };
  const times = (name: string) => ({ count: peer.counts[name] ?? 1 });
  const initial = await load.repeat({ ...syncOrder(peer, ''), ...times(INITIAL) });
  record(INITIAL, initial);
  // Of one object, which is put once more as another.
  await load.put({ path, first: peer.next, count: 1, seriesEvery: SERIES_EVERY, connections: 1 });
  peer.next += 1;
  const delta = await load.repeat({ ...syncOrder(peer, tokenIn(initial.body)), ...times(DELTA) });
  record(DELTA, delta);
  if ((delta.body.match(/<(?:\w+:)?response>/g) ?? []).length !== 1) {
    context.recorder.fail(`${DELTA}: ${peer.name} answered ${delta.body.slice(0, 300)}`);
  }
  const hrefs = Array.from(
    { length: MULTIGET_HREFS },
    (_, at) => `<D:href>${path}${calendarObject(at, 1).name}</D:href>`,
  );
  const data = '<D:prop><D:getetag/><C:calendar-data/></D:prop>';
  const multiget = `<C:calendar-multiget ${NAMESPACES}>${data}${hrefs.join('')}</C:calendar-multiget>`;
  record(MULTIGET, await load.repeat({ ...reportOrder(path, multiget), ...times(MULTIGET) }));
  const range = '<C:time-range start="20270301T000000Z" end="20270401T000000Z"/>';
  const filter = `<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">${range}</C:comp-filter></C:comp-filter></C:filter>`;
  const month = `<C:calendar-query ${NAMESPACES}><D:prop><D:getetag/></D:prop>${filter}</C:calendar-query>`;
  record(MONTH, await load.repeat({ ...reportOrder(path, month), ...times(MONTH) }));
  const poll = `<D:propfind ${NAMESPACES}><D:prop><CS:getctag/><D:sync-token/></D:prop></D:propfind>`;
  const pollOrder = { method: 'PROPFIND', path, headers: { depth: '0' }, body: poll, connections: PUT_CONNECTIONS };
  record(POLL, await load.repeat({ ...pollOrder, ...times(POLL) }));
  const puts = peer.counts[PUT] ?? PUT_CONNECTIONS;
  const order = { path, first: peer.next, count: puts, seriesEvery: SERIES_EVERY, connections: PUT_CONNECTIONS };
  record(PUT, await load.put(order), [201]);
  peer.next += puts;
}

/** Fills the calendar to 50,000 objects: the rate must not fall with what is there. */
async function fill(context: BenchContext, peer: Peer): Promise<void> {
  const [step, most] = [5_000, 50_000];
  for (let round = 0; peer.next + step <= most + step; round += 1) {
    const order = {
      path: peer.path,
      first: peer.next,
      count: step,
      seriesEvery: SERIES_EVERY,
      connections: PUT_CONNECTIONS,
    };
    // oxlint-disable-next-line no-await-in-loop -- One step after the other is what is measured.
    const result = await peer.load.put(order);
    check(context, 'filling', peer.name, result, [201]);
    peer.next += step;
    const values = { ...latencyMillis(result.latency), 'requests/s': step / result.seconds };
    context.recorder.round({ case: `PUT up to ${peer.next} objects`, subject: peer.name, round, values });
  }
}

function check(
  { recorder }: BenchContext,
  name: string,
  subject: string,
  result: DavResult,
  good: readonly number[],
): void {
  const bad = Object.entries(result.statuses).filter(([status]) => !good.includes(Number(status)));
  if (bad.length === 0) return;
  const answers = bad.map(([status, count]) => `${count} answers ${status}`).join(', ');
  recorder.fail(`${name}: ${subject} gave ${answers}: ${result.body.slice(0, 300)}`);
}
