/**
 * The HTTP forms of attachments, on the messaging service. Their bodies are bytes and what is said of them stands in
 * headers (tus 1.0.0), so they are a table of their own beside the forms of JSON.
 */
import { attachmentLink, attachmentQuery, linkQuery, thumbnailQuery } from './attachments.ts';
import { route, type Route } from '../route.ts';

export interface AttachmentForm extends Omit<Route, 'method' | 'body' | 'bodyBytesMax'> {
  readonly method: 'get' | 'post' | 'head' | 'patch' | 'delete';
}

const absent = 'attachment_not_found';
const upload = ['tus_version_unknown', 'header_invalid', 'upload_body_type', 'upload_too_long'] as const;
const locked = 'encryption_locked';
/** Of what gives the bytes of a content. */
const away = 'object_store_unavailable';
const finish = [
  locked,
  'attachment_infected',
  'attachment_type_forbidden',
  'checksum_mismatch',
  'virus_scan_unavailable',
] as const;

export const ATTACHMENT_ROUTES = {
  createUpload: route.post(
    '/v1/attachments',
    'Begins an upload (tus creation): its length and name in headers, its first bytes in the body if at hand.',
    {
      rate: 'create',
      replies: { 201: null },
      errors: [...upload, ...finish, 'attachment_too_large', 'quota_exceeded', 'uploads_full'],
    },
  ),
  readUpload: route.head(
    '/v1/attachments/:attachment',
    "How far one's own upload is (tus): `Upload-Offset` and `Upload-Length`.",
    { replies: { 200: null }, errors: [absent, 'tus_version_unknown', 'upload_busy', ...finish] },
  ),
  appendUpload: route.patch(
    '/v1/attachments/:attachment',
    "Appends to one's own upload (tus). The last byte makes it an attachment.",
    {
      replies: { 204: null },
      errors: [absent, ...upload, ...finish, 'upload_busy', 'upload_offset_wrong', 'upload_complete'],
    },
  ),
  discardUpload: route.delete(
    '/v1/attachments/:attachment',
    "Discards one's own upload, finished or not, while no message has it (tus termination).",
    { replies: { 204: null }, errors: [absent, 'tus_version_unknown', 'attachment_in_use', 'upload_busy'] },
  ),
  readAttachment: route.get(
    '/v1/attachments/:attachment',
    'Reads an attachment of a conversation that the caller takes part in, whole or one range of it.',
    {
      query: attachmentQuery,
      replies: { 200: null, 206: null, 304: null },
      errors: [absent, 'conversation_forbidden', 'range_invalid', locked, away],
    },
  ),
  readAttachmentLink: route.get(
    '/v1/attachments/:attachment/link',
    'A short-lived link to the attachment, for players that send no header.',
    { query: attachmentQuery, replies: { 200: attachmentLink }, errors: [absent, 'conversation_forbidden'] },
  ),
  readLinkedAttachment: route.get(
    '/v1/attachments/:attachment/content',
    'Reads an attachment by a link that the server made.',
    {
      auth: 'none',
      query: linkQuery,
      replies: { 200: null, 206: null, 304: null },
      errors: ['attachment_link_invalid', absent, 'range_invalid', locked, away],
    },
  ),
  readThumbnail: route.get(
    '/v1/attachments/:attachment/thumbnail',
    'A small WebP of a picture (JPEG, PNG, WebP, GIF, AVIF) that fits a square of `size` pixels.',
    {
      query: thumbnailQuery,
      replies: { 200: null, 304: null },
      errors: [absent, 'conversation_forbidden', 'thumbnail_not_found', locked, away],
    },
  ),
} as const satisfies Record<string, AttachmentForm>;

export type AttachmentRoute = keyof typeof ATTACHMENT_ROUTES;
