/** Uploads by tus 1.0.0: created, appended to, asked for, discarded. Bytes go from the socket to the disk. */
import { createHash, randomUUID } from 'node:crypto';
import { isId } from '#src/base/ids.ts';
import { TUS_VERSION } from '#src/protocol/attachments/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { AttachmentRecord } from '#storage/attachments/attachment-records.ts';
import { writeSealedCopy } from '#storage/attachments/blob-contents.ts';
import type { ContentKeys } from '#storage/attachments/blob-sealing.ts';
import { removeUpload, sealedUploadPath, uploadPath } from '#storage/attachments/blobs.ts';
import { UploadWriter } from '#storage/attachments/upload-writer.ts';
import type { AttachmentClient } from './attachment-client.ts';
import type { Service } from '../http/caller.ts';
import type { Exchange } from '../http/exchange.ts';
import type { IncomingBody } from '../http/incoming-body.ts';
import { sniffType, SNIFFED_BYTES } from './type-sniffing.ts';
import { bringsBytes, readChecksum, readFileName, readWhole, requireTus, type UploadHead } from './upload-headers.ts';
import { scanContent } from './virus-scan.ts';

/** One request about bytes. */
export interface ByteCall {
  readonly service: Service;
  readonly client: AttachmentClient;
  readonly exchange: Exchange;
  readonly head: UploadHead;
  /** Of a request that has one. */
  readonly body: IncomingBody | undefined;
  /** Of the authenticated session; empty for a form that takes none. */
  readonly user: string;
  readonly address: string;
  /** The attachment or the room of the path, whether or not there is such a one. */
  readonly id: string;
  /** What else the path names; empty where it does not. */
  readonly part: string;
  readonly query: unknown;
}

const tus = (offset: number): [string, string][] => [
  ['tus-resumable', TUS_VERSION],
  ['upload-offset', String(offset)],
];

export async function createUpload(call: ByteCall): Promise<void> {
  const { exchange, head, service } = call;
  requireTus(head);
  if (head.deferred !== '') throw new Refusal('header_invalid', { field: 'upload-defer-length' });
  const bytes = readWhole('upload-length', head.length);
  if (bytes > service.config.attachmentBytesMax) throw new Refusal('attachment_too_large');
  const hasBytes = bringsBytes(head);
  readChecksum(head);
  const name = readFileName(head);
  if (hasBytes && Number(head.contentLength) > bytes) throw new Refusal('upload_too_long');
  requireSealing(call);
  const { id, offset } =
    hasBytes && bytes > 0 && Number(head.contentLength) === bytes
      ? await takeWhole(call, bytes, name)
      : await begin(call, bytes, name, hasBytes);
  exchange.send(201, '', [['location', `/v1/attachments/${id}`], ...tus(offset)]);
}

interface Begun {
  readonly id: string;
  readonly offset: number;
}

async function begin(call: ByteCall, bytes: number, name: string, hasBytes: boolean): Promise<Begun> {
  const { client, user } = call;
  const id = await client.ask('uploads.create', { user, bytes, name });
  client.counts.upload('created');
  if (!hasBytes && bytes > 0) return { id, offset: 0 };
  const offset = await withUpload({ ...call, id }, async (upload) => await append(call, upload, 0, hasBytes));
  return { id, offset };
}

/**
 * An upload that comes whole in the request that begins it. Nobody can come back to it before that is answered, so that
 * it is stored once, when it is whole, and leaves nothing behind when it is not.
 */
async function takeWhole(call: ByteCall, bytes: number, name: string): Promise<Begun> {
  const { client, exchange, user } = call;
  const lease = randomUUID();
  client.watch(lease, exchange);
  try {
    const id = await client.ask('uploads.reserve', { user, bytes, shard: client.shard });
    client.given(lease);
    client.counts.upload('created');
    let offset = 0;
    try {
      const writer = UploadWriter.begin(client.folder, id);
      const keep = async (hash: string, type: string) => await client.ask('uploads.keep', { id, name, hash, type });
      try {
        offset = await append(call, { id, bytes, writer, lease, keep }, 0, true);
      } finally {
        await writer.close();
      }
    } finally {
      if (offset < bytes) {
        await removeUpload(client.folder, id);
        await client.ask('uploads.release', { id }).catch(() => undefined);
      }
    }
    return { id, offset };
  } finally {
    client.unwatch(lease);
  }
}

