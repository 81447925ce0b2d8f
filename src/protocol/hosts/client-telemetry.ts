/** What a client reports of itself: POST /v1/telemetry. Whose it is follows from the session alone (GOV-02). */
import { z } from 'zod';
import { isSoundText } from '#src/base/json.ts';
import { parseInstant } from '#src/base/time.ts';

/** Entries in one report: what a client gathers in ten minutes. [field_invalid] */
export const TELEMETRY_ENTRIES_MAX = 50;

/** One report in bytes. [body_too_large] */
export const TELEMETRY_BODY_BYTES_MAX = 64 * 1024;

const FIGURES_MAX = 32;

const telemetryEntry = z
  .strictObject({
    at: z
      .string()
      .max(40)
      .refine((value) => parseInstant(value) !== undefined),
    kind: z.enum(['crash', 'error', 'warning', 'event', 'figures']),
    name: z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/),
    line: z.string().max(1000).refine(isSoundText).optional(),
    figures: z
      .record(z.string().regex(/^[a-z0-9_.]{1,64}$/), z.number())
      .refine((map) => Object.keys(map).length <= FIGURES_MAX)
      .optional(),
  })
  .meta({ id: 'TelemetryEntry' });
export type TelemetryEntry = z.infer<typeof telemetryEntry>;

export const clientTelemetry = z
  .strictObject({
    app_version: z.string().min(1).max(64).refine(isSoundText),
    entries: z.array(telemetryEntry).min(1).max(TELEMETRY_ENTRIES_MAX),
  })
  .meta({ id: 'ClientTelemetry' });
export type ClientTelemetry = z.infer<typeof clientTelemetry>;

export const telemetryReply = z.strictObject({ status: z.literal('ok') }).meta({ id: 'TelemetryAccepted' });
