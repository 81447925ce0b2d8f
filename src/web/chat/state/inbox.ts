/** The person's conversations as the list shows them: their mirrors, and what is the person's own about each. */
import type { ConversationMirror } from '#src/client/conversations/conversation-mirror.ts';
import type { ChatConversation, ChatMessage, InboxEntry } from '#src/client/conversations/records.ts';
import type { RoomInvitation } from '#src/client/room-invitations.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { Observable } from '../../kit/observable.ts';

/** Changes of placement and mute come in bursts, from a person's other devices. */
const WALK_GATHER_MILLIS = 300;
/** How long what was kept is the list before it is walked over HTTP, where no socket opens by which the client does. */
const SOCKET_MILLIS = 3_000;

export interface InboxRow {
  readonly conversation: ChatConversation;
  readonly lastMessage: ChatMessage | undefined;
  readonly unread: number;
  readonly mentions: number;
  readonly isFavourite: boolean;
  readonly category: string | null;
  readonly isMuted: boolean;
  readonly draft: string | undefined;
}

/** What is the person's own about a conversation and in no mirror of it. */
type Own = Pick<InboxEntry, 'mentions' | 'isFavourite' | 'category' | 'mutedUntil'> &
  Partial<Pick<InboxEntry, 'draft' | 'lastMessage'>>;
const NOTHING: Own = { mentions: 0, isFavourite: false, category: null, mutedUntil: null };

interface MadeRow {
  readonly rev: number;
  readonly read: number;
  readonly own: Own;
  readonly row: InboxRow;
}

export class Inbox extends Observable {
  readonly #client: ParleyClient;
  readonly #own = new Map<string, Own>();
  #rows: readonly InboxRow[] = [];
  /** Whether something happened since they were made: of a burst they are made once. */
  #isStale = false;
  /** Rows as they were made: of a thousand conversations an event changes one. */
  readonly #made = new Map<string, MadeRow>();
  #invitations: readonly RoomInvitation[] = [];
  #isLoaded = false;
  #sync: string | undefined;
  #walking: Promise<void> = Promise.resolve();
  #isWalkAhead = false;
  /** When this device last changed a draft: what a walk says that began before it is older. In `performance.now()`. */
  readonly #draftedAt = new Map<string, number>();
  #openedAt = 0;
  #isCaughtUp = false;
  /** Told what the server says is left unsent somewhere; undefined for nothing. */
  onDraft: (conv: string, text: string | undefined) => void = () => undefined;

