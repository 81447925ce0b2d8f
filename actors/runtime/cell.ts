/** A cell: one living actor — its state, its mailbox and the gate that what it said must pass. */
import type { Batch } from '#storage/engine/lane.ts';
import type { Actor, Address, Answer, Tell } from './actor.ts';
import { Mailbox } from './mailbox.ts';

/** Who waits for the answer to a message. */
export interface Asker {
  readonly due: number;
  readonly cancelled: boolean;
  settle(answer: Answer): void;
}

export interface Envelope {
  readonly message: Tell;
  readonly asker: Asker | undefined;
}

export class Cell {
  readonly address: Address;
  readonly key: string;
  readonly actor: Actor<unknown, Tell>;
  readonly mailbox: Mailbox<Envelope>;
  /** Undefined until the first message, and again after a failure: loaded when needed. */
  state: unknown;
  loaded = false;
  /** The last batch this actor appended to. While it is not on disk, nothing the actor says leaves. */
  gate: Batch | undefined;
  /** Counts restarts, so that a wake-up set by an earlier life finds nobody. */
  life = 0;
  failures: readonly number[] = [];
  quarantinedUntil = 0;
  lastActive = 0;
  ready = false;
  readonly held = new Map<string, Asker>();

  constructor(address: Address, actor: Actor<unknown, Tell>) {
    this.address = address;
    this.key = address.slice(address.indexOf(':') + 1);
    this.actor = actor;
    this.mailbox = new Mailbox(actor.mailboxMax);
  }

  /** Whether something it said still waits for the disk. */
  get isGated(): boolean {
    return this.gate !== undefined && !this.gate.settled;
  }
}
