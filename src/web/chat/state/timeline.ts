/**
 * The messages of the open conversation that a screen scrolls through: a run of seqs without holes, read page by page to both
 * sides, kept up to date by events. It is not the mirror, which is the newest messages alone.
 *
 *     …  older ◄── [ first … last ] ──► newer  …  head
 */
import type { AnyServerEvent } from '#src/client/events.ts';
import type { HistoryQuery } from '#src/client/messaging-api.ts';
import type { OutboxReport } from '#src/client/conversations/outbox.ts';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { toParleyError } from '#src/client/parley-error.ts';
import type { Unsubscribe } from '#src/client/emitter.ts';
import { Observable } from '../../kit/observable.ts';

/** More than a screen and what is drawn ahead of it: what is read first is not what scrolls into sight next. */
const PAGE = 100;
/** What is known of the newest messages is shown without asking where it fills a screen or two. */
const ENOUGH = 30;
/** Who opens a conversation before what was missed is known waits no longer than that for it; then it begins as it was known. */
const CAUGHT_UP_MILLIS = 1_000;
/** Messages held for scrolling. Beyond it those on the far side go, and are read again when somebody scrolls there. */
export const TIMELINE_KEPT_MAX = 1_000;

export interface TimelineState {
  readonly messages: readonly ChatMessage[];
  /** Whether the first one is the conversation's first, or the last one its newest. */
  readonly isFromStart: boolean;
  readonly isAtHead: boolean;
  /** Counts the times that it began anew, at another place: scrolling starts over. */
  readonly generation: number;
  /** The message that the screen is to begin at; undefined for the newest. */
  readonly beginAt: number | undefined;
  /** The first message that was not read when the conversation was opened; it stays where it was while one reads on. */
  readonly unreadFrom: number | undefined;
}

const EMPTY: TimelineState = {
  messages: [],
  isFromStart: false,
  isAtHead: false,
  generation: 0,
  beginAt: undefined,
  unreadFrom: undefined,
};

export class Timeline extends Observable {
  readonly conv: string;
  readonly #client: ParleyClient;
  readonly #off: Unsubscribe[];
  #state = EMPTY;
  #reading: 'older' | 'newer' | 'anew' | undefined;
  /** The side that was asked for while another page was read. */
  #readNext: 'older' | 'newer' | undefined;
  /** What happened while a page was read, which may be from before it. */
  #meanwhile: AnyServerEvent[] = [];
  #isClosed = false;

  constructor(client: ParleyClient, conv: string) {
    super();
    this.#client = client;
    this.conv = conv;
    const take = (event: AnyServerEvent) => this.#take(event);
    const types = ['message.new', 'message.edit', 'message.delete', 'reaction', 'purge'] as const;
    this.#off = types.map((type) => client.on(type, take));
    // The answer to a post may be here before its event is.
    this.#off.push(client.on('outbox', (report) => this.#sent(report)));
    this.#off.push(client.on('afresh', (event) => event.conv === conv && void this.#again()));
  }

  get state(): TimelineState {
    return this.#state;
  }

  close(): void {
    this.#isClosed = true;
    for (const off of this.#off) off();
  }

  /** Begins at a message, or at the newest one, or at the first unread one where there is one. @throws ParleyError */
  async open(at?: number): Promise<void> {
    // Of one that the list has, its counts are here: its messages need not wait for what else is read of it.
    if (this.#isKnown) this.refresh();
    else await this.#learn();
    if (at === undefined) return await this.#beginAtUnread();
    this.#state = { ...this.#state, unreadFrom: this.#firstUnread() };
    await this.goTo(at);
  }

  get #isKnown(): boolean {
    return this.#client.conversations.get(this.conv)?.conversation !== undefined;
  }

  /** Reads its record. Without a network what was kept of it will do, which a slow device has later than it knows that. */
  async #learn(): Promise<void> {
    try {
      await this.#client.open(this.conv);
    } catch (thrown) {
      if (toParleyError(thrown).status !== 0) throw thrown;
      await this.#client.restored();
      if (!this.#isKnown) throw thrown;
    }
  }

  /**
   * Begins anew with what is here, for somebody who comes back to it; false where that is not what they are to see. What was missed
   * meanwhile comes by events; who shows it refreshes it after that.
   */
  resume(at: number | undefined): boolean {
    const { generation, isAtHead, isFromStart, messages: held } = this.#state;
    const messages = held.slice(-PAGE);
    const unreadFrom = this.#firstUnread();
    const isHere = unreadFrom === undefined || unreadFrom >= (messages[0]?.seq ?? Infinity);
    if (at !== undefined || generation === 0 || !isAtHead || this.#reading !== undefined || !isHere) return false;
    this.#be({
      messages,
      isFromStart: isFromStart && messages.length === held.length,
      isAtHead,
      generation: generation + 1,
      beginAt: unreadFrom,
      unreadFrom,
    });
    return true;
  }

