/** Who is connected, by protocol version and platform, as /healthz reports it (CON-05, VER-03). */
import { z } from 'zod';
import type { HealthBody } from '#src/telemetry/health-body.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const counts = z.record(z.string(), z.number());

/** Open sockets by protocol version and platform; versions are texts, since the rarest are folded to `other`. */
export const population = z
  .strictObject({
    total: z.number(),
    by_version: counts,
    by_platform: counts,
    by_version_and_platform: z.array(z.strictObject({ version: z.string(), platform: z.string(), count: z.number() })),
  })
  .meta({ id: 'Population' });

/** The version the server speaks and the oldest that it serves. */
export const protocolVersions = z.strictObject({ current: z.number(), min: z.number() });

export const populationRoutes = {
  readPopulation: consoleRoute.get(
    '/population',
    'Connected clients by protocol version and platform, requests by version, and forms that are gone.',
    {
      access: 'signed_in',
      vendor: 'open',
      replies: {
        200: z.strictObject({
          protocol: protocolVersions,
          clients: population,
          /** HTTP requests by the version that the client stated, since the start. */ requests_by_version: counts,
          /** Code of a form that is gone → requests that still used it. */ retired_forms: counts,
          /** Threads that did not answer in time: their sockets are not in these numbers. */ missing: z.array(
            z.string(),
          ),
        }),
      },
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makePopulationPage({ health }: { readonly health: () => Promise<HealthBody> }): ConsolePage {
  return page(populationRoutes, {
    readPopulation: async () => {
      const { clients, protocol, requests_by_version, retired_forms, threads } = await health();
      const body = { protocol, clients, requests_by_version, retired_forms, missing: threads.missing };
      return { status: 200, body };
    },
  });
}
