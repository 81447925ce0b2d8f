/** The doors through which whole calendar files go: import, export, and feeds for whoever has their URL (CAL-02). */
import { Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bearerOf, type Authenticate } from '#src/http/client-routes.ts';
import { CALENDAR_FILE_ROUTES } from '#src/protocol/calendars/calendar-file-routes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import { accessCalendar } from '../calendar-access.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { takesGzip } from '../dav/request-preferences.ts';
import { MAX_STREAM_BYTES } from '../icalendar/stream-reader.ts';
import { writeCalendarFile } from './calendar-file.ts';
import type { Feeds } from './feeds.ts';
import { FilePlaces } from '#src/http/file-places.ts';
import { audienceOf } from '../objects/calendar-contents.ts';
import type { Detail } from './flattening.ts';
import { importFile, importSteps } from './import.ts';
import { IMPORT_LINES, importLines, takesLines } from './import-lines.ts';

/** Files that are taken in at once: each is in memory whole. [busy] */
export const IMPORTS_AT_ONCE_MAX = 2;
/** Files that go out at once to people who are signed in. [busy] */
export const EXPORTS_AT_ONCE_MAX = 8;
/** Feeds that go out at once: whoever has a URL takes no place of people. [busy] */
export const FEEDS_AT_ONCE_MAX = 16;
/** Files of one person on each of the two ways. [rate_limited] */
const FILES_OF_PERSON_MAX = 1;
/** Feeds that go out at once to one address. [rate_limited] */
export const FEEDS_TO_ADDRESS_MAX = 2;
/** Feeds of one owner that go out at once: subscribers come by the clock, together. [rate_limited] */
export const FEEDS_OF_OWNER_MAX = 4;
/** How long one file may take, on whichever way: the largest over a slow line. Then its connection ends. [busy] */
const FILE_MILLIS = 120_000;
/** A time of the last change tells seconds apart; what changed just now may change again within the same one. */
const SETTLED_MILLIS = 2_000;
/** Counts how files are written: one that is written otherwise is another file of the same calendar. */
const FORM = 2;

