/**
 * Files of messages: uploads that go on where they stopped, whatever the network does, and downloads. Bytes are read
 * from a Blob piece by piece, so that a file of any size is never in memory: a browser's `File` is one, and Node makes
 * one of a file on disk with `fs.openAsBlob`.
 */
import type { attachmentLink, THUMBNAIL_SIZES } from '#src/protocol/attachments/attachments.ts';
import type { z } from 'zod';
import { backoffMillis } from '../connection/backoff.ts';
import type { ByteRequest, Http } from '../connection/http.ts';
import { clientError, ParleyError } from '../parley-error.ts';
import type { Session } from '../connection/session.ts';
import type { Random, Timers } from '../connection/timers.ts';

/** Bytes of one request: what a slow phone network brings up within UPLOAD_MILLIS_MAX. */
export const UPLOAD_PIECE_BYTES = 4 * 1024 * 1024;
/** Files up to here go up in the request that begins them: what a broken connection costs is sent again in a moment. */
export const WHOLE_BYTES_MAX = 1024 * 1024;
/** How long a piece may take. Beyond it the upload is asked how far it is, and goes on from there. */
export const UPLOAD_MILLIS_MAX = 120_000;
/** How long a download may take to begin. */
export const DOWNLOAD_MILLIS_MAX = 30_000;
/** Attempts in a row that bring no byte up, after which an upload fails with what the last one failed with. */
export const FRUITLESS_ATTEMPTS_MAX = 8;

const TUS = { 'tus-resumable': '1.0.0' };
const PIECE = { ...TUS, 'content-type': 'application/offset+octet-stream' };

export interface UploadOptions {
  /** The file's name, as readers see it. */
  readonly name?: string;
  /** The id of an upload of the same bytes that was begun before, in another visit perhaps: it goes on from there. */
  readonly resume?: string;
  /** Told the id as soon as there is one, to be kept for `resume`. */
  readonly onBegun?: (id: string) => void;
  /** Told whenever the server has more of it, in bytes. */
  readonly onProgress?: (sent: number, total: number) => void;
  readonly signal?: AbortSignal;
}

export interface DownloadOptions {
  /** The first byte and the last one, both included; the whole file when left out. */
  readonly range?: readonly [first: number, last: number];
  readonly signal?: AbortSignal;
}

export interface AttachmentsOptions {
  readonly session: Session;
  readonly http: Http;
  readonly timers: Timers;
  readonly random: Random;
}

