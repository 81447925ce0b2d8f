/**
 * One call as one device of a person sees it: ringing, answered, in it with up to five others, over. The server's attempt decides
 * who is in it (docs/protocol.md, Calls); this follows it, and holds a connection to each of the others.
 *
 *     start ─► calling ─┬─► joined ─► over
 *     rung ──► ringing ─┘      (over for ever: another call is another attempt)
 */
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import type { CALL_RESULTS } from '#src/protocol/conversations/messages.ts';
import { clientError, type ParleyError, toParleyError } from '../parley-error.ts';
import type { Timers } from '../connection/timers.ts';
import type { CallMedia, MediaState } from './call-media.ts';
import { CallPeer, type PeerState } from './call-peer.ts';
import type { PeerConnectionFactory } from './peer-connection.ts';
import type { PeerMetrics } from './peer-statistics.ts';
import { StanzaSender, type Stanza } from './stanza-sender.ts';

/**
 * People in one call of a mesh: each sends their picture to every other one, and five times is what a usual line carries. Beyond it
 * joining fails with `call_mesh_full`.
 */
export const MESH_PEOPLE_MAX = 6;
/** How often a call looks for others whose connection nobody began: an offer may have been sent while a socket was away. */
export const LOOK_MILLIS = 5_000;
/** How long media may be away from a call that the server does not know any more, before it is over. */
export const DETACHED_MILLIS_MAX = 15_000;

export type CallPhase = 'ringing' | 'calling' | 'joined' | 'over';
export type CallResult = (typeof CALL_RESULTS)[number];
/** Why it is over: what became of it, or what settled it for this device alone. */
export type CallEnding =
  | CallResult
  | 'left'
  | 'answered_elsewhere'
  | 'declined_elsewhere'
  | 'unanswered'
  | 'lost'
  | 'removed';

export interface CallForm {
  readonly id: string;
  /** What steps are addressed to: a conversation, or a person. */
  readonly to: string;
  readonly video: boolean;
  /** Who began it. */
  readonly host: string;
  readonly phase: 'ringing' | 'calling' | 'joined';
  /** Who is in it already. */
  readonly users: readonly string[];
}

export interface CallContext {
  readonly me: string;
  readonly device: string;
  readonly timers: Timers;
  readonly media: (onChanged: () => void) => CallMedia;
  readonly makeConnection: PeerConnectionFactory;
  readonly post: (stanza: Stanza & { readonly to: string; readonly call: string }) => Promise<unknown>;
  readonly readCalls: () => Promise<readonly LiveCallView[]>;
  readonly readIceServers: () => Promise<RTCIceServer[]>;
  readonly onChanged: () => void;
}

/** Somebody else in the call. */
export interface CallParticipant {
  readonly user: string;
  readonly state: PeerState;
  /** What they say of their microphone, camera and screen. */
  readonly media: MediaState;
  readonly audio: MediaStreamTrack | undefined;
  readonly video: MediaStreamTrack | undefined;
}

interface Other {
  peer: CallPeer | undefined;
  media: MediaState;
}

/** A stanza as it comes. */
export interface HeardStanza {
  readonly kind: string;
  readonly step: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly sender?: string | undefined;
}

const NOTHING: MediaState = { audio: true, video: false, screen: false };
const ENDINGS = new Set<unknown>(['completed', 'missed', 'declined', 'busy', 'cancelled', 'failed']);

export class Call {
  readonly to: string;
  readonly video: boolean;
  readonly media: CallMedia;
  readonly #context: CallContext;
  readonly #sender: StanzaSender;
  readonly #others = new Map<string, Other>();
  #id: string;
  #host: string;
  #phase: CallPhase;
  #ending: CallEnding | undefined;
  #error: ParleyError | undefined;
  #joinedAt: number | undefined;
  #isDetached = false;
  /** Whether the server has taken this device's first step: before that it cannot say how the call stands. */
  #isTaken: boolean;
  #iceServers: RTCIceServer[] = [];
  #cancelLook: () => void = () => undefined;
  #cancelDetached: (() => void) | undefined;
  #spoken: MediaState = NOTHING;

