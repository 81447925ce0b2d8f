/** Pictures that stand for somebody or something: square, and small in each of the sizes that are shown. */
import { AVATAR_SIZES, type AvatarSize } from '#src/protocol/account/avatars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { ThumbnailMaker } from './thumbnail-maker.ts';

/** A WebP for each size. */
export type AvatarPictures = Readonly<Record<AvatarSize, Uint8Array>>;

export class AvatarMaker {
  readonly #maker: ThumbnailMaker;
  /** Pictures that were given: each is made by a name of its own. */
  #made = 0;

  /** The maker stays its owner's to close. */
  constructor(maker: ThumbnailMaker) {
    this.#maker = maker;
  }

  /** @throws Refusal `avatar_invalid` for what cannot be opened within the limits; `busy`. */
  async make(source: Uint8Array): Promise<AvatarPictures> {
    this.#made += 1;
    const name = `avatar ${this.#made}`;
    const pictures: [AvatarSize, Uint8Array][] = [];
    for (const size of AVATAR_SIZES) pictures.push([size, await this.#makeOne(`${name}.${size}`, source, size)]);
    return Object.fromEntries(pictures) as AvatarPictures;
  }

  async #makeOne(name: string, source: Uint8Array, size: AvatarSize): Promise<Uint8Array> {
    const made: Uint8Array[] = [];
    try {
      await this.#maker.make(name, { source, size, isSquare: true }, async (picture) => {
        made.push(picture);
        await Promise.resolve();
      });
    } catch (error) {
      const isFault = error instanceof Refusal && error.code === 'thumbnail_not_found';
      throw isFault ? new Refusal('avatar_invalid') : error;
    }
    const [picture] = made;
    if (picture === undefined) throw new Refusal('avatar_invalid');
    return picture;
  }
}
