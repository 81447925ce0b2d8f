/** What the headers of the tus protocol say of an upload, judged before a byte of it is read. */
import type { HttpRequest } from 'uWebSockets.js';
import { isUtf8 } from 'node:buffer';
import { TUS_VERSION, UPLOAD_CONTENT_TYPE } from '#src/protocol/attachments/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { safeFileName } from './file-names.ts';

/** Copied out before the request object goes. */
export interface UploadHead {
  readonly version: string;
  readonly length: string;
  readonly deferred: string;
  readonly offset: string;
  readonly metadata: string;
  readonly checksum: string;
  readonly contentType: string;
  readonly contentLength: string;
  readonly range: string;
  readonly ifRange: string;
  readonly ifNoneMatch: string;
}

export function readUploadHead(req: HttpRequest): UploadHead {
  return {
    version: req.getHeader('tus-resumable'),
    length: req.getHeader('upload-length'),
    deferred: req.getHeader('upload-defer-length'),
    offset: req.getHeader('upload-offset'),
    metadata: req.getHeader('upload-metadata'),
    checksum: req.getHeader('upload-checksum'),
    contentType: req.getHeader('content-type'),
    contentLength: req.getHeader('content-length'),
    range: req.getHeader('range'),
    ifRange: req.getHeader('if-range'),
    ifNoneMatch: req.getHeader('if-none-match'),
  };
}

/** @throws Refusal `tus_version_unknown`. */
export function requireTus({ version }: UploadHead): void {
  if (version !== TUS_VERSION) throw new Refusal('tus_version_unknown');
}

/** A whole number of a header. @throws Refusal `header_invalid`. */
export function readWhole(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Refusal('header_invalid', { field: name });
  return Number(text);
}

/** Whether a POST brings the first bytes along. @throws Refusal `upload_body_type` for a body that is something else. */
export function bringsBytes({ contentType, contentLength }: UploadHead): boolean {
  if (contentType === UPLOAD_CONTENT_TYPE) return true;
  if (contentType !== '' || Number(contentLength) > 0) throw new Refusal('upload_body_type');
  return false;
}

/** The SHA-256 that the bytes of this request have to have; undefined without the header. @throws Refusal `header_invalid`. */
export function readChecksum({ checksum }: UploadHead): Buffer | undefined {
  if (checksum === '') return undefined;
  const [, text] = /^sha256 ([A-Za-z0-9+/]{43}=)$/.exec(checksum) ?? [];
  if (text === undefined) throw new Refusal('header_invalid', { field: 'upload-checksum' });
  return Buffer.from(text, 'base64');
}

/** What a request says of who it is from is for nobody to read (GOV-03). */
const IDENTITY = new Set(['sender', 'from', 'user', 'owner']);

/**
 * The file's name of Upload-Metadata, made safe. Other keys, the type among them, are the client's own affair; those
 * that would name a person are refused.
 * @throws Refusal `header_invalid`, `field_unknown`.
 */
export function readFileName({ metadata }: UploadHead): string {
  let name = '';
  for (const pair of metadata.split(',')) {
    if (pair.trim() === '' && metadata.trim() === '') break;
    const [, key = '', value = ''] = /^([\x21-\x2b\x2d-\x7e]+)(?: +([A-Za-z0-9+/]*={0,2}))?$/.exec(pair.trim()) ?? [];
    if (key === '') throw new Refusal('header_invalid', { field: 'upload-metadata' });
    if (IDENTITY.has(key.toLowerCase())) throw new Refusal('field_unknown', { field: `upload-metadata.${key}` });
    const bytes = Buffer.from(value, 'base64');
    if (!isUtf8(bytes)) throw new Refusal('header_invalid', { field: 'upload-metadata' });
    if (key === 'filename') name = bytes.toString('utf8');
  }
  return safeFileName(name);
}