  constructor(form: CallForm, context: CallContext) {
    this.#context = context;
    this.#id = form.id;
    this.#host = form.host;
    this.#phase = form.phase;
    this.#isTaken = form.phase === 'ringing';
    this.to = form.to;
    this.video = form.video;
    for (const user of form.users) this.#add(user);
    this.media = context.media(() => this.#mediaChanged());
    const post = (stanza: Stanza) => context.post({ ...stanza, to: this.to, call: this.#id });
    this.#sender = new StanzaSender({ post, timers: context.timers });
  }

  get id(): string {
    return this.#id;
  }

  get host(): string {
    return this.#host;
  }

  /** Whether the server knows how this device stands to it, so that `resume` can be asked for. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  get phase(): CallPhase {
    return this.#phase;
  }

  /** Why it is over; undefined while it is not. */
  get ending(): CallEnding | undefined {
    return this.#ending;
  }

  /** What the server, or the mesh, refused it with. */
  get error(): ParleyError | undefined {
    return this.#error;
  }

  /** Since when this device is in it with somebody, in milliseconds; undefined before. */
  get joinedAt(): number | undefined {
    return this.#joinedAt;
  }

  get participants(): CallParticipant[] {
    return [...this.#others].map(([user, { media, peer }]) => ({
      user,
      media,
      state: peer?.state ?? 'connecting',
      audio: peer?.trackOf('audio'),
      video: peer?.trackOf('video'),
    }));
  }

  /** Rings the others; `isQuiet` begins a call of a room that rings nobody. Sound and picture come when they are allowed. */
  async start(isQuiet = false): Promise<void> {
    this.#openMedia(this.video);
    try {
      await this.#readIceServers();
      if (isQuiet) await this.#sender.send('call', 'join', { video: this.video, room: this.#id });
      else await this.#sender.send('call', 'invite', { video: this.video, room: this.#id });
      this.#isTaken = true;
      if (isQuiet) this.#joined();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /**
   * Joins: of a person's devices the first one that does is in it. Over with `call_mesh_full` where six are in it, and with
   * `answered_elsewhere` where another device was faster.
   */
  async answer(withCamera = this.video): Promise<void> {
    if (this.#phase === 'over') return;
    this.#openMedia(withCamera);
    this.#phase = 'joined';
    this.#isTaken = false;
    this.#context.onChanged();
    try {
      await this.#readIceServers();
      const found = (await this.#context.readCalls()).find(({ call }) => call === this.#id);
      if ((found?.participants.length ?? 0) >= MESH_PEOPLE_MAX) throw clientError('call_mesh_full');
      await this.#sender.send('call', 'join');
      this.#isTaken = true;
      this.#joined();
      this.resume(await this.#context.readCalls());
    } catch (thrown) {
      const { code } = toParleyError(thrown);
      if (code === 'call_already_joined') this.#finish('answered_elsewhere');
      else this.#fail(thrown);
    }
  }

  /** Does not answer; `isBusy` where the person is in another call. */
  decline(isBusy = false): void {
    if (this.#phase !== 'ringing') return;
    void this.#sender.send('call', 'decline', isBusy ? { reason: 'busy' } : {}).catch(() => undefined);
    this.#finish('left');
  }

  /** Leaves, or takes the ringing back. It is over here at once; the server is asked as long as it takes. */
  async hangUp(): Promise<void> {
    if (this.#phase === 'ringing') return this.decline();
    if (this.#phase === 'over') return;
    const isCalling = this.#phase === 'calling';
    const sent = this.#sender.send('call', isCalling ? 'cancel' : 'end').catch(() => undefined);
    this.#finish(isCalling ? 'cancelled' : 'left');
    await sent;
  }

  /** The step that ends this device's part, for a page that goes away and cannot wait for those before. */
  lastStep(): Stanza & { readonly to: string; readonly call: string } {
    return { kind: 'call', step: 'end', seq: this.#sender.nextSeq(), body: {}, to: this.to, call: this.#id };
  }

  /** Stops ringing here without a word: it was settled by another tab of this device. */
  drop(): void {
    if (this.#phase === 'ringing') this.#finish('answered_elsewhere');
  }

  /** Takes a stanza of this call. */
  hear(stanza: HeardStanza): void {
    const { body, kind, sender, step } = stanza;
    if (this.#phase === 'over') return;
    if (sender === undefined) this.#hearServer(step, body);
    else if (sender === this.#context.me) this.#hearOwn(step, body);
    else if (kind === 'webrtc') this.#hearPeer(sender, step, body);
    else if (step === 'join') this.#hearJoin(sender);
    else if (step === 'end' || step === 'cancel') this.#remove(sender);
  }

  /** Both sides called each other: this attempt is over, and the other one's is joined. */
  moveTo(id: string, host: string): void {
    this.#id = id;
    this.#host = host;
    this.#phase = 'ringing';
    void this.answer(this.video);
  }

  /** The socket is back, or it was asked what is live: who is in the call now. */
  resume(calls: readonly LiveCallView[]): void {
    if (this.#phase === 'over') return;
    const found = calls.find(({ call }) => call === this.#id);
    if (found === undefined) return this.#missing();
    const { device, participants, you } = found;
    if (this.#phase === 'ringing') {
      if (you !== 'ringing' && you !== 'invited') this.#finish('answered_elsewhere');
      return;
    }
    if (device !== null && device !== this.#context.device) return this.#finish('answered_elsewhere');
    if (device === null) return this.#finish('lost');
    this.#isDetached = false;
    const users = participants.map(({ user }) => user);
    const place = users.indexOf(this.#context.me);
    if (place >= MESH_PEOPLE_MAX) {
      // Several came at once, and this one was the seventh.
      void this.#sender.send('call', 'end').catch(() => undefined);
      return this.#fail(clientError('call_mesh_full'));
    }
    for (const user of this.#others.keys()) if (!users.includes(user)) this.#remove(user);
    for (const user of users) if (user !== this.#context.me) this.#add(user);
    if (this.#phase === 'calling' && this.#others.size > 0) this.#joined();
    for (const { peer } of this.#others.values()) peer?.sendAgain();
    this.#tellMedia(true);
    this.#context.onChanged();
  }

  /** The network changed: every connection looks for its ways anew. */
  restart(): void {
    for (const { peer } of this.#others.values()) void peer?.restart();
  }

  /** How well each connection carries, by user. */
  async metrics(): Promise<Map<string, PeerMetrics>> {
    const metrics = new Map<string, PeerMetrics>();
    for (const [user, { peer }] of this.#others) if (peer !== undefined) metrics.set(user, await peer.metrics());
    return metrics;
  }

  #hearServer(step: string, body: Readonly<Record<string, unknown>>): void {
    const { reason } = body;
    if (step === 'end') this.#finish(ENDINGS.has(reason) ? (reason as CallResult) : 'failed');
    else if (step === 'cancel' && this.#phase === 'ringing') {
      const isKnown = reason === 'declined_elsewhere' || reason === 'unanswered' || reason === 'removed';
      this.#finish(isKnown ? reason : 'answered_elsewhere');
    }
  }

  /** A word in one's own name that this device did not send: the server took it out, or another device settled it. */
  #hearOwn(step: string, body: Readonly<Record<string, unknown>>): void {
    const reason = body['reason'];
    if (step === 'end' && this.#phase === 'joined' && (reason === 'lost' || reason === 'removed')) this.#finish(reason);
  }

  #hearJoin(user: string): void {
    // Who comes again comes on a new connection.
    this.#remove(user);
    this.#add(user);
    if (this.#phase === 'ringing') return;
    this.#joined();
    this.#connect(user).begin();
  }

  #hearPeer(user: string, step: string, body: Readonly<Record<string, unknown>>): void {
    const meant = body['peer'];
    const other = this.#others.get(user);
    if ((meant !== undefined && meant !== this.#context.me) || this.#phase !== 'joined') return;
    if (step === 'camera') {
      if (other === undefined) return;
      other.media = { audio: body['audio'] === true, video: body['video'] === true, screen: body['screen'] === true };
      this.#context.onChanged();
      return;
    }
    // An answer or a candidate to a connection that is not there belongs to one of before.
    if (other?.peer === undefined && step !== 'offer') return;
    if (other === undefined) this.#add(user);
    void this.#connect(user).take(step, body);
  }

  #add(user: string): void {
    if (user === this.#context.me || this.#others.has(user)) return;
    this.#others.set(user, { peer: undefined, media: NOTHING });
    if (this.#phase === 'joined') this.#joinedAt ??= this.#context.timers.now();
  }

  #remove(user: string): void {
    const other = this.#others.get(user);
    if (other === undefined) return;
    this.#others.delete(user);
    other.peer?.close();
    this.#context.onChanged();
  }

  /** The connection to somebody: the one there is, or a new one. Of two people the one whose name comes later is polite. */
  #connect(user: string): CallPeer {
    const other = this.#others.get(user) ?? { peer: undefined, media: NOTHING };
    this.#others.set(user, other);
    other.peer ??= new CallPeer({
      connection: this.#context.makeConnection({ iceServers: this.#iceServers }),
      isPolite: this.#context.me > user,
      send: (step, body) => this.#sender.send('webrtc', step, { peer: user, ...body }),
      trackOf: (kind) => (kind === 'audio' ? this.media.audioTrack : this.media.videoTrack),
      readIceServers: async () => await this.#readIceServers(),
      timers: this.#context.timers,
      onChanged: () => this.#peerChanged(),
    });
    return other.peer;
  }

  #joined(): void {
    if (this.#phase === 'over') return;
    this.#phase = 'joined';
    if (this.#others.size > 0) this.#joinedAt ??= this.#context.timers.now();
    this.#tellMedia(true);
    this.#look();
    this.#context.onChanged();
  }

  /** Begins connections that the others should have begun, from time to time. */
  #look(): void {
    this.#cancelLook();
    this.#cancelLook = this.#context.timers.after(LOOK_MILLIS, () => {
      for (const [user, { peer }] of this.#others) if (peer === undefined) this.#connect(user).begin();
      this.#look();
    });
  }

  /** The server does not know the call any more: it ended meanwhile, or the server was started again while media runs on. */
  #missing(): void {
    const isRunning = [...this.#others.values()].some(({ peer }) => peer?.state === 'connected');
    if (this.#phase !== 'joined') return this.#finish('missed');
    if (!isRunning) return this.#finish('failed');
    this.#isDetached = true;
    this.#peerChanged();
  }

  #peerChanged(): void {
    const isRunning = [...this.#others.values()].some(({ peer }) => peer?.state === 'connected');
    if (this.#isDetached && !isRunning) {
      this.#cancelDetached ??= this.#context.timers.after(DETACHED_MILLIS_MAX, () => this.#finish('completed'));
    } else {
      this.#cancelDetached?.();
      this.#cancelDetached = undefined;
    }
    this.#context.onChanged();
  }

  #openMedia(withCamera: boolean): void {
    void this.media.open('microphone');
    if (withCamera) void this.media.open('camera');
  }

  #mediaChanged(): void {
    if (this.#phase === 'over') return;
    for (const { peer } of this.#others.values()) void peer?.putTracks();
    this.#tellMedia(false);
    this.#context.onChanged();
  }

  /** Says what the others can hear and see, where it changed or `isNews` to somebody. */
  #tellMedia(isNews: boolean): void {
    const now = this.media.state;
    const isSame = (['audio', 'video', 'screen'] as const).every((kind) => now[kind] === this.#spoken[kind]);
    if (this.#phase !== 'joined' || !this.#isTaken || this.#others.size === 0 || (isSame && !isNews)) return;
    this.#spoken = now;
    void this.#sender.send('webrtc', 'camera', { ...now }).catch(() => undefined);
  }

  async #readIceServers(): Promise<RTCIceServer[]> {
    this.#iceServers = await this.#context.readIceServers();
    return this.#iceServers;
  }

  #fail(thrown: unknown): void {
    if (this.#phase === 'over') return;
    this.#error = toParleyError(thrown);
    this.#finish(this.#error.code === 'call_over' || this.#error.code === 'call_not_found' ? 'missed' : 'failed');
  }

  #finish(ending: CallEnding): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#ending = ending;
    this.#cancelLook();
    this.#cancelDetached?.();
    for (const { peer } of this.#others.values()) peer?.close();
    this.media.close();
    this.#context.onChanged();
  }
}
