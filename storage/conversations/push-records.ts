/**
 * What is stored of pushes, in the lane of the person's name:
 *
 *     pushRegistrations [user, device]                 where a device is reached, and by whose session
 *     pushOutbox        [user, device, subject, seq]   a push that is due and not acknowledged
 *     pushCursors       [user, conversation]           up to which seq the person's pushes were decided
 *     meta              ['push']                       up to when all was decided for the people of this lane
 *
 * A subject is a conversation, `call:` and a call attempt, `reminder:` and the id of a reminder, or `invitation:` and the room
 * that the person is asked into. On disk an attempt is a name in its key and sealed in its value (`call-sealing.ts`).
 */
import type { ReminderData } from '#src/protocol/sockets/events.ts';
import type { CallSealing } from './call-sealing.ts';
import type { PushAddress } from '#src/protocol/push/push.ts';
import { key, lastPart, numberAt, numbered, numberOf, numberValue, under } from '../engine/keys.ts';
import type { LaneEnvironment, LaneWrite } from '../engine/lane.ts';
import { pack, unpack } from '../engine/record-codec.ts';

type Tables = LaneEnvironment['tables'];

export interface PushRegistration {
  readonly device: string;
  /** The session that registered it; the registration ends with it. */
  readonly sid: string;
  /** Unix seconds after which that session cannot be renewed. */
  readonly until: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly address: PushAddress;
}

/** Of a call: what the device needs to show before it asks. */
export interface CallDetail {
  readonly call: string;
  /** The conversation it is in; null between two people as such. */
  readonly conversation: string | null;
  readonly host: string;
  readonly video: boolean;
}

export const PUSH_KINDS = ['message', 'call', 'cancel', 'reminder', 'invitation'] as const;
export type PushKind = (typeof PUSH_KINDS)[number];

export interface PushRow {
  readonly device: string;
  readonly subject: string;
  /** The message's; 0 of a call. */
  readonly seq: number;
  readonly kind: PushKind;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly expiresAt: number;
  readonly call: CallDetail | undefined;
  readonly reminder?: ReminderData | undefined;
  /** A call's invite stays, as sent, until it is cancelled or over. */
  readonly isSent: boolean;
}

const CURSOR_KEY = key('push');
const SEQ_BYTES = 6;

export const pushRegistrationRecord = {
  encode: (r: PushRegistration): Buffer => pack([r.sid, r.until, r.at, JSON.stringify(r.address)]),
  decode(device: string, buffer: Buffer): PushRegistration {
    const [sid, until, at, address] = unpack('push registration', buffer) as [string, number, number, string];
    return { device, sid, until, at, address: JSON.parse(address) as PushAddress };
  },
};

/** What stands in front of the attempt in the subject of a call. */
const CALL = 'call:';

export const pushRowRecord = {
  encode: (r: PushRow, calls: CallSealing): Buffer => {
    const call = r.call === undefined ? null : calls.seal(JSON.stringify(r.call));
    const reminder = r.reminder === undefined ? null : JSON.stringify(r.reminder);
    return pack([r.kind, r.at, r.expiresAt, call, r.isSent, ...(reminder === null ? [] : [reminder])]);
  },
  /** Without `calls` a call stays sealed: its subject is its name. */
  decode(itemKey: Buffer, buffer: Buffer, calls?: CallSealing): PushRow {
    const [, device = '', stored = ''] = itemKey.toString('utf8', 0, itemKey.length - SEQ_BYTES - 1).split('\0');
    const [kind, at, expiresAt, call, isSent, reminder] = unpack('push', buffer) as [
      PushKind,
      number,
      number,
      Uint8Array | string | null,
      boolean,
      string | undefined,
    ];
    // Before 2026-11-23 it was a text as it is.
    const text = typeof call === 'string' ? call : call === null ? undefined : calls?.open(call);
    const detail = text === undefined ? undefined : (JSON.parse(text) as CallDetail);
    const subject = detail === undefined ? stored : `${CALL}${detail.call}`;
    const told = reminder === undefined ? {} : { reminder: JSON.parse(reminder) as ReminderData };
    return { device, subject, seq: numberOf(itemKey), kind, at, expiresAt, call: detail, isSent, ...told };
  },
};

export function writePushRegistration(user: string, registration: PushRegistration): LaneWrite {
  const value = pushRegistrationRecord.encode(registration);
  return { table: 'pushRegistrations', key: key(user, registration.device), value };
}

export function removePushRegistration(user: string, device: string): LaneWrite {
  return { table: 'pushRegistrations', key: key(user, device), value: null };
}

export function writePushRow(user: string, row: PushRow, calls: CallSealing): LaneWrite {
  return { table: 'pushOutbox', key: pushRowKey(user, row, calls), value: pushRowRecord.encode(row, calls) };
}

/** Takes away what is stored under a key of `pushRowKey`. */
export function removePushRow(itemKey: Buffer): LaneWrite {
  return { table: 'pushOutbox', key: itemKey, value: null };
}

export function writePushCursor(user: string, conversation: string, seq: number): LaneWrite {
  return { table: 'pushCursors', key: key(user, conversation), value: numberValue(seq) };
}

/** `at` in milliseconds since 1970: what was posted before it is decided for everybody in the lane. */
export function writeDecidedUpTo(at: number): LaneWrite {
  return { table: 'meta', key: CURSOR_KEY, value: numberValue(at) };
}

/** Undefined in a lane where nothing was ever to be decided. */
export function readDecidedUpTo(tables: Tables): number | undefined {
  const value = tables.meta.get(CURSOR_KEY);
  return value === undefined ? undefined : numberAt(value);
}

export function readPushRegistration(tables: Tables, user: string, device: string): PushRegistration | undefined {
  const value = tables.pushRegistrations.get(key(user, device));
  return value === undefined ? undefined : pushRegistrationRecord.decode(device, value);
}

/** Every registration of a lane with its person. */
export function* readPushRegistrations(tables: Tables): Iterable<readonly [user: string, PushRegistration]> {
  for (const entry of tables.pushRegistrations.getRange()) {
    yield [userOf(entry.key), pushRegistrationRecord.decode(lastPart(entry.key), entry.value)];
  }
}

/** The people of a lane for whom pushes wait; one look-up each. */
export function* readPushWaiting(tables: Tables): Iterable<string> {
  let start: Buffer = Buffer.of(0);
  for (;;) {
    const [first] = tables.pushOutbox.getKeys({ start, limit: 1 });
    if (first === undefined) return;
    const user = userOf(first);
    yield user;
    start = under(user).end;
  }
}

/** Where a row lies. */
export function pushRowKey(
  user: string,
  { device, subject, seq }: Pick<PushRow, 'device' | 'subject' | 'seq'>,
  calls: CallSealing,
): Buffer {
  const stored = subject.startsWith(CALL) ? `${CALL}${calls.nameOf(subject.slice(CALL.length))}` : subject;
  return numbered(seq, user, device, stored);
}

function userOf(itemKey: Buffer): string {
  return itemKey.toString('latin1', 0, itemKey.indexOf(0));
}
