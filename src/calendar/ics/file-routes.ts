/** The doors through which whole calendar files go: import, export, and feeds for whoever has their URL (CAL-02). */
import { Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bearerOf, type Authenticate } from '#src/http/client-routes.ts';
import { CALENDAR_FILE_ROUTES } from '#src/protocol/calendars/calendar-file-routes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { hostOf } from '#src/limits/networks.ts';
import { Occupancy } from '#src/limits/occupancy.ts';
import type { Access, CalendarRecord } from '#storage/calendars/calendar-records.ts';
import { accessCalendar } from '../calendar-access.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { takesGzip } from '../dav/request-preferences.ts';
import { MAX_STREAM_BYTES } from '../icalendar/stream-reader.ts';
import { writeCalendarFile } from './calendar-file.ts';
import type { Feeds } from './feeds.ts';
import type { Detail } from './flattening.ts';
import { importFile } from './import.ts';

/** Files that are taken in at once, of one person one: each is in memory whole. [busy] */
export const IMPORTS_AT_ONCE_MAX = 2;
/** Files that go out at once, one to each person and to each reader of a feed. [busy] */
export const EXPORTS_AT_ONCE_MAX = 8;
/** How long one file may take, on whichever way: the largest over a slow line. Then its connection ends. [busy] */
const FILE_MILLIS = 120_000;
/** How long a reader may take nothing of its file. Then its connection ends, and its place is another's. */
const STALLED_MILLIS = 10_000;
/** A time of the last change tells seconds apart; what changed just now may change again within the same one. */
const SETTLED_MILLIS = 2_000;

/** Adds the doors to the listener of the calendar. */
export async function addFileRoutes(
  app: FastifyInstance,
  services: CalendarServices,
  feeds: Feeds,
  authenticate: Authenticate,
): Promise<void> {
  await app.register(async (files) => {
    const users = new WeakMap<FastifyRequest, string>();
    const [imports, exports] = [new Occupancy(IMPORTS_AT_ONCE_MAX), new Occupancy(EXPORTS_AT_ONCE_MAX)];
    files.removeAllContentTypeParsers();
    files.addContentTypeParser('text/calendar', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
    files.addContentTypeParser('*', (_request, _payload, done) => done(new Refusal('body_not_calendar')));
    /** Who may not, and who has a file on its way already, takes no place: this comes before the body. */
    type Named = FastifyRequest<{ Params: { calendar: string } }>;
    const enter = (occupancy: Occupancy, right: Access) => async (request: Named, reply: FastifyReply) => {
      const user = authenticate(bearerOf(request));
      users.set(request, user);
      accessCalendar(services.calendars, user, request.params.calendar, right);
      occupy(occupancy, user, reply);
    };
    const shared = { exposeHeadRoute: false, handlerTimeout: FILE_MILLIS };
    files.route<{ Params: { calendar: string } }>({
      ...shared,
      method: 'POST',
      url: CALENDAR_FILE_ROUTES.importCalendar.path,
      bodyLimit: MAX_STREAM_BYTES,
      onRequest: enter(imports, 'write'),
      handler: async (request) => {
        if (!(request.body instanceof Buffer)) throw new Refusal('body_not_calendar');
        return await importFile(services, users.get(request) ?? '', request.params.calendar, request.body);
      },
    });
    files.route<{ Params: { calendar: string } }>({
      ...shared,
      method: 'GET',
      url: CALENDAR_FILE_ROUTES.exportCalendar.path,
      onRequest: enter(exports, 'read'),
      handler: async (request, reply) => {
        const { calendar } = accessCalendar(
          services.calendars,
          users.get(request) ?? '',
          request.params.calendar,
          'read',
        );
        void reply.header('content-disposition', `attachment; filename="${calendar.id}.ics"`);
        return await sendFile(services, calendar, 'whole', request, reply);
      },
    });
    files.route<{ Params: { file: string } }>({
      ...shared,
      method: 'GET',
      url: CALENDAR_FILE_ROUTES.readFeed.path,
      config: { anyVersion: true },
      handler: async (request, reply) => {
        const { calendar, feed } = feeds.open(request.params.file);
        occupy(exports, `${feed.id} ${hostOf(request.ip)}`, reply);
        void reply.header('x-robots-tag', 'noindex, nofollow, noarchive');
        return await sendFile(services, calendar, feed.detail, request, reply);
      },
    });
  });
}

/** Holds a place until the connection is done with. @throws Refusal `busy`. */
function occupy(occupancy: Occupancy, who: string, reply: FastifyReply): void {
  reply.raw.once('close', occupancy.enter(who));
}

/** Sends the calendar as a file, or 304 where the caller has it as it is. */
async function sendFile(
  services: CalendarServices,
  calendar: CalendarRecord,
  detail: Detail,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  // Weak: the same calendar, compressed or not.
  const etag = `W/"${services.epoch.slice(0, 8)}-${calendar.syncSeq}-${detail}"`;
  const changedAt = services.calendars.changedAt(calendar);
  const isSettled = services.clock.now() - changedAt >= SETTLED_MILLIS;
  void reply.headers({
    etag,
    'cache-control': 'private, no-cache',
    vary: 'Accept-Encoding, Origin',
    ...(isSettled ? { 'last-modified': new Date(changedAt).toUTCString() } : {}),
  });
  if (hasIt(request, etag, isSettled ? changedAt : Infinity)) return await reply.code(304).send();
  const source = Readable.from(writeCalendarFile(services, calendar, detail));
  // A reader that takes a byte an hour holds a place of others.
  const timer = setTimeout(() => reply.raw.destroy(), FILE_MILLIS);
  reply.raw.setTimeout(STALLED_MILLIS, () => reply.raw.destroy());
  reply.raw.once('close', () => {
    clearTimeout(timer);
    source.destroy();
  });
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
