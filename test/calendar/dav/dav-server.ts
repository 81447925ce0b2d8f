/** The DAV door in this process, over a folder of its own: real store, real reading of objects, real listener. */
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AddressBook } from '#src/calendar/address-book.ts';
import { ensureOwnInbox } from '#src/calendar/calendar-access.ts';
import { BasicAuthentication } from '#src/calendar/basic-authentication.ts';
import type { DavPush } from '#src/calendar/dav/dav-context.ts';
import { addDavRoutes } from '#src/calendar/dav/routes.ts';
import { busyTimes } from '#src/calendar/objects/busy-times.ts';
import { TimeSlicer } from '#src/calendar/time-slicer.ts';
import { WorkBudgets } from '#src/calendar/work-budget.ts';
import { CalendarContents } from '#src/calendar/objects/calendar-contents.ts';
import { DerivationPool } from '#src/calendar/objects/derivation-pool.ts';
import { removeOwnCalendar } from '#src/calendar/objects/calendar-removal.ts';
import { CalendarObjectWriter } from '#src/calendar/objects/object-writer.ts';
import { Deliveries } from '#src/calendar/scheduling/deliveries.ts';
import { Proposals } from '#src/calendar/scheduling/proposals.ts';
import { Scheduler } from '#src/calendar/scheduling/scheduler.ts';
import { systemClock } from '#src/base/clock.ts';
import { makeHttpSurface } from '#src/http/http-surface.ts';
import { readXml, type XmlElement } from '#src/calendar/dav/xml/xml-reader.ts';
import type { XmlName } from '#src/calendar/dav/xml/xml-names.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { NO_MAIL } from '../no-mail.ts';
import { limiterBy } from '#test/support/limiter.ts';

/** People of the tests. Nobody sees `hidden`. The password of each is their name backwards. */
export const PEOPLE = {
  ann: { display_name: 'Ann Example', email: 'ann@example.org' },
  bob: { display_name: 'Bob Example', email: 'bob@example.org' },
  hidden: { display_name: 'Hidden', email: 'hidden@example.org' },
  'o.neil-1': { display_name: 'O’Neil', email: 'oneil@example.org' },
} as const;

export interface DavReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** The root of an XML answer. */
  readonly xml: XmlElement;
}

