/** The sockets of a shard as its actors reach them, with those beside who follow what is published. */
import type { CallBoard } from '#actors/call/call-board.ts';
import type { Tell } from '#actors/runtime/actor.ts';
import type { LocalSockets } from '#actors/runtime/thread-runtime.ts';
import type { ActivityNotifier } from '../activity-notifier.ts';
import type { ShardRuntime } from '../thread-services.ts';
import type { SocketHub } from './socket-hub.ts';

export interface LocalSocketsOptions {
  readonly activity: ActivityNotifier;
  readonly board: CallBoard;
  readonly hub: SocketHub;
  readonly runtime: Pick<ShardRuntime, 'deliverHere'>;
}

/** The sockets, and the calls of a conversation told at once when somebody no longer takes part in it. */
export function makeLocalSockets({ activity, board, hub, runtime }: LocalSocketsOptions): LocalSockets {
  const ended = (conversation: string, users: readonly string[] | null): void => {
    if (board.has(conversation))
      runtime.deliverHere(`call:${conversation}`, { kind: 'membershipEnded', users } as Tell);
  };
  return {
    publish: (topic, ...all) => {
      activity.note(topic);
      hub.publish(topic, ...all);
    },
    publishTo: (...all) => hub.publishTo(...all),
    displace: (...all) => hub.displace(...all),
    overrun: () => hub.overrun(),
    membership: (conversation, users, joined) => {
      hub.membership(conversation, users, joined);
      if (!joined) ended(conversation, users);
    },
    disband: (conversation) => {
      hub.disband(conversation);
      ended(conversation, null);
    },
  };
}
