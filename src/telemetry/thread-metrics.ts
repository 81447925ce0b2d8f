/**
 * What one thread counts about itself: plain numbers on the hot path, no labels built, nothing shared with another
 * thread. A snapshot of it is what the thread answers when somebody is scraped.
 */
import { performance } from 'node:perf_hooks';
import { CLOSE_CODES, type CloseReason } from '#src/protocol/sockets/close-codes.ts';
import type { ErrorCode } from '#src/protocol/errors.ts';
import type { EventType } from '#src/protocol/sockets/events.ts';
import type { Platform } from '#src/protocol/version.ts';
import { EventLoopDelay } from './event-loop-delay.ts';
import { oneSample, type Sample, type ThreadSnapshot } from './metrics.ts';
import { Histogram } from './histogram.ts';
import { LabelledCounts } from './labelled-counts.ts';
import { METRICS, type ScalarName } from './metric-table.ts';
import { VersionLabels } from './version-labels.ts';

export type Service = 'coordinator' | 'messaging' | 'calendar';

/** Where a refusal was given: by a service over HTTP, to a WebSocket upgrade, or to a frame on an open socket. */
export type Surface = Service | 'upgrade' | 'frame';

/** Why a socket ended: by one of our close codes, or by the client or the network. */
export type SocketEnd = CloseReason | 'peer';

/** What a socket's close code says of why it ended. */
export function readSocketEnd(code: number): SocketEnd {
  for (const [reason, ours] of Object.entries(CLOSE_CODES)) if (ours === code) return reason as CloseReason;
  return 'peer';
}

/** The route label of a request whose path is no route. The path itself is never a label: clients choose it. */
export const UNMATCHED_ROUTE = 'unmatched';

/** Different routes of a service told apart; the route tables stay below it. Further ones count as unmatched. */
const ROUTES_MAX = 256;

/** Forms that are gone (VER-05). A refusal with one of these codes is counted as a retired form by itself. */
export const RETIRED_FORM_CODES: readonly ErrorCode[] = ['call_step_is_signalling'];

/** What others know and a snapshot asks for. Each supplier gives what it has; those of one name are added up. */
export interface SuppliedMetrics {
  /** Kind of actor → how many are in memory. */
  readonly activeActors?: Readonly<Record<string, number>>;
  /** Messages waiting in all mailboxes of the thread by lane, and in the fullest mailbox. */
  readonly mailboxes?: {
    readonly system: number;
    readonly urgent: number;
    readonly main: number;
    readonly deepest: number;
  };
  readonly asksPending?: number;
  /** Lanes whose file could not be read at the start: of the main thread. */
  readonly lanesSetAside?: number;
  /** How far the archive of the logs is behind, and how often it left something out since the start: of the main thread. */
  readonly archive?: { readonly lagMillis: number; readonly gaps: number };
  /** Figures of the cluster, as they are told: of the main thread. */
  readonly cluster?: Readonly<Partial<Record<ScalarName, Sample[]>>>;
  /** Since the thread began. */
  readonly droppedLogLines?: number;
  /** Calls that are live, by state, and that ended since the thread began, by result. */
  readonly calls?: {
    readonly live: Readonly<Record<string, number>>;
    readonly ended: Readonly<Record<string, number>>;
  };
  /** Figures of mails about accounts, as they are told. */
  readonly accountMails?: Readonly<Partial<Record<ScalarName, Sample[]>>>;
  /** Figures of the calendar, as they are told. */
  readonly calendar?: Readonly<Partial<Record<ScalarName, Sample[]>>>;
  /** Figures of attachments, as they are told. */
  readonly attachments?: Readonly<Partial<Record<ScalarName, Sample[]>>>;
  /** Figures of pushes, as they are told. */
  readonly push?: Readonly<Partial<Record<ScalarName, Sample[]>>>;
  /** Figures of previews of links, as they are told. */
  readonly previews?: Readonly<Partial<Record<ScalarName, Sample[]>>> | undefined;
  /** Figures of event subscriptions, as they are told. */
  readonly subscriptions?: Readonly<Partial<Record<ScalarName, Sample[]>>>;
  /** Figures of the certificate, as they are told. */
  readonly tls?: Readonly<Partial<Record<ScalarName, Sample[]>>>;
}

