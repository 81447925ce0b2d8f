/** The beginning and the end of a shard: it listens, is linked to other threads, drains when it is told to, and leaves. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import type { PersonMessage } from '#actors/person/person.ts';
import type { ActorSystem } from '#actors/runtime/system.ts';
import { MAIN } from '#actors/runtime/thread-runtime.ts';
import type { BotAuditBuffer } from './bots/bot-audit-buffer.ts';
import type { RoomPresence } from './conversations/room-presence.ts';
import type { RetentionSweep } from './conversations/retention-sweep.ts';
import type { HttpSurface } from './http/http-surface.ts';
import type { Listener } from './listener.ts';
import type { PushDispatch } from './push/push-dispatch.ts';
import type { ShardBase } from './shard-base.ts';
import type { SocketHub } from './sockets/socket-hub.ts';
import type { Sockets } from './sockets/sockets.ts';

/** How long a shard that drains waits until what bots did is in the audit trail. */
const BOT_AUDIT_SETTLE_MILLIS = 2_000;
/** How often a shard that drains looks whether its requests are answered. */
const DRAIN_CHECK_MILLIS = 10;

/** What of a shard begins and ends with it. */
export interface ServingParts {
  readonly botAuditBuffer: BotAuditBuffer;
  readonly hub: SocketHub;
  readonly listener: Listener;
  readonly presence: RoomPresence;
  readonly pushes: PushDispatch;
  readonly retention: RetentionSweep;
  readonly sockets: Sockets;
  readonly surface: HttpSurface;
  readonly system: ActorSystem;
}

export class ShardLifecycle {
  readonly #base: ShardBase;
  readonly #parts: ServingParts;
  readonly #left: AbortController;

  /** `left` is aborted when the thread is to end: what goes on in the background stops by it. */
  constructor(base: ShardBase, parts: ServingParts, left: AbortController) {
    this.#base = base;
    this.#parts = parts;
    this.#left = left;
  }

  /** Takes connections on a port; false when another program has it. The links to the others came before. */
  listen(port: number): boolean {
    const isListening = this.#parts.listener.listen(this.#base.config.host, port);
    if (isListening) this.#base.attachments.start();
    return isListening;
  }

  /** Takes the port to another thread. */
  link(thread: number, port: MessagePort): void {
    const { attachments, data, placement, runtime, untold } = this.#base;
    const { presence, pushes } = this.#parts;
    runtime.link(thread, port, () => {
      attachments.shardLost(thread);
      presence.forget((user) => placement.shardOf(`person:${user}`) === thread);
      if (thread !== MAIN) pushes.shardLost();
      // Without main there is nobody to serve for: it went first, or it told us to.
      else void this.#leave();
    });
    // A shard that is back knows nobody: the people whose actors live there introduce themselves again.
    if (thread === MAIN) return;
    // Before anything new is told: the one before this shard may have died with changes that it told nobody.
    const retold = untold.read(data.epoch);
    if (retold.conversations.length + retold.users.length > 0) runtime.tellShard(thread, 'changes.retold', retold);
    // What is announced of those who live here is told it again.
    runtime.tellShard(thread, 'presence.announced', { people: pushes.attention.all(), rooms: [] });
    for (const { user, device, id } of this.#parts.hub.connections()) {
      if (placement.shardOf(`person:${user}`) !== thread) continue;
      runtime.tell(`person:${user}`, { kind: 'connected', device, shard: data.shard, socket: id } as PersonMessage);
    }
  }

  /**
   * Lets go: no new connections, sockets told to come back elsewhere, requests answered, everything on disk. Answers
   * whether every request was answered in time.
   */
  async drain(): Promise<boolean> {
    const { botAuditBuffer, hub, listener, surface } = this.#parts;
    const { config, lanes } = this.#base;
    listener.stop();
    await hub.drain();
    const deadline = performance.now() + config.drainSeconds * 1000;
    while (surface.inFlight > 0 && performance.now() < deadline) await sleep(DRAIN_CHECK_MILLIS);
    const finished = surface.inFlight === 0;
    for (const lane of lanes.owned) await lane.settle();
    // The closed sockets of bots are told of here, too.
    await botAuditBuffer.settle(performance.now() + BOT_AUDIT_SETTLE_MILLIS);
    return finished;
  }

  async #leave(): Promise<void> {
    const { listener, pushes, retention, sockets, surface, system } = this.#parts;
    const { accounts, attachments, lanes, metrics } = this.#base;
    this.#left.abort();
    this.#parts.presence.stop();
    system.stop();
    surface.stop();
    sockets.stop();
    pushes.stop();
    retention.stop();
    metrics.stop();
    listener.close();
    await lanes.close();
    await accounts.close();
    await attachments.close();
    process.exit(0);
  }
}
