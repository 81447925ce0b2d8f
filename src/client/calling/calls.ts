/**
 * The calls of a person on one device: rung, begun, joined, and told of.
 *
 *     const calls = new Calls(client, {
 *       makeConnection: (configuration) => new RTCPeerConnection(configuration),
 *       media: navigator.mediaDevices,
 *     });
 *     calls.on('incoming', ({ call }) => ring(call));
 *     const call = calls.start({ to: conversation.id, video: true });
 */
import { randomSymbols } from '#src/base/ids.ts';
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import { systemTimers, type Timers } from '../connection/timers.ts';
import { Emitter, type Unsubscribe } from '../emitter.ts';
import type { EventData } from '../events.ts';
import type { ParleyClient } from '../parley-client.ts';
import { isTransient, toParleyError } from '../parley-error.ts';
import { Call, type CallContext, type CallForm, type CallResult } from './call.ts';
import { CallMedia, type MediaKind } from './call-media.ts';
import type { MediaSource, PeerConnectionFactory } from './peer-connection.ts';

/** Calls that ring here at once. Beyond it the newest is not shown; it rings elsewhere, and ends as missed. */
export const RINGING_MAX = 4;
/** Of these the calls of one person, so that nobody who rings from room after room keeps the others from ringing. Beyond it as above. */
export const RINGING_OF_ONE_MAX = 2;
/** How long before their end credentials for TURN are asked for anew. */
const ICE_SPARE_MILLIS = 60_000;
/** Between two attempts to say what came of a call, and how many there are: as long as the server remembers it. */
const OUTCOME_RETRY_MILLIS = 10_000;
const OUTCOME_ATTEMPTS_MAX = 60;
const CALL_ID_SYMBOLS = 20;

export interface CallsOptions {
  readonly makeConnection: PeerConnectionFactory;
  /** Undefined on a page that has no devices, as one that is not secure. */
  readonly media: MediaSource | undefined;
  readonly timers?: Timers;
}

export interface CallsEvents {
  /** Somebody calls. */
  incoming: { call: Call };
  /** Something of a call changed: draw it anew. */
  changed: { call: Call };
  /** A call is over for this device, for ever. */
  over: { call: Call };
  /** Who is in the live calls of conversations changed, whether or not this device is in them. */
  live: { calls: readonly ConversationCall[] };
}

/** A live call of a conversation, whether or not this device is in it. */
export interface ConversationCall {
  readonly call: string;
  readonly conv: string;
  readonly host: string;
  readonly video: boolean;
  readonly users: ReadonlySet<string>;
}

type Client = Pick<ParleyClient, 'call' | 'conversations' | 'on' | 'session' | 'user'>;
type SignalData = EventData<'signal'>;

/** A call that this device began, whose outcome it says. */
interface Hosted {
  readonly conv: string;
  joinedAt: number | undefined;
}

export class Calls {
  readonly #client: Client;
  readonly #options: CallsOptions;
  readonly #timers: Timers;
  readonly #emitter = new Emitter<CallsEvents>();
  readonly #calls = new Map<string, Call>();
  readonly #live = new Map<string, ConversationCall>();
  readonly #hosted = new Map<string, Hosted>();
  readonly #off: Unsubscribe[];
  readonly #chosen: Partial<Record<MediaKind, string>> = {};
  #ice: { readonly servers: RTCIceServer[]; readonly until: number } | undefined;

