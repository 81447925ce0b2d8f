/** A live call attempt as it is kept, shown and copied between threads: plain data, without content and without a trace on disk. */
import type { CALL_RESULTS } from '#src/protocol/conversations/messages.ts';

export type CallResult = (typeof CALL_RESULTS)[number];
export type CallState = 'ringing' | 'joined' | 'held' | 'transferring';

/** Somebody who is in the call, on one device. */
export interface Party {
  readonly user: string;
  readonly device: string;
  /** By which they came in, and with which they are out; null for a bot, which has none. */
  readonly session: string | null;
  held: boolean;
  /** Since when the device has no connection, in monotonic milliseconds; null while it has one. */
  absentSince: number | null;
}

/** A hand-over that waits for the consent of its target. */
export interface Transfer {
  readonly by: string;
  readonly device: string;
  readonly target: string;
  /** When the target's devices cease to ring, in monotonic milliseconds. */
  readonly until: number;
}

/** Somebody from outside a pair who was brought in by a transfer, and by whom: that pair is how they are addressed. */
export interface Guest {
  readonly user: string;
  readonly by: string;
}

export interface CallRecord {
  /** The room, or the pair: two usernames in order with a bar between. */
  readonly scope: string;
  /** The client's name of the attempt. */
  readonly call: string;
  readonly isGroup: boolean;
  /** The conversation by which it was begun; null for a call to a person. */
  readonly conversation: string | null;
  readonly host: string;
  readonly video: boolean;
  readonly room: string;
  readonly startedAt: number;
  parties: Party[];
  declined: string[];
  guests: Guest[];
  /** Those of the pair who handed the call over and are no longer addressed. */
  gone: string[];
  transfer: Transfer | null;
  /** When ringing ends, in monotonic milliseconds; null when nothing rings. */
  ringingUntil: number | null;
  /** When a second one was there, in monotonic milliseconds; null while nobody answered. */
  answeredAt: number | null;
  /** When the devices are looked after next, in monotonic milliseconds. */
  rollAt: number;
}

/** What remains of an attempt that is over, for late steps and for the outcome that its client posts. */
export interface EndedCall {
  readonly result: CallResult;
  /** Seconds from the second join to the end; 0 when nobody answered. */
  readonly seconds: number;
  /** When it is forgotten, in monotonic milliseconds. */
  readonly forgetAt: number;
}

/** One state over all parties: held as soon as fewer than two of those who are in it could speak with each other. */
export function stateOf({ parties, transfer, ringingUntil }: CallRecord): CallState {
  if (transfer !== null) return 'transferring';
  if (parties.length < 2) return ringingUntil === null ? 'joined' : 'ringing';
  return parties.filter(({ held }) => !held).length < 2 ? 'held' : 'joined';
}

/** The scope of a pair. */
export function pairScope(users: readonly string[]): string {
  return users.toSorted().join('|');
}

/** The people of a pair's scope. */
export function pairOf(scope: string): string[] {
  return scope.split('|');
}

/** Whether a step of that person can belong to the attempt. Rooms are judged by membership, before. */
export function isAddressed({ isGroup, scope, guests, gone, transfer }: CallRecord, user: string): boolean {
  if (isGroup || transfer?.target === user || guests.some((guest) => guest.user === user)) return true;
  return pairOf(scope).includes(user) && !gone.includes(user);
}

/** Who hears the steps of a pair's attempt: the pair and whoever was brought in, without those who handed it over. */
export function audienceOf({ scope, guests, gone, transfer }: CallRecord): string[] {
  const pair = pairOf(scope).filter((user) => !gone.includes(user));
  const target = transfer === null ? [] : [transfer.target];
  return [...new Set([...pair, ...guests.map(({ user }) => user), ...target])];
}

/** A copy that shares nothing with the original. */
export function copyRecord(record: CallRecord): CallRecord {
  return {
    ...record,
    parties: record.parties.map((party) => ({ ...party })),
    declined: [...record.declined],
    guests: [...record.guests],
    gone: [...record.gone],
  };
}
