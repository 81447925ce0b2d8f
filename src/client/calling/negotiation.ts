/**
 * Perfect negotiation of one peer connection (W3C WebRTC 1.0, section 10.7): either side may offer at any time; where two offers
 * meet, the impolite side's goes on and the polite side takes its own back. Candidates that come before the description they
 * belong to are kept for it. Stanzas are not stored, so an offer that nobody answers is sent again.
 */
import type { Timers } from '../connection/timers.ts';
import type { PeerConnection } from './peer-connection.ts';

/** How long an answer may take: a slow phone on a slow network. Beyond it the offer is sent again, with all candidates so far. */
export const ANSWER_MILLIS_MAX = 6_000;
/** Candidates that are kept for a description that has not come. Beyond it the oldest go: a restart brings new ones. */
export const EARLY_CANDIDATES_MAX = 200;
/** Candidates in one stanza: each has some 200 bytes, and a stanza has 64 KiB. */
const CANDIDATES_IN_STANZA_MAX = 50;

export interface NegotiationOptions {
  readonly connection: PeerConnection;
  /** Whether this side gives way where two offers meet. Of two sides one is polite. */
  readonly isPolite: boolean;
  /** Sends a stanza of the `webrtc` family to the other side; fails where it could not be sent. */
  readonly send: (step: 'offer' | 'answer' | 'candidate', body: object) => Promise<void>;
  /** What the transceivers are to be, after a description of the other side and before the answer. */
  readonly onDescribed: () => void;
  readonly timers: Timers;
}

export class Negotiation {
  readonly #options: NegotiationOptions;
  /** Stanzas of the other side are taken one after the other. */
  #taking: Promise<void> = Promise.resolve();
  #isOffering = false;
  readonly #early: RTCIceCandidateInit[] = [];
  readonly #gathered: RTCIceCandidateInit[] = [];
  #isSendingCandidates = false;
  #isClosed = false;
  #cancelWait: () => void = () => undefined;

  constructor(options: NegotiationOptions) {
    this.#options = options;
    const { connection } = options;
    connection.addEventListener('negotiationneeded', () => void this.#offer());
    connection.addEventListener('icecandidate', ({ candidate }) => {
      if (candidate === null || candidate.candidate === '') return;
      this.#gathered.push(candidate.toJSON());
      void this.#sendCandidates();
    });
  }

  /** Takes a stanza of the other side. What it cannot be read as is left: another side's mistake ends no call. */
  take(step: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    const work = async () => {
      if (this.#isClosed) return;
      if (step === 'candidate') await this.#takeCandidates(candidatesOf(body));
      else if (isDescription(body['description'], step)) await this.#takeDescription(body['description']);
    };
    this.#taking = this.#taking.then(work).catch(() => undefined);
    return this.#taking;
  }

  /** Sends an offer that waits for its answer once more, as after a break in which the answer may have been lost. */
  sendAgain(): void {
    const { connection } = this.#options;
    if (this.#isClosed || this.#isOffering || connection.signalingState !== 'have-local-offer') return;
    void this.#sendDescription();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelWait();
  }

  async #offer(): Promise<void> {
    const { connection } = this.#options;
    if (this.#isClosed) return;
    this.#isOffering = true;
    try {
      await connection.setLocalDescription();
    } catch {
      // An offer of the other side came first; once it is answered, the browser says again what is needed.
      return;
    } finally {
      this.#isOffering = false;
    }
    await this.#sendDescription();
  }

  async #sendDescription(): Promise<void> {
    const { connection, send, timers } = this.#options;
    const description = connection.localDescription;
    if (description === null || this.#isClosed) return;
    this.#cancelWait();
    if (description.type === 'offer') this.#cancelWait = timers.after(ANSWER_MILLIS_MAX, () => this.sendAgain());
    try {
      await send(description.type as 'offer' | 'answer', {
        description: { type: description.type, sdp: description.sdp },
      });
    } catch {
      // An offer is sent again; the other side sends its own again where this was the answer.
    }
  }

  async #takeDescription(description: RTCSessionDescriptionInit): Promise<void> {
    const { connection, isPolite, onDescribed } = this.#options;
    if (description.type === 'answer') {
      // The answer to an offer that was sent twice comes twice.
      if (connection.signalingState !== 'have-local-offer') return;
      this.#cancelWait();
      await connection.setRemoteDescription(description);
      return await this.#addEarly();
    }
    const isMeeting = this.#isOffering || connection.signalingState !== 'stable';
    if (isMeeting && !isPolite) return;
    this.#cancelWait();
    // Where an own offer is under way, this takes it back.
    await connection.setRemoteDescription(description);
    onDescribed();
    await this.#addEarly();
    await connection.setLocalDescription();
    await this.#sendDescription();
  }

  async #takeCandidates(candidates: readonly RTCIceCandidateInit[]): Promise<void> {
    this.#early.push(...candidates);
    this.#early.splice(0, this.#early.length - EARLY_CANDIDATES_MAX);
    if (this.#options.connection.remoteDescription !== null) await this.#addEarly();
  }

  async #addEarly(): Promise<void> {
    const { connection } = this.#options;
    for (let candidate = this.#early.shift(); candidate !== undefined; candidate = this.#early.shift()) {
      try {
        await connection.addIceCandidate(candidate);
      } catch {
        // It belongs to an offer that was not taken, or to one of before a restart.
      }
    }
  }

  /** While one stanza is on its way the next ones gather. */
  async #sendCandidates(): Promise<void> {
    if (this.#isSendingCandidates) return;
    this.#isSendingCandidates = true;
    while (this.#gathered.length > 0 && !this.#isClosed) {
      const candidates = this.#gathered.splice(0, CANDIDATES_IN_STANZA_MAX);
      // One that is lost stands in the description that is sent after a break.
      await this.#options.send('candidate', { candidates }).catch(() => undefined);
    }
    this.#isSendingCandidates = false;
  }
}

function isDescription(value: unknown, step: string): value is RTCSessionDescriptionInit {
  const { type, sdp } = (value ?? {}) as { type?: unknown; sdp?: unknown };
  return type === step && typeof sdp === 'string';
}

/** The candidates of a stanza, which has one or several. */
function candidatesOf({ candidate, candidates }: Readonly<Record<string, unknown>>): RTCIceCandidateInit[] {
  const all: unknown[] = Array.isArray(candidates) ? candidates : [candidate];
  return all.filter((one): one is RTCIceCandidateInit => typeof one === 'object' && one !== null);
}
