/**
 * Retention: from which message on a conversation may still be read. It is worked out whenever a record is read, so that
 * what is over its time is gone for every reader at that instant, and not when a job gets to it.
 *
 * The clock that stamped the messages decides. Where it went back, messages around that hour may be hidden as much too
 * early or too late as it went back; a clock that is set ahead hides what is then over its time, and the job removes it.
 */
import { systemClock, type Clock } from '#src/base/clock.ts';
import { messageTime, type ConversationRecord } from '../engine/records.ts';

/** What holds for all conversations of an installation. */
export interface RetentionRule {
  /** How long messages are kept, in seconds; null for ever. */
  readonly seconds: number | null;
  /** A legal hold: nothing goes by its time. */
  readonly isHeld: boolean;
}

export const NO_RETENTION: RetentionRule = { seconds: null, isHeld: false };

/** What this thread reads by. */
let current: { readonly rule: RetentionRule; readonly clock: Clock } = { rule: NO_RETENTION, clock: systemClock };

/** Has this thread read by a rule from now on, and by a clock, which is the machine's without one. */
export function useRetention(rule: RetentionRule, clock: Clock = systemClock): void {
  current = { rule, clock };
}

/** Whether nothing of a conversation may go: by the installation's hold or its own. */
export function isOnHold({ isHeld }: Pick<ConversationRecord, 'isHeld'>, rule = current.rule): boolean {
  return isHeld || rule.isHeld;
}

/** The rule that this thread reads by, with another time for all conversations. */
export function ruleOf(seconds: number): RetentionRule {
  return { ...current.rule, seconds };
}

/** Whether all conversations have a retention by the installation's rule. */
export function isRetentionGeneral(): boolean {
  return current.rule.seconds !== null && !current.rule.isHeld;
}

/**
 * How long messages of a conversation are kept, in seconds: the stricter of its own rule and the installation's, which is
 * the one in force unless another is asked about.
 */
export function secondsKept(
  record: Pick<ConversationRecord, 'isHeld' | 'retention'>,
  rule = current.rule,
): number | undefined {
  if (isOnHold(record, rule)) return undefined;
  const general = rule.seconds ?? undefined;
  if (record.retention === undefined || general === undefined) return record.retention ?? general;
  return Math.min(record.retention, general);
}

/**
 * The last seq that is over its time, or the floor where none is. `stored` answers a message as it lies in the lane,
 * undefined for one that is gone. Looks at one message where nothing is over its time, else at as many as the logarithm
 * of their number; a conversation without a retention is not looked at.
 */
export function expiredUpTo(
  record: ConversationRecord,
  stored: (seq: number) => Buffer | undefined,
  now: number = current.clock.now(),
  rule: RetentionRule = current.rule,
): number {
  const { floorSeq, headSeq } = record;
  const seconds = secondsKept(record, rule);
  if (seconds === undefined || floorSeq >= headSeq) return floorSeq;
  const isOver = (seq: number): boolean => {
    const found = stored(seq);
    return found === undefined || messageTime(found) <= now - seconds * 1000;
  };
  if (!isOver(floorSeq + 1)) return floorSeq;
  let [low, high] = [floorSeq + 1, headSeq];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isOver(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A change of the log as it is looked for here. */
export interface LoggedChange {
  readonly rev: number;
  /** The conversation's head at the change. */
  readonly head: number;
}

/**
 * The rev that the post of a message had. Posts are not in the log, and between two changes there is nothing else, so
 * the first change behind the post tells. `next` answers the first change from a rev on.
 */
export function revOfPost(
  record: ConversationRecord,
  seq: number,
  next: (rev: number) => LoggedChange | undefined,
): number {
  let [low, high] = [record.floorRev + 1, record.rev + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const change = next(middle);
    if (change === undefined || change.head >= seq) high = middle;
    else low = change.rev + 1;
  }
  const { rev, head } = next(low) ?? { rev: record.rev + 1, head: record.headSeq };
  return Math.max(record.floorRev, rev - 1 - (head - seq));
}
