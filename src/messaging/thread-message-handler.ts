/** What other threads tell a shard: mostly what the coordinator and the calendar have changed, as events for sockets. */
import type { ServiceName } from '#actors/runtime/thread-runtime.ts';
import { unixSeconds } from '#src/base/clock.ts';
import { encodeEvent, type ReminderData } from '#src/protocol/sockets/events.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { AttachmentClient } from './attachments/attachment-client.ts';
import type { PushDispatch } from './push/push-dispatch.ts';
import type { SocketHub } from './sockets/socket-hub.ts';

export interface ThreadMessageHandlerOptions {
  readonly hub: SocketHub;
  readonly pushes: PushDispatch;
  readonly attachments: AttachmentClient;
  readonly log: Log;
  readonly now: () => number;
  /** Fails the shard, where the hooks of tests are on. */
  readonly crash: () => void;
}

/** Hears what is told under a name. */
export function makeThreadMessageHandler(
  options: ThreadMessageHandlerOptions,
): (name: ServiceName, body: unknown) => void {
  const { attachments, crash, hub, log, now, pushes } = options;
  return (name, body) => {
    switch (name) {
      case '@renewed':
        return hub.renew(...(body as [string, number]));
      case '@directory': {
        const [user, rev] = body as [string, number];
        const event = encodeEvent({ type: 'directory.changed', ts: unixSeconds(now()) }, JSON.stringify({ user, rev }));
        return hub.publishToAll('directory.changed', event);
      }
      case '@pushAddress':
        return pushes.addressTaken(...(body as [string, string]));
      case '@dropUpload':
        return attachments.drop(...(body as [string, string]));
      case '@calendar': {
        const [users, calendar, syncSeq] = body as [string[], string, number];
        const json = JSON.stringify({ calendar_id: calendar, sync_seq: syncSeq });
        const event = encodeEvent({ type: 'calendar.changed', ts: unixSeconds(now()) }, json);
        return hub.publishTo(users, 'calendar.changed', event, undefined);
      }
      case '@reminder': {
        const [user, data] = body as [string, ReminderData];
        const event = encodeEvent({ type: 'calendar.reminder', ts: unixSeconds(now()) }, JSON.stringify(data));
        return hub.publishTo([user], 'calendar.reminder', event, undefined);
      }
      case '@group': {
        const [group, rev] = body as [string, number];
        const json = JSON.stringify({ group_id: group, rev });
        return hub.publishToAll('group', encodeEvent({ type: 'group', ts: unixSeconds(now()) }, json));
      }
      case '@recovery': {
        // Empty by design: it says that an invited guest cannot sign in, and not who (GST-05).
        const event = encodeEvent({ type: 'guest.recovery.requested', ts: unixSeconds(now()) }, '{}');
        return hub.publishTo([body as string], 'guest.recovery.requested', event, undefined);
      }
      case '@crash':
        return crash();
      default:
        log.warn('an unknown message came from another thread', { name });
    }
  };
}
