/** Pictures for emoji: small, with their proportions and their movement. */
import { Refusal } from '#src/protocol/errors.ts';
import { EMOJI_FRAMES_MAX, EMOJI_KEPT_BYTES_MAX } from '#src/protocol/limits.ts';
import type { ThumbnailMaker } from './thumbnail-maker.ts';

/** Pixels of the longer side: an emoji of a line of text on the sharpest screens, and one that is looked at. */
const EMOJI_SIZE = 128;

export interface EmojiPicture {
  /** WebP. */
  readonly bytes: Uint8Array;
  readonly isMoving: boolean;
}

export class EmojiMaker {
  readonly #maker: ThumbnailMaker;
  /** Pictures that were given: each is made by a name of its own. */
  #made = 0;

  /** The maker stays its owner's to close. */
  constructor(maker: ThumbnailMaker) {
    this.#maker = maker;
  }

  /** @throws Refusal `emoji_invalid` for what cannot be opened, or is too large as an emoji, within the limits; `busy`. */
  async make(source: Uint8Array): Promise<EmojiPicture> {
    this.#made += 1;
    const made: Uint8Array[] = [];
    const order = { source, size: EMOJI_SIZE, framesMax: EMOJI_FRAMES_MAX };
    try {
      await this.#maker.make(`emoji ${this.#made}`, order, async (picture) => {
        made.push(picture);
        await Promise.resolve();
      });
    } catch (error) {
      const isFault = error instanceof Refusal && error.code === 'thumbnail_not_found';
      throw isFault ? new Refusal('emoji_invalid') : error;
    }
    const [bytes] = made;
    if (bytes === undefined || bytes.length > EMOJI_KEPT_BYTES_MAX) throw new Refusal('emoji_invalid');
    return { bytes, isMoving: isMovingWebp(bytes) };
  }
}

/** Whether a WebP has frames: the flag of its extended header (Google, WebP Container Specification, “Extended File Format”). */
function isMovingWebp(bytes: Uint8Array): boolean {
  const isExtended = String.fromCharCode(...bytes.subarray(12, 16)) === 'VP8X';
  return isExtended && ((bytes[20] ?? 0) & 0b10) !== 0;
}