export class Attachments {
  readonly #options: AttachmentsOptions;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /**
   * Uploads a file; answers the id that a media message names. A broken connection, a busy server and a restart of it
   * are waited for; a refusal is not.
   * @throws ParleyError the server's code (`attachment_too_large`, `quota_exceeded` …), `transfer_aborted`.
   */
  async upload(file: Blob, options: UploadOptions = {}): Promise<string> {
    const { onBegun, onProgress, signal } = options;
    const { resume } = options;
    const begun = await this.#persist(signal, () =>
      resume === undefined
        ? this.#begin(file, options)
        : this.#offset(resume, signal).then((offset) => ({ id: resume, offset })),
    );
    const { id } = begun;
    let { offset } = begun;
    if (resume === undefined) onBegun?.(id);
    let fruitless = 0;
    onProgress?.(offset, file.size);
    while (offset < file.size) {
      const before = offset;
      try {
        offset = await this.#append(id, file, offset, signal);
      } catch (thrown) {
        fruitless += 1;
        if (!isPassing(thrown) || fruitless >= FRUITLESS_ATTEMPTS_MAX) throw thrown;
        await this.#pause(fruitless, thrown, signal);
        offset = await this.#persist(signal, () => this.#offset(id, signal));
      }
      if (offset > before) fruitless = 0;
      onProgress?.(offset, file.size);
    }
    return id;
  }

  /** Discards an upload that no message has. @throws ParleyError */
  async discard(id: string): Promise<void> {
    await this.#send({ method: 'delete', path: `/v1/attachments/${id}`, headers: TUS, millisMax: DOWNLOAD_MILLIS_MAX });
  }

  /** A file of a conversation, once it begins to come: its body can be read as a stream. @throws ParleyError */
  async download(id: string, conv: string, { range, signal }: DownloadOptions = {}): Promise<Response> {
    const headers = range === undefined ? {} : { range: `bytes=${range[0]}-${range[1]}` };
    const query = { conversation: conv };
    return await this.#send({ ...get(`/v1/attachments/${id}`), query, headers, signal });
  }

  /** A small picture of a picture, as WebP. @throws ParleyError `thumbnail_not_found` for what has none. */
  async thumbnail(id: string, conv: string, size: (typeof THUMBNAIL_SIZES)[number]): Promise<Blob> {
    const query = { conversation: conv, size };
    return await (await this.#send({ ...get(`/v1/attachments/${id}/thumbnail`), query })).blob();
  }

  /** A link for players and image elements, good for some minutes: `path` goes behind the messaging service's base. */
  async link(id: string, conv: string): Promise<z.infer<typeof attachmentLink>> {
    const reply = await this.#send({ ...get(`/v1/attachments/${id}/link`), query: { conversation: conv } });
    return (await reply.json()) as z.infer<typeof attachmentLink>;
  }

  /** A small file is up when it is begun, as an empty one is. */
  async #begin(file: Blob, { name = '', signal }: UploadOptions): Promise<{ id: string; offset: number }> {
    const isWhole = file.size > 0 && file.size <= WHOLE_BYTES_MAX;
    const headers = {
      ...(isWhole ? PIECE : TUS),
      'upload-length': String(file.size),
      ...(name === '' ? {} : { 'upload-metadata': `filename ${base64(name)}` }),
    };
    const path = '/v1/attachments';
    const body = isWhole ? { bytes: file, millisMax: UPLOAD_MILLIS_MAX } : { millisMax: DOWNLOAD_MILLIS_MAX };
    const reply = await this.#send({ method: 'post', path, headers, signal, ...body });
    const id = reply.headers.get('location')?.split('/').at(-1);
    if (id === undefined) throw clientError('answer_unreadable', { status: reply.status });
    return { id, offset: offsetOf(reply) };
  }

  async #offset(id: string, signal: AbortSignal | undefined): Promise<number> {
    const path = `/v1/attachments/${id}`;
    const reply = await this.#send({ method: 'head', path, headers: TUS, signal, millisMax: UPLOAD_MILLIS_MAX });
    return offsetOf(reply);
  }

  async #append(id: string, file: Blob, offset: number, signal: AbortSignal | undefined): Promise<number> {
    const reply = await this.#send({
      method: 'patch',
      path: `/v1/attachments/${id}`,
      headers: { ...PIECE, 'upload-offset': String(offset) },
      bytes: file.slice(offset, offset + UPLOAD_PIECE_BYTES),
      signal,
      millisMax: UPLOAD_MILLIS_MAX,
    });
    return offsetOf(reply);
  }

  async #send(request: ByteRequest): Promise<Response> {
    const { http, session } = this.#options;
    return await session.authorized((token) => http.exchange({ ...request, token }));
  }

  /** Tries again what fails for a while. */
  async #persist<T>(signal: AbortSignal | undefined, action: () => Promise<T>): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await action();
      } catch (thrown) {
        if (!isPassing(thrown) || failures >= FRUITLESS_ATTEMPTS_MAX) throw thrown;
        await this.#pause(failures, thrown, signal);
      }
    }
  }

  async #pause(failures: number, thrown: unknown, signal: AbortSignal | undefined): Promise<void> {
    const { random, timers } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const retryAfter = thrown instanceof ParleyError ? thrown.retryAfter : undefined;
    const cancel = timers.after(backoffMillis(failures, random, retryAfter), resolve);
    const abort = () => reject(clientError('transfer_aborted'));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await promise;
    } finally {
      cancel();
      signal?.removeEventListener('abort', abort);
    }
  }
}

const get = (path: string) => ({ method: 'get', path, millisMax: DOWNLOAD_MILLIS_MAX });

function offsetOf(reply: Response): number {
  const offset = Number(reply.headers.get('upload-offset') ?? Number.NaN);
  if (!Number.isSafeInteger(offset)) throw clientError('answer_unreadable', { status: reply.status });
  return offset;
}

/** Failures that say nothing about the file: the network, a busy server, an offset that another request moved. */
function isPassing(thrown: unknown): boolean {
  if (!(thrown instanceof ParleyError)) return false;
  if (['network_failed', 'deadline_exceeded', 'upload_busy', 'upload_offset_wrong'].includes(thrown.code)) return true;
  // A refusal of HEAD has no body to say why; what it can refuse with 409 is an upload that another request has.
  if (thrown.code === 'answer_unreadable' && thrown.status === 409) return true;
  return thrown.status === 429 || thrown.status >= 500;
}

/** Of the UTF-8 bytes. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
