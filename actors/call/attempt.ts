/**
 * The state machine of one call attempt: what a step, a clock or a lost connection does to it, and what has to be told
 * to whom. Nothing here knows how it is told.
 *
 *     invite ─► ringing ─► joined ⇄ held, transferring ─► over
 *                  └─► over: declined, busy, cancelled, missed, failed
 */
import type { ErrorCode } from '#src/protocol/errors.ts';
import { isAddressed, pairOf, type CallRecord, type CallResult, type Party } from './call-record.ts';

/** People in one call. A conference node takes fewer. Beyond it: `call_full`. */
export const CALL_PARTIES_MAX = 500;
/** People of a room whose "no" is remembered, so that a device of theirs that slept does not ring. Others' is only told. */
const DECLINED_MAX = 1_000;

/** How often devices are looked after within the time after which an absent one has left: it may take a third longer. */
export const ROLLS = 3;

/** A step as the machine sees it: who took it on which device, and what it says. */
export interface Step {
  readonly user: string;
  readonly device: string;
  readonly session: string | null;
  readonly kind: string;
  readonly step: string;
  readonly body: { readonly [key: string]: unknown };
}

/** What has to be told. */
export type News =
  /** The step itself, to everybody it concerns but the device, or the person, that took it. */
  | { readonly kind: 'relay'; readonly except: 'device' | 'user' }
  /** The person's other devices may stop: one of them has settled it. */
  | { readonly kind: 'settle'; readonly user: string; readonly device: string; readonly reason: string }
  /** Ringing ends, for these people or for everybody, while the call goes on. */
  | { readonly kind: 'quiet'; readonly users?: readonly string[]; readonly reason: string }
  /** Somebody is out who did not say so. */
  | { readonly kind: 'left'; readonly user: string; readonly reason: string }
  /** The devices of those in the call are to be looked after. */
  | { readonly kind: 'roll' }
  | { readonly kind: 'over'; readonly result: CallResult; readonly reason: string; readonly into?: string };

export interface Refusing {
  readonly refused: ErrorCode;
  readonly field?: string;
}

/** The times of the machine, in milliseconds. */
export interface CallTimes {
  readonly ring: number;
  /** A device without a connection for this long has left. */
  readonly lost: number;
}

/** Applies a step of somebody who may take one. The record changes only if it is not refused. */
export function takeStep(record: CallRecord, step: Step, now: number, times: CallTimes): readonly News[] | Refusing {
  if (!isAddressed(record, step.user)) {
    return { refused: pairOf(record.scope).includes(step.user) ? 'call_over' : 'call_not_found' };
  }
  const party = record.parties.find(({ user }) => user === step.user);
  // What a person's other devices say about a call they are not in would cut the one that is.
  const own = party?.device === step.device ? party : undefined;
  if (step.kind === 'webrtc') {
    return party === undefined || own !== undefined ? [RELAY] : { refused: 'call_not_joined' };
  }
  switch (step.step) {
    case 'invite':
      return { refused: 'call_already_started' };
    case 'join':
      return join(record, step, now);
    case 'decline':
      return decline(record, step);
    case 'cancel':
      return own === undefined ? { refused: 'call_not_joined' } : cancel(record, own);
    case 'end':
      return own === undefined ? { refused: 'call_not_joined' } : [RELAY, ...leave(record, own, 'cancelled')];
    case 'hold':
      if (own === undefined) return { refused: 'call_not_joined' };
      own.held = step.body['held'] !== false;
      return [RELAY];
    case 'transfer':
      return own === undefined ? { refused: 'call_not_joined' } : offer(record, step, now, times);
    default:
      throw new Error(`There is no call step ${step.step}.`);
  }
}

const RELAY: News = { kind: 'relay', except: 'device' };

function join(record: CallRecord, { user, device, session }: Step, now: number): readonly News[] | Refusing {
  if (record.parties.some((party) => party.user === user)) return { refused: 'call_already_joined' };
  if (record.parties.length >= CALL_PARTIES_MAX) return { refused: 'call_full' };
  record.parties.push({ user, device, session, held: false, absentSince: null });
  record.declined = record.declined.filter((one) => one !== user);
  const news: News[] = [
    { kind: 'relay', except: 'user' },
    { kind: 'settle', user, device, reason: 'answered_elsewhere' },
  ];
  if (record.parties.length >= 2) record.answeredAt ??= now;
  if (!record.isGroup) record.ringingUntil = null;
  const { transfer } = record;
  if (transfer?.target !== user) return news;
  record.transfer = null;
  if (!record.isGroup && !pairOf(record.scope).includes(user)) record.guests.push({ user, by: transfer.by });
  const transferor = record.parties.find((party) => party.user === transfer.by);
  if (transferor === undefined) return news;
  news.push({ kind: 'left', user: transfer.by, reason: 'transferred' }, ...leave(record, transferor, 'completed'));
  if (!record.isGroup) record.gone.push(transfer.by);
  return news;
}

