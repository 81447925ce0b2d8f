/** Telemetry: what clients and telemetry nodes report, and the sessions of clients as the accounts have them. */
import { z } from 'zod';
import { formatInstant } from '#src/base/time.ts';
import type { Clock } from '#src/base/clock.ts';
import type { ClientTelemetry, StoredTelemetry } from '#src/monitoring/client-telemetry.ts';
import type { NodeReports } from '#src/hosts/node-reports.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { logLine, nodeId } from '#src/protocol/hosts/nodes.ts';
import { marker } from '#src/redaction/spans.ts';
import type { DeviceRecord } from '#storage/accounts/account-records.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { PseudonymOrder } from '../../pseudonym-order.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const ENTRIES_PAGE_MAX = 200;
const ENTRIES_PAGE_DEFAULT = 50;

/** People of one page of sessions: each has 100 devices at most. */
const PEOPLE_PAGE_MAX = 50;

/** What instants of sessions are cut to for vendors. */
const DAY_MILLIS = 86_400_000;

const figures = z.record(z.string(), z.number());

const clientEntry = z
  .strictObject({
    number: z.int(),
    received_at: z.string(),
    /** From the session that reported it. */
    user: z.string(),
    device: z.string(),
    app_version: z.string(),
    at: z.string(),
    kind: z.string(),
    name: z.string(),
    line: z.string().nullable(),
    figures: figures.nullable(),
  })
  .meta({ id: 'ClientTelemetryEntry' });

const nodeTelemetry = z
  .strictObject({
    node: nodeId,
    name: z.string(),
    reported_at: z.string(),
    figures,
    lines: z.array(logLine),
    errors: z.array(logLine),
  })
  .meta({ id: 'NodeTelemetry' });

const clientSession = z
  .strictObject({
    user: z.string(),
    device: z.string(),
    name: z.string(),
    platform: z.string(),
    created_at: z.string(),
    used_at: z.string(),
    /** Until when the live session may be renewed; null where the device has none. */
    session_until: z.string().nullable(),
    /** What the client last said of itself. */
    app_version: z.string().nullable(),
    reported_at: z.string().nullable(),
  })
  .meta({ id: 'ClientSession' });

const read = { method: 'get', access: 'audit:read', vendor: 'depersonalised', audit: null } as const;
const next = z.string().nullable();

export const telemetryRoutes = {
  readTelemetry: {
    ...read,
    path: '/telemetry',
    summary: 'What clients report of themselves, the newest first, and the last figures of telemetry nodes.',
    query: z.strictObject({
      after: z.string().optional(),
      limit: z.coerce.number().int().min(1).max(ENTRIES_PAGE_MAX).default(ENTRIES_PAGE_DEFAULT),
    }),
    replies: { 200: z.strictObject({ items: z.array(clientEntry), nodes: z.array(nodeTelemetry), next }) },
    errors: ['cursor_invalid'],
  },
  listClientSessions: {
    ...read,
    path: '/client-sessions',
    summary: 'Devices and their sessions, by person.',
    query: z.strictObject({
      after: z.string().optional(),
      /** People, not devices, so that nobody's devices are torn apart. */
      limit: z.coerce.number().int().min(1).max(PEOPLE_PAGE_MAX).default(PEOPLE_PAGE_MAX),
    }),
    replies: { 200: z.strictObject({ items: z.array(clientSession), next }) },
    errors: ['cursor_invalid'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface TelemetryPageDependencies {
  readonly accounts: Accounts;
  readonly pseudonymOrder: Pick<PseudonymOrder, 'usernames'>;
  readonly telemetry: ClientTelemetry;
  readonly reports: NodeReports;
  readonly clock: Clock;
}

export function makeTelemetryPage({
  accounts,
  pseudonymOrder,
  telemetry,
  reports,
  clock,
}: TelemetryPageDependencies): ConsolePage {
  return page(telemetryRoutes, {
    readTelemetry: ({ query: { after, limit } }) => {
      const found = telemetry.page(after === undefined ? undefined : entryNumber(after), limit + 1);
      const items = found.slice(0, limit).map(entryView);
      const last = items.at(-1);
      const nodes = reports.latest('telemetry').map(({ node, receivedAt, report }) => ({
        node: node.id,
        name: node.document.name,
        reported_at: receivedAt,
        figures: report.figures,
        lines: report.lines,
        errors: report.errors,
      }));
      const more = found.length > limit && last !== undefined ? String(last.number) : null;
      return { status: 200, body: { items, nodes, next: more } };
    },
    listClientSessions: async ({ principal, query: { after = '0', limit } }) => {
      // A number, and no username: a vendor would read it beside the pseudonym of the same person.
      if (!/^\d{1,9}$/.test(after)) throw new Refusal('cursor_invalid');
      const offset = Number(after);
      const isVendor = principal.kind === 'vendor';
      const people = isVendor
        ? (await pseudonymOrder.usernames()).slice(offset, offset + limit + 1)
        : accounts.peopleFrom(offset, limit + 1).map(({ username }) => username);
      const now = clock.now();
      const items = people.slice(0, limit).flatMap((username) =>
        accounts.devices(username).map((device) => {
          const view = sessionView(username, device, telemetry.lastOf(device.id), now);
          return isVendor ? vendorSession(view) : view;
        }),
      );
      return { status: 200, body: { items, next: people.length > limit ? String(offset + limit) : null } };
    },
  });
}

function entryView(entry: StoredTelemetry): z.infer<typeof clientEntry> {
  const { number, receivedAt, user, device, appVersion, at, kind, name, line = null, figures: measured } = entry;
  return {
    number,
    received_at: receivedAt,
    user,
    device,
    app_version: appVersion,
    at,
    kind,
    name,
    line,
    figures: measured ?? null,
  };
}

/**
 * A session before it is de-personalised. People call their devices after themselves, which no rule of logs finds; and
 * instants to the millisecond would find the same session in the list of a person by name.
 */
function vendorSession(view: z.infer<typeof clientSession>): z.infer<typeof clientSession> {
  return {
    ...view,
    name: view.name === '' ? '' : marker('text'),
    created_at: cutTo(DAY_MILLIS, view.created_at),
    used_at: cutTo(DAY_MILLIS, view.used_at),
    session_until: view.session_until === null ? null : cutTo(DAY_MILLIS, view.session_until),
  };
}

function cutTo(millis: number, instant: string): string {
  return formatInstant(Math.floor(Date.parse(instant) / millis) * millis);
}

function sessionView(
  user: string,
  { id, name, platform, createdAt, usedAt, session }: DeviceRecord,
  said: StoredTelemetry | undefined,
  now: number,
): z.infer<typeof clientSession> {
  const isLive = session !== undefined && session.rnw * 1000 > now;
  return {
    user,
    device: id,
    name,
    platform,
    created_at: createdAt,
    used_at: formatInstant(usedAt * 1000),
    session_until: isLive ? formatInstant(session.rnw * 1000) : null,
    app_version: said?.appVersion ?? null,
    reported_at: said?.receivedAt ?? null,
  };
}

/** @throws Refusal `cursor_invalid` for what no page ended with. */
function entryNumber(cursor: string): number {
  if (!/^[1-9]\d{0,14}$/.test(cursor)) throw new Refusal('cursor_invalid');
  return Number(cursor);
}
