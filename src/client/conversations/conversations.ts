/** The conversations of this person: one mirror each, fed by the socket's events and by what is read after a break. */
import { type Changes, ConversationMirror, type FreshState, type Step } from './conversation-mirror.ts';
import { type AnyServerEvent, readEvent } from '../events.ts';
import { type ParleyError, toParleyError } from '../parley-error.ts';
import { type ChatConversation, type InboxEntry, isRecord } from './records.ts';

export interface ConversationsOptions {
  /** The person's username. */
  readonly me: string;
  /** Tells the application of an event: once per event, a conversation's changes in their order. */
  readonly announce: (event: AnyServerEvent) => void;
  /** A conversation appeared or started afresh. */
  readonly onAfresh: (conv: string) => void;
  readonly onEntry: (entry: InboxEntry) => void;
  readonly onGone: (conv: string) => void;
  readonly onWatermarks: (conv: string) => void;
  /** The person hides it from their inbox now, or does not any more. */
  readonly onHidden: (conv: string, isHidden: boolean) => void;
  /** A conversation that was there stands otherwise with the person than before: it is to be asked how. */
  readonly onStanding: (conv: string) => void;
  /** Something is missing: read the conversation's changes. */
  readonly onBehind: (conv: string) => void;
  readonly onTrouble: (error: ParleyError) => void;
}

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #mirrors = new Map<string, ConversationMirror>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  get mirrors(): ReadonlyMap<string, ConversationMirror> {
    return this.#mirrors;
  }

  get(conv: string): ConversationMirror | undefined {
    return this.#mirrors.get(conv);
  }

  /** Takes in the text of a socket frame. What is no event that this client knows is ignored. */
  receive(text: string): void {
    const wire = parse(text);
    if (!isRecord(wire)) return;
    let event: AnyServerEvent | undefined;
    try {
      event = readEvent(wire);
    } catch (thrown) {
      // It is not counted, so the changes are read again once a later one shows the gap.
      return this.#options.onTrouble(toParleyError(thrown));
    }
    if (event?.type === 'conversation.deleted') return this.#receiveDeletion(event);
    const { conv, rev, rev_count } = wire;
    if (typeof conv === 'string' && isRev(rev)) {
      // A stored change of a type that came later than this client is still one change.
      return this.#receiveStep(conv, { rev, revCount: isRev(rev_count) ? rev_count : 1, event });
    }
    if (event !== undefined) this.#receiveHint(event);
  }

  /** Takes a record in that an answer carried. A new conversation starts at it. */
  add(record: ChatConversation): ConversationMirror {
    const known = this.#mirrors.get(record.id);
    if (known === undefined) {
      const mirror = ConversationMirror.ofRecord(record);
      this.#mirrors.set(record.id, mirror);
      return mirror;
    }
    known.observeRecord(record);
    return known;
  }

  /** Takes a mirror in that was kept, unless its conversation is known already. */
  restore(mirror: ConversationMirror): void {
    if (!this.#mirrors.has(mirror.id)) this.#mirrors.set(mirror.id, mirror);
  }

  /** Forgets what is known of a conversation and begins it at an inbox entry, as if it were new here. */
  beginAnew(entry: InboxEntry): void {
    this.#mirrors.delete(entry.conversation.id);
    this.observe(entry);
  }

  /** Takes an inbox entry in. Answers whether the conversation was known before. */
  observe(entry: InboxEntry): boolean {
    const isKnown = this.#mirrors.has(entry.conversation.id);
    const mirror = this.add(entry.conversation);
    mirror.observeEntry(this.#options.me, entry);
    const isOther = mirror.hide(entry.isHidden, entry.conversation.head_seq);
    if (!isKnown) this.#options.onAfresh(mirror.id);
    else if (isOther) this.#options.onHidden(mirror.id, entry.isHidden);
    this.#options.onEntry(entry);
    return isKnown;
  }

  /**
   * Applies what `…/changes` answered and tells of it. Answers how many events that were, or `afresh` when the
   * conversation has to start afresh.
   */
  applyChanges(mirror: ConversationMirror, changes: Changes): number | 'afresh' {
    const applied = mirror.applyChanges(changes);
    if (applied === 'afresh') return 'afresh';
    this.#announceAll(mirror.id, applied.announced);
    if (applied.areWatermarksMoved) this.#options.onWatermarks(mirror.id);
    return applied.announced.length;
  }

  startAfresh(mirror: ConversationMirror, state: FreshState): void {
    const announced = mirror.startAfresh(state);
    this.#options.onAfresh(mirror.id);
    this.#announceAll(mirror.id, announced);
  }

  /** The person hides a conversation from their inbox, or does not any more. */
  hide(conv: string, isHidden: boolean): void {
    if (this.#mirrors.get(conv)?.hide(isHidden) === true) this.#options.onHidden(conv, isHidden);
  }

  /** The conversation is gone for this person. */
  drop(conv: string): void {
    if (this.#mirrors.delete(conv)) this.#options.onGone(conv);
  }

  #receiveStep(conv: string, step: Step): void {
    let mirror = this.#mirrors.get(conv);
    if (mirror === undefined) {
      mirror = ConversationMirror.beforeStep(conv, step);
      this.#mirrors.set(conv, mirror);
    }
    this.#announceAll(conv, mirror.receive(step));
    if (this.#mirrors.has(conv) && (mirror.isBehind || mirror.conversation === undefined)) this.#options.onBehind(conv);
  }

  #receiveDeletion(event: Extract<AnyServerEvent, { type: 'conversation.deleted' }>): void {
    this.#options.announce(event);
    this.drop(event.data.conversation_id);
  }

  /** An event that stands for no change of the counter. */
  #receiveHint(event: AnyServerEvent): void {
    if (event.type === 'receipt') {
      const { user, conversation_id, seq, state } = event.data;
      this.#mirrors.get(conversation_id)?.raiseWatermark(user, { [state]: seq });
    } else if (event.type === 'inbox') {
      const isKnown = this.#mirrors.has(event.data.id);
      this.#receiveRecord(event.data);
      if (isKnown) this.#options.onStanding(event.data.id);
    }
    this.#options.announce(event);
  }

  #receiveRecord(record: ChatConversation): void {
    const mirror = this.add(record);
    if (mirror.isBehind || mirror.epoch !== record.epoch) this.#options.onBehind(record.id);
  }

  #announceAll(conv: string, events: readonly AnyServerEvent[]): void {
    let isGone = false;
    for (const event of events) {
      this.#options.announce(event);
      if (event.type === 'message.new' && this.#mirrors.get(conv)?.showFor(event.data.seq) === true)
        this.#options.onHidden(conv, false);
      // Whoever was removed and asked in again while they were away is there.
      if (event.type === 'membership') isGone = this.#leavingIn(event) ?? isGone;
    }
    if (isGone) this.drop(conv);
  }

  /** Whether the person leaves or comes in by an event; undefined for one of others. */
  #leavingIn({ data }: Extract<AnyServerEvent, { type: 'membership' }>): boolean | undefined {
    if ('meeting_id' in data || !data.participants.some(({ user }) => user === this.#options.me)) return undefined;
    return data.action === 'left' || data.action === 'removed';
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRev(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}