export interface DavCall {
  readonly user?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export class DavTestServer {
  readonly url: string;
  readonly calendars: Calendars;
  /** What the door noted as faults: nothing, in a test that passes. */
  readonly faults: unknown[];
  readonly #close: () => Promise<void>;

  constructor(url: string, calendars: Calendars, faults: unknown[], close: () => Promise<void>) {
    this.url = url;
    this.calendars = calendars;
    this.faults = faults;
    this.#close = close;
  }

  /** One request as it stands: as `ann` unless another is named, as nobody with null. */
  async call(method: string, path: string, { user = 'ann', headers = {}, body }: DavCall = {}): Promise<DavReply> {
    const own = user === null ? {} : { authorization: basicOf(user) };
    const { hostname, port } = new URL(this.url);
    const { promise, resolve, reject } = Promise.withResolvers<DavReply>();
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sent = httpRequest(
      { method, hostname, port, path, headers: { ...own, ...length, ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const { statusCode: status = 0, headers: got } = response;
          resolve({
            ...{ status, headers: got, bytes, text: bytes.toString() },
            get xml() {
              return readXml(bytes);
            },
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
    return await promise;
  }

  async stop(): Promise<void> {
    await this.#close();
  }
}

/** Nobody is told of anything: pushes have tests of their own, over the whole server. */
const NO_PUSH: DavPush = { publicKey: 'B', register: async () => undefined, unregister: async () => false };

const passwordOf = (user: string): string => user.split('').toReversed().join('');

export function basicOf(user: string): string {
  return `Basic ${Buffer.from(`${user}:${passwordOf(user)}`).toString('base64')}`;
}

/** Starts a door on a free port. */
export async function startDav(): Promise<DavTestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-dav-'));
  const calendars = Calendars.open(folder, { now: () => systemClock.now() });
  const entries = Object.entries(PEOPLE).map(([user, profile], at) => ({
    ...({ user, ...profile, kind: 'person', state: 'active', rev: at + 1 } as const),
  }));
  const book = new AddressBook({
    entry: (user) => entries.find((entry) => entry.user === user),
    changedSince: (after) => ({ entries: entries.filter(({ rev }) => rev > after), rev: entries.length, more: false }),
    holdersOf: () => [],
  });
  const pool = new DerivationPool();
  const isSeen = (viewer: string, user: string) =>
    Object.hasOwn(PEOPLE, user) && (user !== 'hidden' || viewer === user);
  const principalOf = (user: string) => ({
    user,
    displayName: book.nameOf(user),
    addresses: book.addressesOf(user),
    type: book.typeOf(user),
  });
  const isRight = (user: string, password: string) =>
    Object.hasOwn(PEOPLE, user) && password === passwordOf(user) ? 'apw_1' : undefined;
  const basic = new BasicAuthentication(isRight, limiterBy(systemClock, { loginAttemptsPerMinute: 1_000 }), (address) =>
    book.userOf(address),
  );
  const faults: unknown[] = [];
  const log = {
    error: (message: string, fields?: object) => void faults.push([message, fields]),
    warn: () => undefined,
  };
  const deliveries = new Deliveries({ calendars, pool, book, isPerson: () => true, clock: systemClock, log });
  const scheduler = new Scheduler({ pool, book, clock: systemClock, deliveries, mail: NO_MAIL, mayInvite: isSeen });
  const app = await makeHttpSurface({
    config: { protocolMin: 1, requestSeconds: 10, trustedProxies: '' },
    log,
    health: async () => ({ headers: {}, body: '{}' }),
    allowsOrigin: () => false,
  });
  const isPerson = () => true;
  const budgets = new WorkBudgets();
  const parts = { book, budgets, calendars, pool, scheduler };
  const proposals = new Proposals({ ...parts, clock: systemClock, isPerson, mail: NO_MAIL });
  const writer = new CalendarObjectWriter({ calendars, pool, book, scheduler, clock: systemClock });
  await addDavRoutes(app, {
    calendars,
    quotas: { limits: {} },
    contentsOf: (accessible) => new CalendarContents(calendars, accessible),
    writer,
    propose: async (user, message) => await proposals.post(user, message),
    zoneOf: (user) => book.zoneOf(user),
    removeCalendar: async (removal) =>
      await removeOwnCalendar({ calendars, writer, pool, book, budgets, clock: systemClock }, removal),
    principals: {
      find: (viewer, user) => (isSeen(viewer, user) ? principalOf(user) : undefined),
      search: (viewer, text, limit) =>
        [...book.search(text)]
          .filter((user) => isSeen(viewer, user))
          .slice(0, limit)
          .map(principalOf),
    },
    busyTimes: async (viewer, address, span) => {
      const user = book.userOf(address);
      if (user === undefined || !isSeen(viewer, user)) return undefined;
      const slicer = new TimeSlicer({ budgets, user: viewer });
      const addresses = book.addressesOf(user);
      return await busyTimes({ calendars, pool }, calendars.ownedBy(user), { window: span, addresses, slicer });
    },
    ownBusyTimes: async (viewer, span) => {
      const slicer = new TimeSlicer({ budgets, user: viewer });
      const addresses = book.addressesOf(viewer);
      return await busyTimes({ calendars, pool }, calendars.ownedBy(viewer), { window: span, addresses, slicer });
    },
    busyIn: async (viewer, calendar, span) => {
      const slicer = new TimeSlicer({ budgets, user: viewer });
      const addresses = book.addressesOf(calendar.owner);
      return await busyTimes({ calendars, pool }, [calendar], { window: span, addresses, slicer });
    },
    budgets,
    epoch: 'ep_1',
    publicUrl: 'https://calendar.example.org',
    push: NO_PUSH,
    authenticate: async (authorization, address) => {
      const caller = basic.authenticate(authorization, address);
      await ensureOwnInbox(calendars, caller.user);
      return caller;
    },
    pace: async () => {},
    log,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return new DavTestServer(`http://127.0.0.1:${port}`, calendars, faults, async () => {
    app.server.closeAllConnections();
    await app.close();
    await deliveries.close();
    await calendars.close();
    await pool.close();
    await rm(folder, { recursive: true, force: true });
  });
}

/** A calendar object with one event. */
export function eventOf(uid: string, lines: readonly string[] = []): string {
  const has = (name: string) => lines.some((line) => line.startsWith(name));
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Test//EN',
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTAMP:20260101T000000Z',
    ...(has('DTSTART') ? [] : ['DTSTART:20261121T090000Z', 'DTEND:20261121T100000Z']),
    ...(has('SUMMARY') ? [] : [`SUMMARY:Event ${uid}`]),
    ...lines,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
}

/** The rows of a multistatus: href → properties by name with their XML, and the status of the row or its groups. */
export interface Row {
  readonly href: string;
  readonly status: string | undefined;
  readonly found: ReadonlyMap<XmlName, XmlElement>;
  readonly missing: readonly XmlName[];
}

export function rowsOf({ xml }: DavReply): Row[] {
  return xml.children
    .filter(({ name }) => name === '{DAV:}response')
    .map((response) => {
      const groups = response.children.filter(({ name }) => name === '{DAV:}propstat');
      const propertiesWith = (status: string) =>
        groups
          .filter((group) => group.children.some(({ name, text }) => name === '{DAV:}status' && text.includes(status)))
          .flatMap((group) => group.children.find(({ name }) => name === '{DAV:}prop')?.children ?? []);
      return {
        href: response.children.find(({ name }) => name === '{DAV:}href')?.text ?? '',
        status: response.children.find(({ name }) => name === '{DAV:}status')?.text,
        found: new Map(propertiesWith(' 200 ').map((property) => [property.name, property])),
        missing: propertiesWith(' 404 ').map(({ name }) => name),
      };
    });
}

/** The sync-token at the end of a sync-collection. */
export function tokenOf({ xml }: DavReply): string {
  return xml.children.find(({ name }) => name === '{DAV:}sync-token')?.text ?? '';
}

/** Names of the preconditions in an error. */
export function conditionsOf({ xml }: DavReply): XmlName[] {
  return xml.children.map(({ name }) => name).filter((name) => name !== '{DAV:}responsedescription');
}

export const DAV_NS =
  'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:CS="http://calendarserver.org/ns/" xmlns:A="http://apple.com/ns/ical/"';
