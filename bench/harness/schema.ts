/** The report of a bench as JSON. The table on the screen is printed from it and from nothing else. */
import { z } from 'zod';

const size = z.enum(['smoke', 'default', 'full']);
export type Size = z.infer<typeof size>;

const percentiles = z.strictObject({
  count: z.number(),
  p50: z.number(),
  p90: z.number(),
  p99: z.number(),
  p999: z.number(),
  max: z.number(),
});

/** Median over the rounds, with the lowest and highest. */
const spread = { median: z.number(), low: z.number(), high: z.number() };

export const machine = z.strictObject({
  cpu: z.string(),
  cores: z.number(),
  memoryBytes: z.number(),
  kernel: z.string(),
  node: z.string(),
  flags: z.array(z.string()),
  /** File system under the data folder; on tmpfs a durable write costs nothing and means nothing. */
  dataFileSystem: z.string(),
  loadBefore: z.number(),
  serverCores: z.array(z.number()),
  generatorCores: z.array(z.number()),
});
export type Machine = z.infer<typeof machine>;

export const report = z.strictObject({
  schema: z.literal(1),
  commit: z.string(),
  dirty: z.boolean(),
  at: z.iso.datetime(),
  machine,
  scenario: z.string(),
  size,
  parameters: z.record(z.string(), z.union([z.number(), z.string(), z.array(z.number())])),
  /** Case → hash of what was delivered; every subject of a case delivered this. */
  hashes: z.record(z.string(), z.string()),
  rounds: z.array(
    z.strictObject({
      case: z.string(),
      subject: z.string(),
      round: z.number(),
      values: z.record(z.string(), z.number()),
      /** Latencies in nanoseconds, where the round has them. */
      ns: percentiles.optional(),
    }),
  ),
  ratios: z.array(z.strictObject({ case: z.string(), metric: z.string(), of: z.string(), to: z.string(), ...spread })),
  bars: z.array(
    z.strictObject({
      case: z.string(),
      metric: z.string(),
      value: z.number(),
      relation: z.enum(['≤', '≥']),
      bound: z.number(),
      met: z.boolean(),
    }),
  ),
  notes: z.array(z.string()),
  /** Wrong deliveries and refused requests. Any of them fails the run, whatever its size. */
  failures: z.array(z.string()),
});
export type Report = z.infer<typeof report>;
export type Round = Report['rounds'][number];
export type Bar = Report['bars'][number];