export async function readUpload(call: ByteCall): Promise<void> {
  const { exchange, head } = call;
  requireTus(head);
  const record = own(call);
  let offset = record.bytes;
  if (record.hash === undefined) {
    // A crash or a lost answer may have left an upload whole and unfinished: asking for it finishes it.
    offset = await withUpload(call, async (upload) => {
      if (upload.writer.offset === record.bytes) await finish(call, upload);
      else await upload.writer.settle();
      return upload.writer.offset;
    });
  }
  exchange.send(200, '', [['upload-length', String(record.bytes)], ...tus(offset)]);
}

export async function appendUpload(call: ByteCall): Promise<void> {
  const { exchange, head } = call;
  requireTus(head);
  if (!bringsBytes(head)) throw new Refusal('upload_body_type');
  const wanted = readWhole('upload-offset', head.offset);
  readChecksum(head);
  const record = own(call);
  requireSealing(call);
  if (record.hash !== undefined) throw new Refusal('upload_complete');
  if (wanted + Number(head.contentLength) > record.bytes) throw new Refusal('upload_too_long');
  const offset = await withUpload(call, async (upload) => await append(call, upload, wanted, true));
  exchange.send(204, '', tus(offset));
}

export async function discardUpload(call: ByteCall): Promise<void> {
  const { client, exchange, head, user } = call;
  requireTus(head);
  const { id } = own(call);
  await client.ask('uploads.discard', { user, id });
  exchange.send(204, '', [['tus-resumable', TUS_VERSION]]);
}

/** Nothing is taken that could not be sealed when it is whole. @throws Refusal `encryption_locked`. */
function requireSealing({ service, user }: ByteCall): void {
  service.rights.require('attachment.upload', user);
}

/** The caller's own upload. @throws Refusal `attachment_not_found` for what is not there and what is another's. */
function own({ client, id, user }: ByteCall): AttachmentRecord {
  const record = isId('att', id) ? client.find(id) : undefined;
  if (record?.owner !== user) throw new Refusal('attachment_not_found');
  return record;
}

/** An upload that this request has for itself. */
interface Upload {
  readonly id: string;
  /** Of the whole upload. */
  readonly bytes: number;
  readonly writer: UploadWriter;
  readonly lease: string;
  /** Makes it an attachment with that content, when all of it is on disk. */
  readonly keep: (hash: string, type: string) => Promise<unknown>;
}

/** Has the upload for the time of `action`. A request before, of a connection that broke, is made to let go first. */
async function withUpload(call: ByteCall, action: (upload: Upload) => Promise<number>): Promise<number> {
  const { client, exchange, id, user } = call;
  const lease = randomUUID();
  client.watch(lease, exchange);
  let isRefusedType = false;
  try {
    await client.ask('uploads.open', { user, id, shard: client.shard, lease });
    client.given(lease);
    // Read again: the one before may have finished or discarded it.
    const record = own(call);
    if (record.hash !== undefined) throw new Refusal('upload_complete');
    const writer = UploadWriter.open(client.folder, id);
    const keep = async (hash: string, type: string) => await client.ask('uploads.finish', { id, lease, hash, type });
    try {
      return await action({ id, bytes: record.bytes, writer, lease, keep });
    } finally {
      await writer.close();
    }
  } catch (error) {
    isRefusedType = error instanceof Refusal && error.code === 'attachment_type_forbidden';
    throw error;
  } finally {
    client.unwatch(lease);
    await client.ask('uploads.close', { id, lease }).catch(() => undefined);
    // What may not be attached need not be kept.
    if (isRefusedType) await client.ask('uploads.discard', { user, id }).catch(() => undefined);
  }
}