/** Adds the doors to the listener of the calendar. */
export async function addFileRoutes(
  app: FastifyInstance,
  services: CalendarServices,
  feeds: Feeds,
  authenticate: Authenticate,
): Promise<void> {
  await app.register(async (files) => {
    const users = new WeakMap<FastifyRequest, string>();
    const imports = new FilePlaces(IMPORTS_AT_ONCE_MAX);
    const exports = new FilePlaces(EXPORTS_AT_ONCE_MAX);
    const feedsOut = new FilePlaces(FEEDS_AT_ONCE_MAX);
    files.removeAllContentTypeParsers();
    files.addContentTypeParser('text/calendar', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
    files.addContentTypeParser('*', (_request, _payload, done) => done(new Refusal('body_not_calendar')));
    // Before the first byte of a body: who may not write a calendar uploads nothing to it.
    const enter =
      (places: FilePlaces, right: 'read' | 'write') =>
      async (request: FastifyRequest<{ Params: { calendar: string } }>, reply: FastifyReply) => {
        const user = authenticate(bearerOf(request));
        accessCalendar(services.calendars, user, request.params.calendar, right);
        places.take([{ name: user, most: FILES_OF_PERSON_MAX }], request, reply);
        users.set(request, user);
      };
    const shared = { exposeHeadRoute: false, handlerTimeout: FILE_MILLIS };
    files.route<{ Params: { calendar: string } }>({
      ...shared,
      method: 'POST',
      url: CALENDAR_FILE_ROUTES.importCalendar.path,
      bodyLimit: MAX_STREAM_BYTES,
      onRequest: enter(imports, 'write'),
      handler: async (request, reply) => {
        if (!(request.body instanceof Buffer)) throw new Refusal('body_not_calendar');
        const of = [services, users.get(request) ?? '', request.params.calendar, request.body] as const;
        if (!takesLines(request.headers)) return await importFile(...of);
        const steps = importSteps(...of);
        // What refuses all of the file is an answer as any other.
        const lines = Readable.from(importLines(await steps.next(), steps), { objectMode: false });
        endWith(lines, reply);
        return await reply.type(IMPORT_LINES).send(lines);
      },
    });
    files.route<{ Params: { calendar: string } }>({
      ...shared,
      method: 'GET',
      url: CALENDAR_FILE_ROUTES.exportCalendar.path,
      onRequest: enter(exports, 'read'),
      handler: async (request, reply) => {
        const user = users.get(request) ?? '';
        const { access, calendar } = accessCalendar(services.calendars, user, request.params.calendar, 'read');
        const detail = audienceOf(access) === 'insider' ? 'whole' : 'shared';
        void reply.header('content-disposition', `attachment; filename="${calendar.id}.ics"`);
        return await sendFile(services, calendar, detail, request, reply);
      },
    });
    files.route<{ Params: { file: string } }>({
      ...shared,
      method: 'GET',
      url: CALENDAR_FILE_ROUTES.readFeed.path,
      config: { anyVersion: true },
      handler: async (request, reply) => {
        const { calendar, feed } = feeds.open(request.params.file);
        const holders = [
          { name: `address ${request.ip}`, most: FEEDS_TO_ADDRESS_MAX },
          { name: `owner ${calendar.owner}`, most: FEEDS_OF_OWNER_MAX },
        ];
        feedsOut.take(holders, request, reply);
        void reply.header('x-robots-tag', 'noindex, nofollow, noarchive');
        // The feed's id is its owner's to see: whoever has the path knows neither it nor, by it, what is busy.
        return await sendFile(services, calendar, feed.detail, request, reply, feed.id);
      },
    });
  });
}

/** Ends a source with the connection that it goes to. */
function endWith(source: Readable, reply: FastifyReply): void {
  // A reader that takes a byte an hour holds a place of others.
  const timer = setTimeout(() => reply.raw.destroy(), FILE_MILLIS);
  reply.raw.once('close', () => {
    clearTimeout(timer);
    source.destroy();
  });
}

/** Sends the calendar as a file, or 304 where the caller has it as it is. */
async function sendFile(
  services: CalendarServices,
  calendar: CalendarRecord,
  detail: Detail,
  request: FastifyRequest,
  reply: FastifyReply,
  salt?: string,
): Promise<FastifyReply> {
  // Weak: the same calendar, compressed or not.
  const etag = `W/"${services.epoch.slice(0, 8)}-${calendar.syncSeq}-${detail}-${FORM}"`;
  const changedAt = services.calendars.changedAt(calendar);
  const isSettled = services.clock.now() - changedAt >= SETTLED_MILLIS;
  void reply.headers({
    etag,
    'cache-control': 'private, no-cache',
    vary: 'Accept-Encoding, Origin',
    ...(isSettled ? { 'last-modified': new Date(changedAt).toUTCString() } : {}),
  });
  if (hasIt(request, etag, isSettled ? changedAt : Infinity)) return await reply.code(304).send();
  const source = Readable.from(writeCalendarFile(services, calendar, detail, salt));
  endWith(source, reply);
  void reply.type('text/calendar; charset=utf-8');
  if (!takesGzip(request.headers)) return await reply.send(source);
  const zipped = createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH });
  source.on('error', (error) => zipped.destroy(error));
  zipped.on('close', () => source.destroy());
  return await reply.header('content-encoding', 'gzip').send(source.pipe(zipped));
}

/** Whether the caller's copy is this one: by its etag, or, where it has none, by the time of the last change. */
function hasIt({ headers }: FastifyRequest, etag: string, changedAt: number): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) {
    const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
    return tags.split(',').some((tag) => opaque(tag) === '*' || opaque(tag) === opaque(etag));
  }
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return !Number.isNaN(since) && Math.floor(changedAt / 1000) * 1000 <= since;
}
