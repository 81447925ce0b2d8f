/**
 * The HTTP forms of attachments, on the messaging service. Their bodies are bytes and what is said of them stands in
 * headers (tus 1.0.0), so they are a table of their own beside the forms of JSON.
 */
import { attachmentLink, attachmentQuery, linkQuery, thumbnailQuery } from './attachments.ts';
import type { Route } from '../route.ts';

export interface AttachmentForm extends Omit<Route, 'method' | 'body' | 'bodyBytesMax'> {
  readonly method: 'get' | 'post' | 'head' | 'patch' | 'delete';
}

const absent = 'attachment_not_found';
const upload = ['tus_version_unknown', 'header_invalid', 'upload_body_type', 'upload_too_long'] as const;
const locked = 'encryption_locked';
const finish = [
  locked,
  'attachment_infected',
  'attachment_type_forbidden',
  'checksum_mismatch',
  'virus_scan_unavailable',
] as const;

export const ATTACHMENT_ROUTES = {
  createUpload: {
    method: 'post',
    path: '/v1/attachments',
    summary: 'Begins an upload (tus creation): its length and name in headers, its first bytes in the body if at hand.',
    auth: 'session',
    rate: 'create',
    replies: { 201: null },
    errors: [...upload, ...finish, 'attachment_too_large', 'quota_exceeded', 'uploads_full'],
  },
  readUpload: {
    method: 'head',
    path: '/v1/attachments/:attachment',
    summary: "How far one's own upload is (tus): `Upload-Offset` and `Upload-Length`.",
    auth: 'session',
    replies: { 200: null },
    errors: [absent, 'tus_version_unknown', 'upload_busy', ...finish],
  },
  appendUpload: {
    method: 'patch',
    path: '/v1/attachments/:attachment',
    summary: "Appends to one's own upload (tus). The last byte makes it an attachment.",
    auth: 'session',
    replies: { 204: null },
    errors: [absent, ...upload, ...finish, 'upload_busy', 'upload_offset_wrong', 'upload_complete'],
  },
  discardUpload: {
    method: 'delete',
    path: '/v1/attachments/:attachment',
    summary: "Discards one's own upload, finished or not, while no message has it (tus termination).",
    auth: 'session',
    replies: { 204: null },
    errors: [absent, 'tus_version_unknown', 'attachment_in_use', 'upload_busy'],
  },
  readAttachment: {
    method: 'get',
    path: '/v1/attachments/:attachment',
    summary: 'Reads an attachment of a conversation that the caller takes part in, whole or one range of it.',
    auth: 'session',
    query: attachmentQuery,
    replies: { 200: null, 206: null, 304: null },
    errors: [absent, 'conversation_forbidden', 'range_invalid', locked],
  },
  readAttachmentLink: {
    method: 'get',
    path: '/v1/attachments/:attachment/link',
    summary: 'A short-lived link to the attachment, for players that send no header.',
    auth: 'session',
    query: attachmentQuery,
    replies: { 200: attachmentLink },
    errors: [absent, 'conversation_forbidden'],
  },
  readLinkedAttachment: {
    method: 'get',
    path: '/v1/attachments/:attachment/content',
    summary: 'Reads an attachment by a link that the server made.',
    auth: 'none',
    query: linkQuery,
    replies: { 200: null, 206: null, 304: null },
    errors: ['attachment_link_invalid', absent, 'range_invalid', locked],
  },
  readThumbnail: {
    method: 'get',
    path: '/v1/attachments/:attachment/thumbnail',
    summary: 'A small WebP of a picture (JPEG, PNG, WebP, GIF, AVIF) that fits a square of `size` pixels.',
    auth: 'session',
    query: thumbnailQuery,
    replies: { 200: null, 304: null },
    errors: [absent, 'conversation_forbidden', 'thumbnail_not_found', locked],
  },
} as const satisfies Record<string, AttachmentForm>;

export type AttachmentRoute = keyof typeof ATTACHMENT_ROUTES;
