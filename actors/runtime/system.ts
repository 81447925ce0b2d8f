/**
 * The actors of one shard: delivers messages to them, runs their turns and carries out what they decide.
 *
 *     deliver ─► mailbox ─► (end of turn) receive ─► effects ─► [disk] ─► answers, events, tells — in that order
 *
 * The output gate: from an `append` on, whatever the actor says waits until the lane has it on disk, also what a
 * later message makes it say. If the disk refuses, none of it is said and the actor is loaded anew.
 */
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { LogUnavailable } from '#storage/engine/environment.ts';
import type { Batch, Lane } from '#storage/engine/lane.ts';
import { isStorageFault } from '#storage/engine/storage-fault.ts';
import {
  refused,
  type Actor,
  type Address,
  type Answer,
  type AnyActor,
  type Effect,
  type PushDelivery,
  type Tell,
} from './actor.ts';
import { Cell, type Asker, type Envelope } from './cell.ts';
import type { Priority } from './mailbox.ts';
import { monotonicMillis } from './monotonic.ts';
import { ACTOR_POLICY, decide, QUARANTINE_MILLIS } from './supervision.ts';

/** A turn ends after this long, so that sockets are served between the turns of a busy shard. */
const TURN_MILLIS_MAX = 8;
/** An actor that heard nothing for this long, with nothing of its own at stake, leaves memory. */
export const PASSIVATE_MILLIS = 60_000;
/** Records a lane may have waiting for the disk. Beyond it new work is answered `busy`: the disk has stalled. */
export const LANE_BACKLOG_MAX = 100_000;

/** Where effects that leave the shard's actors go: sockets and other shards. */
export interface Outlet {
  publish(effect: Extract<Effect, { kind: 'publish' }>): void;
  publishTo(effect: Extract<Effect, { kind: 'publishTo' }>): void;
  membership(effect: Extract<Effect, { kind: 'membership' }>): void;
  disband(conversation: string): void;
  displace(effect: Extract<Effect, { kind: 'displace' }>): void;
  tell(to: Address, message: Tell): void;
  push(delivery: PushDelivery): void;
}

/** What the runtime reports for the metrics and the log. */
export interface SystemReport {
  restarted(actor: string, address: Address, error: Error): void;
  quarantined(actor: string, address: Address): void;
  dropped(actor: string, kind: string): void;
  storageFailed(address: Address, error: Error): void;
}

export interface SystemOptions {
  readonly actors: readonly AnyActor[];
  readonly now: () => number;
  readonly report: SystemReport;
}

export class ActorSystem {
  readonly #actors: ReadonlyMap<string, Actor<unknown, Tell>>;
  readonly #cells = new Map<Address, Cell>();
  readonly #ready: Cell[] = [];
  readonly #now: () => number;
  readonly #report: SystemReport;
  readonly #sweep: NodeJS.Timeout;
  #outlet: Outlet | undefined;
  #scheduled = false;

  constructor(options: SystemOptions) {
    this.#actors = new Map(options.actors.map((actor) => [actor.name, actor as unknown as Actor<unknown, Tell>]));
    this.#now = options.now;
    this.#report = options.report;
    this.#sweep = setInterval(() => this.#passivate(), PASSIVATE_MILLIS / 4);
    this.#sweep.unref();
  }

  /** Says where effects go; once, before the first message. */
  connect(outlet: Outlet): void {
    this.#outlet = outlet;
  }

