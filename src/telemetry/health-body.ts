/** The JSON body of /healthz: for people, scripts and the console (HLT-01, VER-05). */
import { formatInstant } from '#src/base/time.ts';
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import type { Gathered } from './metric-ledger.ts';
import type { MetricSnapshot } from './metrics.ts';
import { countOf, quantile } from './histogram.ts';
import { type HistogramName, METRICS, type MetricName, type ScalarName } from './metric-table.ts';
import { type Population, readPopulation } from './population.ts';
import type { Installation } from './process-metrics.ts';

type Counts = Readonly<Record<string, number>>;

/** Estimated from buckets, since the process started; null until something was measured. */
interface Quantiles {
  readonly p50_seconds: number | null;
  readonly p99_seconds: number | null;
}

/** A host of the cluster, as it said within seconds. */
export interface ClusterHost {
  readonly host: string;
  readonly role: string;
  readonly lag_ms: number;
}

/** The cluster as a host that leads or follows it sees it. */
export interface ClusterHealth {
  readonly host: string;
  readonly role: string;
  /** Who leads; null while nobody does. */
  readonly leader: string | null;
  /** Of the host that leads. */
  readonly term: number | null;
  /** Whether NATS answered within the last seconds. */
  readonly reached: boolean;
  /** Milliseconds since what this host lacks was written. */
  readonly lag_ms: number;
  readonly hosts: readonly ClusterHost[];
}

export interface HealthBody {
  /** `degraded` when a thread did not answer: its sockets are not in the population. */
  readonly status: 'ok' | 'degraded';
  readonly version: string;
  readonly protocol: { readonly current: number; readonly min: number };
  readonly started_at: string;
  readonly threads: {
    readonly answered: readonly string[];
    readonly missing: readonly string[];
    readonly restarts: Counts;
  };
  /** Null where this host is alone. */
  readonly cluster: ClusterHealth | null;
  readonly clients: Population;
  /** HTTP requests by the protocol version the client stated: clients that hold no socket show here only. */
  readonly requests_by_version: Counts;
  /** Error code → refusals on all surfaces. */
  readonly refusals: Counts;
  /** Error code of a form that is gone → requests that still used it. */
  readonly retired_forms: Counts;
  readonly sockets: { readonly open: number; readonly opened: number; readonly closed: Counts };
  readonly messages: {
    readonly acknowledged: number;
    readonly post_ack: Quantiles;
    readonly events_published: Counts;
    readonly deliveries: number;
    readonly dropped: Counts;
  };
  readonly actors: {
    readonly active: Counts;
    readonly mailboxes: Counts;
    readonly restarts: Counts;
    readonly quarantined: Counts;
    readonly asks_pending: number;
    readonly ask_timeouts: number;
  };
  readonly storage: {
    readonly commits: number;
    readonly records: number;
    readonly commit: Quantiles;
    readonly commit_failures: number;
    /** Reads that found what is stored damaged or missing. */
    readonly faults: number;
    readonly archive_gaps: number;
    readonly archive_lag_seconds: number;
    readonly lanes_set_aside: number;
  };
  /** Thread → how late its timers fire. */
  readonly event_loop: Readonly<Record<string, Quantiles & { readonly recent_max_seconds: number }>>;
  readonly memory: { readonly resident_bytes: number; readonly heap_bytes: Counts };
}