function decline(record: CallRecord, { user, device, body }: Step): readonly News[] | Refusing {
  if (record.parties.some((party) => party.user === user)) return { refused: 'call_already_joined' };
  const settled: News[] = [RELAY, { kind: 'settle', user, device, reason: 'declined_elsewhere' }];
  if (record.transfer?.target === user) {
    record.transfer = null;
    return settled;
  }
  if (!record.isGroup) {
    const result = body['reason'] === 'busy' ? 'busy' : 'declined';
    return [...settled, { kind: 'over', result, reason: result }];
  }
  if (record.declined.includes(user)) return [];
  if (record.declined.length < DECLINED_MAX) record.declined.push(user);
  return settled;
}

/** Takes back what rings: one's own transfer, or one's own invite; with nothing ringing it is an end. */
function cancel(record: CallRecord, own: Party): readonly News[] {
  const { transfer } = record;
  if (transfer?.by === own.user) {
    record.transfer = null;
    return [RELAY, { kind: 'quiet', users: [transfer.target], reason: 'cancelled' }];
  }
  return [RELAY, ...leave(record, own, 'cancelled')];
}

function offer(record: CallRecord, step: Step, now: number, times: CallTimes): readonly News[] | Refusing {
  const target = step.body['target'] as string;
  if (record.transfer !== null) return { refused: 'call_transfer_pending' };
  if (record.parties.length < 2) return { refused: 'call_not_joined' };
  if (record.parties.some(({ user }) => user === target)) {
    return { refused: 'call_already_joined', field: 'body.target' };
  }
  record.transfer = { by: step.user, device: step.device, target, until: now + times.ring };
  return [RELAY];
}

/** Takes somebody out, and ends what cannot go on: a call of one, unless that one still rings. */
function leave(record: CallRecord, party: Party, unanswered: CallResult): readonly News[] {
  record.parties = record.parties.filter((other) => other !== party);
  const news: News[] = [];
  if (record.transfer?.by === party.user) {
    news.push({ kind: 'quiet', users: [record.transfer.target], reason: 'cancelled' });
    record.transfer = null;
  }
  if (record.parties.length >= (record.answeredAt === null ? 1 : 2)) return news;
  const result = record.answeredAt === null ? unanswered : 'completed';
  return [...news, { kind: 'over', result, reason: result }];
}

/** Somebody is out without a step of theirs: connection lost or session over, or no longer in the conversation. */
export function takeOut(record: CallRecord, user: string, reason: 'lost' | 'removed'): readonly News[] {
  if (record.transfer?.target === user) {
    record.transfer = null;
    return [{ kind: 'quiet', users: [user], reason }];
  }
  const party = record.parties.find((one) => one.user === user);
  return party === undefined ? [] : [{ kind: 'left', user, reason }, ...leave(record, party, 'failed')];
}

/** What the clock does: ringing and offers end, devices are looked after. */
export function tick(record: CallRecord, now: number, times: CallTimes): readonly News[] {
  if (record.ringingUntil !== null && record.ringingUntil <= now) {
    record.ringingUntil = null;
    if (record.answeredAt === null) return [{ kind: 'over', result: 'missed', reason: 'missed' }];
    return [{ kind: 'quiet', reason: 'unanswered' }];
  }
  if (record.transfer !== null && record.transfer.until <= now) {
    const { target } = record.transfer;
    record.transfer = null;
    return [
      { kind: 'quiet', users: [target], reason: 'unanswered' },
      { kind: 'quiet', reason: 'transfer_unanswered' },
    ];
  }
  if (record.rollAt > now) return [];
  record.rollAt = now + times.lost / ROLLS;
  return [{ kind: 'roll' }];
}

/** When the clock has to be asked next, in monotonic milliseconds. */
export function nextDue({ ringingUntil, transfer, rollAt }: CallRecord): number {
  return Math.min(ringingUntil ?? Infinity, transfer?.until ?? Infinity, rollAt);
}

/** The word of a person's own actor on whether a device is connected. */
export function located(
  record: CallRecord,
  { user, device, connected }: { readonly user: string; readonly device: string; readonly connected: boolean },
  now: number,
  times: CallTimes,
): readonly News[] {
  const party = record.parties.find((one) => one.user === user && one.device === device);
  if (party === undefined) return [];
  party.absentSince = connected ? null : (party.absentSince ?? now);
  if (party.absentSince === null || now - party.absentSince < times.lost) return [];
  return takeOut(record, user, 'lost');
}