  /** Delivers a message to an actor of this shard. With an asker, exactly one answer follows. */
  deliver(to: Address, message: Tell, asker?: Asker): void {
    const cell = this.#cellOf(to);
    if (cell.quarantinedUntil > monotonicMillis()) return this.#reject(cell, message, asker, 'unavailable');
    let lane: Lane | undefined;
    try {
      lane = cell.actor.lane?.(cell.key);
    } catch (error) {
      // There is nothing to write to, so there is nothing to decide.
      if (!(error instanceof Refusal)) throw error;
      return this.#reject(cell, message, asker, error.code);
    }
    if (asker !== undefined && lane !== undefined && lane.backlog > LANE_BACKLOG_MAX) {
      return this.#reject(cell, message, asker, 'busy');
    }
    const envelope: Envelope = { message, asker };
    if (cell.actor.lossy?.includes(message.kind) === true) {
      const kept = cell.mailbox.offerLossy(envelope, (waiting) => waiting.message.kind === message.kind);
      if (!kept) this.#report.dropped(cell.actor.name, message.kind);
    } else if (!cell.mailbox.offer(envelope, this.#priorityOf(cell, message))) {
      return this.#reject(cell, message, asker, 'busy');
    }
    this.#makeReady(cell);
  }

  /** Tells every living actor of a name. */
  broadcast(actor: string, message: Tell): void {
    for (const [address, cell] of this.#cells) if (cell.actor.name === actor) this.deliver(address, message);
  }

  /** Figures of every living actor of a name, or of all: what an operator looks at. */
  inspect(limit: number): { address: Address; waiting: number; gated: boolean; metrics: object }[] {
    return [...this.#cells.values()]
      .toSorted((a, b) => b.mailbox.length - a.mailbox.length || b.lastActive - a.lastActive)
      .slice(0, limit)
      .map((cell) => ({
        address: cell.address,
        waiting: cell.mailbox.length,
        gated: cell.isGated,
        metrics: cell.loaded ? cell.actor.inspect(cell.state) : {},
      }));
  }

  /** How many actors live, and what waits in their mailboxes. */
  get metrics(): { active: Record<string, number>; mailboxes: Record<Priority, number> & { deepest: number } } {
    const active: Record<string, number> = {};
    const mailboxes = { system: 0, urgent: 0, main: 0, deepest: 0 };
    for (const cell of this.#cells.values()) {
      active[cell.actor.name] = (active[cell.actor.name] ?? 0) + 1;
      const { system, urgent, main } = cell.mailbox.depths;
      mailboxes.system += system;
      mailboxes.urgent += urgent;
      mailboxes.main += main;
      mailboxes.deepest = Math.max(mailboxes.deepest, system + urgent + main);
    }
    return { active, mailboxes };
  }

  stop(): void {
    clearInterval(this.#sweep);
  }

  #cellOf(address: Address): Cell {
    const found = this.#cells.get(address);
    if (found !== undefined) return found;
    const actor = this.#actors.get(address.slice(0, address.indexOf(':')));
    if (actor === undefined) throw new Error(`There is no actor for ${address.slice(0, address.indexOf(':'))}.`);
    const cell = new Cell(address, actor);
    this.#cells.set(address, cell);
    return cell;
  }

  #priorityOf(cell: Cell, message: Tell): Priority {
    return cell.actor.urgent?.includes(message.kind) === true ? 'urgent' : 'main';
  }

  #reject(cell: Cell, message: Tell, asker: Asker | undefined, code: ErrorCode): void {
    if (asker === undefined) this.#report.dropped(cell.actor.name, message.kind);
    else asker.settle(refused(code, undefined, 1));
  }

  #makeReady(cell: Cell): void {
    if (!cell.ready) {
      cell.ready = true;
      this.#ready.push(cell);
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Behind the input of this turn: what arrived together is decided together and shares a commit.
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    const end = monotonicMillis() + TURN_MILLIS_MAX;
    // One message of each ready actor in turn, so that a busy room does not hold up a quiet chat.
    for (let cell = this.#ready.shift(); cell !== undefined; cell = this.#ready.shift()) {
      const envelope = cell.mailbox.take();
      if (envelope !== undefined) this.#receive(cell, envelope);
      if (cell.mailbox.length > 0) this.#ready.push(cell);
      else cell.ready = false;
      if (monotonicMillis() >= end) break;
    }
    if (this.#ready.length > 0 && !this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => this.#turn());
    }
  }

  #receive(cell: Cell, envelope: Envelope): void {
    const { message, asker } = envelope;
    const now = monotonicMillis();
    cell.lastActive = now;
    // Whoever asked has given up: doing the work now would only delay those who still wait.
    if (asker !== undefined && (asker.cancelled || asker.due < now)) return asker.settle(refused('unavailable'));
    let effects: readonly Effect[];
    try {
      if (!cell.loaded) {
        cell.state = cell.actor.start(cell.key);
        cell.loaded = true;
      }
      effects = cell.actor.receive(cell.state, message, this.#now());
    } catch (error) {
      this.#failed(cell, error as Error);
      asker?.settle(refused(isStorageFault(error) ? 'storage_damaged' : 'internal'));
      return;
    }
    this.#carryOut(cell, effects, asker);
  }

  /** Carries effects out in order; from an append on, behind the gate. */
  #carryOut(cell: Cell, effects: readonly Effect[], asker: Asker | undefined): void {
    const later: Effect[] = [];
    let appended = false;
    for (const effect of effects) {
      if (effect.kind === 'append') {
        const lane = cell.actor.lane?.(cell.key);
        if (lane === undefined) throw new Error(`${cell.actor.name} has no lane to append to.`);
        cell.gate = lane.append(effect.writes);
        appended = true;
      } else if (cell.isGated) {
        later.push(effect);
      } else {
        this.#perform(cell, effect, asker);
      }
    }
    // Also with nothing to say: a failed commit must throw the state away that was decided on it.
    if (appended || later.length > 0) this.#gate(cell, cell.gate as Batch, later, asker);
  }

