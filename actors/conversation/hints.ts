/**
 * Typing and receipts of large rooms (FRM-01, RCP-02): gathered for a second and told in one frame each, with how many there
 * were and the newest of them. A room of n readers costs n frames a second then, and not n².
 */
import { unixSeconds } from '#src/base/clock.ts';
import type { ReceiptState } from '#src/protocol/conversations/conversations.ts';
import { encodeEvent } from '#src/protocol/sockets/events.ts';
import { HINT_FRAME_MILLIS, HINT_SAMPLE_MAX } from '#src/protocol/limits.ts';
import type { Effect } from '../runtime/actor.ts';

interface Receipt {
  readonly user: string;
  readonly seq: number;
  readonly state: ReceiptState;
}

export class Hints {
  readonly #typing = new Set<string>();
  /** By username, the newest last. */
  readonly #receipts = new Map<string, Receipt>();
  /** When the running second began, in milliseconds. */
  #since = Number.NEGATIVE_INFINITY;

  addTyping(user: string, now: number): readonly Effect[] {
    const waking = this.#wake(now);
    this.#typing.delete(user);
    this.#typing.add(user);
    return waking;
  }

  addReceipt(receipt: Receipt, now: number): readonly Effect[] {
    const waking = this.#wake(now);
    this.#receipts.delete(receipt.user);
    this.#receipts.set(receipt.user, receipt);
    return waking;
  }

  /** The frames of what was gathered, which begins anew. Whoever typed is told of none: typing is never reflected. */
  tell(conversation: string, now: number): readonly Effect[] {
    const ts = unixSeconds(now);
    const effects: Effect[] = [];
    const typing = [...this.#typing].toReversed();
    const receipts = [...this.#receipts.values()].toReversed();
    this.#typing.clear();
    this.#receipts.clear();
    this.#since = Number.NEGATIVE_INFINITY;
    const [typist] = typing;
    if (typist !== undefined) {
      const data = JSON.stringify({ user: typist, count: typing.length, sample: typing.slice(0, HINT_SAMPLE_MAX) });
      const event = encodeEvent({ type: 'typing', conv: conversation, ts }, data);
      effects.push({ kind: 'publish', topic: conversation, type: 'typing', event, except: { users: typing } });
    }
    const [last] = receipts;
    if (last !== undefined) {
      const sample = receipts.slice(0, HINT_SAMPLE_MAX);
      const data = JSON.stringify({ ...last, conversation_id: conversation, count: receipts.length, sample });
      const event = encodeEvent({ type: 'receipt', conv: conversation, seq: last.seq, ts }, data);
      effects.push({ kind: 'publish', topic: conversation, type: 'receipt', event });
    }
    return effects;
  }

  /** The first of a second has the actor woken at its end, and so has whoever comes after a waking that was lost. */
  #wake(now: number): readonly Effect[] {
    if (Math.abs(now - this.#since) < 2 * HINT_FRAME_MILLIS) return [];
    this.#since = now;
    return [{ kind: 'wake', after: HINT_FRAME_MILLIS, message: { kind: 'tellHints' } }];
  }
}
