/** The installation at a glance (CON-01). */
import { z } from 'zod';
import type { HealthBody } from '#src/telemetry/health-body.ts';
import type { RecentLines } from '#src/telemetry/recent-lines.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';
import { logLine } from './logs.ts';
import { population, protocolVersions } from './population.ts';

/** Errors and warnings of the log that the overview shows; the log's page has the rest. */
const LINES_SHOWN = 20;

const seconds = z.number().nullable();

const overview = z
  .strictObject({
    version: z.string(),
    /** `degraded` while a thread does not answer. */
    status: z.enum(['ok', 'degraded']),
    started_at: z.string(),
    protocol: protocolVersions,
    /** How many there are of what the console manages: people, nodes, alerts. */
    counts: z.record(z.string(), z.number()),
    clients: population,
    /** The hosts of the cluster that said within seconds that they are there; null where this host is alone. */
    cluster: z
      .strictObject({
        /** The host that answers, which leads. */
        host: z.string(),
        term: z.number().nullable(),
        /** Whether NATS answered within the last seconds. */
        reached: z.boolean(),
        hosts: z.array(z.strictObject({ host: z.string(), role: z.string(), lag_ms: z.number() })),
      })
      .nullable(),
    health: z.strictObject({
      messages_acknowledged: z.number(),
      post_ack_p50_seconds: seconds,
      post_ack_p99_seconds: seconds,
      commits: z.number(),
      commit_failures: z.number(),
      commit_p99_seconds: seconds,
      threads_missing: z.array(z.string()),
      thread_restarts: z.number(),
      resident_bytes: z.number(),
    }),
    refusals: z.record(z.string(), z.number()),
    /** The last errors and warnings of all threads, the newest first. */
    lines: z.array(logLine),
  })
  .meta({ id: 'ConsoleOverview' });

export const overviewRoutes = {
  readOverview: consoleRoute.get(
    '/overview',
    'The installation at a glance: what there is, how it does, and its last errors and warnings.',
    { access: 'signed_in', vendor: 'depersonalised', replies: { 200: overview } },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export interface OverviewDependencies {
  readonly health: () => Promise<HealthBody>;
  readonly recentLines: RecentLines;
  /** Noun → how many there are now. */
  readonly counts: Readonly<Record<string, () => number>>;
}

export function makeOverviewPage({ counts, health, recentLines }: OverviewDependencies): ConsolePage {
  return page(overviewRoutes, {
    readOverview: async () => {
      const { clients, cluster, memory, messages, protocol, refusals, started_at, status, storage, threads, version } =
        await health();
      const counted = Object.entries(counts).map(([noun, count]) => [noun, count()]);
      const { items: lines } = recentLines.read({ levels: ['error', 'warn'], limit: LINES_SHOWN });
      const body = {
        version,
        status,
        started_at,
        protocol,
        counts: Object.fromEntries(counted) as Record<string, number>,
        clients,
        cluster:
          cluster === null
            ? null
            : { host: cluster.host, term: cluster.term, reached: cluster.reached, hosts: [...cluster.hosts] },
        health: {
          messages_acknowledged: messages.acknowledged,
          post_ack_p50_seconds: messages.post_ack.p50_seconds,
          post_ack_p99_seconds: messages.post_ack.p99_seconds,
          commits: storage.commits,
          commit_failures: storage.commit_failures,
          commit_p99_seconds: storage.commit.p99_seconds,
          threads_missing: threads.missing,
          thread_restarts: Object.values(threads.restarts).reduce((sum, count) => sum + count, 0),
          resident_bytes: memory.resident_bytes,
        },
        refusals,
        lines,
      };
      return { status: 200, body };
    },
  });
}