export class ThreadMetrics {
  readonly thread: string;
  readonly #born = Number(process.hrtime.bigint() / 1000n);
  readonly #suppliers: (() => SuppliedMetrics)[] = [];
  readonly #eventLoop = new EventLoopDelay();
  readonly #versions = new VersionLabels();
  #sequence = 0;

  readonly #requests = new Map<Service, Map<string, LabelledCounts>>();
  readonly #clientRequests = new LabelledCounts();
  readonly #refusals = new Map<Surface, LabelledCounts>();
  readonly #retiredForms = new LabelledCounts();
  readonly #sockets = new Map<Platform, LabelledCounts>();
  #socketsOpened = 0;
  readonly #socketsClosed = new LabelledCounts();
  readonly #eventsPublished = new LabelledCounts();
  #deliveries = 0;
  readonly #dropped = new LabelledCounts();
  readonly #postAck = new Histogram(METRICS.parley_messaging_post_ack_seconds.bounds);
  readonly #commitSeconds = new Histogram(METRICS.parley_storage_commit_seconds.bounds);
  readonly #commitRecords = new Histogram(METRICS.parley_storage_commit_records.bounds);
  #commitFailures = 0;
  #storageFaults = 0;
  readonly #actorRestarts = new LabelledCounts();
  readonly #actorsQuarantined = new LabelledCounts();
  readonly #threadRestarts = new LabelledCounts();
  #askTimeouts = 0;
  #purgedMessages = 0;
  #purgedBytes = 0;

  /** @param thread the thread's name, such as `main` or `shard-0`. Bounded by the number of threads. */
  constructor(thread: string) {
    this.thread = thread;
    for (const code of RETIRED_FORM_CODES) this.#retiredForms.add(code, 0);
  }

  /** Begins to watch the thread's event loop. */
  start(): void {
    this.#eventLoop.start();
  }

  stop(): void {
    this.#eventLoop.stop();
  }

  /** Registers who is asked for figures at every snapshot. Called on the thread itself, so it must be quick. */
  supply(supplier: () => SuppliedMetrics): void {
    this.#suppliers.push(supplier);
  }

  /** Messages went off the disk for good, with the bytes of their records. */
  purged(messages: number, bytes: number): void {
    this.#purgedMessages += messages;
    this.#purgedBytes += bytes;
  }

  /**
   * An HTTP request was answered.
   * @param route the route's name or template, never the path as requested; undefined where no route matched.
   * @param version what the client stated, 0 for nothing (VER-03).
   */
  countRequest(service: Service, route: string | undefined, status: number, version: number): void {
    let routes = this.#requests.get(service);
    if (routes === undefined) this.#requests.set(service, (routes = new Map()));
    let statuses = routes.get(route ?? UNMATCHED_ROUTE);
    if (statuses === undefined) {
      const label = route !== undefined && routes.size < ROUTES_MAX ? route : UNMATCHED_ROUTE;
      statuses = routes.get(label) ?? new LabelledCounts();
      routes.set(label, statuses);
    }
    statuses.add(String(status));
    this.#clientRequests.add(this.#versions.labelOf(version));
  }

  /** A request, upgrade or frame was refused with a code (HLT-01); a form that is gone is counted as such (VER-05). */
  countRefusal(code: ErrorCode, surface: Surface): void {
    let codes = this.#refusals.get(surface);
    if (codes === undefined) this.#refusals.set(surface, (codes = new LabelledCounts()));
    codes.add(code);
    if (RETIRED_FORM_CODES.includes(code)) this.#retiredForms.add(code);
  }

  /** A frame of an open socket was refused (SOC-08). */
  countRefusedFrame(code: ErrorCode): void {
    this.countRefusal(code, 'frame');
  }

