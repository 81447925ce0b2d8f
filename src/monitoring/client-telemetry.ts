/** Telemetry of clients: the newest entries of the installation, in memory, and the door they come through. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import {
  clientTelemetry,
  TELEMETRY_BODY_BYTES_MAX,
  telemetryReply,
  type ClientTelemetry as Report,
  type TelemetryEntry,
} from '#src/protocol/hosts/client-telemetry.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { bearerOf } from '#src/http/client-routes.ts';
import type { Limiter } from '#src/limits/limiter.ts';

/**
 * Entries kept for the whole installation; the oldest goes. An entry has 4 KiB at most, so they take 20 MiB at most.
 * They are hints about right now, and not worth a disk flush each.
 */
export const TELEMETRY_KEPT_MAX = 5_000;

/** The session that a client's token proves. */
export interface TelemetrySession {
  readonly user: string;
  readonly device: string;
}

export interface StoredTelemetry extends TelemetryEntry {
  /** From 1 up since the start. */
  readonly number: number;
  readonly receivedAt: string;
  readonly user: string;
  readonly device: string;
  readonly appVersion: string;
}

export class ClientTelemetry {
  readonly #clock: Clock;
  readonly #kept: StoredTelemetry[] = [];
  #next = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put({ user, device }: TelemetrySession, { app_version: appVersion, entries }: Report): void {
    const receivedAt = formatInstant(this.#clock.now());
    for (const entry of entries) {
      this.#kept.push({ ...entry, number: this.#next, receivedAt, user, device, appVersion });
      this.#next += 1;
    }
    if (this.#kept.length > TELEMETRY_KEPT_MAX) this.#kept.splice(0, this.#kept.length - TELEMETRY_KEPT_MAX);
  }

  /** The newest entry of a device, among those that are kept. */
  lastOf(device: string): StoredTelemetry | undefined {
    return this.#kept.findLast((entry) => entry.device === device);
  }

  /** Newest first, below the number `before`. */
  page(before: number | undefined, limit: number): StoredTelemetry[] {
    const oldest = this.#kept[0]?.number ?? 1;
    const end = Math.min(Math.max((before ?? this.#next) - oldest, 0), this.#kept.length);
    return this.#kept.slice(Math.max(0, end - limit), end).toReversed();
  }
}

/**
 * Adds POST /v1/telemetry.
 * `authenticate` answers the session of a bearer token, or throws the refusal that its absence or end is.
 */
export function addTelemetryRoutes(
  app: FastifyInstance,
  telemetry: ClientTelemetry,
  authenticate: (bearer: string | undefined) => TelemetrySession,
  limiter: Limiter,
): void {
  const sessionOf = (request: FastifyRequest): TelemetrySession => authenticate(bearerOf(request));
  app.route({
    method: 'POST',
    url: '/v1/telemetry',
    bodyLimit: TELEMETRY_BODY_BYTES_MAX,
    schema: { querystring: z.strictObject({}), body: clientTelemetry, response: { 200: telemetryReply } },
    onRequest: async (request) => limiter.take('telemetry', sessionOf(request).device),
    preValidation: async (request) => {
      if (request.body === undefined) throw new Refusal('body_invalid_json');
    },
    handler: async (request) => {
      telemetry.put(sessionOf(request), request.body as Report);
      return { status: 'ok' };
    },
  });
}
