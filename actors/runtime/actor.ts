/**
 * What an actor is: a name, limits and one function from state and message to effects.
 *
 * `receive` has no clock, randomness, socket or disk inside: time arrives as an argument, what is stored is read
 * through the lane it was started with, and everything it wants done it answers as effects, which the runtime
 * carries out in order. State may be changed in place; if `receive` throws, the state is thrown away and loaded anew.
 */
import type { ErrorCode } from '#src/protocol/errors.ts';
import type { EventType } from '#src/protocol/sockets/events.ts';
import type { PushAddress } from '#src/protocol/push/push.ts';
import type { Lane, LaneWrite } from '#storage/engine/lane.ts';
import type { PushRow } from '#storage/conversations/push-records.ts';

/** `<actor>:<key>`, for example `conversation:c_…`: the name by which every thread knows an actor. */
export type Address = `${string}:${string}`;

/** The answer to an ask. A refusal is an expected "no" with its code; it is a value, not an Error. */
export type Answer<Value = unknown> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly field?: string | undefined;
      readonly retryAfter?: number | undefined;
      /** Of a quota that is used up: how much it is. */
      readonly limit?: number | undefined;
    };

export type Refused = Extract<Answer, { ok: false }>;

export function refused(code: ErrorCode, field?: string, retryAfter?: number, limit?: number): Refused {
  return { ok: false, code, field, retryAfter, ...(limit === undefined ? {} : { limit }) };
}

/** Sockets an event is not for. */
export interface Except {
  readonly user?: string | undefined;
  /** More people than one: whom an aggregated hint counts. */
  readonly users?: readonly string[] | undefined;
  readonly device?: string | undefined;
}

/** What `receive` may want done. All actors share these. */
export type Effect =
  /** Put on disk. Nothing behind it in any list of this actor leaves before it is durable. */
  | { readonly kind: 'append'; readonly writes: readonly LaneWrite[] }
  /** Answer the ask that brought this message. */
  | { readonly kind: 'answer'; readonly value: unknown }
  | { readonly kind: 'refuse'; readonly code: ErrorCode; readonly field?: string }
  /** Keep the ask open; a later message answers it by this token. */
  | { readonly kind: 'hold'; readonly token: string }
  | { readonly kind: 'answerHeld'; readonly token: string; readonly answer: Answer }
  /** An event to every socket of a topic (a conversation), on every shard. */
  | {
      readonly kind: 'publish';
      readonly topic: string;
      readonly type: EventType;
      readonly event: string;
      readonly except?: Except;
    }
  /** An event to every socket of these people. */
  | {
      readonly kind: 'publishTo';
      readonly users: readonly string[];
      readonly type: EventType;
      readonly event: string;
      readonly except?: Except;
    }
  /** These people's sockets begin or cease to hear a conversation. */
  | {
      readonly kind: 'membership';
      readonly conversation: string;
      readonly users: readonly string[];
      readonly joined: boolean;
    }
  /** A deleted conversation: nobody's socket hears it any more. */
  | { readonly kind: 'disband'; readonly conversation: string }
  /** Close a device's socket on one shard: a newer one took its place. */
  | { readonly kind: 'displace'; readonly shard: number; readonly device: string; readonly socket: number }
  | { readonly kind: 'tell'; readonly to: Address; readonly message: Tell }
  /** Hand a push to its provider; the actor is told what came of it. */
  | { readonly kind: 'push'; readonly delivery: PushDelivery }
  /** The same actor gets `message` after so many milliseconds, unless it was restarted or passivated before. */
  | { readonly kind: 'wake'; readonly after: number; readonly message: Tell };

/** A push that is due, as it lies in the outbox, with how often it was tried. */
export interface PushDelivery extends PushRow {
  readonly user: string;
  readonly address: PushAddress;
  readonly attempts: number;
}

/** A message as the runtime sees it. */
export interface Tell {
  readonly kind: string;
}

export interface Actor<State, Message extends Tell> {
  readonly name: string;
  /** How many messages may wait for one actor. Beyond it an ask is answered `busy`; a tell is dropped and counted. */
  readonly mailboxMax: number;
  /** Kinds that go ahead of the others: what somebody waits for on a phone that rings. */
  readonly urgent?: readonly Message['kind'][];
  /** Kinds that may be dropped, the newest winning, when the mailbox is full. */
  readonly lossy?: readonly Message['kind'][];
  /** The lane an actor appends to; actors without one store nothing. */
  readonly lane?: (key: string) => Lane;
  start(key: string): State;
  receive(state: State, message: Message, now: number): readonly Effect[];
  /** Whether the state may be dropped when nothing came for a while: true when all of it is on disk or worthless. */
  isIdle(state: State, now: number): boolean;
  /** A few figures of the state for an operator, without content. */
  inspect(state: State): Record<string, number | string | boolean>;
}

/** Any actor, whatever its state and messages: what the runtime is given. */
export interface AnyActor extends Omit<Actor<unknown, Tell>, 'receive' | 'isIdle' | 'inspect'> {
  receive(state: never, message: never, now: number): readonly Effect[];
  isIdle(state: never, now: number): boolean;
  inspect(state: never): Record<string, number | string | boolean>;
}

/** For the default of a switch over message kinds: a forgotten one is a compile error. */
export function unreachable(value: never): never {
  throw new Error(`Unexpected message: ${JSON.stringify((value as Tell).kind)}`);
}

/** The effects of a refusal. */
export function refuse(code: ErrorCode, field?: string): readonly Effect[] {
  return [field === undefined ? { kind: 'refuse', code } : { kind: 'refuse', code, field }];
}