  #gate(cell: Cell, batch: Batch, effects: readonly Effect[], asker: Asker | undefined): void {
    const { life } = cell;
    batch.gated.push({
      done: () => {
        for (const effect of effects) this.#perform(cell, effect, asker);
      },
      failed: (error) => {
        asker?.settle(refused(codeOf(error)));
        if (cell.life !== life) return;
        this.#report.storageFailed(cell.address, error);
        this.#reset(cell);
      },
    });
  }

  #perform(cell: Cell, effect: Effect, asker: Asker | undefined): void {
    const outlet = this.#outlet as Outlet;
    switch (effect.kind) {
      case 'answer':
        return asker?.settle({ ok: true, value: effect.value });
      case 'refuse':
        return asker?.settle(refused(effect.code, effect.field));
      case 'publish':
        return outlet.publish(effect);
      case 'publishTo':
        return outlet.publishTo(effect);
      case 'membership':
        return outlet.membership(effect);
      case 'disband':
        return outlet.disband(effect.conversation);
      case 'displace':
        return outlet.displace(effect);
      case 'tell':
        return outlet.tell(effect.to, effect.message);
      case 'push':
        return outlet.push(effect.delivery);
      case 'wake':
        return this.#wake(cell, effect.after, effect.message);
      case 'hold':
        if (asker !== undefined) cell.held.set(effect.token, asker);
        return undefined;
      case 'answerHeld':
        return this.#answerHeld(cell, effect.token, effect.answer);
      case 'append':
        throw new Error('An append does not wait for an append.');
    }
  }

  #answerHeld(cell: Cell, token: string, answer: Answer): void {
    cell.held.get(token)?.settle(answer);
    cell.held.delete(token);
  }

  #wake(cell: Cell, after: number, message: Tell): void {
    const { life } = cell;
    setTimeout(() => {
      if (cell.life === life && this.#cells.get(cell.address) === cell) this.deliver(cell.address, message);
    }, after).unref();
  }

  #failed(cell: Cell, error: Error): void {
    const verdict = decide(cell.failures, monotonicMillis(), ACTOR_POLICY);
    cell.failures = verdict.failures;
    this.#report.restarted(cell.actor.name, cell.address, error);
    this.#reset(cell);
    if (verdict.action === 'restart') return;
    // Restarting the shard would take thousands of sockets down for one bad actor, so only the actor is set aside.
    cell.failures = [];
    cell.quarantinedUntil = monotonicMillis() + QUARANTINE_MILLIS;
    this.#report.quarantined(cell.actor.name, cell.address);
    for (let envelope = cell.mailbox.take(); envelope !== undefined; envelope = cell.mailbox.take()) {
      this.#reject(cell, envelope.message, envelope.asker, 'unavailable');
    }
  }

  /** Drops the state; the next message loads it anew. */
  #reset(cell: Cell): void {
    cell.life += 1;
    cell.state = undefined;
    cell.loaded = false;
    for (const asker of cell.held.values()) asker.settle(refused('unavailable'));
    cell.held.clear();
  }

  #passivate(): void {
    const now = monotonicMillis();
    for (const [address, cell] of this.#cells) {
      if (now - cell.lastActive < PASSIVATE_MILLIS || cell.mailbox.length > 0 || cell.isGated) continue;
      if (cell.held.size > 0 || cell.quarantinedUntil > now) continue;
      if (cell.loaded && !cell.actor.isIdle(cell.state, this.#now())) continue;
      this.#cells.delete(address);
    }
  }
}

/** What an asker is told of a commit that failed. */
function codeOf(error: Error): 'internal' | 'storage_full' | 'unavailable' {
  if (error instanceof LogUnavailable) return 'unavailable';
  return isOutOfSpace(error) ? 'storage_full' : 'internal';
}

/**
 * Whether a commit failed for want of space: the disk's (ENOSPC, quota) or the reserved address space's. LMDB reports
 * a write that the file system cut short, which is how a disk fills up, as an input/output error.
 */
function isOutOfSpace(error: Error): boolean {
  return /no space|ENOSPC|EDQUOT|MDB_MAP_FULL|quota|map.?full|too large|input\/output/i.test(error.message);
}
