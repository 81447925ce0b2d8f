/** What a person gives into a call: microphone, camera, screen; chosen, muted, and given back when it is over. */
import type { MediaSource } from './peer-connection.ts';

/** Why a microphone or a camera is not there. */
export type MediaTrouble = 'denied' | 'missing' | 'busy';

export type MediaKind = 'microphone' | 'camera';

export interface MediaState {
  readonly audio: boolean;
  readonly video: boolean;
  readonly screen: boolean;
}

/** The camera's picture for one other person, and for several: each of them is sent it by itself, and each costs the processor. */
const PICTURE = { width: { ideal: 1280 }, height: { ideal: 720 } };
const GROUP_PICTURE = { width: { ideal: 640 }, height: { ideal: 360 }, frameRate: { ideal: 15 } };

const KINDS = { microphone: 'audio', camera: 'video' } as const;

export class CallMedia {
  readonly #source: MediaSource | undefined;
  readonly #onChanged: () => void;
  readonly #tracks: Partial<Record<MediaKind | 'screen', MediaStreamTrack>> = {};
  readonly #chosen: Partial<Record<MediaKind, string>> = {};
  readonly #trouble = new Map<MediaKind, MediaTrouble>();
  readonly #opening = new Map<MediaKind, Promise<void>>();
  #picture: MediaTrackConstraints = PICTURE;
  #isMuted = false;
  #isClosed = false;

