/** A person's registrations and outbox of pushes, as their lane has them, and what of it is on its way. */
import type { PushDelivery } from '../runtime/actor.ts';
import type { CallSealing } from '#storage/conversations/call-sealing.ts';
import { key, lastPart, numberAt, under } from '#storage/engine/keys.ts';
import type { LaneTable, LaneWrite } from '#storage/engine/lane.ts';
import {
  pushRegistrationRecord,
  pushRowKey,
  pushRowRecord,
  removePushRegistration,
  removePushRow,
  writePushCursor,
  writePushRegistration,
  writePushRow,
  type PushRegistration,
  type PushRow,
} from '#storage/conversations/push-records.ts';

/** What the actor sees of its lane: everything it appended, on disk or not. */
export interface LaneView {
  get(table: LaneTable, itemKey: Buffer): Buffer | undefined;
  keys(table: LaneTable, range: { start: Buffer; end: Buffer }, limit?: number): Buffer[];
}

/** Pushes that wait for one device. Beyond it each conversation keeps its newest; beyond that the oldest go. */
export const OUTBOX_PER_DEVICE_MAX = 64;

export class PushState {
  readonly user: string;
  readonly registrations = new Map<string, PushRegistration>();
  readonly rows = new Map<string, PushRow>();
  /** Rows that the provider is being told of. */
  readonly inFlight = new Set<string>();
  /** Row → how often it was tried in vain, and when it is tried again (milliseconds since 1970). */
  readonly tried = new Map<string, { readonly attempts: number; readonly at: number }>();
  /** Conversation → up to which seq this actor has decided, whatever came of it. Gone with the actor, which a while later is no loss. */
  readonly decided = new Map<string, number>();
  /** The next alarm that is set, in milliseconds since 1970. */
  wakeAt = Infinity;
  /** When the last awake socket went, where that is still to be looked into. */
  lostAt: number | undefined;
  readonly #view: LaneView;
  readonly #calls: CallSealing;
  /** Row → where it lies, of those from before calls were sealed. */
  readonly #plain = new Map<string, Buffer>();

  constructor(user: string, view: LaneView, calls: CallSealing) {
    this.user = user;
    this.#view = view;
    this.#calls = calls;
    for (const itemKey of view.keys('pushRegistrations', under(user))) {
      const device = lastPart(itemKey);
      const stored = view.get('pushRegistrations', itemKey);
      if (stored !== undefined) this.registrations.set(device, pushRegistrationRecord.decode(device, stored));
    }
    for (const itemKey of view.keys('pushOutbox', under(user))) {
      const stored = view.get('pushOutbox', itemKey);
      if (stored === undefined) continue;
      const row = pushRowRecord.decode(itemKey, stored, calls);
      this.rows.set(rowName(row), row);
      if (!itemKey.equals(pushRowKey(user, row, calls))) this.#plain.set(rowName(row), itemKey);
    }
  }

  /** The seq up to which the person's pushes of a conversation were decided; 0 where none ever was due. */
  cursor(conversation: string): number {
    const stored = this.#view.get('pushCursors', key(this.user, conversation));
    return stored === undefined ? 0 : numberAt(stored);
  }

  put(row: PushRow): LaneWrite {
    this.rows.set(rowName(row), row);
    return writePushRow(this.user, row, this.#calls);
  }

  remove(row: Pick<PushRow, 'device' | 'subject' | 'seq'>): LaneWrite {
    const name = rowName(row);
    this.rows.delete(name);
    this.tried.delete(name);
    return removePushRow(this.#plain.get(name) ?? pushRowKey(this.user, row, this.#calls));
  }

  moveCursor(conversation: string, seq: number): LaneWrite {
    return writePushCursor(this.user, conversation, seq);
  }

  register(registration: PushRegistration): LaneWrite {
    this.registrations.set(registration.device, registration);
    return writePushRegistration(this.user, registration);
  }

  /** Takes a registration away with what waits for it; with the last one also what was decided. */
  unregister(device: string): LaneWrite[] {
    if (!this.registrations.delete(device)) return [];
    const writes = [removePushRegistration(this.user, device), ...this.rowsOf(device).map((row) => this.remove(row))];
    if (this.registrations.size > 0) return writes;
    const cursors = this.#view.keys('pushCursors', under(this.user));
    return [...writes, ...cursors.map((itemKey): LaneWrite => ({ table: 'pushCursors', key: itemKey, value: null }))];
  }

  /** What waits for a device, the oldest first. */
  rowsOf(device: string): PushRow[] {
    return [...this.rows.values()]
      .filter((row) => row.device === device)
      .toSorted((a, b) => a.at - b.at || a.seq - b.seq);
  }

  /** Takes out what a device has too much of: all but the newest of each conversation, then the oldest. */
  collapse(device: string): LaneWrite[] {
    const messages = this.rowsOf(device).filter(({ kind }) => kind === 'message');
    if (messages.length <= OUTBOX_PER_DEVICE_MAX) return [];
    const newest = new Map(messages.map((row) => [row.subject, row]));
    const kept = [...newest.values()].toSorted((a, b) => a.at - b.at).slice(-OUTBOX_PER_DEVICE_MAX);
    return messages.filter((row) => !kept.includes(row)).map((row) => this.remove(row));
  }

  /** A row as the provider is to be told of it; undefined when nobody is there to tell. */
  delivery(row: PushRow): PushDelivery | undefined {
    const registration = this.registrations.get(row.device);
    if (registration === undefined) return undefined;
    const attempts = this.tried.get(rowName(row))?.attempts ?? 0;
    return { ...row, user: this.user, address: registration.address, attempts };
  }
}

export function rowName({ device, subject, seq }: Pick<PushRow, 'device' | 'subject' | 'seq'>): string {
  return `${device} ${subject} ${seq}`;
}