/** The body from the figures of threads and process. */
export function healthBody(metrics: MetricSnapshot, gathered: Gathered, installation: Installation): HealthBody {
  const total = (name: ScalarName) => (metrics.scalars[name] ?? []).reduce((sum, { value }) => sum + value, 0);
  const by = (name: ScalarName, label: string) => countsBy(metrics, name, label);
  const postAck = histogramOf(metrics, 'parley_messaging_post_ack_seconds');
  const commit = histogramOf(metrics, 'parley_storage_commit_seconds');
  const clients = readPopulation(metrics);
  return {
    status: gathered.missing.length === 0 ? 'ok' : 'degraded',
    version: installation.version,
    protocol: { current: PROTOCOL_VERSION, min: installation.protocolMin },
    started_at: formatInstant(installation.startedAt),
    threads: {
      answered: gathered.answered,
      missing: gathered.missing,
      restarts: by('parley_threads_restarts_total', 'thread'),
    },
    cluster: clusterOf(metrics),
    clients,
    requests_by_version: by('parley_protocol_client_requests_total', 'version'),
    refusals: by('parley_protocol_refusals_total', 'code'),
    retired_forms: by('parley_protocol_retired_forms_total', 'code'),
    sockets: {
      open: clients.total,
      opened: total('parley_messaging_sockets_opened_total'),
      closed: by('parley_messaging_sockets_closed_total', 'reason'),
    },
    messages: {
      acknowledged: postAck.count,
      post_ack: postAck.quantiles,
      events_published: by('parley_messaging_events_published_total', 'type'),
      deliveries: total('parley_messaging_deliveries_total'),
      dropped: by('parley_actors_dropped_tells_total', 'kind'),
    },
    actors: {
      active: by('parley_actors_active', 'actor'),
      mailboxes: by('parley_actors_mailbox_messages', 'lane'),
      restarts: by('parley_actors_restarts_total', 'actor'),
      quarantined: by('parley_actors_quarantined_total', 'actor'),
      asks_pending: total('parley_actors_asks_pending'),
      ask_timeouts: total('parley_actors_ask_timeouts_total'),
    },
    storage: {
      commits: commit.count,
      records: histogramOf(metrics, 'parley_storage_commit_records').sum,
      commit: commit.quantiles,
      commit_failures: total('parley_storage_commit_failures_total'),
      archive_gaps: total('parley_storage_archive_gaps_total'),
      archive_lag_seconds: total('parley_storage_archive_lag_seconds'),
      faults: total('parley_storage_faults_total'),
      lanes_set_aside: total('parley_storage_lanes_set_aside'),
    },
    event_loop: eventLoops(metrics, gathered.answered),
    memory: {
      resident_bytes: total('parley_process_resident_memory_bytes'),
      heap_bytes: by('parley_threads_heap_used_bytes', 'thread'),
    },
  };
}

/** What the host that leads knows of its cluster. */
function clusterOf({ scalars }: MetricSnapshot): ClusterHealth | null {
  const [term] = scalars.parley_cluster_term ?? [];
  if (term === undefined) return null;
  const hosts = (scalars.parley_cluster_host_lag_seconds ?? []).map(({ labels: [host = '', role = ''], value }) => ({
    host,
    role,
    lag_ms: value * 1_000,
  }));
  const [host = ''] = term.labels;
  const reached = scalars.parley_cluster_reached?.[0]?.value === 1;
  return { host, role: 'leads', leader: host, term: term.value, reached, lag_ms: 0, hosts };
}

/** Sums of a metric by one of its labels, in the order of the label's values. */
function countsBy(metrics: MetricSnapshot, name: ScalarName, label: string): Counts {
  const index = indexOfLabel(name, label);
  const sums = new Map<string, number>();
  for (const { labels, value } of metrics.scalars[name] ?? []) {
    const key = labels[index] ?? '';
    sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return Object.fromEntries([...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function indexOfLabel(name: MetricName, label: string): number {
  const index = (METRICS[name].labels as readonly string[]).indexOf(label);
  if (index === -1) throw new Error(`The metric ${name} has no label ${label}.`);
  return index;
}

function histogramOf(
  metrics: MetricSnapshot,
  name: HistogramName,
): { count: number; sum: number; quantiles: Quantiles } {
  const sample = metrics.histograms[name]?.[0] ?? { counts: [], sum: 0 };
  return { count: countOf(sample), sum: sample.sum, quantiles: quantilesOf(METRICS[name].bounds, sample.counts) };
}

function quantilesOf(bounds: readonly number[], counts: readonly number[]): Quantiles {
  return { p50_seconds: quantile(bounds, counts, 0.5), p99_seconds: quantile(bounds, counts, 0.99) };
}

/** Of the threads that answered: a delay of one that does not is not what was measured last. */
function eventLoops(metrics: MetricSnapshot, answered: readonly string[]): HealthBody['event_loop'] {
  const { bounds } = METRICS.parley_threads_event_loop_delay_seconds;
  const recent = countsBy(metrics, 'parley_threads_event_loop_delay_recent_max_seconds', 'thread');
  const loops = (metrics.histograms.parley_threads_event_loop_delay_seconds ?? [])
    .map(({ labels: [thread = ''], counts }) => ({ thread, counts }))
    .filter(({ thread }) => answered.includes(thread))
    .toSorted((a, b) => (a.thread < b.thread ? -1 : 1));
  return Object.fromEntries(
    loops.map(({ thread, counts }) => [
      thread,
      { ...quantilesOf(bounds, counts), recent_max_seconds: recent[thread] ?? 0 },
    ]),
  );
}
