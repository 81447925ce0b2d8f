/** Attachments as people read them: whole or a range, by session or by link, never as something a browser would run. */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { z } from 'zod';
import { unixSeconds } from '#src/base/clock.ts';
import { isId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import type { attachmentQuery, linkQuery } from '#src/protocol/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { blobPath } from '#storage/blobs.ts';
import type { ReadableAttachment } from './attachment-door.ts';
import { LINK_SECONDS, openLink, signLink } from './attachment-links.ts';
import { matchesTag, readRange } from './byte-ranges.ts';
import { contentDisposition } from './file-names.ts';
import { isInline } from './type-sniffing.ts';
import type { ByteCall } from './upload-handlers.ts';

/** Bytes read from the disk at once, and held for one reader. */
const CHUNK_BYTES = 256 * 1024;

export async function readAttachment(call: ByteCall): Promise<void> {
  const { conversation } = call.query as z.infer<typeof attachmentQuery>;
  await send(call, readableBy(call, call.user, conversation));
}

export async function readAttachmentLink(call: ByteCall): Promise<void> {
  const { exchange, id, service, user } = call;
  const { conversation } = call.query as z.infer<typeof attachmentQuery>;
  readableBy(call, user, conversation);
  const expires = unixSeconds(service.now()) + LINK_SECONDS;
  const link = signLink(service.idKey, { attachment: id, conversation, user, expires });
  const path = `/v1/attachments/${id}/content?link=${link}`;
  exchange.send(200, JSON.stringify({ path, expires_at: formatInstant(expires * 1000) }));
}

/** The person is asked about again: a link opens what they may read now, not what they could when it was made. */
export async function readLinkedAttachment(call: ByteCall): Promise<void> {
  const { id, service } = call;
  const { link } = call.query as z.infer<typeof linkQuery>;
  const { conversation, user } = openLink(service.idKey, id, link, unixSeconds(service.now()));
  if (!service.accounts.isActive(user) || service.access.isOver(user)) throw new Refusal('attachment_link_invalid');
  await send(call, readableBy(call, user, conversation));
}

function readableBy({ door, id, service }: ByteCall, user: string, conversation: string): ReadableAttachment {
  const attachment = isId('att', id) ? id : '';
  return door.readableIn({ service, user }, attachment, conversation);
}

async function send({ door, exchange, head }: ByteCall, attachment: ReadableAttachment): Promise<void> {
  const { bytes, hash, name, type } = attachment;
  const tag = `"${hash}"`;
  const headers: [string, string][] = [
    ['etag', tag],
    // Readers keep it and ask each time: who may read it changes, what it is does not.
    ['cache-control', 'private, no-cache'],
    ['accept-ranges', 'bytes'],
    ['content-security-policy', "default-src 'none'; sandbox"],
    ['cross-origin-resource-policy', 'same-site'],
    ['referrer-policy', 'no-referrer'],
  ];
  if (head.ifNoneMatch !== '' && matchesTag(head.ifNoneMatch, tag)) return exchange.send(304, '', headers);
  // A range of what the reader has not got a part of is of no use to them.
  const range = head.ifRange === '' || head.ifRange.trim() === tag ? readRange(head.range, bytes) : undefined;
  const { start, end } = range ?? { start: 0, end: bytes - 1 };
  headers.push(
    ['content-type', type],
    ['content-disposition', contentDisposition(isInline(type) ? 'inline' : 'attachment', name)],
  );
  if (range !== undefined) headers.push(['content-range', `bytes ${start}-${end}/${bytes}`]);
  const file = await openBlob(door.folder, hash);
  try {
    const status = range === undefined ? 200 : 206;
    await exchange.sendStream(status, headers, end - start + 1, readBytes(file, start, end));
  } finally {
    await file.close();
  }
}

/** @throws Refusal `attachment_not_found` when the last message that had it was deleted a moment ago. */
async function openBlob(folder: string, hash: string): Promise<FileHandle> {
  try {
    return await open(blobPath(folder, hash), constants.O_RDONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new Refusal('attachment_not_found');
    throw error;
  }
}

/** Every chunk is in the same memory: it is good until the next one is asked for. */
async function* readBytes(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(1, end - start + 1)));
  for (let position = start; position <= end;) {
    const wanted = Math.min(buffer.length, end - position + 1);
    const { bytesRead } = await file.read(buffer, 0, wanted, position);
    if (bytesRead === 0) throw new Error('A content is shorter than it was.');
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
