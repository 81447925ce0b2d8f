/**
 * The local state of one conversation, kept equal to the server's by its change counter. Pure: it asks for nothing
 * and knows no clock; whoever holds it fetches what it says is missing.
 *
 * A step (an event that stands for stored changes) applies when it joins on to what is known:
 *
 *     known rev 7   step {rev 8,  rev_count 1}   8 - 1 = 7    applies, known rev 8
 *     known rev 8   step {rev 8,  rev_count 1}   8 <= 8       seen before, dropped
 *     known rev 8   step {rev 11, rev_count 1}   11 - 1 > 8   held; 9 and 10 are missing: read the changes after 8
 */
import { UNREAD_COUNT_MAX } from '#src/protocol/limits.ts';
import type { AnyServerEvent } from '../events.ts';
import { MessageWindow } from './message-window.ts';
import type { ChatConversation, ChatMessage, InboxEntry } from './records.ts';

/**
 * Steps held while those before them are fetched. Beyond it further ones are dropped: they come with the next reading
 * of changes, which `isBehind` asks for until nothing is missing.
 */
export const HELD_STEPS_MAX = 256;

/** Events remembered while a page of history is being read. Beyond it the page is not merged and can be read again. */
export const PAGE_READ_EVENTS_MAX = 1_000;

/** Stored changes as they arrive: counted even when this client does not know the event that tells of them. */
export interface Step {
  readonly rev: number;
  readonly revCount: number;
  readonly event: AnyServerEvent | undefined;
}

export interface Watermark {
  readonly delivered: number;
  readonly read: number;
}

/** What `…/changes` answers, with its times read. */
export interface Changes {
  readonly complete: boolean;
  readonly steps: readonly Step[];
  readonly rev: number;
  readonly headSeq: number;
  readonly epoch: string;
  readonly watermarks: ReadonlyMap<string, Watermark>;
}

/** Where to start afresh: the server's counters, and the record and the newest messages as read after them. */
export interface FreshState extends Omit<Changes, 'complete' | 'steps'> {
  readonly record: ChatConversation;
  readonly messages: readonly ChatMessage[];
}

/** What an inbox entry says that is the caller's alone. */
export type OwnState = Omit<InboxEntry, 'conversation' | 'delivered' | 'isHidden' | 'read' | 'unread' | 'unreadAfter'>;

/** A mirror as it is kept between two visits: values that JSON or a structured clone carries. */
export interface KeptMirror {
  readonly record: ChatConversation;
  readonly rev: number;
  readonly headSeq: number;
  readonly isHidden: boolean;
  /** The newest, up to the head. */
  readonly messages: readonly ChatMessage[];
  readonly watermarks: readonly (readonly [string, Watermark])[];
  readonly unreadThen?: UnreadThen;
  readonly own?: OwnState;
}

/** What the last inbox entry said of what the caller has not read, and at which rev. */
interface UnreadThen {
  readonly me: string;
  readonly rev: number;
  readonly unread: number;
  readonly after: number;
  readonly headSeq: number;
  readonly read: number;
}

/** A page of history being read, and what happened meanwhile. */
export interface PageRead {
  readonly events: AnyServerEvent[];
  isOverrun: boolean;
}

export class ConversationMirror {
  readonly id: string;
  #record: ChatConversation | undefined;
  #epoch: string | undefined;
  #rev: number;
  #seenRev: number;
  #headSeq: number;
  /** Of a conversation first heard of by a step nobody said how many messages came before. */
  #knowsHead = true;
  #window: MessageWindow;
  #isHidden = false;
  /** What came up to here was there when it was hidden. */
  #hiddenUpTo = 0;
  #unreadThen: UnreadThen | undefined;
  #own: OwnState | undefined;
  /** Rises with whatever is kept. */
  #version = 0;
  readonly #held = new Map<number, Step>();
  readonly #watermarks = new Map<string, Watermark>();
  readonly #reads = new Set<PageRead>();

  private constructor(id: string, rev: number, headSeq: number, record?: ChatConversation) {
    this.id = id;
    this.#rev = rev;
    this.#seenRev = rev;
    this.#headSeq = headSeq;
    this.#window = new MessageWindow(headSeq);
    this.#record = record;
    this.#epoch = record?.epoch;
  }

  /** A mirror that starts at a record, as an answer or an `inbox` event carries it. */
  static ofRecord(record: ChatConversation): ConversationMirror {
    return new ConversationMirror(record.id, record.rev, record.head_seq, record);
  }

