/** The actors of a shard: conversations, people, their pushes and calls. */
import { makeCallActor } from '#actors/call/call.ts';
import type { CallBoard } from '#actors/call/call-board.ts';
import { makeConversationActor } from '#actors/conversation/conversation.ts';
import { makePersonActor } from '#actors/person/person.ts';
import { PresenceBudget } from '#actors/person/presence-budget.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { ActorSystem } from '#actors/runtime/system.ts';
import { isStorageFault } from '#storage/engine/storage-fault.ts';
import { readAudience } from '#storage/conversations/presence-peers.ts';
import type { AccessChecks } from './access/access-checks.ts';
import type { Participation } from './access/participation.ts';
import type { PushDispatch } from './push/push-dispatch.ts';
import type { ShardBase } from './shard-base.ts';

/** What the actors of a shard decide by. */
export interface ActorContext {
  readonly access: AccessChecks;
  readonly board: CallBoard;
  readonly participation: Participation;
  readonly pushes: PushDispatch;
}

export function makeActorSystem(
  { config, data, lanes, log, metrics, now, runtime }: ShardBase,
  { access, board, participation, pushes }: ActorContext,
): ActorSystem {
  return new ActorSystem({
    actors: [
      pushes.actor,
      makeConversationActor({
        epoch: data.epoch,
        lane: (conversation) => lanes.write(conversation),
        search: config.search === 'on',
        isGuest: (user) => access.isGuest(user),
        hosts: { hostOf: (user) => access.hostOf(user), guestsOf: (host) => access.guestsOf(host) },
        purged: ({ messages, bytes }) => metrics.purged(messages, bytes),
      }),
      makePersonActor({
        audience: (user) => {
          const { people, rooms } = readAudience(lanes.environments, user);
          return { people: access.viewersOf(user, people), rooms };
        },
        announced: ({ rooms, state, user }) =>
          runtime.tellShards('presence.announced', { people: [{ user, state }], rooms }),
        budget: new PresenceBudget(),
        attention: pushes.attention,
        hasPushes: (user) => pushes.hasPushes(user),
      }),
      makeCallActor({
        board,
        ring: config.ringSeconds * 1000,
        lost: config.callLostSeconds * 1000,
        monotonic: monotonicMillis,
        takesPart: (scope, user) => participation.takesPart(scope, user),
      }),
    ],
    now,
    report: {
      restarted: (actor, address, error) => {
        metrics.actorRestarted(actor);
        if (isStorageFault(error)) metrics.storageFault();
        log.error('an actor failed and was restarted', { actor, address, error });
      },
      quarantined: (actor, address) => {
        metrics.actorQuarantined(actor);
        log.error('an actor failed too often and is set aside', { actor, address });
      },
      dropped: (_actor, kind) => metrics.dropped(kind),
      storageFailed: (address, error) => log.error('a commit failed', { address, error }),
    },
  });
}
