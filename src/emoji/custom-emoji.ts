/**
 * Emoji of the installation’s own: pictures are opened in a process apart and made small, and kept in the accounts file. The
 * list is made once for everybody, and again with each change.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { MadeReply } from '#src/http/client-routes.ts';
import { EmojiMaker } from '#src/pictures/emoji-maker.ts';
import type { ThumbnailMaker } from '#src/pictures/thumbnail-maker.ts';
import type { CustomEmoji, MadeEmoji } from '#src/protocol/conversations/custom-emoji.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { EMOJI_MAX } from '#src/protocol/limits.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import {
  addEmoji,
  countEmoji,
  readAllEmoji,
  readEmoji,
  readEmojiPicture,
  removeEmoji,
  type EmojiRecord,
} from '#storage/accounts/custom-emoji.ts';

/** Bytes of a picture's hash in its name: 128 bits, of which no two pictures share all. */
const NAME_BYTES = 16;

export interface CustomEmojisOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** Its owner's to close. */
  readonly maker: ThumbnailMaker;
}

export class CustomEmojis {
  readonly #options: CustomEmojisOptions;
  readonly #maker: EmojiMaker;
  #list: MadeReply | undefined;

  constructor(options: CustomEmojisOptions) {
    this.#options = options;
    this.#maker = new EmojiMaker(options.maker);
  }

  /** All of them, by name, for apps. */
  list(): MadeReply {
    return (this.#list ??= this.#makeList());
  }

  /** All of them, by name, with who made them. */
  listMade(): MadeEmoji[] {
    return readAllEmoji(this.#options.accounts).map(({ id, document }) => madeOf(id, document));
  }

  /**
   * Makes one of a picture; `isStillLet` judges whoever asks once more when it is stored.
   * @throws Refusal `emoji_taken`, `emoji_full`, `emoji_invalid` for what cannot be opened or is too large within the limits;
   * what `isStillLet` throws; `busy`, `storage_full`.
   */
  async make(name: string, picture: Uint8Array, by: AuditActor, isStillLet: () => void): Promise<CustomEmoji> {
    const { accounts, clock } = this.#options;
    // Before a picture is opened for nothing.
    if (readEmoji(accounts, name) !== undefined) throw new Refusal('emoji_taken');
    const { bytes, isMoving } = await this.#maker.make(picture);
    const now = clock.now();
    const record: EmojiRecord = {
      picture: createHash('sha256').update(bytes).digest().subarray(0, NAME_BYTES).toString('base64url'),
      isMoving,
      bytes: bytes.length,
      madeBy: by.actor,
      createdAt: formatInstant(now),
    };
    await accounts.change((draft) => {
      isStillLet();
      if (readEmoji(draft, name) !== undefined) throw new Refusal('emoji_taken');
      if (countEmoji(draft) >= EMOJI_MAX) throw new Refusal('emoji_full');
      addEmoji(draft, name, record, bytes);
      const details = { bytes: bytes.length, picture: record.picture };
      draft.audit(now, { event: 'emoji.created', ...by, subject: `emoji:${name}`, details });
    });
    this.#list = undefined;
    return emojiOf(name, record);
  }

  /**
   * Takes one away; with `own` only what the same actor made.
   * @throws Refusal `emoji_not_found`; `right_missing` for one of somebody else; `busy`, `storage_full`.
   */
  async remove(name: string, by: AuditActor, own: boolean): Promise<void> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      const record = readEmoji(draft, name);
      if (record === undefined) throw new Refusal('emoji_not_found');
      if (own && record.madeBy !== by.actor) throw new Refusal('right_missing');
      removeEmoji(draft, name);
      const details = { made_by: record.madeBy, picture: record.picture };
      draft.audit(clock.now(), { event: 'emoji.removed', ...by, subject: `emoji:${name}`, details });
    });
    this.#list = undefined;
  }

  /** A picture as WebP. @throws Refusal `emoji_not_found`, one answer for another name and another picture. */
  read(name: string, picture: string): Uint8Array {
    const { accounts } = this.#options;
    const found = readEmoji(accounts, name)?.picture === picture ? readEmojiPicture(accounts, name) : undefined;
    if (found === undefined) throw new Refusal('emoji_not_found');
    return found;
  }

  /** The picture that a name has now, as WebP. @throws Refusal `emoji_not_found`. */
  readLatest(name: string): Uint8Array {
    const found = readEmojiPicture(this.#options.accounts, name);
    if (found === undefined) throw new Refusal('emoji_not_found');
    return found;
  }

  #makeList(): MadeReply {
    const items = readAllEmoji(this.#options.accounts).map(({ id, document }) => emojiOf(id, document));
    const json = Buffer.from(JSON.stringify({ items, next: null }));
    return { json, etag: `"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"` };
  }
}

function emojiOf(name: string, { createdAt, isMoving, picture }: EmojiRecord): CustomEmoji {
  return { name, picture, is_moving: isMoving, created_at: createdAt };
}

function madeOf(name: string, record: EmojiRecord): MadeEmoji {
  return { ...emojiOf(name, record), made_by: record.madeBy, bytes: record.bytes };
}
