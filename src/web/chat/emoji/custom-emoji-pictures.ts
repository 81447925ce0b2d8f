/**
 * The installation's own emoji for screens: which there are, and pictures of those that are shown. No event tells of one that was
 * made or taken away, so the list is asked for by its tag: for a name that is met, when the socket is back, and while one is shown.
 */
import { EMOJI_ASK_AGAIN_MILLIS, EMOJI_FRESH_MILLIS } from '#src/client/custom-emoji.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import type { CustomEmoji } from '#src/protocol/conversations/custom-emoji.ts';
import { Observable } from '../../kit/observable.ts';

/** Pictures held, of 128 KiB at most each; beyond it those go that are not shown, who came first first, and are read again. */
const EMOJI_PICTURES_KEPT_MAX = 200;

export class CustomEmojiPictures extends Observable {
  readonly #client: ParleyClient;
  #known: ReadonlyMap<string, CustomEmoji> = new Map();
  /** How many places show a name now. */
  readonly #shown = new Map<string, number>();
  /** Addresses inside this page by `name/picture`; undefined while one is read. */
  readonly #pictures = new Map<string, string | undefined>();
  #asking: ReturnType<typeof setInterval> | undefined;

  constructor(client: ParleyClient) {
    super();
    this.#client = client;
    client.on('caught-up', () => this.#shown.size > 0 && this.refresh());
  }

  /** Those that there are, by name, as far as is known: the same map until they changed. */
  get all(): ReadonlyMap<string, CustomEmoji> {
    return this.#known;
  }

  /** The address of an emoji's picture inside this page; undefined while there is none, and for what is no emoji. */
  pictureOf(name: string): string | undefined {
    const emoji = this.#known.get(name);
    return emoji === undefined ? undefined : this.#pictures.get(keyOf(emoji));
  }

  /** Has a name's picture there for as long as it is shown: until the answer is called. */
  show(name: string): () => void {
    this.#shown.set(name, (this.#shown.get(name) ?? 0) + 1);
    this.#asking ??= setInterval(() => this.refresh(), EMOJI_FRESH_MILLIS);
    this.#look(name);
    // One that was made just now, after the list was read, is there by then; for all others this asks nobody.
    const again = setTimeout(() => this.#look(name), EMOJI_ASK_AGAIN_MILLIS);
    return () => {
      clearTimeout(again);
      const left = (this.#shown.get(name) ?? 1) - 1;
      if (left > 0) this.#shown.set(name, left);
      else this.#shown.delete(name);
      if (this.#shown.size > 0) return;
      clearInterval(this.#asking);
      this.#asking = undefined;
    };
  }

  /** Asks for the list as it is now. */
  refresh(): void {
    this.#client.customEmojis.list().then(
      () => {
        this.#take();
        // Also what could not be read before.
        for (const name of this.#shown.keys()) this.#read(name);
      },
      () => undefined,
    );
  }

  /** Asks for the list where it is old for this name, which costs a request in ten seconds at most. */
  #look(name: string): void {
    this.#client.customEmojis.find(`:${name}:`).then(
      () => {
        this.#take();
        this.#read(name);
      },
      // The name stands in its place until the list is there.
      () => undefined,
    );
  }

  #take(): void {
    const { known } = this.#client.customEmojis;
    if (known === this.#known) return;
    this.#known = known;
    const there = new Set([...known.values()].map(keyOf));
    for (const key of this.#pictures.keys()) if (!there.has(key)) this.#drop(key);
    for (const name of this.#shown.keys()) this.#read(name);
    this.changed();
  }

  #read(name: string): void {
    const emoji = this.#known.get(name);
    if (emoji === undefined || !this.#shown.has(name) || this.#pictures.has(keyOf(emoji))) return;
    void this.#readPicture(emoji, keyOf(emoji));
  }

  async #readPicture(emoji: CustomEmoji, key: string): Promise<void> {
    this.#pictures.set(key, undefined);
    this.#makeRoom();
    try {
      const picture = await this.#client.customEmojis.picture(emoji);
      const drawn = emoji.is_moving && isStillAsked() ? await stillOf(picture) : picture;
      // It was taken away meanwhile, or came back and was read by another.
      if (!this.#pictures.has(key) || this.#pictures.get(key) !== undefined) return;
      this.#pictures.set(key, URL.createObjectURL(drawn));
      this.changed();
    } catch {
      // The name stands in its place; the picture is asked for again when it is shown again or the socket is back.
      this.#pictures.delete(key);
    }
  }

  #makeRoom(): void {
    for (const key of this.#pictures.keys()) {
      if (this.#pictures.size <= EMOJI_PICTURES_KEPT_MAX) return;
      const [name = ''] = key.split('/');
      if (!this.#shown.has(name)) this.#drop(key);
    }
  }

  #drop(key: string): void {
    const url = this.#pictures.get(key);
    if (url !== undefined) URL.revokeObjectURL(url);
    this.#pictures.delete(key);
  }
}

function keyOf({ name, picture }: CustomEmoji): string {
  return `${name}/${picture}`;
}

function isStillAsked(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/** The first frame of one that moves, for whoever asked for less motion. */
async function stillOf(picture: Blob): Promise<Blob> {
  const frame = await createImageBitmap(picture);
  const canvas = new OffscreenCanvas(frame.width, frame.height);
  canvas.getContext('2d')?.drawImage(frame, 0, 0);
  frame.close();
  return await canvas.convertToBlob();
}
