/** One other person of a call: the connection to their device, what comes over it, and bringing it back when the network changes. */
import type { Timers } from '../connection/timers.ts';
import { Negotiation } from './negotiation.ts';
import type { PeerConnection } from './peer-connection.ts';
import { PeerStatistics, type PeerMetrics } from './peer-statistics.ts';

/** How long a connection may be disconnected before its ways are looked for anew: most breaks of a radio are shorter. */
export const DISCONNECTED_MILLIS_MAX = 3_000;
/** Between two restarts of one that stays away: gathering and checking take some seconds. */
export const RESTART_MILLIS = 8_000;

export type PeerState = 'connecting' | 'connected' | 'reconnecting';

export interface CallPeerOptions {
  readonly connection: PeerConnection;
  readonly isPolite: boolean;
  readonly send: (step: 'offer' | 'answer' | 'candidate', body: object) => Promise<void>;
  readonly trackOf: (kind: 'audio' | 'video') => MediaStreamTrack | null;
  readonly onChanged: () => void;
  /** Asked before ways are looked for anew: credentials may have run out. */
  readonly readIceServers: () => Promise<RTCIceServer[]>;
  readonly timers: Timers;
}

export class CallPeer {
  readonly #options: CallPeerOptions;
  readonly #negotiation: Negotiation;
  readonly #received = new Map<string, MediaStreamTrack>();
  readonly #statistics = new PeerStatistics();
  #state: PeerState = 'connecting';
  #isClosed = false;
  #cancelRestart: () => void = () => undefined;

  constructor(options: CallPeerOptions) {
    this.#options = options;
    const { connection, isPolite, send, timers } = options;
    this.#negotiation = new Negotiation({ connection, isPolite, send, timers, onDescribed: () => this.#described() });
    connection.addEventListener('track', ({ track }) => {
      this.#received.set(track.kind, track);
      options.onChanged();
    });
    connection.addEventListener('connectionstatechange', () => this.#moved());
  }

  get state(): PeerState {
    return this.#state;
  }

  /** What comes from the other side; undefined until the connection was negotiated. */
  trackOf(kind: 'audio' | 'video'): MediaStreamTrack | undefined {
    return this.#received.get(kind);
  }

  /** Begins: one line for sound and one for pictures, whatever there is to send now, so that nothing is negotiated for a camera. */
  begin(): void {
    const { connection, trackOf } = this.#options;
    for (const kind of ['audio', 'video'] as const) {
      connection.addTransceiver(trackOf(kind) ?? kind, { direction: 'sendrecv' });
    }
  }

  take(step: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    return this.#negotiation.take(step, body);
  }

  /** Sends what there is to send now. */
  async putTracks(): Promise<void> {
    if (this.#isClosed) return;
    for (const kind of ['audio', 'video'] as const) {
      const track = this.#options.trackOf(kind);
      for (const { receiver, sender, stopped } of this.#options.connection.getTransceivers() as Transceivers) {
        if (stopped || receiver.track.kind !== kind || sender.track === track) continue;
        // A connection that was closed meanwhile takes no track.
        await sender.replaceTrack(track).catch(() => undefined);
      }
    }
  }

  /** Looks for ways to the other side anew (RFC 8838, ICE restart): the network changed, or nothing comes through. */
  async restart(): Promise<void> {
    const { connection, readIceServers } = this.#options;
    this.#retryLater();
    try {
      connection.setConfiguration({ iceServers: await readIceServers() });
    } catch {
      // Without an answer those of before have to do.
    }
    if (this.#isClosed) return;
    connection.restartIce();
    this.#negotiation.sendAgain();
  }

  /** The socket is back: what was said meanwhile was heard by nobody. */
  sendAgain(): void {
    this.#negotiation.sendAgain();
    if (this.#state !== 'connected') void this.restart();
  }

  async metrics(): Promise<PeerMetrics> {
    return this.#statistics.take(await this.#options.connection.getStats());
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRestart();
    this.#negotiation.close();
    this.#options.connection.close();
  }

  /** Lines of the other side's offer become this side's, too; own ones that went with an offer taken back are left. */
  #described(): void {
    for (const transceiver of this.#options.connection.getTransceivers() as Transceivers) {
      if (transceiver.stopped) continue;
      if (transceiver.mid === null) transceiver.stop();
      else transceiver.direction = 'sendrecv';
    }
    void this.putTracks();
  }

  #moved(): void {
    const { connectionState } = this.#options.connection;
    if (this.#isClosed) return;
    if (connectionState === 'connected') {
      this.#cancelRestart();
      this.#cancelRestart = () => undefined;
      this.#state = 'connected';
    } else if (connectionState === 'failed') {
      this.#state = 'reconnecting';
      void this.restart();
    } else if (connectionState === 'disconnected') {
      this.#state = 'reconnecting';
      this.#retryLater(DISCONNECTED_MILLIS_MAX);
    }
    this.#options.onChanged();
  }

  #retryLater(millis: number = RESTART_MILLIS): void {
    this.#cancelRestart();
    this.#cancelRestart = this.#options.timers.after(millis, () => {
      if (this.#options.connection.connectionState !== 'connected') void this.restart();
    });
  }
}

/** `stopped` is in every browser (W3C WebRTC 1.0, section 5.4) and not in TypeScript's library any more. */
type Transceivers = readonly (RTCRtpTransceiver & { readonly stopped?: boolean })[];
