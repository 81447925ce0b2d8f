/** A person on a device, signed in and connected: the whole SDK behind one object. */
import type { ReceiptState } from '#src/protocol/conversations/conversations.ts';
import type { MessagingRoute } from '#src/protocol/routes.ts';
import type { Session as WireSession } from '#src/protocol/sessions/sessions.ts';
import { AccountApi } from './account-api.ts';
import { CalendarApi } from './calendar-api.ts';
import type { BodyOf, CallInput, ReplyOf } from './calls.ts';
import { CatchUp, type Walk } from './conversations/catch-up.ts';
import type { ConversationMirror } from './conversations/conversation-mirror.ts';
import { Conversations } from './conversations/conversations.ts';
import { KeptConversations } from './conversations/kept-conversations.ts';
import { CustomEmojis } from './custom-emoji.ts';
import { Directory, directoryRequest } from './directory.ts';
import type { Unsubscribe } from './emitter.ts';
import type { AnyServerEvent, ClientEvents } from './events.ts';
import { readUnixSeconds } from './instants.ts';
import { Meetings } from './meetings.ts';
import { MessageReading } from './conversations/message-reading.ts';
import { Attachments } from './conversations/attachments.ts';
import { type HistoryPage, type HistoryQuery, type InboxPage, MessagingApi } from './messaging-api.ts';
import { type MessageForm, Outbox, type OutboxEntry } from './conversations/outbox.ts';
import { clientError, type ParleyError, refusal, toParleyError } from './parley-error.ts';
import { RoomAvatars } from './room-avatars.ts';
import { RoomInvitations } from './room-invitations.ts';
import { OwnRights } from './own-rights.ts';
import { Presences } from './presences.ts';
import { Receipts } from './conversations/receipts.ts';
import { type ChatConversation, type ChatMessage, readConversation, readMessage } from './conversations/records.ts';
import type { AccountRights, ConversationRights } from './conversations/rights.ts';
import { cookieForm, Session, signIn } from './connection/session.ts';
import { type ConnectionReport, Socket, type Verdict } from './connection/socket.ts';
import type { Standing } from './connection/standing.ts';
import {
  type ClientOptions,
  type ResumeOptions,
  type SignInOptions,
  type ClientContext,
  surround,
} from './client-context.ts';
import { Typing } from './conversations/typing.ts';
import { WebPush } from './web-push.ts';

export class ParleyClient {
  /** Threads, mentions and who read what, asked of the server. */
  readonly reading: MessageReading;
  /** Files: uploads, downloads, thumbnails. */
  readonly attachments: Attachments;
  /** The person's own account: profile, picture, sessions, notifications, passwords. */
  readonly account: AccountApi;
  readonly calendar: CalendarApi | undefined;
  /** What people are called, and searching for them. */
  readonly directory: Directory;
  /** Who is online or away; `presence` events tell of changes. */
  readonly presences: Presences;
  /** Rooms that the person is asked into; `membership` events without a `rev` tell of changes. */
  readonly invitations: RoomInvitations;
  /** Meetings: their links and lobbies. `membership` events with a `meeting_id` tell of changes. */
  readonly meetings: Meetings;
  /** Emoji of the installation's own. */
  readonly customEmojis: CustomEmojis;
  /** Pictures of rooms. */
  readonly roomAvatars: RoomAvatars;
  /** Pushes to this browser while no page of the app is open. */
  readonly webPush: WebPush;
  readonly #surroundings: ClientContext;
  readonly #session: Session;
  readonly #api: MessagingApi;
  readonly #conversations: Conversations;
  readonly #catchUp: CatchUp;
  readonly #kept: KeptConversations;
  readonly #outbox: Outbox;
  readonly #receipts: Receipts;
  readonly #typing: Typing;
  readonly #rights: OwnRights;
  readonly #socket: Socket;
  #isCaughtUp = false;
  #hasConnected = false;
  /** The socket was quiet for long, and a walk finds out whether it is dead. */
  #isDoubting = false;
  #stopped: ParleyError | undefined;

