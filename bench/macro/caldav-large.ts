/**
 * `caldav-large`: a calendar of 50,000 objects: taking them in as files, a year of them, one UID, one word, and what the whole
 * server weighs then. Each figure is CPU of the whole server beside the time that the caller waited.
 */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { z } from 'zod';
import { bySize, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { largeCalendar, LARGE_WORD, largeUid } from '../harness/dav-objects.ts';
import { cpuMicros, residentBytes, residentPeakBytes } from '../harness/process-cost.ts';
import type { Server } from '../harness/server.ts';

/** A person's calendar by both doors. */
interface LargeCalendar {
  readonly id: string;
  /** Of CalDAV. */
  readonly path: string;
  readonly basic: string;
  readonly bearer: string;
}

/** Objects of one file: what one import takes at most. */
const FILE_OBJECTS = 20_000;
const MEBIBYTE = 1024 ** 2;

const IMPORT = 'import of 20,000';
const YEAR = 'a year of 50,000';
const UID = 'a UID of 50,000';
const TEXT = 'a word of 50,000';
const JSON_TEXT = 'a word of 50,000, JSON';
const WHOLE = 'the server with 50,000';

const BARS: readonly (readonly [string, string, number])[] = [
  [IMPORT, 'CPU ms', 5_000],
  [YEAR, 'CPU ms', 100],
  [UID, 'CPU ms', 200],
  [TEXT, 'CPU ms', 200],
  [JSON_TEXT, 'CPU ms', 200],
  [WHOLE, 'MiB', 350],
];

const created = z.object({ password: z.string() });
const listed = z.object({ items: z.array(z.object({ id: z.string(), name: z.string() })) });

export const caldavLarge: Bench = {
  name: 'caldav-large',
  say: 'a calendar of 50,000 objects: imported, asked for a year, a UID and a word; what the server weighs',
  async run(context) {
    const server = await startParley(context, { people: 1, rooms: 1, members: 1 });
    try {
      await measureLarge(context, server, await openLarge(server));
    } finally {
      await server.stop();
    }
  },
};

async function openLarge(server: Server): Promise<LargeCalendar> {
  const [person] = server.world.people;
  if (person === undefined) throw new Error('Nobody was seeded.');
  const bearer = `Bearer ${person.token}`;
  const reply = await fetch(`${server.coordinator}/v1/app-passwords`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: bearer },
    body: JSON.stringify({ name: 'bench' }),
  });
  const { password } = created.parse(await reply.json());
  const basic = `Basic ${Buffer.from(`${person.username}:${password}`).toString('base64')}`;
  const path = `/dav/calendars/${person.username}/large/`;
  await send({ method: 'MKCALENDAR', url: `${server.calendar}${path}`, headers: { authorization: basic } });
  const calendars = await send({
    method: 'GET',
    url: `${server.calendar}/v1/calendars`,
    headers: { authorization: bearer },
  });
  const id = listed.parse(JSON.parse(calendars.text)).items.find(({ name }) => name === 'large')?.id;
  if (id === undefined) throw new Error(`The calendar is not listed: ${calendars.text.slice(0, 300)}`);
  return { id, path, basic, bearer };
}

const NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"';

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** One request to the end of its answer; Node's fetch knows no REPORT of its own, and decodes what is not looked at. */
async function send({ method, url, headers, body }: Asked): Promise<{ status: number; text: string }> {
  const request = httpRequest(url, { method, headers });
  request.end(body);
  const [response] = await once(request, 'response');
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode, text: Buffer.concat(parts).toString() };
}

function query(filter: string): string {
  return `<C:calendar-query ${NAMESPACES}><D:prop><D:getetag/></D:prop><C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">${filter}</C:comp-filter></C:comp-filter></C:filter></C:calendar-query>`;
}

/** Fills the calendar and measures it. */
async function measureLarge(context: BenchContext, server: Server, calendar: LargeCalendar): Promise<void> {
  const { recorder } = context;
  const scale = bySize(context, { smoke: 200, default: 1, full: 1 });
  const [objects, perFile] = [50_000 / scale, FILE_OBJECTS / scale];
  const rounds = context.rounds ?? bySize(context, { smoke: 1, default: 5, full: 9 });
  const measured = async (name: string, round: number, isKept: boolean, asked: Asked, rows?: number) => {
    const [before, began] = [cpuMicros(server.pid), performance.now()];
    const answer = await send(asked);
    const values = { 'CPU ms': (cpuMicros(server.pid) - before) / 1000, 'p50 ms': performance.now() - began };
    const found = answer.text.match(/<(?:D:)?response>/g)?.length ?? 0;
    if (answer.status >= 300 || (rows !== undefined && rows !== found)) {
      recorder.fail(`${name}: ${answer.status} with ${found} rows: ${answer.text.slice(0, 300)}`);
    }
    if (isKept) recorder.round({ case: name, subject: 'parley', round, values });
    return answer.text;
  };
  const bearer = { authorization: calendar.bearer };
  for (let first = 0, round = 0; first < objects; first += perFile, round += 1) {
    const [count, isWhole] = [Math.min(perFile, objects - first), objects - first >= perFile];
    const body = largeCalendar(first, count);
    const url = `${server.calendar}/v1/calendars/${calendar.id}/import`;
    const headers = { ...bearer, 'content-type': 'text/calendar' };
    // oxlint-disable-next-line no-await-in-loop -- One file after the other is what is measured.
    const text = await measured(IMPORT, round, isWhole, { method: 'POST', url, headers, body });
    if (JSON.parse(text).imported !== count) recorder.fail(`${IMPORT}: ${text.slice(0, 300)}`);
  }
  const headers = { authorization: calendar.basic, depth: '1', 'content-type': 'application/xml' };
  const report = (body: string) => ({ method: 'REPORT', url: `${server.calendar}${calendar.path}`, headers, body });
  const year = query('<C:time-range start="20250101T000000Z" end="20260101T000000Z"/>');
  const property = (name: string, text: string) =>
    query(`<C:prop-filter name="${name}"><C:text-match>${text}</C:text-match></C:prop-filter>`);
  for (let round = context.size === 'smoke' ? 0 : -1; round < rounds; round += 1) {
    const isKept = round >= 0;
    // oxlint-disable no-await-in-loop -- One question after the other is what is measured.
    await measured(YEAR, round, isKept, report(year));
    await measured(UID, round, isKept, report(property('UID', largeUid(objects / 2))), 1);
    await measured(TEXT, round, isKept, report(property('SUMMARY', LARGE_WORD)), 1);
    const url = `${server.calendar}/v1/entries?q=${LARGE_WORD}`;
    await measured(JSON_TEXT, round, isKept, { method: 'GET', url, headers: bearer });
    // oxlint-enable no-await-in-loop
  }
  const memory = { MiB: residentBytes(server.pid) / MEBIBYTE, 'MiB at most': residentPeakBytes(server.pid) / MEBIBYTE };
  recorder.round({ case: WHOLE, subject: 'parley', round: 0, values: memory });
  for (const [name, metric, bound] of BARS) {
    recorder.bar(name, metric, recorder.median(name, 'parley', metric), '≤', bound);
  }
}
