/** Attachments: the forms of upload, download and links, and what the threads of the server ask each other about them. */
import type { AvatarSize } from '../account/avatars.ts';
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

/** The object store of the settings, as threads are told of it. */
export interface ObjectStoreSettings {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whether contents are kept there; with no, what lies there comes back to the server's disk. */
  readonly keepsContents: boolean;
}

/** An upload that the virus scanner named, for the audit trail. */
export interface InfectedUpload {
  readonly id: string;
  readonly owner: string;
  readonly bytes: number;
  readonly signature: string;
  readonly address: string;
}

/**
 * What a shard asks the one that writes attachments: name → what it is asked with, and what it answers. `user` comes from
 * the authenticated session, `lease` names the request that has an upload for itself.
 */
export type AttachmentServices = {
  'uploads.create': { ask: { user: string; bytes: number; name: string }; answer: string };
  /** For an upload that comes whole in one request: it is kept or released. */
  'uploads.reserve': { ask: { user: string; bytes: number; shard: number }; answer: string };
  'uploads.keep': { ask: { id: string; name: string; hash: string; type: string }; answer: null };
  'uploads.release': { ask: { id: string }; answer: null };
  'uploads.open': { ask: { user: string; id: string; shard: number; lease: string }; answer: null };
  'uploads.close': { ask: { id: string; lease: string }; answer: null };
  'uploads.finish': { ask: { id: string; lease: string; hash: string; type: string }; answer: null };
  /** Removes what the virus scanner named. */
  'uploads.removeInfected': { ask: { id: string; lease: string; signature: string; address: string }; answer: null };
  'uploads.discard': { ask: { user: string; id: string }; answer: null };
  /** It stays while a message with it is posted. */
  'attachments.hold': { ask: { id: string }; answer: null };
  'attachments.posted': { ask: { id: string }; answer: null };
  /** To make a thumbnail of one of THUMBNAIL_SIZES, unless there is one. */
  'attachments.makeThumbnail': { ask: { id: string; size: number }; answer: null };
  /** A picture made square and small, in each of AVATAR_SIZES. */
  'avatars.make': { ask: { picture: Uint8Array }; answer: Readonly<Record<AvatarSize, Uint8Array>> };
  /** To wait until what was being removed is removed: for a backup, before which removing is paused. */
  'attachments.settle': { ask: null; answer: null };
  /** Removes those that no message has any more; answers which of them need not be looked at again. */
  'attachments.release': { ask: { ids: readonly string[] }; answer: string[] };
};
