/**
 * Emoji of the installation's own. No event tells of a new one: the list is asked for by its tag, which costs next to nothing
 * while nothing changed, when it grows old and when a name is met that is not in it.
 */
import type { CustomEmoji } from '#src/protocol/conversations/custom-emoji.ts';
import { fillPath } from './calls.ts';
import type { Http } from './connection/http.ts';
import type { Session } from './connection/session.ts';
import type { Timers } from './connection/timers.ts';
import { ParleyError } from './parley-error.ts';

/** A list that was asked for so long ago is asked for again. */
export const EMOJI_FRESH_MILLIS = 300_000;
/** A name that is not there is not asked for again within this time: whoever writes `:so:` may mean nothing by it. */
export const EMOJI_ASK_AGAIN_MILLIS = 10_000;
/** How long a picture may take, up or down, in milliseconds. */
const PICTURE_MILLIS_MAX = 60_000;

type Emoji = ReadonlyMap<string, CustomEmoji>;

export interface CustomEmojisOptions {
  readonly session: Session;
  readonly http: Http;
  readonly timers: Pick<Timers, 'now'>;
}

export class CustomEmojis {
  readonly #options: CustomEmojisOptions;
  #known: Emoji = new Map();
  #etag: string | undefined;
  #askedAt = -Infinity;
  #asking: Promise<Emoji> | undefined;

  constructor(options: CustomEmojisOptions) {
    this.#options = options;
  }

  /** All of them by name as they were when they were last asked for, without asking: the same map until they changed. */
  get known(): ReadonlyMap<string, CustomEmoji> {
    return this.#known;
  }

  /** All of them by name, as the server has them now: for who opens a picker. @throws ParleyError */
  async list(): Promise<Emoji> {
    return await (this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    }));
  }

  /**
   * The emoji that a reaction means by `:name:`, undefined for any other text and for one that was taken away: show the text.
   * @throws ParleyError
   */
  async find(reaction: string): Promise<CustomEmoji | undefined> {
    const [, name] = /^:([a-z0-9][a-z0-9_-]{0,31}):$/.exec(reaction) ?? [];
    if (name === undefined) return undefined;
    const age = this.#options.timers.now() - this.#askedAt;
    const isDue = age >= (this.#known.has(name) ? EMOJI_FRESH_MILLIS : EMOJI_ASK_AGAIN_MILLIS);
    return (isDue || this.#asking !== undefined ? await this.list() : this.#known).get(name);
  }

  /** The picture of one, a WebP, which moves where `is_moving` says so. @throws ParleyError `emoji_not_found`. */
  async picture({ name, picture }: Pick<CustomEmoji, 'name' | 'picture'>): Promise<Blob> {
    const path = fillPath('/v1/emoji/:name/:picture', { name, picture });
    return await (await this.#exchange({ method: 'get', path })).blob();
  }

  /**
   * Makes one of a picture.
   * @throws ParleyError `right_missing`, `emoji_invalid`, `emoji_taken`, `emoji_full`, `body_too_large`, `busy`.
   */
  async make(name: string, picture: Blob): Promise<CustomEmoji> {
    const response = await this.#exchange({
      method: 'put',
      path: fillPath('/v1/emoji/:name', { name }),
      bytes: picture,
    });
    this.#askedAt = -Infinity;
    return (await response.json()) as CustomEmoji;
  }

  /** Takes one away that the person made. @throws ParleyError `right_missing`, `emoji_not_found`. */
  async remove(name: string): Promise<void> {
    await this.#exchange({ method: 'delete', path: fillPath('/v1/emoji/:name', { name }) });
    this.#askedAt = -Infinity;
  }

  async #ask(): Promise<Emoji> {
    const { timers } = this.#options;
    const headers = this.#etag === undefined ? {} : { 'if-none-match': this.#etag };
    try {
      const response = await this.#exchange({ method: 'get', path: '/v1/emoji', headers });
      const { items } = (await response.json()) as { items: CustomEmoji[] };
      this.#etag = response.headers.get('etag') ?? undefined;
      this.#known = new Map(items.map((one) => [one.name, one]));
    } catch (thrown) {
      // What is kept still holds: an answer without a body, which is a success here alone.
      if (!(thrown instanceof ParleyError) || thrown.status !== 304) throw thrown;
    }
    this.#askedAt = timers.now();
    return this.#known;
  }

  async #exchange(request: {
    readonly method: string;
    readonly path: string;
    readonly bytes?: Blob;
    readonly headers?: Readonly<Record<string, string>>;
  }): Promise<Response> {
    const { http, session } = this.#options;
    const timed = { ...request, millisMax: PICTURE_MILLIS_MAX };
    return await session.authorized((token) => http.exchange({ ...timed, token }));
  }
}
