/** Figures with something in every metric, for the tests of what reads them. */
import { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';

export const INSTALLATION = { version: '0.1.0', protocolMin: 0, startedAt: Date.UTC(2026, 10, 21, 8, 15) };

/** A thread that has seen one of each thing. */
export function busyThread(name: string): ThreadMetrics {
  const metrics = new ThreadMetrics(name);
  metrics.supply(() => ({
    cluster: {
      parley_cluster_term: [{ labels: ['one'], value: 7 }],
      parley_cluster_reached: [{ labels: [], value: 1 }],
      parley_cluster_host_lag_seconds: [{ labels: ['two', 'follows'], value: 0.5 }],
    },
    activeActors: { conversation: 3, person: 2 },
    mailboxes: { system: 0, urgent: 1, main: 7, deepest: 4 },
    asksPending: 2,
    lanesSetAside: 1,
    droppedLogLines: 5,
    calls: { live: { ringing: 2 }, ended: { missed: 3 } },
    attachments: {
      parley_attachments_contents: [{ labels: ['sealed'], value: 4 }],
      parley_object_store_contents: [{ labels: [], value: 3 }],
      parley_object_store_moves_total: [{ labels: ['to_store'], value: 2 }],
      parley_object_store_removals_waiting: [{ labels: [], value: 1 }],
      parley_object_store_up: [{ labels: [], value: 1 }],
      parley_attachments_received_bytes_total: [{ labels: [], value: 1_024 }],
      parley_attachments_refusals_total: [{ labels: ['quota_exceeded'], value: 2 }],
      parley_attachments_scans_total: [{ labels: ['clean'], value: 3 }],
      parley_attachments_thumbnails_total: [{ labels: ['made'], value: 5 }],
      parley_attachments_thumbnails_waiting: [{ labels: [], value: 1 }],
      parley_attachments_uploads_total: [{ labels: ['created'], value: 6 }],
    },
    accountMails: {
      parley_account_mails_total: [{ labels: ['reset', 'sent'], value: 2 }],
      parley_account_mails_waiting: [{ labels: [], value: 1 }],
    },
    calendar: {
      parley_calendar_answer_updates_total: [{ labels: ['sent'], value: 4 }],
      parley_calendar_deliveries_total: [{ labels: ['delivered'], value: 6 }],
      parley_calendar_deliveries_waiting: [{ labels: [], value: 2 }],
      parley_calendar_mails_total: [{ labels: ['applied'], value: 3 }],
      parley_calendar_feed_refreshes_total: [{ labels: ['failed'], value: 3 }],
      parley_calendar_feeds_refreshing: [{ labels: [], value: 4 }],
      parley_calendar_pushes_total: [{ labels: ['sent'], value: 6 }],
      parley_calendar_pushes_waiting: [{ labels: [], value: 2 }],
      parley_calendar_outgoing_mails_total: [{ labels: ['sent'], value: 5 }],
      parley_calendar_outgoing_mails_waiting: [{ labels: [], value: 1 }],
      parley_calendar_reminders_dropped_total: [{ labels: [], value: 1 }],
    },
    subscriptions: {
      parley_subscription_deliveries_total: [{ labels: ['delivered'], value: 8 }],
      parley_subscription_lanes_failing: [{ labels: [], value: 1 }],
    },
    previews: { parley_messaging_link_previews_total: [{ labels: ['shown'], value: 3 }] },
    push: {
      parley_push_breakers_open: [{ labels: ['apns'], value: 1 }],
      parley_push_dropped_total: [{ labels: ['read'], value: 4 }],
      parley_push_due_total: [{ labels: ['message'], value: 9 }],
      parley_push_refused_total: [{ labels: ['fcm', 'gone'], value: 1 }],
      parley_push_registrations: [{ labels: ['webpush'], value: 7 }],
      parley_push_retried_total: [{ labels: ['apns'], value: 2 }],
      parley_push_sent_total: [{ labels: ['webpush'], value: 5 }],
    },
  }));
  metrics.countRequest('messaging', 'postMessage', 201, 1);
  metrics.countRequest('messaging', undefined, 404, 0);
  metrics.countRefusal('path_not_found', 'messaging');
  metrics.countRefusal('call_step_is_signalling', 'messaging');
  metrics.countRefusedFrame('frame_invalid');
  metrics.socketOpened(1, 'browser');
  metrics.socketOpened(1, 'browser');
  metrics.socketOpened(0, 'ios');
  metrics.socketClosed(1, 'browser', 'tooSlow');
  metrics.eventsPublished('message.new');
  metrics.deliveries(10);
  metrics.dropped('typing');
  metrics.postAcked(2_000_000);
  metrics.commit(3, 1_500_000);
  metrics.commitFailed();
  metrics.storageFault();
  metrics.actorRestarted('conversation');
  metrics.actorQuarantined('person');
  metrics.threadRestarted('shard-1');
  metrics.askTimedOut();
  return metrics;
}