  constructor(client: Client, options: CallsOptions) {
    this.#client = client;
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.#off = [
      client.on('signal', ({ conv, data }) => this.observe(data, conv)),
      client.on('caught-up', () => void this.resume().catch(() => undefined)),
    ];
  }

  /** Those that are not over. */
  get list(): Call[] {
    return [...this.#calls.values()];
  }

  /** The one that this device is in, or waits for an answer to. */
  get current(): Call | undefined {
    return this.list.find(({ phase }) => phase === 'calling' || phase === 'joined');
  }

  /** The call that a conversation has now, to join. */
  inConversation(conv: string): ConversationCall | undefined {
    return [...this.#live.values()].find((one) => one.conv === conv);
  }

  on<Type extends keyof CallsEvents>(type: Type, listener: (event: CallsEvents[Type]) => void): Unsubscribe {
    return this.#emitter.on(type, listener);
  }

  /** Calls a conversation. `isQuiet` begins a call of a room that rings nobody. What it is refused with is its `error`. */
  start(form: { to: string; video: boolean; isQuiet?: boolean }): Call {
    const { isQuiet = false, ...rest } = form;
    const host = this.#client.user;
    const id = randomSymbols(CALL_ID_SYMBOLS);
    const call = this.#make({ ...rest, id, host, phase: 'calling', users: [] });
    if (rest.to.startsWith('c_')) this.#hosted.set(id, { conv: rest.to, joinedAt: undefined });
    void call.start(isQuiet);
    return call;
  }

  /** Joins a live call. */
  join(live: ConversationCall, withCamera: boolean): Call {
    const { call: id, conv: to, host, users, video } = live;
    const call = this.#calls.get(id) ?? this.#make({ id, to, host, video, users: [...users], phase: 'ringing' });
    void call.answer(withCamera);
    return call;
  }

  /** Takes a stanza: those of before `Calls` was made can be handed in. */
  observe(data: SignalData, conv: string | undefined): void {
    const { body, call: id, kind, sender, step } = data;
    if (id === undefined || (kind !== 'call' && kind !== 'webrtc') || this.#isForeign(id, conv)) return;
    if (kind === 'call') this.#follow(id, conv, data);
    const call = this.#calls.get(id);
    const isInvite = kind === 'call' && step === 'invite' && sender !== undefined && sender !== this.#client.user;
    if (call === undefined && isInvite) {
      this.#ring({
        id,
        host: sender,
        to: conv ?? sender,
        video: body['video'] === true,
        users: [sender],
        phase: 'ringing',
      });
    }
    if (kind === 'call' && step === 'end' && sender === undefined) {
      const into = body['into'];
      if (call?.phase === 'calling' && typeof into === 'string') return this.#move(call, into);
      this.#sayOutcome(id, body['reason']);
    }
    call?.hear({ kind, step, body, sender });
  }

  /** The socket is back: what is live now, what rings, and what is over. @throws ParleyError */
  async resume(): Promise<void> {
    // What begins while the answer is on its way is not in it.
    const taken = this.list.filter((call) => call.isTaken);
    const items = await this.#readCalls();
    this.#live.clear();
    for (const item of items) {
      const { call: id, host, participants, to, video, you } = item;
      const users = participants.map(({ user }) => user);
      this.#live.set(id, { call: id, conv: to, host, video, users: new Set(users) });
      if (!this.#calls.has(id) && you === 'ringing') this.#ring({ id, host, to, video, users, phase: 'ringing' });
    }
    for (const call of taken) if (call.isTaken) call.resume(items);
    for (const id of this.#hosted.keys()) {
      if (items.every(({ call }) => call !== id) && !this.#calls.has(id)) this.#sayOutcome(id, undefined);
    }
    this.#sayLive();
  }

  /**
   * Ends what a page of this device left behind that went away in the middle of a call: `isHeld` says whether another page, or this
   * one, is in it. @throws ParleyError
   */
  async leaveBehind(isHeld: (call: string) => boolean): Promise<void> {
    for (const { call, device, to } of await this.#readCalls()) {
      if (device !== this.#client.session.device_id || isHeld(call) || this.#calls.has(call)) continue;
      const body = { to, kind: 'call', step: 'end', call, seq: this.#timers.now(), body: {} } as const;
      await this.#client.call('postSignal', { params: {}, body }).catch(() => undefined);
    }
  }

  /** The page goes away: whatever this device is in ends, by requests that outlive it. */
  leaveAll(): void {
    for (const call of this.list) {
      if (call.phase !== 'calling' && call.phase !== 'joined') continue;
      const body = call.lastStep();
      void this.#client.call('postSignal', { params: {}, body, outlivesPage: true }).catch(() => undefined);
    }
  }

  close(): void {
    for (const off of this.#off) off();
    for (const call of this.list) void call.hangUp();
  }

  /**
   * Whether a stanza has the id of a call of another room, or of a room where the call is none of one. Ids are their clients' to
   * choose, and those of a room's call are known to all of it: an attempt of the same id elsewhere would end it, or bring somebody in.
   */
  #isForeign(id: string, conv: string | undefined): boolean {
    const to = this.#calls.get(id)?.to ?? this.#hosted.get(id)?.conv ?? this.#live.get(id)?.conv;
    if (to === undefined || conv === to) return false;
    const { conversations } = this.#client;
    return [to, conv].some((one) => one !== undefined && conversations.get(one)?.conversation?.kind === 'room');
  }

  #make(form: CallForm): Call {
    const call: Call = new Call(
      form,
      this.#contextOf(() => this.#changed(call)),
    );
    this.#calls.set(form.id, call);
    return call;
  }

  #contextOf(onChanged: () => void): CallContext {
    const { makeConnection, media } = this.#options;
    const { session, user } = this.#client;
    return {
      me: user,
      device: session.device_id,
      timers: this.#timers,
      media: (tell) => new CallMedia(media, tell, this.#chosen),
      makeConnection,
      post: (stanza) => this.#client.call('postSignal', { params: {}, body: stanza }),
      readCalls: () => this.#readCalls(),
      readIceServers: () => this.#readIceServers(),
      onChanged,
    };
  }

  #changed(call: Call): void {
    Object.assign(this.#chosen, call.media.chosen);
    const hosted = this.#hosted.get(call.id);
    if (hosted !== undefined) hosted.joinedAt ??= call.joinedAt;
    if (call.phase !== 'over') return this.#emitter.emit('changed', { call });
    if (this.#calls.get(call.id) !== call) return;
    this.#calls.delete(call.id);
    // What was never begun has no outcome.
    if (call.error !== undefined && call.joinedAt === undefined) this.#hosted.delete(call.id);
    this.#emitter.emit('over', { call });
  }

  /** Both called each other, and the other attempt is the one that goes on. */
  #move(call: Call, into: string): void {
    const rung = this.#calls.get(into);
    this.#calls.delete(call.id);
    this.#hosted.delete(call.id);
    rung?.drop();
    this.#calls.set(into, call);
    call.moveTo(into, rung?.host ?? call.host);
  }

  #ring(form: CallForm): void {
    const { current } = this;
    // Whom one is calling oneself at this moment is answered by the server (glare).
    const ofOne = this.list.filter(({ host, phase }) => host === form.host && phase === 'ringing').length;
    if (this.list.length >= RINGING_MAX || ofOne >= RINGING_OF_ONE_MAX) return;
    if (current?.phase === 'calling' && current.to === form.to) return;
    const call = this.#make(form);
    // A second call while one is under way: whoever calls hears so.
    if (current === undefined) this.#emitter.emit('incoming', { call });
    else call.decline(true);
  }

  /** Keeps who is in the calls of conversations. */
  #follow(id: string, conv: string | undefined, { body, sender, step }: SignalData): void {
    const found = this.#live.get(id);
    if (sender === undefined) {
      if (step === 'end') this.#live.delete(id);
    } else if (step === 'invite' || step === 'join') {
      const begun = { call: id, conv: conv ?? sender, host: sender, video: body['video'] === true };
      this.#live.set(id, { ...(found ?? begun), users: new Set([...(found?.users ?? []), sender]) });
    } else if (found !== undefined && (step === 'end' || step === 'cancel')) {
      this.#live.set(id, { ...found, users: new Set([...found.users].filter((user) => user !== sender)) });
    }
    this.#sayLive();
  }

  #sayLive(): void {
    this.#emitter.emit('live', { calls: [...this.#live.values()] });
  }

  async #readCalls(): Promise<readonly LiveCallView[]> {
    return (await this.#client.call('readCalls', { params: {} })).items;
  }

  async #readIceServers(): Promise<RTCIceServer[]> {
    const now = this.#timers.now();
    if (this.#ice !== undefined && this.#ice.until > now) return this.#ice.servers;
    const { expires_at, ice_servers } = await this.#client.call('readIceServers', { params: {} });
    const servers = ice_servers.map(({ urls, username, credential }) => ({
      urls,
      ...(username === undefined ? {} : { username }),
      ...(credential === undefined ? {} : { credential }),
    }));
    // Where nothing expires the answer may still become another one, as when encryption is unlocked.
    this.#ice = { servers, until: expires_at === null ? now : Date.parse(expires_at) - ICE_SPARE_MILLIS };
    return servers;
  }

  /** Whoever invited says in the conversation what came of it (MSG-07). `seen` is the server’s word, where it was heard. */
  #sayOutcome(id: string, seen: unknown): void {
    const hosted = this.#hosted.get(id);
    if (hosted === undefined) return;
    this.#hosted.delete(id);
    const { conv, joinedAt } = hosted;
    const isCompleted = seen === 'completed' || (seen === undefined && joinedAt !== undefined);
    const result = isCompleted ? 'completed' : isResult(seen) ? seen : 'missed';
    const millis = isCompleted && joinedAt !== undefined ? this.#timers.now() - joinedAt : 0;
    this.#postOutcome(conv, id, { result, duration: Math.round(millis / 1_000), flags: [] }, 1);
  }

  #postOutcome(conv: string, call: string, outcome: Outcome, attempt: number): void {
    const body = { kind: 'call', body: { call, outcome }, client_msg_id: `call-${call}-${outcome.result}` } as const;
    this.#client.call('postMessage', { params: { id: conv }, body }).catch((thrown: unknown) => {
      const error = toParleyError(thrown);
      // The server saw it otherwise, or the call still lives there for a moment: “failed” is always true of one's own side.
      const isContradicted = error.code === 'call_outcome_contradicts';
      if (attempt >= OUTCOME_ATTEMPTS_MAX || (!isContradicted && !isTransient(error))) return;
      const next: Outcome = isContradicted ? { ...outcome, result: 'failed', duration: 0 } : outcome;
      this.#timers.after(OUTCOME_RETRY_MILLIS, () => this.#postOutcome(conv, call, next, attempt + 1));
    });
  }
}

interface Outcome {
  readonly result: CallResult;
  readonly duration: number;
  readonly flags: string[];
}

function isResult(value: unknown): value is CallResult {
  return (
    typeof value === 'string' && ['completed', 'missed', 'declined', 'busy', 'cancelled', 'failed'].includes(value)
  );
}
