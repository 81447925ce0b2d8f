/** Attachments: the forms of upload, download and links, and what the threads of the server ask each other about them. */
import { z } from 'zod';
import { isId } from '#src/base/ids.ts';
import { conversationId } from '../names.ts';

/** The one version of the tus protocol that is spoken: creation, creation-with-upload, checksum and termination. */
export const TUS_VERSION = '1.0.0';
export const TUS_EXTENSIONS = 'creation,creation-with-upload,checksum,termination';
/** The body of a PATCH, and of a POST that carries the first bytes. */
export const UPLOAD_CONTENT_TYPE = 'application/offset+octet-stream';

/** Thumbnails fit a square of so many pixels: a list's entry, a chat's bubble, a screen. */
export const THUMBNAIL_SIZES = [128, 320, 1024] as const;

export const attachmentId = z
  .string()
  .refine((text) => isId('att', text))
  .meta({ id: 'AttachmentId', description: 'An attachment identifier, made by the server.' });

/** Whoever reads says in which conversation the attachment was posted: taking part in it is what grants. */
export const attachmentQuery = z.strictObject({ conversation: conversationId });

export const thumbnailQuery = z.strictObject({
  conversation: conversationId,
  size: z.enum(THUMBNAIL_SIZES.map(String) as [string, ...string[]]),
});

export const linkQuery = z.strictObject({ link: z.string().min(1).max(1024) });

/** A link for players and image elements, which cannot send a header. `path` goes behind the messaging service's base. */
export const attachmentLink = z
  .strictObject({ path: z.string(), expires_at: z.string() })
  .meta({ id: 'AttachmentLink' });

/** An upload that the virus scanner named, for the audit trail. */
export interface InfectedUpload {
  readonly id: string;
  readonly owner: string;
  readonly bytes: number;
  readonly signature: string;
  readonly address: string;
}

/** What a shard asks the one that writes attachments. `user` comes from the authenticated session. */
export type AttachmentAsk =
  | { readonly do: 'create'; readonly user: string; readonly bytes: number; readonly name: string }
  /** For an upload that comes whole in one request: it is kept or given back. */
  | { readonly do: 'reserve'; readonly user: string; readonly bytes: number; readonly shard: number }
  | { readonly do: 'keep'; readonly id: string; readonly name: string; readonly hash: string; readonly type: string }
  | { readonly do: 'giveBack'; readonly id: string }
  | { readonly do: 'open'; readonly user: string; readonly id: string; readonly shard: number; readonly lease: string }
  | { readonly do: 'close'; readonly id: string; readonly lease: string }
  | {
      readonly do: 'finish';
      readonly id: string;
      readonly lease: string;
      readonly hash: string;
      readonly type: string;
    }
  | {
      readonly do: 'infected';
      readonly id: string;
      readonly lease: string;
      readonly signature: string;
      readonly address: string;
    }
  | { readonly do: 'discard'; readonly user: string; readonly id: string }
  | { readonly do: 'hold'; readonly id: string }
  | { readonly do: 'posted'; readonly id: string }
  /** To make a thumbnail of one of THUMBNAIL_SIZES, unless there is one. */
  | { readonly do: 'thumbnail'; readonly id: string; readonly size: number }
  /** To wait until what was being removed is removed: for a backup, before which removing is paused. */
  | { readonly do: 'settle' }
  | { readonly do: 'release'; readonly ids: readonly string[] };