/**
 * Each chunk is in the file before the next one is taken: the library reads on while somebody waits, paused or not, so
 * that a disk slower than the network would fill the memory.
 *
 * Writes the body behind what is there; answers the offset, which is on disk. The last byte finishes the upload.
 */
async function append(call: ByteCall, upload: Upload, wanted: number, hasBytes: boolean): Promise<number> {
  const { body, exchange, head } = call;
  const { bytes, writer } = upload;
  if (writer.offset !== wanted) throw new Refusal('upload_offset_wrong');
  const checksum = readChecksum(head);
  const sum = checksum === undefined ? undefined : createHash('sha256');
  let room = bytes - wanted;
  let isKnown = false;
  const take = (chunk: Buffer): void => {
    room -= chunk.length;
    call.client.counts.received(chunk.length);
    // A body without a length may be longer than it should.
    if (room < 0) throw new Refusal('upload_too_long');
    sum?.update(chunk);
    writer.append(chunk);
    if (!isKnown && writer.offset >= SNIFFED_BYTES) {
      allowedType(call, writer);
      isKnown = true;
    }
  };
  try {
    if (hasBytes) await body?.pour(take);
  } catch (error) {
    if (room < 0) await writer.undo();
    throw error;
  }
  if (checksum !== undefined && (sum?.digest().equals(checksum) !== true || exchange.isDone)) {
    await writer.undo();
    throw new Refusal('checksum_mismatch');
  }
  if (writer.offset === bytes) await finish(call, upload);
  else await writer.settle();
  return writer.offset;
}

/** The type of the content, if it is one that may be attached. @throws Refusal `attachment_type_forbidden`. */
function allowedType({ service }: ByteCall, writer: UploadWriter): string {
  const type = sniffType(writer.head(SNIFFED_BYTES));
  const { attachmentTypes } = service.config;
  if (attachmentTypes === '') return type;
  const [plain = ''] = type.split(';');
  const [family] = plain.split('/');
  const allowed = attachmentTypes.split(',').map((one) => one.trim());
  if (!allowed.includes(plain) && !allowed.includes(`${family}/*`)) throw new Refusal('attachment_type_forbidden');
  return type;
}

/**
 * Makes a whole upload an attachment.
 * @throws Refusal `attachment_type_forbidden`, `virus_scan_unavailable`, `attachment_infected`, `encryption_locked`.
 */
async function finish(call: ByteCall, { bytes, id, keep, lease, writer }: Upload): Promise<void> {
  const { address, client, service } = call;
  const type = allowedType(call, writer);
  const { clamdAddress } = service.config;
  const signature = clamdAddress === undefined ? undefined : await scan(client, clamdAddress, writer);
  if (signature !== undefined) {
    await client.ask('uploads.removeInfected', { id, lease, signature, address });
    throw new Refusal('attachment_infected');
  }
  await writer.settleContent();
  const hash = await writer.hash();
  const keys = client.vault.sealing;
  await keep(keys === undefined ? hash : await seal(client.folder, id, { bytes, hash }, keys), type);
  client.counts.upload('finished');
}

/** Writes the sealed copy of a whole upload; answers its name. */
async function seal(
  folder: string,
  id: string,
  content: { readonly bytes: number; readonly hash: string },
  keys: ContentKeys,
): Promise<string> {
  return await writeSealedCopy(uploadPath(folder, id), sealedUploadPath(folder, id), content, keys);
}

/** What the virus scanner found in an upload, if anything. @throws Refusal `virus_scan_unavailable`. */
async function scan({ counts }: AttachmentClient, clamd: string, writer: UploadWriter): Promise<string | undefined> {
  try {
    const signature = await scanContent(clamd, writer.read());
    counts.scanned(signature === undefined ? 'clean' : 'infected');
    return signature;
  } catch (error) {
    counts.scanned('unavailable');
    throw error;
  }
}
