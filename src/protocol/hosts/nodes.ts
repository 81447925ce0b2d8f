/**
 * Forms between a node's agent and the coordinator (NOD-01, NOD-02). No form says which node speaks: the node token
 * does. Agents of any version are served, so each form has a strict core and `extra`, a bounded map for what a newer
 * agent adds; a field outside both is refused as everywhere (GOV-03).
 */
import { z } from 'zod';
import { isId } from '#src/base/ids.ts';
import { isSoundText } from '#src/base/json.ts';
import { parseInstant } from '#src/base/time.ts';

/** What a host may be for; a node reports for the roles that it was given and for no other. */
export const NODE_ROLES = ['gateway', 'mail', 'mcu', 'telemetry', 'deployments', 'routing'] as const;
export type NodeRole = (typeof NODE_ROLES)[number];

/** Lines of one journal ask. journalctl prints a thousand at once; more is a copy of the host, not a look at it. [field_invalid] */
export const JOURNAL_LINES_MAX = 1000;

/** A journal chunk in bytes of UTF-8: a thousand lines of a kilobyte. What is longer is cut at its start. */
export const JOURNAL_CHUNK_BYTES_MAX = 1024 * 1024;

/** The body that brings one: JSON escapes take up to twice the text, and an agent that sends too much is cut, not refused. [body_too_large] */
export const JOURNAL_BODY_BYTES_MAX = 4 * 1024 * 1024;

/** One role report: some 300 log lines with their fields. [body_too_large] */
export const REPORT_BODY_BYTES_MAX = 64 * 1024;

/** One log line in UTF-16 units, as syslog daemons bound it. [field_invalid] */
export const LOG_LINE_LENGTH_MAX = 4096;

/** How long the door for asks keeps a request open that has nothing to answer, in milliseconds: below the 30 s of common proxies. */
export const ASK_POLL_MILLIS = 25_000;

const text = (most: number) => z.string().max(most).refine(isSoundText);
const named = (most: number) => z.string().min(1).max(most).refine(isSoundText);
const whole = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const instant = z
  .string()
  .max(40)
  .refine((value) => parseInstant(value) !== undefined)
  .meta({ description: 'RFC 3339 in UTC.' });

export const nodeId = z
  .string()
  .refine((value) => isId('n', value))
  .meta({ id: 'NodeId', description: 'A node identifier, made by the server.' });

export const nodeName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/)
  .meta({ description: 'A name for readers, such as mail-1.' });

export const nodeRole = z.enum(NODE_ROLES).meta({ id: 'NodeRole' });

export const nodeRoles = z
  .array(nodeRole)
  .max(NODE_ROLES.length)
  .refine((roles) => new Set(roles).size === roles.length);

/** A unit of systemd or a journal's name. It becomes an argument of a program, so it can be neither an option nor a path. */
export const JOURNAL_UNIT = /^(?!-)[A-Za-z0-9@._:-]{1,128}$/;
export const journalUnit = z
  .string()
  .regex(JOURNAL_UNIT)
  .refine((unit) => unit !== '.' && unit !== '..')
  .meta({ id: 'JournalUnit', description: 'A unit of systemd, such as postfix@-.service.' });

export const journalLines = z.int().min(1).max(JOURNAL_LINES_MAX);

/** What an agent of another version adds: few, short and flat. */
const EXTRA_ENTRIES_MAX = 32;
const extra = z
  .record(z.string().regex(/^[a-z0-9_.-]{1,64}$/), z.union([text(256), z.number(), z.boolean()]))
  .refine((map) => Object.keys(map).length <= EXTRA_ENTRIES_MAX)
  .optional()
  .meta({ description: 'What this version of the agent adds; shown, never acted on.' });

/** POST /v1/nodes/join. */
export const joinNode = z
  .strictObject({
    join_token: z.string().min(1).max(256),
    hostname: z.string().regex(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/),
    agent_version: named(64),
    os: named(128),
    extra,
  })
  .meta({ id: 'JoinNode' });
export type JoinNode = z.infer<typeof joinNode>;

export const joinedNode = z.strictObject({ id: nodeId, token: z.string() }).meta({ id: 'JoinedNode' });

/** A line of a log as a node reports it. */
export const logLine = z
  .strictObject({
    at: instant,
    host: text(253).optional(),
    unit: text(128).optional(),
    level: z.enum(['debug', 'info', 'notice', 'warning', 'error', 'critical']),
    line: text(LOG_LINE_LENGTH_MAX),
  })
  .meta({ id: 'NodeLogLine' });

const logLines = z.array(logLine).max(200).default([]);