  constructor(client: ParleyClient) {
    super();
    this.#client = client;
    const redraw = () => this.#redraw();
    const redrawSoon = () => this.#redrawSoon();
    client.on('message.new', ({ conv, data }) => this.#heard(conv ?? data.conversation_id, data));
    for (const type of [
      'message.edit',
      'message.delete',
      'conversation.updated',
      'watermarks',
      'afresh',
      'purge',
    ] as const)
      client.on(type, redraw);
    for (const type of ['gone', 'hidden', 'conversation.deleted'] as const) client.on(type, redraw);
    client.on('receipt', redrawSoon);
    client.on('inbox', () => this.#walkSoon());
    // The client walks the inbox itself whenever the socket opened, and tells of all that it reads.
    client.on('connection', ({ state }) => {
      if (state === 'open') this.#openedAt = performance.now();
    });
    client.on('gone', ({ conv }) => void this.#own.delete(conv));
    client.on('inbox-entry', ({ entry }) => this.#take(entry, this.#openedAt));
    client.on('caught-up', () => this.#caughtUp());
    client.on('draft', ({ data: { body, conversation_id: conv } }) => {
      this.#change(conv, { draft: body ?? undefined });
      this.onDraft(conv, body ?? undefined);
    });
    client.on('membership', ({ rev }) => {
      if (rev === undefined) void this.#readInvitations();
      redraw();
    });
    void client.restored().then(() => this.#takeUp());
  }

  /** The newest first. */
  get rows(): readonly InboxRow[] {
    if (this.#isStale) this.#makeRows();
    return this.#rows;
  }

  /** Rooms that the person is asked into. */
  get invitations(): readonly RoomInvitation[] {
    return this.#invitations;
  }

  /** Whether the list was read once: before that it is not empty, it is not known. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  rowOf(conv: string): InboxRow | undefined {
    return this.rows.find(({ conversation }) => conversation.id === conv);
  }

  /** @throws ParleyError */
  async favour(conv: string, isFavourite: boolean): Promise<void> {
    await this.#client.place(conv, { favourite: isFavourite, category: this.#own.get(conv)?.category ?? null });
    this.#change(conv, { isFavourite });
  }

  /** Mutes without an end, or unmutes. @throws ParleyError */
  async mute(conv: string, isMuted: boolean): Promise<void> {
    const until = isMuted ? '9999-12-31T00:00:00.000Z' : null;
    await this.#client.call('putMute', { params: { id: conv }, body: { until } });
    this.#change(conv, { mutedUntil: until === null ? null : Date.parse(until) });
  }

  /** What this device left unsent there; undefined for nothing. */
  draft(conv: string, text: string | undefined): void {
    this.#draftedAt.set(conv, performance.now());
    this.#change(conv, { draft: text });
  }

  /** A conversation that this device made or joined is there at once. */
  refresh(): void {
    this.#redraw();
    this.#walkSoon();
  }

  /** Somebody opened a conversation: what is their own about it is asked for where it is not known. */
  opened(conv: string): void {
    if (this.#own.has(conv)) this.#redraw();
    else this.refresh();
  }

  /** @throws ParleyError */
  async answerInvitation(conv: string, isAccepted: boolean): Promise<void> {
    const { invitations } = this.#client;
    if (isAccepted) await invitations.accept(conv);
    else await invitations.decline(conv);
    await this.#readInvitations();
    this.refresh();
  }

  #heard(conv: string, message: ChatMessage): void {
    const own = this.#own.get(conv) ?? NOTHING;
    // What was missed is told behind the entry that counts it.
    if (message.seq > (own.lastMessage?.seq ?? 0)) {
      const mentions = own.mentions + (this.#isMeant(message) ? 1 : 0);
      this.#own.set(conv, { ...own, lastMessage: message, mentions });
    }
    this.#redrawSoon();
    if (message.sender !== this.#client.user) this.#client.receipt(conv, 'delivered', message.seq);
  }

  #isMeant({ mentions = [], sender }: ChatMessage): boolean {
    const me = this.#client.user;
    return sender !== me && mentions.some((one) => 'all' in one || one.username === me);
  }

  #change(conv: string, change: { [Key in keyof Own]?: Own[Key] | undefined }): void {
    this.#own.set(conv, { ...NOTHING, ...this.#own.get(conv), ...change } as Own);
    this.#redraw();
  }

  #walkSoon(): void {
    if (this.#isWalkAhead) return;
    this.#isWalkAhead = true;
    const walk = () => {
      this.#isWalkAhead = false;
      this.#walking = this.#walking.then(() => this.#walk()).catch(() => undefined);
    };
    setTimeout(walk, this.#isLoaded ? WALK_GATHER_MILLIS : 0);
  }

  /** What was kept from the last visit is the list until it is walked, from where that visit came to. */
  #takeUp(): void {
    if (this.#client.isCaughtUp) return this.#caughtUp();
    const { conversations, inboxSync } = this.#client;
    if (inboxSync === undefined || this.#sync !== undefined) return this.#walkSoon();
    for (const { id, own } of conversations.values()) if (own !== undefined) this.#own.set(id, own);
    this.#sync = inboxSync;
    this.#isLoaded = true;
    void this.#readInvitations();
    this.#redraw();
    setTimeout(() => {
      if (!this.#client.isCaughtUp) this.#walkSoon();
    }, SOCKET_MILLIS);
  }

  /** The client's walk is over. What the first one read before anybody listened is with the conversations. */
  #caughtUp(): void {
    const unheard = this.#isCaughtUp ? [] : this.#client.conversations.values();
    for (const { id, messages, own } of unheard) {
      if (own === undefined) continue;
      const since = messages.filter((message) => message.seq > (own.lastMessage?.seq ?? 0) && this.#isMeant(message));
      this.#takeOwn(id, { ...own, mentions: own.mentions + since.length }, this.#openedAt);
    }
    this.#isCaughtUp = true;
    void this.#walked(this.#client.inboxSync);
  }

  /** Reads what changed since the last walk; a walk that fails is made again after the next reconnect. */
  async #walk(): Promise<void> {
    const begun = performance.now();
    let after = this.#sync;
    let sync: string | undefined;
    for (;;) {
      const page = await this.#client.inbox(after === undefined ? {} : { after });
      sync ??= page.sync;
      for (const item of page.items) this.#take(item, begun);
      if (page.next === null) break;
      after = page.next;
    }
    await this.#walked(sync);
  }

  async #walked(sync: string | undefined): Promise<void> {
    this.#sync = sync;
    if (!this.#isLoaded) await this.#readInvitations();
    this.#isLoaded = true;
    this.#redraw();
  }

  #take(item: InboxEntry | { gone: string }, begun: number): void {
    if ('gone' in item) this.#own.delete(item.gone);
    else this.#takeOwn(item.conversation.id, item, begun);
  }

  #takeOwn(
    conv: string,
    { mentions, isFavourite, category, mutedUntil, draft: said, lastMessage }: Own,
    begun: number,
  ): void {
    const isOlder = (this.#draftedAt.get(conv) ?? -Infinity) >= begun;
    const draft = isOlder ? this.#own.get(conv)?.draft : said;
    const optional = {
      ...(draft === undefined ? {} : { draft }),
      ...(lastMessage === undefined ? {} : { lastMessage }),
    };
    this.#own.set(conv, { mentions, isFavourite, category, mutedUntil, ...optional });
    if (!isOlder) this.onDraft(conv, draft);
  }

  async #readInvitations(): Promise<void> {
    try {
      this.#invitations = await this.#client.invitations.list();
      this.changed();
    } catch {
      // They are read again with the next word of one.
    }
  }

  #redraw(): void {
    this.#isStale = true;
    this.changed();
  }

  #redrawSoon(): void {
    this.#isStale = true;
    this.changedByOthers();
  }

  #makeRows(): void {
    this.#isStale = false;
    const rows = [...this.#client.conversations.values()].flatMap((mirror) => this.#rowOf(mirror) ?? []);
    this.#rows = rows.toSorted((a, b) => instantOf(b) - instantOf(a));
  }

  #rowOf(mirror: ConversationMirror): InboxRow | undefined {
    const { conversation, isHidden } = mirror;
    if (conversation === undefined || isHidden) return undefined;
    const own = this.#own.get(mirror.id) ?? NOTHING;
    const read = mirror.watermarks.get(this.#client.user)?.read ?? 0;
    const isMuted = (own.mutedUntil ?? 0) > Date.now();
    const made = this.#made.get(mirror.id);
    if (made?.rev === mirror.rev && made.read === read && made.own === own && made.row.isMuted === isMuted)
      return made.row;
    const row = { ...this.#makeRow(mirror, conversation, own), isMuted };
    this.#made.set(mirror.id, { rev: mirror.rev, read, own, row });
    return row;
  }

  #makeRow(mirror: ConversationMirror, conversation: ChatConversation, own: Own): Omit<InboxRow, 'isMuted'> {
    const newest = mirror.messages.at(-1);
    const lastMessage = (newest?.seq ?? 0) >= (own.lastMessage?.seq ?? 0) ? newest : own.lastMessage;
    const unread = mirror.unread(this.#client.user) ?? 0;
    return {
      conversation,
      lastMessage,
      unread,
      // Of what was deleted since nobody says whether it was meant for them.
      mentions: Math.min(unread, own.mentions),
      isFavourite: own.isFavourite,
      category: own.category,
      draft: own.draft,
    };
  }
}

/** When something happened there last, in milliseconds. */
function instantOf({ conversation, lastMessage }: InboxRow): number {
  return lastMessage?.createdAt ?? conversation.createdAt;
}
