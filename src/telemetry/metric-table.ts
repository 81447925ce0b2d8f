/**
 * Every metric there is: its type, labels and meaning. The exposition, the merging and docs/metrics.md follow from
 * this table, and a figure that is not here cannot be counted.
 *
 * Names are `parley_<room>_<what>_<unit>` in base units (seconds, bytes); counters end in `_total`. Every label is
 * bounded: by a vocabulary of the protocol, or by a limit in `labelled-counts.ts`. No metric carries a name of a
 * person, an id, an address or a path as it was requested.
 */

interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence, without double quotes and backslashes: the two exposition formats escape those differently. */
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets, rising; the last bucket, without a bound, is implied. */
  readonly bounds?: readonly number[];
}

/** From a tenth of a millisecond, which is a commit to memory, to ten seconds, when every caller has given up. */
const LATENCY_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** Powers of two up to the largest batch a turn gathers. */
const BATCH_RECORDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];

/** From one millisecond, which is what a timer can tell, to ten seconds of a thread that stands still. */
const DELAY_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

export const METRICS = {
  parley_account_mails_total: {
    type: 'counter',
    help: 'Mails about accounts that were done with, by kind (code, reset or notice) and result: sent, failed, dropped (no address, or over) or left_out (too many wait).',
    labels: ['kind', 'result'],
  },
  parley_account_mails_waiting: {
    type: 'gauge',
    help: 'Mails about accounts that still have to leave.',
    labels: [],
  },
  parley_actors_active: {
    type: 'gauge',
    help: 'Actors in memory, by kind. Idle ones are passivated and not counted.',
    labels: ['actor'],
  },
  parley_actors_ask_timeouts_total: {
    type: 'counter',
    help: 'Asks between threads whose deadline passed before the answer came.',
    labels: [],
  },
  parley_actors_asks_pending: {
    type: 'gauge',
    help: 'Asks between threads that wait for their answer.',
    labels: ['thread'],
  },
  parley_actors_dropped_tells_total: {
    type: 'counter',
    help: 'Hints such as typing and presence that were dropped, by kind: too frequent, or a mailbox was full.',
    labels: ['kind'],
  },
  parley_actors_mailbox_deepest_messages: {
    type: 'gauge',
    help: 'Messages in the fullest mailbox of a thread.',
    labels: ['thread'],
  },
  parley_actors_mailbox_messages: {
    type: 'gauge',
    help: 'Messages that wait in the mailboxes of a thread, by lane.',
    labels: ['thread', 'lane'],
  },
  parley_actors_quarantined_total: {
    type: 'counter',
    help: 'Actors that were taken out of service because restarting did not help, by kind.',
    labels: ['actor'],
  },
  parley_actors_restarts_total: {
    type: 'counter',
    help: 'Actors that were restarted from storage after a fault, by kind.',
    labels: ['actor'],
  },
  parley_attachments_contents: {
    type: 'gauge',
    help: 'Contents of attachments, on disk and in the object store, by form: sealed or plain. Looked at once a minute.',
    labels: ['form'],
  },
  parley_attachments_received_bytes_total: {
    type: 'counter',
    help: 'Bytes of uploads that came in, whether or not they were kept.',
    labels: [],
  },
  parley_attachments_refusals_total: {
    type: 'counter',
    help: 'Requests about attachments that were refused, by error code: quota_exceeded for a person over their quota.',
    labels: ['code'],
  },
  parley_attachments_scans_total: {
    type: 'counter',
    help: 'Uploads that the virus scanner was asked about, by result: clean, infected or unavailable.',
    labels: ['result'],
  },
  parley_attachments_thumbnails_total: {
    type: 'counter',
    help: 'Thumbnails that were asked for and not there yet, by result: made, failed or refused for a full queue.',
    labels: ['result'],
  },
  parley_attachments_thumbnails_waiting: {
    type: 'gauge',
    help: 'Thumbnails that wait for a process to make them.',
    labels: [],
  },
  parley_attachments_uploads_total: {
    type: 'counter',
    help: 'Uploads that were created, and that were finished as an attachment.',
    labels: ['step'],
  },
  parley_calendar_answer_updates_total: {
    type: 'counter',
    help: 'Entries whose new answers were due for the other attendees, by result: sent, too_many or failed.',
    labels: ['result'],
  },
  parley_calendar_deliveries_total: {
    type: 'counter',
    help: 'Recipients of scheduling messages that were done with, by result: delivered or failed.',
    labels: ['result'],
  },
  parley_calendar_deliveries_waiting: {
    type: 'gauge',
    help: 'Recipients that scheduling messages still have to go to.',
    labels: [],
  },
  parley_calendar_feed_refreshes_total: {
    type: 'counter',
    help: 'Refreshes of feeds that calendars follow, by result: changed, unchanged or failed.',
    labels: ['result'],
  },
  parley_calendar_feeds_refreshing: {
    type: 'gauge',
    help: 'Feeds that are being fetched or taken in.',
    labels: [],
  },
  parley_calendar_pushes_total: {
    type: 'counter',
    help: 'Pushes to programs that registered for a calendar, by result: sent, refused, gone (the registration ended), expired or retried.',
    labels: ['result'],
  },
  parley_calendar_pushes_waiting: {
    type: 'gauge',
    help: 'Pushes to programs that wait or are under way.',
    labels: [],
  },
  parley_calendar_mails_total: {
    type: 'counter',
    help: 'Recipients of calendar mails that came in, by outcome.',
    labels: ['outcome'],
  },
  parley_calendar_outgoing_mails_total: {
    type: 'counter',
    help: 'Mails of the calendar that were done with, by result: sent, failed or dropped.',
    labels: ['result'],
  },
  parley_calendar_outgoing_mails_waiting: {
    type: 'gauge',
    help: 'Mails of the calendar that still have to leave.',
    labels: [],
  },
  parley_calendar_reminders_dropped_total: {
    type: 'counter',
    help: 'Reminders that nobody was told, because they were due too long before the server could.',
    labels: [],
  },
  parley_calls_ended_total: {
    type: 'counter',
    help: 'Call attempts that are over, by result.',
    labels: ['result'],
  },
  parley_calls_live: {
    type: 'gauge',
    help: 'Call attempts that are live, by state.',
    labels: ['state'],
  },
  parley_http_requests_total: {
    type: 'counter',
    help: 'HTTP requests answered, by service, route and status. A path that is no route is unmatched.',
    labels: ['service', 'route', 'status'],
  },
  parley_log_dropped_lines_total: {
    type: 'counter',
    help: 'Log lines that were dropped because standard output did not take them in time.',
    labels: [],
  },
  parley_messaging_deliveries_total: {
    type: 'counter',
    help: 'Events handed to sockets, one for each socket.',
    labels: [],
  },
  parley_messaging_events_published_total: {
    type: 'counter',
    help: 'Events published, by type, each counted once however many sockets get it.',
    labels: ['type'],
  },
  parley_messaging_link_previews_total: {
    type: 'counter',
    help: 'Links whose page was to be shown, by what came of it: shown, nothing, refused, failed or dropped.',
    labels: ['outcome'],
  },
  parley_messaging_post_ack_seconds: {
    type: 'histogram',
    help: 'Time from a posted message to its acknowledgement, which leaves after the commit is on disk.',
    labels: [],
    bounds: LATENCY_SECONDS,
  },
  parley_messaging_sockets: {
    type: 'gauge',
    help: 'Open sockets, by protocol version and platform of the client: the population.',
    labels: ['version', 'platform'],
  },
  parley_messaging_sockets_closed_total: {
    type: 'counter',
    help: 'Sockets closed, by reason. The reason peer is the client or the network.',
    labels: ['reason'],
  },
  parley_messaging_sockets_opened_total: { type: 'counter', help: 'Sockets opened.', labels: [] },
  parley_object_store_contents: {
    type: 'gauge',
    help: 'Contents of attachments that lie in the object store. Absent where there is no store and nothing in one.',
    labels: [],
  },
  parley_object_store_moves_total: {
    type: 'counter',
    help: 'Contents that went to_store or to_disk, objects removed, and contents that failed to move for another reason than the store.',
    labels: ['move'],
  },
  parley_object_store_removals_waiting: {
    type: 'gauge',
    help: 'Objects of the store that no content has and that are still to be removed.',
    labels: [],
  },
  parley_object_store_up: {
    type: 'gauge',
    help: 'Whether the object store did what it was last asked to: 1, or 0. Absent as parley_object_store_contents.',
    labels: [],
  },
  parley_process_build_info: {
    type: 'gauge',
    help: 'Always 1. The labels say what is running.',
    labels: ['version', 'protocol', 'protocol_min'],
  },
  parley_process_cpu_seconds_total: {
    type: 'counter',
    help: 'CPU time of the whole process, by mode.',
    labels: ['mode'],
  },
  parley_process_resident_memory_bytes: {
    type: 'gauge',
    help: 'Resident memory of the whole process, with the pages of the storage that it has mapped.',
    labels: [],
  },
  parley_process_start_time_seconds: {
    type: 'gauge',
    help: 'When the process started, in seconds since the Unix epoch.',
    labels: [],
  },
  parley_protocol_client_requests_total: {
    type: 'counter',
    help: 'HTTP requests by the protocol version that the client stated. 0 is a client that stated none.',
    labels: ['version'],
  },
  parley_protocol_refusals_total: {
    type: 'counter',
    help: 'Refusals by error code and by the surface that answered.',
    labels: ['code', 'surface'],
  },
  parley_protocol_retired_forms_total: {
    type: 'counter',
    help: 'Requests in a form that is gone, answered 410, by error code.',
    labels: ['code'],
  },
  parley_storage_commit_failures_total: {
    type: 'counter',
    help: 'Group commits that failed; nothing in them was acknowledged.',
    labels: [],
  },
  parley_storage_commit_records: {
    type: 'histogram',
    help: 'Records that share one group commit.',
    labels: [],
    bounds: BATCH_RECORDS,
  },
  parley_storage_commit_seconds: {
    type: 'histogram',
    help: 'Time of one group commit, until it is on disk.',
    labels: [],
    bounds: LATENCY_SECONDS,
  },
  parley_cluster_term: {
    type: 'gauge',
    help: 'The term in which this host leads its cluster; no sample where it is alone.',
    labels: ['host'],
  },
  parley_cluster_reached: {
    type: 'gauge',
    help: 'Whether NATS answered this host within the last seconds: 1, or 0 where nothing can be changed; no sample where it is alone.',
    labels: [],
  },
  parley_cluster_host_lag_seconds: {
    type: 'gauge',
    help: 'For each host of the cluster that is there: how long ago what it lacks was written, by its own word; 0 where it lacks nothing.',
    labels: ['host', 'role'],
  },
  parley_storage_archive_gaps_total: {
    type: 'counter',
    help: 'Times that the archive of the logs left something out, since the start: nothing before the next backup is restored across them.',
    labels: [],
  },
  parley_storage_archive_lag_seconds: {
    type: 'gauge',
    help: 'Seconds since the archive of the log that is furthest behind was written; up to 11 where all is well, 0 where there is none.',
    labels: [],
  },
  parley_storage_faults_total: {
    type: 'counter',
    help: 'Reads that found what is stored damaged or missing; they were answered storage_damaged.',
    labels: [],
  },
  parley_storage_lanes_set_aside: {
    type: 'gauge',
    help: 'Lanes whose file could not be read at the start: their conversations are answered storage_damaged.',
    labels: [],
  },
  parley_push_breakers_open: {
    type: 'gauge',
    help: 'Circuit breakers that are open, by provider: it fails, and is left alone for a while.',
    labels: ['provider'],
  },
  parley_push_dropped_total: {
    type: 'counter',
    help: 'Messages and pushes that nobody was told of, by reason: read, muted, awake, expired, collapsed and so on.',
    labels: ['reason'],
  },
  parley_push_due_total: {
    type: 'counter',
    help: 'Pushes that became due, one for each device, by kind.',
    labels: ['kind'],
  },
  parley_push_refused_total: {
    type: 'counter',
    help: 'Pushes that a provider did not take, by provider and reason; some are tried again.',
    labels: ['provider', 'reason'],
  },
  parley_push_registrations: {
    type: 'gauge',
    help: 'Devices that pushes reach, by provider.',
    labels: ['provider'],
  },
  parley_push_retried_total: {
    type: 'counter',
    help: 'Pushes that are tried again after a failure of the provider, by provider.',
    labels: ['provider'],
  },
  parley_push_sent_total: {
    type: 'counter',
    help: 'Pushes that a provider acknowledged, by provider.',
    labels: ['provider'],
  },
  parley_storage_purged_bytes_total: {
    type: 'counter',
    help: 'Bytes of message records that went off the disk for good.',
    labels: [],
  },
  parley_storage_purged_messages_total: {
    type: 'counter',
    help: 'Messages that went off the disk for good: deleted with their conversation, over their time, or taken away.',
    labels: [],
  },
  parley_subscription_deliveries_total: {
    type: 'counter',
    help: 'Attempts to deliver an event to a subscription of a bot, by result: delivered or failed.',
    labels: ['result'],
  },
  parley_subscription_lanes_failing: {
    type: 'gauge',
    help: 'Conversations of subscriptions whose last delivery failed; what is behind it waits.',
    labels: [],
  },
  parley_threads_answered: {
    type: 'gauge',
    help: 'Threads whose figures are in this answer.',
    labels: [],
  },
  parley_threads_event_loop_active_seconds_total: {
    type: 'counter',
    help: 'Time the event loop of a thread was at work and not waiting.',
    labels: ['thread'],
  },
  parley_threads_event_loop_delay_recent_max_seconds: {
    type: 'gauge',
    help: 'The worst delay of the event loop of a thread within the last minute.',
    labels: ['thread'],
  },
  parley_threads_event_loop_delay_seconds: {
    type: 'histogram',
    help: 'How late a timer of a thread fires, asked fifty times a second.',
    labels: ['thread'],
    bounds: DELAY_SECONDS,
  },
  parley_threads_external_memory_bytes: {
    type: 'gauge',
    help: 'Memory outside the JavaScript heap that objects of a thread hold.',
    labels: ['thread'],
  },
  parley_threads_heap_used_bytes: {
    type: 'gauge',
    help: 'JavaScript heap of a thread in use.',
    labels: ['thread'],
  },
  parley_threads_missing: {
    type: 'gauge',
    help: 'Threads that did not answer in time: their gauges are left out and their counters are as last known.',
    labels: [],
  },
  parley_threads_restarts_total: {
    type: 'counter',
    help: 'Threads that ended by a fault and were started again.',
    labels: ['thread'],
  },
  parley_tls_certificate_end_time_seconds: {
    type: 'gauge',
    help: 'When the certificate that the listeners show ends, in Unix seconds. Missing where they speak plain HTTP.',
    labels: [],
  },
  parley_tls_certificate_unusable: {
    type: 'gauge',
    help: 'Whether the files of the certificate were changed and cannot be served, so that the one from before is: 1 or 0.',
    labels: [],
  },
  parley_tls_renewal_failing: {
    type: 'gauge',
    help: 'Whether the last attempt to have a certificate of the ACME authority failed: 1 or 0. Missing where none is ordered.',
    labels: [],
  },
} as const satisfies Record<string, Metric>;

type Table = typeof METRICS;
type NameOfType<T extends Metric['type']> = { [K in keyof Table]: Table[K]['type'] extends T ? K : never }[keyof Table];

export type CounterName = NameOfType<'counter'>;
export type GaugeName = NameOfType<'gauge'>;
export type HistogramName = NameOfType<'histogram'>;
/** A metric whose figure is one number. */
export type ScalarName = CounterName | GaugeName;
export type MetricName = keyof Table;

export const METRIC_NAMES = Object.keys(METRICS) as MetricName[];
export const HISTOGRAM_NAMES = METRIC_NAMES.filter((name): name is HistogramName => METRICS[name].type === 'histogram');
export const SCALAR_NAMES = METRIC_NAMES.filter((name): name is ScalarName => METRICS[name].type !== 'histogram');

/** Whether a figure only ever rises, so that it outlives the thread that counted it. */
export function isCumulative(name: MetricName): boolean {
  return METRICS[name].type !== 'gauge';
}