  /** Reads how far the others have read, which the list does not say, and what else was missed. */
  refresh(): void {
    void this.#client.catchUp(this.conv);
  }

  /** One's own words are not unread, and stand between others' that are: so it is counted back from the newest. */
  #firstUnread(): number | undefined {
    const mirror = this.#client.conversations.get(this.conv);
    const me = this.#client.user;
    const read = mirror?.watermarks.get(me)?.read ?? 0;
    const unread = mirror?.unread(me) ?? 0;
    if (mirror === undefined || unread === 0) return undefined;
    const others = mirror.messages.filter(
      ({ deletedAt, sender, seq }) => seq > read && sender !== me && deletedAt === undefined,
    );
    return others.at(-unread)?.seq ?? read + 1;
  }

  /** Goes to a message, wherever it is. @throws ParleyError */
  async goTo(seq: number): Promise<void> {
    await this.#begin({ around: seq }, seq);
  }

  /** Goes to the newest message. @throws ParleyError */
  async goToHead(): Promise<void> {
    await this.#begin({ newest: true }, undefined);
  }

  async readOlder(): Promise<void> {
    const [first] = this.#state.messages;
    if (first === undefined || this.#state.isFromStart || this.#isBusy('older')) return;
    await this.#readPage('older', { beforeSeq: first.seq, limit: PAGE });
  }

  async readNewer(): Promise<void> {
    const last = this.#state.messages.at(-1);
    if (last === undefined || this.#state.isAtHead || this.#isBusy('newer')) return;
    await this.#readPage('newer', { afterSeq: last.seq, limit: PAGE });
  }

  /** Whether a page is being read; then this side is read after it, since a list says once that its end was reached. */
  #isBusy(side: 'older' | 'newer'): boolean {
    if (this.#reading !== undefined && this.#reading !== side) this.#readNext = side;
    return this.#reading !== undefined;
  }

  /** Starts over, as the conversation did: from the newest. */
  async #again(): Promise<void> {
    try {
      await this.goToHead();
    } catch {
      // The next opening of the socket leads here again.
    }
  }

  async #begin(
    at: { readonly newest: true } | { readonly around: number },
    beginAt: number | undefined,
  ): Promise<void> {
    await this.#anew(async () => {
      const pages = 'newest' in at ? [await this.#history({ limit: PAGE })] : await this.#around(at.around);
      this.#beginWith(pages, 'newest' in at, beginAt);
    });
  }

  /** The newest page says which one is the first unread one; where that is further back, it begins there. */
  async #beginAtUnread(): Promise<void> {
    await this.#anew(async () => {
      const here = this.#client.isCaughtUp ? this.#here(ENOUGH) : undefined;
      if (here !== undefined) return this.#beginHere(here);
      const reading = this.#history({ limit: PAGE }).catch((thrown: unknown) => {
        // Without a network what is known of it is shown, and what came since once there is one.
        if (toParleyError(thrown).status === 0 && this.#here(1) !== undefined) return undefined;
        throw thrown;
      });
      // What was read on another device meanwhile is not unread: right after a beginning only the walk of the list knows that.
      const [newest] = await Promise.all([reading, this.#untilCaughtUp(reading)]);
      if (newest === undefined) return this.#beginHere(this.#here(1) ?? []);
      const unreadFrom = this.#firstUnread();
      const isFar = unreadFrom !== undefined && unreadFrom < (newest[0]?.seq ?? 0);
      const pages = isFar ? await this.#around(unreadFrom) : [newest];
      this.#state = { ...this.#state, unreadFrom };
      this.#beginWith(pages, !isFar, unreadFrom);
    });
  }

  async #untilCaughtUp(reading: Promise<unknown>): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, CAUGHT_UP_MILLIS);
    // Without a network nothing is caught up with.
    const failed = reading.then(async (page) => await (page === undefined ? undefined : late.promise));
    await Promise.race([this.#client.caughtUp(), late.promise, failed]);
    clearTimeout(timer);
  }

  /** The newest messages as they are known, where these are so many or all there are, and what is not read is among them. */
  #here(least: number): readonly ChatMessage[] | undefined {
    const mirror = this.#client.conversations.get(this.conv);
    const messages = mirror?.messages.slice(-PAGE) ?? [];
    const [first] = messages;
    if (first === undefined || messages.at(-1)?.seq !== mirror?.headSeq) return undefined;
    const isFar = least > 1 && (this.#firstUnread() ?? Infinity) < first.seq;
    return !isFar && (messages.length >= least || first.seq === 1) ? messages : undefined;
  }

  /** Begins with what is known, without asking. What changes meanwhile comes by events, as with any page. */
  #beginHere(messages: readonly ChatMessage[]): void {
    const unreadFrom = this.#firstUnread();
    const first = messages[0]?.seq ?? 0;
    this.#state = { ...this.#state, unreadFrom };
    this.#beginWith([messages], true, unreadFrom && Math.max(unreadFrom, first), first === 1);
  }

  async #anew(begin: () => Promise<void>): Promise<void> {
    this.#reading = 'anew';
    this.#readNext = undefined;
    this.#meanwhile = [];
    try {
      await begin();
      this.#applyMeanwhile();
    } finally {
      this.#reading = undefined;
      this.#goOn();
    }
  }

  #goOn(): void {
    const side = this.#readNext;
    if (side === undefined || this.#reading !== undefined || this.#isClosed) return;
    this.#readNext = undefined;
    void (side === 'older' ? this.readOlder() : this.readNewer());
  }

  #beginWith(
    pages: readonly (readonly ChatMessage[])[],
    isNewest: boolean,
    beginAt: number | undefined,
    isFromStart = (pages[0]?.length ?? 0) < PAGE,
  ): void {
    const messages = pages.flat();
    const { generation } = this.#state;
    const head = this.#client.conversations.get(this.conv)?.headSeq ?? 0;
    const isAtHead = isNewest || (messages.at(-1)?.seq ?? 0) >= head;
    this.#be({ ...this.#state, messages, isFromStart, isAtHead, generation: generation + 1, beginAt });
  }

  async #around(seq: number): Promise<ChatMessage[][]> {
    return await Promise.all([
      seq > 1 ? this.#history({ beforeSeq: seq, limit: PAGE }) : [],
      this.#history({ afterSeq: seq - 1, limit: PAGE }),
    ]);
  }

  async #readPage(side: 'older' | 'newer', query: HistoryQuery): Promise<void> {
    this.#reading = side;
    this.#meanwhile = [];
    const { generation } = this.#state;
    try {
      const page = await this.#history(query);
      if (generation !== this.#state.generation || this.#isClosed) return;
      if (side === 'older') this.#joinOlder(page);
      else this.#joinNewer(page);
      this.#applyMeanwhile();
    } catch {
      // The socket's next opening, or the next scroll, asks again; the banner says that there is no connection.
    } finally {
      if (this.#reading === side) this.#reading = undefined;
      this.#goOn();
    }
  }

  async #history(query: HistoryQuery): Promise<ChatMessage[]> {
    return (await this.#client.history(this.conv, query)).items;
  }

  #joinOlder(page: readonly ChatMessage[]): void {
    const messages = [...page, ...this.#state.messages].slice(0, TIMELINE_KEPT_MAX);
    const isCut = messages.length < page.length + this.#state.messages.length;
    this.#be({ ...this.#state, messages, isFromStart: page.length < PAGE, isAtHead: this.#state.isAtHead && !isCut });
  }

  #joinNewer(page: readonly ChatMessage[]): void {
    const all = [...this.#state.messages, ...page];
    const messages = all.slice(-TIMELINE_KEPT_MAX);
    const head = this.#client.conversations.get(this.conv)?.headSeq ?? 0;
    const isAtHead = page.length < PAGE || (messages.at(-1)?.seq ?? 0) >= head;
    this.#be({
      ...this.#state,
      messages,
      isAtHead,
      isFromStart: this.#state.isFromStart && messages.length === all.length,
    });
  }

  #sent(report: OutboxReport): void {
    if (report.conv === this.conv && report.state === 'sent' && this.#reading === undefined)
      this.#append(report.message);
  }

  #take(event: AnyServerEvent): void {
    const conv = event.conv ?? (event.data as { conversation_id?: string }).conversation_id;
    if (conv !== this.conv) return;
    if (this.#reading !== undefined) this.#meanwhile.push(event);
    this.#apply(event);
  }

  #applyMeanwhile(): void {
    for (const event of this.#meanwhile) this.#apply(event);
    this.#meanwhile = [];
  }

  #apply(event: AnyServerEvent): void {
    switch (event.type) {
      case 'message.new':
        return this.#append(event.data);
      case 'message.edit':
      case 'message.delete':
        return this.#replace(event.data.seq, (held) => withReactionsOf(held, event.data));
      case 'reaction': {
        const { count, emoji, seq, users } = event.data;
        return this.#replace(seq, (held) => withReaction(held, { count, emoji, users }));
      }
      case 'purge': {
        const messages = this.#state.messages.filter(({ seq }) => seq >= event.data.before_seq);
        return this.#be({ ...this.#state, messages, isFromStart: true });
      }
      default:
        return;
    }
  }

  #append(message: ChatMessage): void {
    const { isFromStart, messages, isAtHead } = this.#state;
    const last = messages.at(-1);
    if (!isAtHead || (last !== undefined && message.seq !== last.seq + 1)) return;
    const root = message.root_seq;
    const counted = root === undefined ? messages : messages.map((held) => withReply(held, message));
    const all = [...counted, message];
    // A page at a time: a list whose beginning moved with each message would have to be reckoned anew each time.
    const kept = all.length > TIMELINE_KEPT_MAX + PAGE ? all.slice(-TIMELINE_KEPT_MAX) : all;
    this.#state = { ...this.#state, messages: kept, isFromStart: isFromStart && kept === all };
    if (message.sender === this.#client.user) this.changed();
    else this.changedByOthers();
  }

  #replace(seq: number, change: (held: ChatMessage) => ChatMessage): void {
    const { messages } = this.#state;
    const at = seq - (messages[0]?.seq ?? 0);
    const held = messages[at];
    if (held?.seq !== seq) return;
    this.#be({ ...this.#state, messages: messages.with(at, change(held)) });
  }

  #be(state: TimelineState): void {
    this.#state = state;
    this.changed();
  }
}

function withReactionsOf(held: ChatMessage, message: ChatMessage): ChatMessage {
  const isBare = message.reactions === undefined && message.deletedAt === undefined;
  const kept = isBare && held.reactions !== undefined ? { reactions: held.reactions } : {};
  return held.deletedAt !== undefined ? held : { ...message, ...kept };
}

function withReaction(held: ChatMessage, reaction: { count: number; emoji: string; users: string[] }): ChatMessage {
  const known = held.reactions ?? [];
  const isKnown = known.some(({ emoji }) => emoji === reaction.emoji);
  const all = isKnown ? known.map((one) => (one.emoji === reaction.emoji ? reaction : one)) : [...known, reaction];
  return { ...held, reactions: all.filter(({ count }) => count > 0) };
}

function withReply(held: ChatMessage, { root_seq: root, seq }: ChatMessage): ChatMessage {
  if (held.seq !== root || (held.last_reply_seq ?? 0) >= seq) return held;
  return { ...held, reply_count: (held.reply_count ?? 0) + 1, last_reply_seq: seq };
}