  /** A mirror as it was kept. */
  static ofKept(kept: KeptMirror): ConversationMirror {
    const { headSeq, isHidden, messages, own, record, rev, unreadThen, watermarks } = kept;
    const mirror = new ConversationMirror(record.id, rev, headSeq, record);
    mirror.#window.merge(messages);
    mirror.#isHidden = isHidden;
    mirror.#hiddenUpTo = headSeq;
    for (const [user, watermark] of watermarks) mirror.#watermarks.set(user, watermark);
    mirror.#unreadThen = unreadThen;
    mirror.#own = own;
    return mirror;
  }

  /** A mirror of a conversation first heard of by a step: it starts right before it. */
  static beforeStep(id: string, step: Step): ConversationMirror {
    const mirror = new ConversationMirror(id, step.rev - step.revCount, 0);
    mirror.#knowsHead = false;
    return mirror;
  }

  /** The conversation as known now, or undefined until its record was read. */
  get conversation(): ChatConversation | undefined {
    return this.#record === undefined ? undefined : { ...this.#record, head_seq: this.#headSeq, rev: this.#rev };
  }

  /** What is to be kept of it, with so many of its newest messages; undefined until its record was read. */
  keep(messages: number): KeptMirror | undefined {
    const { conversation: record } = this;
    if (record === undefined) return undefined;
    return {
      record,
      rev: this.#rev,
      headSeq: this.#headSeq,
      isHidden: this.#isHidden,
      messages: messages === 0 ? [] : this.#window.list().slice(-messages),
      watermarks: [...this.#watermarks],
      ...(this.#unreadThen !== undefined && { unreadThen: this.#unreadThen }),
      ...(this.#own !== undefined && { own: this.#own }),
    };
  }

  /** Rises with whatever `keep` answers. */
  get version(): number {
    return this.#version;
  }

  /** What the last inbox entry said that is the person's alone. Later changes of it are told by `inbox` events, which name nothing. */
  get own(): OwnState | undefined {
    return this.#own;
  }

  /** Whether the person hides it from their inbox, as far as was told. */
  get isHidden(): boolean {
    return this.#isHidden;
  }

  /** Hides it up to a message, or shows it again; answers whether it was otherwise. */
  hide(isHidden: boolean, upTo: number = this.#headSeq): boolean {
    this.#hiddenUpTo = upTo;
    const isOther = this.#isHidden !== isHidden;
    this.#isHidden = isHidden;
    if (isOther) this.#version += 1;
    return isOther;
  }

  /** Shows it again for a message that came behind what it was hidden up to; answers whether it was hidden. */
  showFor(seq: number): boolean {
    return seq > this.#hiddenUpTo && this.hide(false, seq);
  }

  get rev(): number {
    return this.#rev;
  }

  /** Undefined until a record or an answer told it. */
  get epoch(): string | undefined {
    return this.#epoch;
  }

  get headSeq(): number {
    return this.#headSeq;
  }

  /** The newest messages known, in seq order and without holes up to the head. */
  get messages(): ChatMessage[] {
    return this.#window.list();
  }

  /** The newest message, where it is known. */
  get newest(): ChatMessage | undefined {
    return this.#window.get(this.#headSeq);
  }

  /** How far each participant got. People who never confirmed anything are not in it. */
  get watermarks(): ReadonlyMap<string, Watermark> {
    return this.#watermarks;
  }

  /** Whether the server was seen ahead of what is known: the changes after `rev` have to be read. */
  get isBehind(): boolean {
    return this.#rev < this.#seenRev;
  }

  /** Takes a step in. Answers the events to announce, in order: none, this one, or also those held behind it. */
  receive(step: Step): AnyServerEvent[] {
    if (step.rev <= this.#rev) return [];
    this.#seenRev = Math.max(this.#seenRev, step.rev);
    if (step.rev - step.revCount !== this.#rev) {
      if (this.#held.size < HELD_STEPS_MAX) this.#held.set(step.rev, step);
      return [];
    }
    return [...this.#advance(step), ...this.#release()];
  }

  /** Notes that the server is at this rev at least, as a record or an inbox item told. */
  observeRev(rev: number): void {
    this.#seenRev = Math.max(this.#seenRev, rev);
  }

  /** Takes a newer record in: what it says beside the counters, which only steps move. */
  observeRecord(record: ChatConversation): void {
    this.#version += 1;
    if (record.rev >= (this.#record?.rev ?? 0)) this.#record = keepParticipants(this.#record, record);
    this.#epoch ??= record.epoch;
    this.observeRev(record.rev);
  }

  /** Takes what an inbox entry says about the caller. */
  observeEntry(me: string, entry: InboxEntry): void {
    this.observeRecord(entry.conversation);
    this.raiseWatermark(me, entry);
    const { conversation, delivered: _, isHidden: __, read, unread, unreadAfter: after, ...own } = entry;
    this.#own = own;
    this.#unreadThen = { me, rev: conversation.rev, unread, after, headSeq: conversation.head_seq, read };
    if (entry.lastMessage?.seq === this.#headSeq) this.#window.add(entry.lastMessage);
  }

  /**
   * Applies the changes after a rev that was known when they were asked for. Answers what to announce, or `afresh`
   * when they do not join on: an incomplete answer, another epoch (the data folder was restored), or a hole.
   */
  applyChanges(changes: Changes): { announced: AnyServerEvent[]; areWatermarksMoved: boolean } | 'afresh' {
    if (!changes.complete || (this.#epoch !== undefined && this.#epoch !== changes.epoch)) return 'afresh';
    const announced: AnyServerEvent[] = [];
    for (const step of changes.steps) {
      if (step.rev <= this.#rev) continue;
      if (step.rev - step.revCount !== this.#rev) return 'afresh';
      announced.push(...this.#advance(step));
    }
    if (this.#rev < changes.rev) return 'afresh';
    if (this.#rev === changes.rev) this.#meetHead(changes.headSeq);
    this.#epoch = changes.epoch;
    let areWatermarksMoved = false;
    for (const [user, watermark] of changes.watermarks) {
      if (this.raiseWatermark(user, watermark)) areWatermarksMoved = true;
    }
    return { announced: [...announced, ...this.#release()], areWatermarksMoved };
  }

  /** Forgets what is known and starts from a fresh state. Answers the events held that happened after it. */
  startAfresh(state: FreshState): AnyServerEvent[] {
    this.#version += 1;
    const isOtherEpoch = this.#epoch !== state.epoch;
    this.#epoch = state.epoch;
    this.#record = state.record;
    this.#rev = state.rev;
    // Steps of another epoch counted something else.
    this.#seenRev = isOtherEpoch ? state.rev : Math.max(this.#seenRev, state.rev);
    if (isOtherEpoch) this.#held.clear();
    this.#knowsHead = true;
    this.#headSeq = Math.max(state.headSeq, state.messages.at(-1)?.seq ?? 0);
    this.#window = new MessageWindow(this.#headSeq);
    this.#window.merge(state.messages);
    this.#watermarks.clear();
    for (const [user, watermark] of state.watermarks) this.#watermarks.set(user, watermark);
    this.#unreadThen = undefined;
    for (const read of this.#reads) read.isOverrun = true;
    return this.#release();
  }

  /** A page of history is about to be read. End it with `endRead`, whatever comes of it. */
  beginRead(): PageRead {
    const read: PageRead = { events: [], isOverrun: false };
    this.#reads.add(read);
    return read;
  }

  /**
   * The page was read (or not: no items). What touches the known messages joins them, and what happened while it was
   * read is applied to it again, since the page may be from before that.
   */
  endRead(read: PageRead, items: readonly ChatMessage[]): void {
    this.#reads.delete(read);
    if (read.isOverrun || !this.#window.merge(items)) return;
    this.#version += 1;
    for (const event of read.events) this.#show(event);
  }

  /** Moves a person's watermarks up, never down; read implies delivered (RCP-01). Answers whether any moved. */
  raiseWatermark(user: string, mark: Partial<Watermark>): boolean {
    const known = this.#watermarks.get(user) ?? { delivered: 0, read: 0 };
    const read = Math.max(known.read, mark.read ?? 0);
    const delivered = Math.max(known.delivered, mark.delivered ?? 0, read);
    if (delivered === known.delivered && read === known.read) return false;
    this.#watermarks.set(user, { delivered, read });
    this.#version += 1;
    return true;
  }

  /**
   * How many messages the person has not read, own and deleted ones left out, up to UNREAD_COUNT_MAX. Counted where
   * the messages are known down to the watermark; otherwise the server's count of the last inbox walk plus what came
   * since, or undefined when neither can tell.
   */
  unread(me: string): number | undefined {
    const then = this.#unreadThen;
    const read = this.#watermarks.get(me)?.read ?? 0;
    const after = Math.max(read, then?.after ?? 0);
    if (this.#window.from <= after + 1) return this.#countUnread(me, after);
    if (then === undefined || then.read !== read || this.#window.from > then.headSeq + 1) return undefined;
    return Math.min(UNREAD_COUNT_MAX, then.unread + this.#countUnread(me, then.headSeq));
  }

  #countUnread(me: string, afterSeq: number): number {
    let unread = 0;
    for (const { seq, sender, deletedAt } of this.#window.list()) {
      if (seq > afterSeq && sender !== me && deletedAt === undefined) unread += 1;
    }
    return Math.min(UNREAD_COUNT_MAX, unread);
  }

  /** One that the server had counted as unread was deleted since; of those behind its head the window knows. */
  #uncount({ sender, seq }: ChatMessage, rev: number): void {
    const then = this.#unreadThen;
    if (then === undefined || rev <= then.rev || sender === then.me || seq > then.headSeq) return;
    if (seq <= Math.max(then.after, then.headSeq - UNREAD_COUNT_MAX)) return;
    this.#unreadThen = { ...then, unread: Math.max(0, then.unread - 1) };
  }

  /** The newest message is that one, where nobody said so before: those up to it are not known. */
  #meetHead(headSeq: number): void {
    if (this.#knowsHead) return;
    this.#knowsHead = true;
    this.#headSeq = headSeq;
    this.#window = new MessageWindow(headSeq);
  }

  /** Whoever leaves and comes in again has read nothing, but what an inbox entry said of them since. */
  #forgetMarks({ data }: Extract<AnyServerEvent, { type: 'membership' }>, rev: number): void {
    if ('meeting_id' in data || (data.action !== 'left' && data.action !== 'removed')) return;
    const then = this.#unreadThen;
    for (const { user } of data.participants) {
      this.#watermarks.delete(user);
      if (then?.me === user && then.rev >= rev) this.raiseWatermark(user, then);
    }
  }

  /** Applies a step that joins on, and answers its event unless it was known before it came. */
  #advance(step: Step): AnyServerEvent[] {
    this.#version += 1;
    this.#rev = step.rev;
    this.#seenRev = Math.max(this.#seenRev, step.rev);
    const { event } = step;
    if (event === undefined) return [];
    if (event.type === 'message.new') this.#meetHead(event.data.seq - 1);
    for (const read of this.#reads) {
      if (read.events.length < PAGE_READ_EVENTS_MAX) read.events.push(event);
      else read.isOverrun = true;
    }
    this.#show(event);
    if (event.type === 'message.delete') this.#uncount(event.data, step.rev);
    if (event.type === 'membership') this.#forgetMarks(event, step.rev);
    if (event.type !== 'message.new') return [event];
    // A fresh start's page may hold a message whose step comes after it; seqs rise, so a number tells.
    if (event.data.seq <= this.#headSeq) return [];
    this.#headSeq = event.data.seq;
    return [event];
  }

  /** The held steps that join on now. */
  #release(): AnyServerEvent[] {
    const announced: AnyServerEvent[] = [];
    for (const step of [...this.#held.values()].toSorted((a, b) => a.rev - b.rev)) {
      if (step.rev > this.#rev && step.rev - step.revCount !== this.#rev) continue;
      this.#held.delete(step.rev);
      if (step.rev > this.#rev) announced.push(...this.#advance(step));
    }
    return announced;
  }

  /** Brings an event into what is shown. Doing so twice changes nothing. */
  #show(event: AnyServerEvent): void {
    switch (event.type) {
      case 'message.new':
        return this.#window.add(event.data);
      case 'message.edit':
      case 'message.delete':
        return this.#window.replace(event.data);
      case 'reaction':
        return this.#window.setReaction(event.data.seq, {
          emoji: event.data.emoji,
          count: event.data.count,
          users: event.data.users,
        });
      case 'conversation.updated':
        this.#record = event.data;
        return;
      case 'purge':
        return this.#window.purge(event.data.before_seq);
      case 'membership':
        this.#record = withMembership(this.#record, event);
        return;
      default:
        return;
    }
  }
}

/** A record without its participants is no news that they left: an answer leaves them out when they are many. */
function keepParticipants(known: ChatConversation | undefined, record: ChatConversation): ChatConversation {
  const participants = known?.participant_count === record.participant_count ? known.participants : undefined;
  return record.participants === undefined && participants !== undefined ? { ...record, participants } : record;
}

function withMembership(
  record: ChatConversation | undefined,
  { data }: Extract<AnyServerEvent, { type: 'membership' }>,
): ChatConversation | undefined {
  if (record === undefined || 'meeting_id' in data) return record;
  const { participants: known, ...rest } = record;
  const counted = { ...rest, participant_count: data.participant_count };
  if (known === undefined) return counted;
  // `user` is who did it; those it was done to are the participants.
  const named = new Set(data.participants.map(({ user }) => user));
  const others = known.filter(({ user }) => !named.has(user));
  const isLeaving = data.action === 'left' || data.action === 'removed';
  return { ...counted, participants: isLeaving ? others : [...others, ...data.participants] };
}