  /** A socket opened, of a client with that protocol version and platform. */
  socketOpened(version: number, platform: Platform): void {
    this.#socketsOpened += 1;
    this.#socketsOf(platform).add(this.#versions.labelOf(version), 1);
  }

  /** The same socket closed. */
  socketClosed(version: number, platform: Platform, end: SocketEnd): void {
    this.#socketsClosed.add(end);
    this.#socketsOf(platform).add(this.#versions.labelOf(version), -1);
  }

  #socketsOf(platform: Platform): LabelledCounts {
    let versions = this.#sockets.get(platform);
    if (versions === undefined) this.#sockets.set(platform, (versions = new LabelledCounts()));
    return versions;
  }

  /** Events left this thread, each counted once however many sockets get it. */
  eventsPublished(type: EventType, n = 1): void {
    this.#eventsPublished.add(type, n);
  }

  /** Events were handed to that many sockets. */
  deliveries(n: number): void {
    this.#deliveries += n;
  }

  /** A lossy tell was dropped: it came too soon after the one before, or a mailbox was full. */
  dropped(kind: string, n = 1): void {
    this.#dropped.add(kind, n);
  }

  /** A post was acknowledged so many nanoseconds after it had arrived. */
  postAcked(nanos: number): void {
    this.#postAck.observe(nanos / 1e9);
  }

  /** A group commit is on disk: how many records it held and how many nanoseconds it took. */
  commit(records: number, nanos: number): void {
    this.#commitRecords.observe(records);
    this.#commitSeconds.observe(nanos / 1e9);
  }

  commitFailed(): void {
    this.#commitFailures += 1;
  }

  /** What is stored could not be read, or was not there. */
  storageFault(): void {
    this.#storageFaults += 1;
  }

  /** An actor of that kind was restarted after a fault. The kind, never the key. */
  actorRestarted(actor: string): void {
    this.#actorRestarts.add(actor);
  }

  /** An actor of that kind failed again and again and was taken out of service. */
  actorQuarantined(actor: string): void {
    this.#actorsQuarantined.add(actor);
  }

  /** A thread ended by a fault and was started again; counted by who supervises it. */
  threadRestarted(thread: string): void {
    this.#threadRestarts.add(thread);
  }

  askTimedOut(): void {
    this.#askTimeouts += 1;
  }

  /** Everything counted so far and the gauges as they stand, as plain values for a structured clone. */
  snapshot(): ThreadSnapshot {
    this.#sequence += 1;
    const supplied = this.#suppliers.map((supplier) => supplier());
    return {
      thread: this.thread,
      born: this.#born,
      sequence: this.#sequence,
      scalars: { ...this.#counted(), ...this.#threadGauges(), ...this.#actorGauges(supplied) },
      histograms: {
        parley_messaging_post_ack_seconds: [this.#postAck.sample([])],
        parley_storage_commit_records: [this.#commitRecords.sample([])],
        parley_storage_commit_seconds: [this.#commitSeconds.sample([])],
        parley_threads_event_loop_delay_seconds: [this.#eventLoop.sample([this.thread])],
      },
    };
  }

  #counted(): Partial<Record<ScalarName, Sample[]>> {
    return {
      parley_actors_ask_timeouts_total: oneSample(this.#askTimeouts),
      parley_actors_dropped_tells_total: this.#dropped.samples(),
      parley_actors_quarantined_total: this.#actorsQuarantined.samples(),
      parley_actors_restarts_total: this.#actorRestarts.samples(),
      parley_http_requests_total: [...this.#requests].flatMap(([service, routes]) =>
        [...routes].flatMap(([route, statuses]) => statuses.samples([service, route])),
      ),
      parley_messaging_deliveries_total: oneSample(this.#deliveries),
      parley_messaging_events_published_total: this.#eventsPublished.samples(),
      parley_messaging_sockets: [...this.#sockets].flatMap(([platform, versions]) => versions.samples([], [platform])),
      parley_messaging_sockets_closed_total: this.#socketsClosed.samples(),
      parley_messaging_sockets_opened_total: oneSample(this.#socketsOpened),
      parley_protocol_client_requests_total: this.#clientRequests.samples(),
      parley_protocol_refusals_total: [...this.#refusals].flatMap(([surface, codes]) => codes.samples([], [surface])),
      parley_protocol_retired_forms_total: this.#retiredForms.samples(),
      parley_storage_commit_failures_total: oneSample(this.#commitFailures),
      parley_storage_faults_total: oneSample(this.#storageFaults),
      parley_storage_purged_bytes_total: oneSample(this.#purgedBytes),
      parley_storage_purged_messages_total: oneSample(this.#purgedMessages),
      parley_threads_restarts_total: this.#threadRestarts.samples(),
    };
  }

  #threadGauges(): Partial<Record<ScalarName, Sample[]>> {
    const memory = process.memoryUsage();
    const labels = [this.thread];
    return {
      parley_threads_event_loop_active_seconds_total: oneSample(
        performance.eventLoopUtilization().active / 1000,
        labels,
      ),
      parley_threads_event_loop_delay_recent_max_seconds: oneSample(
        this.#eventLoop.recentMax(performance.now()),
        labels,
      ),
      parley_threads_external_memory_bytes: oneSample(memory.external, labels),
      parley_threads_heap_used_bytes: oneSample(memory.heapUsed, labels),
    };
  }

  #actorGauges(supplied: readonly SuppliedMetrics[]): Partial<Record<ScalarName, Sample[]>> {
    const sum = (read: (metrics: SuppliedMetrics) => number | undefined) =>
      supplied.reduce((total, metrics) => total + (read(metrics) ?? 0), 0);
    const active = new LabelledCounts();
    for (const { activeActors = {} } of supplied) {
      for (const [actor, count] of Object.entries(activeActors)) active.add(actor, count);
    }
    const deepest = supplied.reduce((most, { mailboxes }) => Math.max(most, mailboxes?.deepest ?? 0), 0);
    const lanes = (['system', 'urgent', 'main'] as const).map((lane) => ({
      labels: [this.thread, lane],
      value: sum(({ mailboxes }) => mailboxes?.[lane]),
    }));
    const callsOf = (what: 'live' | 'ended') => {
      const counts = new LabelledCounts();
      for (const { calls } of supplied) {
        for (const [label, count] of Object.entries(calls?.[what] ?? {})) counts.add(label, count);
      }
      return counts.samples();
    };
    return {
      ...supplied.find(({ accountMails }) => accountMails !== undefined)?.accountMails,
      ...supplied.find(({ calendar }) => calendar !== undefined)?.calendar,
      ...supplied.find(({ attachments }) => attachments !== undefined)?.attachments,
      ...supplied.find(({ push }) => push !== undefined)?.push,
      ...supplied.find(({ previews }) => previews !== undefined)?.previews,
      ...supplied.find(({ subscriptions }) => subscriptions !== undefined)?.subscriptions,
      ...supplied.find(({ tls }) => tls !== undefined)?.tls,
      ...supplied.find(({ cluster }) => cluster !== undefined)?.cluster,
      parley_storage_lanes_set_aside: oneSample(sum(({ lanesSetAside }) => lanesSetAside)),
      parley_storage_archive_lag_seconds: oneSample(sum(({ archive }) => archive?.lagMillis) / 1_000),
      parley_storage_archive_gaps_total: oneSample(sum(({ archive }) => archive?.gaps)),
      parley_calls_ended_total: callsOf('ended'),
      parley_calls_live: callsOf('live'),
      parley_actors_active: active.samples(),
      parley_actors_asks_pending: oneSample(
        sum(({ asksPending }) => asksPending),
        [this.thread],
      ),
      parley_actors_mailbox_deepest_messages: oneSample(deepest, [this.thread]),
      parley_actors_mailbox_messages: lanes,
      parley_log_dropped_lines_total: oneSample(sum(({ droppedLogLines }) => droppedLogLines)),
    };
  }
}
