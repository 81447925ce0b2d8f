/** Attachments as people read them: whole or a range, by session or by link, never as something a browser would run. */
import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { unixSeconds } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { attachmentQuery, linkQuery, thumbnailQuery } from '#src/protocol/attachments/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Content } from '#storage/attachments/blob-contents.ts';
import { isSealedName } from '#storage/attachments/blob-sealing.ts';
import { thumbnailPath } from '#storage/attachments/blobs.ts';
import type { AttachmentRecord } from '#storage/attachments/attachment-records.ts';
import type { ReadableAttachment } from './attachment-client.ts';
import { LINK_SECONDS, openLink, signLink } from './attachment-links.ts';
import { matchesTag, readRange } from './byte-ranges.ts';
import { contentDisposition } from './file-names.ts';
import { thumbnailFormat } from '#src/pictures/thumbnail-maker.ts';
import { isInline } from './type-sniffing.ts';
import type { ByteCall } from './upload-handlers.ts';

export async function readAttachment(call: ByteCall): Promise<void> {
  const { conversation } = call.query as z.infer<typeof attachmentQuery>;
  await send(call, readableBy(call, call.user, conversation));
}

export async function readAttachmentLink(call: ByteCall): Promise<void> {
  const { exchange, id, service, user } = call;
  const { conversation } = call.query as z.infer<typeof attachmentQuery>;
  readableBy(call, user, conversation);
  const expires = unixSeconds(service.now()) + LINK_SECONDS;
  const link = signLink(service.linkKeys.present, { attachment: id, conversation, user, expires });
  const path = `/v1/attachments/${id}/content?link=${link}`;
  exchange.send(200, JSON.stringify({ path, expires_at: formatInstant(expires * 1000) }));
}

/** The person is asked about again: a link opens what they may read now, not what they could when it was made. */
export async function readLinkedAttachment(call: ByteCall): Promise<void> {
  const { id, service } = call;
  const { link } = call.query as z.infer<typeof linkQuery>;
  const { conversation, user } = openLink(
    service.linkKeys.accepted(unixSeconds(service.now())),
    id,
    link,
    unixSeconds(service.now()),
  );
  if (!service.accounts.isActive(user) || service.access.isOver(user)) throw new Refusal('attachment_link_invalid');
  await send(call, readableBy(call, user, conversation));
}

function readableBy({ client, id }: ByteCall, user: string, conversation: string): ReadableAttachment {
  return client.readableIn(user, id, conversation);
}

/** A small picture of a picture, made when somebody first asks for it. */
export async function readThumbnail(call: ByteCall): Promise<void> {
  const { client, exchange, head, user } = call;
  const { conversation, size: text } = call.query as z.infer<typeof thumbnailQuery>;
  const size = Number(text);
  const attachment = readableBy(call, user, conversation);
  const tag = `"${attachment.hash}.${size}"`;
  const headers = safeHeaders(tag);
  if (thumbnailFormat(attachment.type, attachment.bytes) === undefined) throw new Refusal('thumbnail_not_found');
  if (head.ifNoneMatch !== '' && matchesTag(head.ifNoneMatch, tag)) return exchange.send(304, '', headers);
  let picture = await readPicture(client, attachment, size);
  if (picture === undefined) {
    await client.ask('attachments.makeThumbnail', { id: attachment.id, size });
    picture = await readPicture(client, client.find(attachment.id) ?? attachment, size);
  }
  if (picture === undefined) throw new Refusal('attachment_not_found');
  headers.push(['content-type', 'image/webp'], ['content-disposition', contentDisposition('inline', 'thumbnail.webp')]);
  await exchange.sendStream(200, headers, picture.length, only(picture));
}

/** The thumbnail if it was made; undefined otherwise. @throws Refusal `encryption_locked`. */
async function readPicture(
  { folder, vault }: ByteCall['client'],
  { hash }: Pick<AttachmentRecord, 'hash'>,
  size: number,
): Promise<Buffer | undefined> {
  if (hash === undefined) return undefined;
  const keys = isSealedName(hash) ? vault.keys : undefined;
  try {
    const stored = await readFile(thumbnailPath(folder, hash, size));
    return keys === undefined ? stored : keys.openPart(`${hash}.${size}`, stored);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** A picture as a stream of one piece. */
export async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** What every answer with a person's bytes carries, so that a browser never runs them. */
export function safeHeaders(tag: string): [string, string][] {
  return [
    ['etag', tag],
    // Readers keep it and ask each time: who may read it changes, what it is does not.
    ['cache-control', 'private, no-cache'],
    ['content-security-policy', "default-src 'none'; sandbox"],
    ['cross-origin-resource-policy', 'same-site'],
    ['referrer-policy', 'no-referrer'],
  ];
}

async function send({ client, exchange, head }: ByteCall, attachment: ReadableAttachment): Promise<void> {
  const { bytes, hash, name, type } = attachment;
  const tag = `"${hash}"`;
  const headers = safeHeaders(tag);
  headers.push(['accept-ranges', 'bytes']);
  if (head.ifNoneMatch !== '' && matchesTag(head.ifNoneMatch, tag)) return exchange.send(304, '', headers);
  // A range of what the reader has not got a part of is of no use to them.
  const range = head.ifRange === '' || head.ifRange.trim() === tag ? readRange(head.range, bytes) : undefined;
  const { start, end } = range ?? { start: 0, end: bytes - 1 };
  headers.push(
    ['content-type', type],
    ['content-disposition', contentDisposition(isInline(type) ? 'inline' : 'attachment', name)],
  );
  if (range !== undefined) headers.push(['content-range', `bytes ${start}-${end}/${bytes}`]);
  const content = await openContent(client, attachment);
  try {
    const status = range === undefined ? 200 : 206;
    await exchange.sendStream(status, headers, end - start + 1, await begun(content.read(start, end)));
  } finally {
    await content.close();
  }
}

/** The same pieces, the first of which is there: a store that is away is an answer, and no answer that breaks off. */
async function begun(pieces: AsyncGenerator<Buffer>): Promise<AsyncGenerator<Buffer>> {
  const first = await pieces.next().catch((error: unknown) => {
    throw isAbsent(error) ? new Refusal('attachment_not_found') : error;
  });
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* pieces;
  })();
}

/**
 * @throws Refusal `attachment_not_found` when the last message that had it was deleted a moment ago, `encryption_locked`,
 * `object_store_unavailable`.
 */
async function openContent(client: ByteCall['client'], { id, hash }: ReadableAttachment): Promise<Content> {
  try {
    return await client.open(hash);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    // It may have been sealed or moved a moment ago, and have another name or place now.
    const now = client.find(id)?.hash;
    if (now === undefined) throw new Refusal('attachment_not_found');
    return await client.open(now).catch((failure: unknown) => {
      throw isAbsent(failure) ? new Refusal('attachment_not_found') : failure;
    });
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
