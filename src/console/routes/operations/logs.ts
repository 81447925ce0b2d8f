/** The coordinator's own log: the last lines that the process keeps in memory. */
import { z } from 'zod';
import { Refusal } from '#src/protocol/errors.ts';
import { formatInstant, parseInstant } from '#src/base/time.ts';
import type { RecentLines } from '#src/telemetry/recent-lines.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

/** Lines of one page, and those of a request that does not say. */
const LINES_PAGE_MAX = 200;
const LINES_PAGE_DEFAULT = 50;
/** Characters of the text that lines are searched for. */
const TEXT_LENGTH_MAX = 200;

/** From the gravest; a level asks for itself and for the graver ones. */
const LEVELS = ['error', 'warn', 'info', 'debug'] as const;

/** A line as the overview and the log page show it. */
export const logLine = z
  .strictObject({
    number: z.number(),
    level: z.string(),
    time: z.string(),
    thread: z.string(),
    msg: z.string(),
    fields: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'LogLine' });

const query = z.strictObject({
  level: z.enum(LEVELS).optional(),
  text: z.string().min(1).max(TEXT_LENGTH_MAX).optional(),
  since: z
    .string()
    .refine((text) => parseInstant(text) !== undefined, 'an RFC 3339 instant in UTC')
    .optional(),
  after: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(LINES_PAGE_MAX).default(LINES_PAGE_DEFAULT),
});

export const logsRoutes = {
  readLogs: consoleRoute.get('/logs', "The server's last log lines, the newest first: of the shards from `warn` up.", {
    access: 'audit:read',
    vendor: 'depersonalised',
    query,
    replies: {
      200: z.strictObject({
        items: z.array(logLine),
        next: z.string().nullable(),
        /** Lines that went to make room for newer ones since the process started. */ forgotten: z.number(),
      }),
    },
    errors: ['cursor_invalid'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export function makeLogsPage({ recentLines }: { readonly recentLines: RecentLines }): ConsolePage {
  return page(logsRoutes, {
    readLogs: async ({ query: { after, level, limit, since, text }, shown }) => {
      const filter = {
        before: after === undefined ? undefined : lineNumber(after),
        levels: level === undefined ? undefined : LEVELS.slice(0, LEVELS.indexOf(level) + 1),
        text,
        // Rewritten in the form that lines have, so that texts compare as instants do.
        since: since === undefined ? undefined : formatInstant(parseInstant(since) as number),
        limit,
      };
      const { items, next } =
        shown === undefined ? recentLines.read(filter) : await recentLines.readShown(filter, shown);
      const body = { items, next: next === null ? null : String(next), forgotten: recentLines.forgotten };
      return { status: 200, body };
    },
  });
}

/** @throws Refusal `cursor_invalid` for what no page ended with. */
function lineNumber(cursor: string): number {
  if (!/^[1-9]\d{0,14}$/.test(cursor)) throw new Refusal('cursor_invalid');
  return Number(cursor);
}
