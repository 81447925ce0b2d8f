/** Who is connected, by protocol version and platform, as /healthz and the console report it (HLT-01, CON-05). */
import type { MetricSnapshot } from './metrics.ts';

export interface Population {
  readonly total: number;
  readonly by_version: Readonly<Record<string, number>>;
  readonly by_platform: Readonly<Record<string, number>>;
  readonly by_version_and_platform: readonly {
    readonly version: string;
    readonly platform: string;
    readonly count: number;
  }[];
}

/** The population of open sockets. Versions stand as text, because the rarest are folded to `other`. */
export function readPopulation(metrics: MetricSnapshot): Population {
  const rows = (metrics.scalars.parley_messaging_sockets ?? [])
    .map(({ labels: [version = '', platform = ''], value }) => ({ version, platform, count: value }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => compareVersions(a.version, b.version) || (a.platform < b.platform ? -1 : 1));
  const total = (key: 'version' | 'platform') => {
    const sums: Record<string, number> = {};
    for (const row of rows) sums[row[key]] = (sums[row[key]] ?? 0) + row.count;
    return sums;
  };
  return {
    total: rows.reduce((sum, { count }) => sum + count, 0),
    by_version: total('version'),
    by_platform: total('platform'),
    by_version_and_platform: rows,
  };
}

/** Numbers in their order, `other` last. */
function compareVersions(a: string, b: string): number {
  if (a === b) return 0;
  return (Number.isNaN(Number(a)) ? Infinity : Number(a)) - (Number.isNaN(Number(b)) ? Infinity : Number(b));
}
