/** The audit trail, whole and as the calendar's and the agents' part of it (CON-04). */
import { z } from 'zod';
import { AUDIT_PAGE_MAX, type AuditTrail, type ShowEntries } from '#src/audit/audit-trail.ts';
import { AUDIT_DAYS_MAX, AUDIT_DAYS_MIN, type AuditArchive } from '#src/audit/audit-archive.ts';
import { actorOf } from '#src/identity/console/principal.ts';
import type { AuditEntry } from '#storage/accounts/audit-chain.ts';
import { entryForVendor } from '../../vendor-entries.ts';
import { page, type ConsolePage, type ConsoleRequest, type ConsoleRoute } from '../../route.ts';

/** What the events of the two parts begin with that have a page of their own. */
const CALENDAR_EVENTS = ['calendar.', 'dav.'] as const;
const AGENT_EVENTS = ['bot.', 'agent.'] as const;

const entry = z
  .strictObject({
    number: z.number(),
    /** RFC 3339. */
    at: z.string(),
    event: z.string(),
    actor: z.string(),
    address: z.string().nullable(),
    /** Whom or what the event is about. Not called `subject`: a field of that name is a mail's, and hidden from vendors. */
    about: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
    /** Over the entry, with `about` as `subject`, and the hash before it, so that a reader can check the chain; hidden from vendors. */
    hash: z.string(),
  })
  .meta({ id: 'AuditEntry' });

const text = z.string().min(1).max(200).optional();

const query = z.strictObject({
  /** The name of an event. */
  event: text,
  actor: text,
  about: text,
  /** RFC 3339: the first instant that counts, and the first that does not count any more. */
  from: text,
  to: text,
  /** What event, actor, about or address begins with. */
  prefix: text,
  after: text,
  limit: z.coerce.number().int().min(1).max(AUDIT_PAGE_MAX).optional(),
});
type AuditQuery = z.infer<typeof query>;

const keeping = z.strictObject({ days: z.int().nullable(), trimmed_through: z.int() }).meta({ id: 'AuditRetention' });

const view = {
  method: 'get',
  access: 'audit:read',
  vendor: 'depersonalised',
  audit: null,
  query,
  replies: { 200: z.strictObject({ items: z.array(entry), next: z.string().nullable() }) },
  errors: ['cursor_invalid'],
} as const satisfies Omit<ConsoleRoute, 'path' | 'summary'>;

export const auditRoutes = {
  readAudit: { ...view, path: '/audit', summary: 'The audit trail, the newest entries first.' },
  readCalendarAudit: { ...view, path: '/calendar/audit', summary: "The calendar's part of the audit trail." },
  readAgentsAudit: { ...view, path: '/agents/audit', summary: "The bots' and agents' part of the audit trail." },
  readAuditRetention: {
    method: 'get',
    path: '/audit/retention',
    summary: 'How long the audit trail is kept, and the last entry that went by its time.',
    access: 'audit:read',
    vendor: 'closed',
    audit: null,
    replies: { 200: keeping },
    errors: [],
  },
  setAuditRetention: {
    method: 'put',
    path: '/audit/retention',
    summary:
      'Keeps the audit trail for so many days, or for ever with null. Owners export it first: parley audit export.',
    access: 'access:write',
    vendor: 'closed',
    audit: 'audit.retention_changed',
    body: z
      .strictObject({ days: z.int().min(AUDIT_DAYS_MIN).max(AUDIT_DAYS_MAX).nullable() })
      .meta({ id: 'SetAuditRetention' }),
    replies: { 200: keeping },
    errors: [],
  },
} as const satisfies Record<string, ConsoleRoute>;

function wireEntry({ subject, ...kept }: AuditEntry): WireEntry {
  return { ...kept, about: subject };
}

export interface AuditPageDependencies {
  readonly audit: Pick<AuditTrail, 'list'>;
  readonly archive: Pick<AuditArchive, 'days' | 'keep'>;
  /** The number of the last entry that went by its time; 0 for none. */
  readonly trimmedThrough: () => number;
}

export function makeAuditPage({ audit, archive, trimmedThrough }: AuditPageDependencies): ConsolePage {
  const keptNow = () => ({ status: 200, body: { days: archive.days, trimmed_through: trimmedThrough() } });
  const read = async ({ query: asked, shown }: Asked, events?: readonly string[]) => {
    const { after, about: subject, ...filter } = asked;
    const show: ShowEntries | undefined =
      shown === undefined
        ? undefined
        : async (entries) => (await shown(entries.map((one) => entryForVendor(wireEntry(one))))).map(storedEntry);
    const { items, next } = await audit.list({ ...filter, subject, cursor: after, events }, show);
    return { status: 200, body: { items: items.map(wireEntry), next } };
  };
  return page(auditRoutes, {
    readAudit: async (request) => await read(request),
    readCalendarAudit: async (request) => await read(request, CALENDAR_EVENTS),
    readAgentsAudit: async (request) => await read(request, AGENT_EVENTS),
    readAuditRetention: () => keptNow(),
    setAuditRetention: async ({ principal, address, body: { days } }) => {
      await archive.keep(days, { actor: actorOf(principal), address });
      return keptNow();
    },
  });
}

type Asked = Pick<ConsoleRequest<undefined, AuditQuery>, 'query' | 'shown'>;
type WireEntry = z.infer<typeof entry>;

function storedEntry({ about: subject, ...kept }: WireEntry): AuditEntry {
  return { ...kept, subject } as AuditEntry;
}