/** POST /v1/nodes/self/health. */
export const nodeHealth = z
  .strictObject({
    agent_version: named(64),
    uptime_seconds: z.number().min(0).max(1e10),
    load: z.array(z.number().min(0).max(1e6)).length(3),
    memory: z.strictObject({ total_bytes: whole, available_bytes: whole }),
    disks: z
      .array(z.strictObject({ path: named(256), total_bytes: whole, free_bytes: whole }))
      .max(32)
      .default([]),
    units_failed: z.array(named(256)).max(64).default([]),
    certificates: z
      .array(z.strictObject({ name: named(256), not_after: instant }))
      .max(64)
      .default([]),
    errors: z.array(logLine).max(50).default([]),
    extra,
  })
  .meta({ id: 'NodeHealth' });
export type NodeHealth = z.infer<typeof nodeHealth>;

const route = z
  .strictObject({ from: named(256), to: named(256), via: named(256).optional(), state: named(32).optional() })
  .meta({ id: 'ReportedRoute' });

const gatewayReport = z.strictObject({
  role: z.literal('gateway'),
  state: z.enum(['up', 'degraded', 'down']),
  listeners: z
    .array(z.strictObject({ host: named(253), port: z.int().min(1).max(65_535), protocol: named(32) }))
    .max(64)
    .default([]),
  routes: z.array(route).max(256).default([]),
  lines: logLines,
  errors: logLines,
  extra,
});

const mailReport = z.strictObject({
  role: z.literal('mail'),
  queue_length: whole,
  quarantine: z
    .array(
      z.strictObject({
        message: named(256),
        at: instant,
        from: text(320),
        to: text(320),
        subject: text(998),
        reason: text(512),
      }),
    )
    .max(100)
    .default([]),
  group_bounces: z
    .array(z.strictObject({ at: instant, group: text(320), recipient: text(320), reason: text(1024) }))
    .max(100)
    .default([]),
  dns: z
    .array(
      z.strictObject({
        domain: named(253),
        record: named(253),
        type: z.enum(['MX', 'TXT', 'SPF', 'DKIM', 'DMARC', 'A', 'AAAA', 'CNAME', 'SRV', 'PTR', 'TLSA']),
        expected: text(2048),
        found: z.array(text(2048)).max(8).default([]),
      }),
    )
    .max(64)
    .default([]),
  lines: logLines,
  errors: logLines,
  extra,
});

const mcuReport = z.strictObject({
  role: z.literal('mcu'),
  calls: z
    .array(
      z.strictObject({
        call: named(128),
        room: text(256),
        started_at: instant,
        participants: z.array(text(256)).max(256).default([]),
        figures: z.record(z.string().regex(/^[a-z0-9_]{1,64}$/), z.number()).optional(),
      }),
    )
    .max(100)
    .default([]),
  lines: logLines,
  errors: logLines,
  extra,
});

const telemetryReport = z.strictObject({
  role: z.literal('telemetry'),
  figures: z
    .record(z.string().regex(/^[a-z0-9_.]{1,64}$/), z.number())
    .refine((map) => Object.keys(map).length <= 200)
    .default({}),
  lines: logLines,
  errors: logLines,
  extra,
});

const deploymentsReport = z.strictObject({
  role: z.literal('deployments'),
  deployments: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
        service: named(64),
        version: named(64),
        state: z.enum(['running', 'starting', 'stopped', 'failed']),
        started_at: instant.optional(),
        /** As rendered on the host: with its secrets, so closed to vendors. */
        config: text(32 * 1024).optional(),
        lines: logLines,
        errors: logLines,
      }),
    )
    .max(32)
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length),
  extra,
});

const routingReport = z.strictObject({ role: z.literal('routing'), routes: z.array(route).max(256), extra });

/** POST /v1/nodes/self/reports: what one role of the host has to say. */
export const nodeReport = z
  .discriminatedUnion('role', [gatewayReport, mailReport, mcuReport, telemetryReport, deploymentsReport, routingReport])
  .meta({ id: 'NodeReport' });
export type NodeReport = z.infer<typeof nodeReport>;
export type ReportOf<Role extends NodeRole> = Extract<NodeReport, { role: Role }>;

/** GET /v1/nodes/self/asks: what is open for this node. Every agent reads `kind`, and leaves kinds it doesn't know. */
export const nodeAsks = z
  .strictObject({
    items: z.array(
      z.strictObject({ id: z.string(), kind: z.literal('journal'), unit: journalUnit, lines: journalLines }),
    ),
  })
  .meta({ id: 'NodeAsks' });
export type NodeAsks = z.infer<typeof nodeAsks>;

/** POST /v1/nodes/self/journal: the answer to an ask; `problem` says why the text is not what was asked for. */
export const journalChunk = z
  .strictObject({
    ask: z.string().refine((value) => isId('ask', value)),
    text: z.string().refine(isSoundText),
    problem: text(512).optional(),
    extra,
  })
  .meta({ id: 'JournalChunk' });
export type JournalChunk = z.infer<typeof journalChunk>;

export const acceptedReply = z.strictObject({ status: z.literal('ok') }).meta({ id: 'NodeAccepted' });