  /** Without a source, as on a page that is not secure, everything is `missing`. `onChanged` is called for every change. */
  constructor(source: MediaSource | undefined, onChanged: () => void, chosen: Partial<Record<MediaKind, string>> = {}) {
    this.#source = source;
    this.#onChanged = onChanged;
    Object.assign(this.#chosen, chosen);
  }

  /** What the others are to know: whether they can hear and see something. */
  get state(): MediaState {
    const { camera, microphone, screen } = this.#tracks;
    return {
      audio: microphone !== undefined && !this.#isMuted,
      video: camera !== undefined,
      screen: screen !== undefined,
    };
  }

  get isMuted(): boolean {
    return this.#isMuted;
  }

  /** Whether nothing is heard of this person: they are muted, or there is no microphone and none is on its way. */
  get isSilent(): boolean {
    return this.#isMuted || !this.isOn('microphone');
  }

  get audioTrack(): MediaStreamTrack | null {
    return this.#tracks.microphone ?? null;
  }

  /** The screen where it is shared, else the camera. */
  get videoTrack(): MediaStreamTrack | null {
    return this.#tracks.screen ?? this.#tracks.camera ?? null;
  }

  /** Whether a device is on, or about to be: the browser may be asking the person. */
  isOn(kind: MediaKind): boolean {
    return this.#tracks[kind] !== undefined || this.#opening.has(kind);
  }

  /** Why it is not there, where it was wanted. */
  troubleWith(kind: MediaKind): MediaTrouble | undefined {
    return this.#trouble.get(kind);
  }

  /** The device that is in use; undefined where none is. */
  deviceOf(kind: MediaKind): string | undefined {
    return this.#tracks[kind]?.getSettings().deviceId;
  }

  /** What was chosen, for the next call. */
  get chosen(): Readonly<Partial<Record<MediaKind, string>>> {
    return this.#chosen;
  }

  /** Turns a device on; where it cannot be had, `troubleWith` says why. */
  open(kind: MediaKind): Promise<void> {
    const opening = this.#opening.get(kind) ?? this.#open(kind).finally(() => this.#opening.delete(kind));
    this.#opening.set(kind, opening);
    return opening;
  }

  async #open(kind: MediaKind): Promise<void> {
    if (this.#tracks[kind] !== undefined) return;
    try {
      this.#take(kind, await this.#ask(kind));
      this.#trouble.delete(kind);
    } catch (thrown) {
      this.#trouble.set(kind, troubleOf(thrown));
    }
    this.#onChanged();
  }

  /** Turns a device off: its light goes out. */
  shut(kind: MediaKind | 'screen'): void {
    const track = this.#tracks[kind];
    delete this.#tracks[kind];
    track?.stop();
    if (track !== undefined) this.#onChanged();
  }

  mute(isMuted: boolean): void {
    this.#isMuted = isMuted;
    if (this.#tracks.microphone !== undefined) this.#tracks.microphone.enabled = !isMuted;
    this.#onChanged();
  }

  /** Ends being muted, and asks for the microphone again where there was none; where it cannot be had, `troubleWith` says why. */
  async speak(): Promise<void> {
    this.mute(false);
    await this.open('microphone');
  }

  /** Takes another microphone or camera; the one before stays where it cannot be had. */
  async choose(kind: MediaKind, device: string): Promise<void> {
    const before = this.#chosen[kind];
    this.#chosen[kind] = device;
    try {
      const track = await this.#ask(kind);
      this.#tracks[kind]?.stop();
      this.#take(kind, track);
      this.#trouble.delete(kind);
    } catch (thrown) {
      if (before === undefined) delete this.#chosen[kind];
      else this.#chosen[kind] = before;
      this.#trouble.set(kind, troubleOf(thrown));
    }
    this.#onChanged();
  }

  /** Shares a screen or a window; the person chooses it, or chooses none. */
  async shareScreen(): Promise<void> {
    if (this.#source === undefined || this.#tracks.screen !== undefined) return;
    let stream: MediaStream;
    try {
      stream = await this.#source.getDisplayMedia({ video: true });
    } catch {
      // Chosen none: nothing changes.
      return;
    }
    const [track] = stream.getVideoTracks();
    if (track === undefined) return;
    if (this.#isClosed) return track.stop();
    this.#tracks.screen = track;
    // The browser's own button ends it, too.
    track.addEventListener('ended', () => this.shut('screen'));
    this.#onChanged();
  }

  /** The devices to choose from. Their labels are empty until the person allowed one of their kind. */
  async devices(kind: MediaKind): Promise<MediaDeviceInfo[]> {
    const all = (await this.#source?.enumerateDevices()) ?? [];
    return all.filter((one) => one.kind === `${KINDS[kind]}input` && one.deviceId !== '');
  }

  /** Fits the camera's picture to so many others. */
  fit(others: number): void {
    const picture = others > 1 ? GROUP_PICTURE : PICTURE;
    if (picture === this.#picture) return;
    this.#picture = picture;
    // A camera that cannot goes on as it is.
    this.#tracks.camera?.applyConstraints(picture).catch(() => undefined);
  }

  /** Gives everything back. */
  close(): void {
    this.#isClosed = true;
    for (const kind of ['microphone', 'camera', 'screen'] as const) this.shut(kind);
  }

  async #ask(kind: MediaKind): Promise<MediaStreamTrack> {
    if (this.#source === undefined) throw new DOMException('There are no devices here.', 'NotFoundError');
    const device = this.#chosen[kind];
    // A device that was chosen once may be unplugged: another one is better than none.
    const wish = device === undefined ? {} : { deviceId: { ideal: device } };
    const size = kind === 'camera' ? this.#picture : {};
    const stream = await this.#source.getUserMedia({ [KINDS[kind]]: { ...size, ...wish } });
    const [track] = stream.getTracks();
    if (track === undefined) throw new DOMException('The device gave nothing.', 'NotFoundError');
    if (this.#isClosed) {
      track.stop();
      throw new DOMException('The call is over.', 'AbortError');
    }
    return track;
  }

  #take(kind: MediaKind, track: MediaStreamTrack): void {
    if (kind === 'microphone') track.enabled = !this.#isMuted;
    this.#tracks[kind] = track;
    track.addEventListener('ended', () => {
      if (this.#tracks[kind] !== track) return;
      this.#trouble.set(kind, 'missing');
      this.shut(kind);
    });
  }
}

/** What `getUserMedia` fails with (W3C Media Capture and Streams, section 10.3.1), as three things that a person can do. */
function troubleOf(thrown: unknown): MediaTrouble {
  const name = thrown instanceof Error || thrown instanceof DOMException ? thrown.name : '';
  if (name === 'NotAllowedError' || name === 'SecurityError') return 'denied';
  return name === 'NotReadableError' || name === 'AbortError' ? 'busy' : 'missing';
}
