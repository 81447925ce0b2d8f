/** Emoji of the installation’s own in the accounts file: written by the coordinator, looked up by every thread. */
import type { AccountsDraft } from './accounts-draft.ts';
import type { AccountsReader, AccountsView } from './accounts-reader.ts';
import { defineCollection, type Entry } from './collections.ts';

export interface EmojiRecord {
  /** What its picture is called. */
  readonly picture: string;
  readonly isMoving: boolean;
  /** Bytes of the picture. */
  readonly bytes: number;
  /** An actor of the audit trail. */
  readonly madeBy: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** Name → what is known of it. */
const emoji = defineCollection<EmojiRecord>('emoji', { version: 1 });
/** Name → its picture as WebP, apart, so that a list of all reads none. */
const emojiPictures = defineCollection<Uint8Array>('emoji_pictures', { version: 1 });
/** How many there are. */
const emojiTotals = defineCollection<number>('emoji_totals', { version: 1 });

type View = Pick<AccountsView, 'document'>;

export function readEmoji(view: View, name: string): EmojiRecord | undefined {
  return view.document(emoji, name);
}

/** All of them, by name. */
export function readAllEmoji(view: Pick<AccountsReader, 'documents'>): Entry<EmojiRecord>[] {
  return view.documents(emoji);
}

/** The picture of one as it is now. */
export function readEmojiPicture(view: View, name: string): Uint8Array | undefined {
  return view.document(emojiPictures, name);
}

export function countEmoji(view: View): number {
  return view.document(emojiTotals, 'all') ?? 0;
}

/** Adds one whose name is free. */
export function addEmoji(draft: AccountsDraft, name: string, record: EmojiRecord, picture: Uint8Array): void {
  draft.putDocument(emoji, name, record);
  draft.putDocument(emojiPictures, name, picture);
  draft.putDocument(emojiTotals, 'all', countEmoji(draft) + 1);
}

/** Takes one away that is there. */
export function removeEmoji(draft: AccountsDraft, name: string): void {
  draft.removeDocument(emoji, name);
  draft.removeDocument(emojiPictures, name);
  draft.putDocument(emojiTotals, 'all', countEmoji(draft) - 1);
}