  /**
   * Signs a person in, connects and starts catching up. Fulfilled once signed in; `caughtUp()` waits for the rest.
   * @throws ParleyError `login_failed`, `rate_limited`, `client_too_old`, or what any request may fail with.
   */
  static async signIn(options: SignInOptions): Promise<ParleyClient> {
    const context = surround(options);
    const { username, password, device } = options;
    const wire = await signIn(context.coordinator, {
      username,
      password,
      ...(device === undefined ? {} : { device: { name: device.name, platform: device.platform } }),
      ...(device?.id === undefined ? {} : { device_id: device.id }),
      ...cookieForm(options.sessionCookie),
    });
    return new ParleyClient(options, context, wire);
  }

  /** Goes on with a session that was kept, as after a reload. One that has run out is renewed. */
  static resume(options: ResumeOptions): ParleyClient {
    return new ParleyClient(options, surround(options), options.session);
  }

  private constructor(options: ClientOptions, context: ClientContext, wire: WireSession) {
    const { emitter, timers, random, coordinator, messaging } = context;
    const onTrouble = (thrown: unknown) => emitter.emit('trouble', { error: toParleyError(thrown) });
    this.#surroundings = context;
    this.#session = new Session(wire, {
      coordinator,
      timers,
      inCookie: options.sessionCookie === true,
      turn: options.renewing,
      onRenewed: (renewed) => this.#renewed(renewed),
      onOver: (error) => this.#signedOut(error),
    });
    const api = (this.#api = new MessagingApi(this.#session, messaging));
    this.#rights = new OwnRights(api, context);
    this.reading = new MessageReading(api);
    this.account = new AccountApi(this.#session, coordinator);
    this.calendar = context.calendar && new CalendarApi(this.#session, context.calendar);
    const request = directoryRequest(this.#session, coordinator);
    this.directory = new Directory({ request, timers });
    this.customEmojis = new CustomEmojis({ session: this.#session, http: coordinator, timers });
    this.attachments = new Attachments({ session: this.#session, http: messaging, timers, random });
    this.#conversations = new Conversations({
      me: wire.user,
      announce: (event) => this.#announce(event),
      onAfresh: (conv) => emitter.emit('afresh', { conv }),
      onEntry: (entry) => emitter.emit('inbox-entry', { entry }),
      onGone: (conv) => {
        this.#receipts.forget(conv);
        emitter.emit('gone', { conv });
      },
      onWatermarks: (conv) => emitter.emit('watermarks', { conv }),
      onHidden: (conv, isHidden) => emitter.emit('hidden', { conv, isHidden }),
      onStanding: (conv) => void this.#readStanding(conv).catch(onTrouble),
      onBehind: (conv) => void this.#catchUp.conversation(conv),
      onTrouble,
    });
    this.#catchUp = new CatchUp({
      source: api,
      conversations: this.#conversations,
      timers,
      random,
      onDone: (walk) => this.#walked(walk),
      onTrouble,
    });
    const kept = { store: options.conversationStore, conversations: this.#conversations, catchUp: this.#catchUp };
    this.#kept = new KeptConversations({ ...kept, timers, onTrouble });
    this.#outbox = new Outbox({
      me: wire.user,
      send: (entry) => this.#send(entry),
      store: options.store,
      timers,
      random,
      onReport: (report) => emitter.emit('outbox', report),
      onTrouble,
    });
    const send = (conv: string, state: ReceiptState, seq: number) => api.postReceipt(conv, state, seq);
    this.#receipts = new Receipts({ send, timers, random, onTrouble });
    this.#socket = this.#makeSocket(options.messagingUrl);
    const tell = (awake: boolean) => this.#socket.send({ kind: 'presence', awake });
    this.presences = new Presences(api, context, tell);
    this.invitations = new RoomInvitations(api);
    const enter = (conv: string) => this.#enter(conv);
    this.meetings = new Meetings({ session: this.#session, http: coordinator, enter });
    this.roomAvatars = new RoomAvatars(this.#session, messaging);
    this.webPush = new WebPush(api);
    this.#typing = new Typing((conv) => this.#socket.send({ kind: 'typing', conv }), timers);
    // A session without its token is renewed first: a socket would be refused.
    if (wire.token === '') void this.#session.renew('').catch(() => {});
    else this.#connect();
    void this.#outbox.start();
  }

  /** Follows a room that the person came into just now, before its event is here. */
  async #enter(conv: string): Promise<ChatConversation> {
    const record = readConversation(await this.#api.call('readConversation', { params: { id: conv } }));
    this.#conversations.add(record);
    return record;
  }

  /** The person's username. */
  get user(): string {
    return this.#session.wire.user;
  }

  /** The session as it stands, for who wants to `resume` after a reload. It holds the token: keep it like a password. */
  get session(): WireSession {
    return this.#session.wire;
  }

  /** Takes over what another tab, which shares the kept session, has renewed it to: with `renewed` there, keep and tell it. */
  adoptSession(session: WireSession): void {
    if (this.#session.adopt(session)) this.#connect();
  }

  /** Renews the session now: what it may has changed, as with a second factor. @throws ParleyError */
  async renewSession(): Promise<void> {
    await this.#session.renew(this.#session.token);
  }

  get standing(): Standing {
    return this.#surroundings.standing.current;
  }

  get isConnected(): boolean {
    return this.#socket.isOpen;
  }

  /** Fulfilled when the conversations that were kept from the last visit are there; at once where none are. */
  restored(): Promise<void> {
    return this.#kept.restored;
  }

  /** Where a walk of the inbox that tells what changed since is to begin; undefined before all of it was read once. */
  get inboxSync(): string | undefined {
    return this.#catchUp.sync;
  }

  /** Saves what changed of the conversations, for a page that may be gone in a moment. */
  async keep(): Promise<void> {
    await this.#kept.save();
  }

  /** The conversations known so far, by id. After `caughtUp()` these are all of the person's. */
  get conversations(): ReadonlyMap<string, ConversationMirror> {
    return this.#conversations.mirrors;
  }

  /** What waits to be sent, conversation by conversation in order. */
  get outbox(): OutboxEntry[] {
    return this.#outbox.entries;
  }

  /** Calls the listener for every event of the type; the answer takes it away again. */
  on<Type extends keyof ClientEvents>(type: Type, listener: (event: ClientEvents[Type]) => void): Unsubscribe {
    return this.#surroundings.emitter.on(type, listener);
  }

  /** Whether the socket is open and everything missed was told. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  /** Fulfilled when the socket is open and everything missed was told. @throws ParleyError once it never will be. */
  caughtUp(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped);
    if (this.#isCaughtUp) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const off = [
        this.on('caught-up', () => settle(resolve)),
        this.on('connection', ({ state }) => {
          if (state === 'stopped') settle(() => reject(this.#stopped ?? clientError('client_closed')));
        }),
      ];
      const settle = (answer: () => void) => {
        for (const unsubscribe of off) unsubscribe();
        answer();
      };
    });
  }

  /** The direct conversation with a person: the one there is, or a new one. */
  async createDirect(username: string): Promise<ChatConversation> {
    return await this.#create({ kind: 'direct', participants: [username] });
  }

  /** A new room of one's own; one that is to be public takes a title. */
  async createRoom(
    room: Omit<BodyOf<'createConversation'> & { kind: 'room' }, 'kind'> = {},
  ): Promise<ChatConversation> {
    return await this.#create({ kind: 'room', participants: [], ...room });
  }

  /** A page of the rooms that are public within the organisation. It may be short while there are more. */
  async browseRooms(query: { q?: string; after?: string; limit?: number } = {}): Promise<ReplyOf<'listRooms'>> {
    return await this.#api.call('listRooms', { params: {}, query });
  }

  /** Keeps a conversation with the favourites, or under a category of the person's own; their other devices are told. */
  async place(id: string, placement: { favourite: boolean; category: string | null }): Promise<void> {
    await this.#api.call('putPlacement', { params: { id }, body: placement });
  }

  /** Comes into a public room. @throws ParleyError `conversation_forbidden`, `conversation_full`. */
  async joinRoom(id: string): Promise<ChatConversation> {
    const record = readConversation(await this.#api.call('joinRoom', { params: { id } }));
    this.#conversations.add(record);
    return record;
  }

  /** Makes a link into a room; its `link` is in this answer alone. @throws ParleyError `right_missing`, `room_links_full`. */
  async makeRoomLink(id: string, form: BodyOf<'makeRoomLink'> = {}): Promise<ReplyOf<'makeRoomLink'>> {
    return await this.#api.call('makeRoomLink', { params: { id }, body: form });
  }

  /** The links into a room: one's own, or all of them where one may remove people. @throws ParleyError `right_missing`. */
  async roomLinks(id: string): Promise<ReplyOf<'readRoomLinks'>['items']> {
    return (await this.#api.call('readRoomLinks', { params: { id } })).items;
  }

  /** @throws ParleyError `right_missing`, `room_link_not_found`. */
  async revokeRoomLink(id: string, link: string): Promise<void> {
    await this.#api.call('revokeRoomLink', { params: { id, link } });
  }

  /**
   * Comes into the room that a link leads to.
   * @throws ParleyError `room_link_not_found`, `conversation_archived`, `conversation_full`, `rate_limited`.
   */
  async joinByLink(link: string): Promise<ChatConversation> {
    const record = readConversation(await this.#api.call('joinByRoomLink', { params: { link } }));
    this.#conversations.add(record);
    return record;
  }

  /**
   * Sends a message: a text, or a form of another kind. It waits in the outbox while there is no network.
   * @throws ParleyError see `Outbox.post`.
   */
  post(conv: string, message: string | MessageForm, clientMsgId?: string): Promise<ChatMessage> {
    const form = typeof message === 'string' ? ({ kind: 'text', body: message } as const) : message;
    return this.#outbox.post(conv, form, clientMsgId);
  }

  /** Gives one's own message another body. An edit states the mentions of a text anew. */
  readonly edit: MessagingApi['edit'] = async (...edited) => await this.#api.edit(...edited);
  readonly delete: MessagingApi['delete'] = async (...deleted) => await this.#api.delete(...deleted);

  /** Takes the preview of a link off a message. */
  readonly removePreview: MessagingApi['removePreview'] = async (...of) => await this.#api.removePreview(...of);

  /** Reacts to a message with an emoji, or `:name:` of one of the installation's own, or takes that back. */
  async react(conv: string, seq: number, emoji: string, isAdded = true): Promise<ChatMessage> {
    const params = { id: conv, seq, emoji };
    return readMessage(await this.#api.call(isAdded ? 'addReaction' : 'removeReaction', { params }));
  }

  /** A page of history in seq order: the newest, or the one on a side of a seq. It joins the mirror where it touches. */
  async history(conv: string, query: HistoryQuery = {}): Promise<HistoryPage> {
    const mirror = this.#conversations.get(conv);
    const read = mirror?.beginRead();
    let items: ChatMessage[] = [];
    try {
      const page = await this.#api.readHistory(conv, query);
      items = page.items;
      return page;
    } finally {
      if (read !== undefined) mirror?.endRead(read, items);
    }
  }

  /**
   * Everything a screen that shows a conversation needs: its mirror, with the newest page and the watermarks of the
   * others read.
   */
  async open(conv: string): Promise<ConversationMirror> {
    const mirror = this.#conversations.get(conv) ?? this.#conversations.add(await this.#api.readConversation(conv));
    await this.history(conv);
    await this.#catchUp.conversation(conv);
    return mirror;
  }

  /**
   * Reads what of a conversation was missed, and how far the others have read. Fulfilled when it is there, or when the socket is away,
   * whose next opening catches up with everything.
   */
  async catchUp(conv: string): Promise<void> {
    await this.#catchUp.conversation(conv);
  }

  /** The person got or read everything up to and including a seq. Sent soon, gathered with others, and only forwards. */
  receipt(conv: string, state: ReceiptState, seq: number): void {
    this.#receipts.mark(conv, state, seq);
  }

  /** The person is typing: call it with every key. Answers whether a frame went out. */
  typing(conv: string): boolean {
    return this.#typing.type(conv);
  }

  /** Whether the app is in front of the person. Told again after every reconnect. */
  presence(isAwake: boolean): void {
    this.presences.tell(isAwake);
  }

  /** A page of the inbox, as the server has it now. */
  async inbox(query: { after?: string; limit?: number } = {}): Promise<InboxPage> {
    return await this.#api.readInbox(query.after, query.limit);
  }

  /** Hides a conversation from the person's inbox on all devices until the next message, or shows it again. */
  async hide(conv: string, isHidden = true): Promise<void> {
    const params = { id: conv };
    const known = this.#conversations.get(conv)?.conversation;
    const seq = isHidden ? (known ?? (await this.#api.readConversation(conv))).head_seq : null;
    const { hidden } = await this.#api.call('putHidden', { params, body: { seq } });
    this.#conversations.hide(conv, hidden);
  }

  /** Messages that hold every word and "phrase" of a query, the newest first. */
  readonly search: MessagingApi['search'] = async (...query) => await this.#api.search(...query);

  /**
   * The person's account-wide rights. Advice for what to offer: the server decides. Asked once, they are kept as they change:
   * `rights` tells of it.
   */
  capabilities(): Promise<AccountRights> {
    return this.#rights.read();
  }

  rights(conv: string): Promise<ConversationRights> {
    return this.#api.readConversationRights(conv);
  }

  /** Any other call of the messaging service, by its name in the protocol's route table. @throws ParleyError */
  call<Name extends MessagingRoute>(name: Name, input: CallInput<Name>): Promise<ReplyOf<Name>> {
    return this.#api.call(name, input);
  }

  /** The network is back, or the page is in front again: reconnect now, or look whether the open socket is dead. */
  wake(): void {
    if (this.#session.token === '') void this.#session.renew('').catch(() => {});
    else if (this.#socket.isOpen) this.#doubt();
    else this.#socket.wake();
    this.#outbox.resume();
  }

  /** Ends the session and closes. @throws ParleyError when the server could not be told; closed it is all the same. */
  async signOut(): Promise<void> {
    try {
      await Promise.all([this.#session.logout(), this.#kept.clear()]);
    } finally {
      this.close();
    }
  }

  /** Disconnects and stops everything. The session stays valid, and what was not sent stays in the store. */
  close(): void {
    this.#stopped ??= clientError('client_closed');
    this.#catchUp.interrupt();
    this.#kept.close();
    this.#outbox.close();
    this.#receipts.close();
    this.presences.close();
    this.#rights.close();
    this.directory.close();
    this.#session.close();
    this.#socket.stop('closed');
    this.#surroundings.coordinator.close();
    this.#surroundings.messaging.close();
    this.#surroundings.calendar?.close();
  }

  async #create(body: BodyOf<'createConversation'>): Promise<ChatConversation> {
    const record = readConversation(await this.#api.call('createConversation', { params: {}, body }));
    this.#conversations.add(record);
    return record;
  }

  async #send({ conv, form, clientMsgId }: OutboxEntry): Promise<ChatMessage> {
    const body = { ...form, client_msg_id: clientMsgId };
    return readMessage(await this.#api.call('postMessage', { params: { id: conv }, body }));
  }

  async #readStanding(conv: string): Promise<void> {
    const { hidden } = await this.#api.call('readConversation', { params: { id: conv } });
    this.#conversations.hide(conv, hidden === true);
  }

  #announce(event: AnyServerEvent): void {
    if (event.type === 'receipt' && event.data.user === this.user) {
      this.#receipts.observe(event.data.conversation_id, { [event.data.state]: event.data.seq });
    }
    if (event.type === 'directory.changed' && event.data.user === this.user) this.#rights.doubt();
    if (event.type === 'directory.changed') this.directory.observe(event.data.user);
    if (event.type === 'presence') this.presences.observe(event);
    this.#surroundings.emitter.emit(event.type, event);
  }

  /** Opens the socket, once there is a token to open it with. */
  #connect(): void {
    if (this.#hasConnected) return;
    this.#hasConnected = true;
    this.#socket.open();
  }

  #makeSocket(url: string): Socket {
    const { WebSocket, timers, random } = this.#surroundings;
    return new Socket({
      url,
      WebSocket,
      timers,
      random,
      credentials: () => ({ token: this.#session.token, device: this.#session.wire.device_id }),
      probe: () => this.#verdict(() => this.#api.readAccountRights()),
      renew: (token) => this.#verdict(() => this.#session.renew(token)),
      onOpen: () => this.#opened(),
      onText: (text) => this.#conversations.receive(text),
      onQuiet: () => this.#doubt(),
      onReport: (report) => this.#reported(report),
    });
  }

  /** What the outcome of a request says about coming back. */
  async #verdict(ask: () => Promise<unknown>): Promise<Verdict> {
    try {
      await ask();
      return {};
    } catch (thrown) {
      const { code, retryAfter } = toParleyError(thrown);
      if (this.#session.over !== undefined) return { stop: 'signed-out' };
      return code === 'client_too_old' ? { stop: 'too-old' } : { retryAfter };
    }
  }

  /** Looks whether a socket that seems open has missed anything. The walk after its opening says that as well, and is let go on. */
  #doubt(): void {
    if (!this.#isCaughtUp) return;
    this.#isDoubting = true;
    this.#catchUp.run();
  }

  #walked({ conversations, missed }: Walk): void {
    const isDead = this.#isDoubting && missed > 0;
    this.#isDoubting = false;
    this.#isCaughtUp = true;
    this.#surroundings.emitter.emit('caught-up', { conversations });
    if (isDead) this.#socket.giveUp();
  }

  #opened(): void {
    this.presences.opened();
    this.#rights.doubt();
    this.directory.forget();
    // What was kept is taken up first: the walk says what changed since.
    void this.#kept.settled().then(() => {
      if (this.#socket.isOpen) this.#catchUp.run();
    });
    this.#outbox.resume();
  }

  #reported(report: ConnectionReport): void {
    if (report.state !== 'open') {
      this.#isCaughtUp = false;
      this.#isDoubting = false;
      this.#catchUp.interrupt();
    }
    if (report.state === 'stopped') this.#stoppedBy(report);
    this.#surroundings.emitter.emit('connection', report);
  }

  #stoppedBy({ reason }: Extract<ConnectionReport, { state: 'stopped' }>): void {
    if (reason === 'too-old') {
      this.#surroundings.standing.observeTooOld();
      this.#stopped ??= refusal('client_too_old');
    } else if (reason === 'signed-out') {
      this.#stopped ??= this.#session.over ?? refusal('session_revoked');
      this.#session.end(refusal('session_revoked'));
    } else if (reason === 'refused') {
      this.#stopped ??= clientError('connection_refused');
    }
  }

  #renewed(renewed: WireSession): void {
    this.#connect();
    this.#surroundings.emitter.emit('renewed', { expiresAt: readUnixSeconds(renewed.exp) });
    this.#outbox.resume();
  }

  #signedOut(error: ParleyError): void {
    this.#stopped ??= error;
    void this.#kept.clear();
    this.#socket.stop('signed-out');
    this.#surroundings.emitter.emit('signed-out', { code: error.code });
  }
}
