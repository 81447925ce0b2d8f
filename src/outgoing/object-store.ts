/**
 * An object store of the S3 type that an owner names: how it is connected to, and in what words its failures are told.
 * The library signs, writes XML and reads it; its connections are made by the guard's lookup, and lead nowhere but to the
 * endpoint, since the bucket goes into the path and no redirect is followed.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { pipeline, Readable, Transform } from 'node:stream';
import type * as Library from '@aws-sdk/client-s3';
import type { ObjectStoreSettings } from '#src/protocol/attachments/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { checkedHost, makeLookup, type PrivateTargets } from './targets.ts';

/** What its connections are made with. */
export type ObjectStoreTarget = Omit<ObjectStoreSettings, 'keepsContents'>;

export interface ObjectStoreOptions {
  readonly allowPrivateTargets: PrivateTargets;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How long one request may take, from waiting for a connection to its last byte. */
  readonly millis?: number;
}

/** A part of 8 MiB over a line of 3 Mbit/s takes this long. [`object_store_unavailable`] */
export const OBJECT_STORE_MILLIS = 30_000;
/** A connection that is not there by then will not come. [`object_store_unavailable`] */
const CONNECT_MILLIS = 3_000;
/** Connections of one thread; whoever is beyond them waits within the deadline. */
export const OBJECT_STORE_SOCKETS_MAX = 32;
/** Failures in a row after which the store is left alone for REST_MILLIS, so that nobody waits for one that is away. */
export const OBJECT_STORE_FAILURES = 3;
export const OBJECT_STORE_REST_MILLIS = 5_000;

/** Bytes of a part: S3 wants 5 MiB of each but the last, and one part is held in memory. */
export const PART_BYTES = 8 * 1024 * 1024;
/** S3 takes no more parts of one object. A larger one has larger parts. */
const PARTS_MAX = 10_000;
/** How often a part is sent before the whole object is given up. */
const PART_ATTEMPTS = 3;
/** Bytes that are hashed, or handed to the connection, before others have their turn. */
const STEP_BYTES = 256 * 1024;

/** Bytes of one answer: the longest range that is asked for is 4 MiB. Beyond it the store says nothing worth holding. */
export const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** The folder of the bucket, for policies and life-cycle rules. */
const PREFIX = 'attachments/';

/** The library, once it is loaded, and its client of this store. */
interface Opened {
  readonly client: Library.S3Client;
  readonly library: typeof Library;
}

/** What goes with a request that stores bytes. */
interface SentBody {
  readonly Body: Readable;
  readonly ContentLength: number;
  readonly ContentMD5: string;
}

export class S3Store {
  readonly #settings: ObjectStoreTarget;
  readonly #options: ObjectStoreOptions;
  readonly #millis: number;
  readonly #ended = new AbortController();
  readonly #agents: readonly [PlainAgent, SecureAgent];
  #opened: Promise<Opened> | undefined;
  #failures = 0;
  #restUntil = 0;

  constructor(settings: ObjectStoreTarget, options: ObjectStoreOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#millis = options.millis ?? OBJECT_STORE_MILLIS;
    const kept = {
      keepAlive: true,
      maxSockets: OBJECT_STORE_SOCKETS_MAX,
      lookup: makeLookup(options.allowPrivateTargets),
    };
    // Not imported, as in `request.ts`.
    const { Agent } = process.getBuiltinModule('node:http');
    this.#agents = [new Agent(kept), new SecureAgent(kept)];
  }

  /** The bytes from `start` to `end`, both included. @throws Refusal `object_store_unavailable`; Error `ENOENT`. */
  async read(object: string, start: number, end: number): Promise<Buffer> {
    return await this.#ask(async ({ client, library }, signal) => {
      const range = { ...this.#place(object), Range: `bytes=${start}-${end}` };
      const { Body: body } = await client.send(new library.GetObjectCommand(range), { abortSignal: signal });
      const bytes = await readAll(body as Readable, end - start + 1);
      if (bytes.length !== end - start + 1) throw new Error('The store answered with another range.');
      return bytes;
    });
  }

  /**
   * Stores an object of so many bytes, in parts where it is larger than one. Each part goes with its MD5, which the store
   * holds it against. @throws Refusal `object_store_unavailable`; what `source` throws.
   */
  async write(
    object: string,
    bytes: number,
    source: (position: number, length: number) => Promise<Buffer>,
  ): Promise<void> {
    if (bytes <= PART_BYTES) {
      const part = await source(0, bytes);
      await this.#sendPart(part, async ({ client, library }, body, abortSignal) => {
        await client.send(new library.PutObjectCommand({ ...this.#place(object), ...body }), { abortSignal });
      });
      return;
    }
    const begun = await this.#ask(
      async ({ client, library }, signal) =>
        await client.send(new library.CreateMultipartUploadCommand(this.#place(object)), { abortSignal: signal }),
    );
    const upload = { ...this.#place(object), UploadId: begun.UploadId };
    const partBytes = Math.max(PART_BYTES, Math.ceil(bytes / PARTS_MAX));
    const parts: { readonly ETag: string | undefined; readonly PartNumber: number }[] = [];
    for (let position = 0; position < bytes; position += partBytes) {
      const part = await source(position, Math.min(partBytes, bytes - position));
      const number = parts.length + 1;
      await this.#sendPart(part, async ({ client, library }, body, abortSignal) => {
        const command = new library.UploadPartCommand({ ...upload, ...body, PartNumber: number });
        const { ETag: tag } = await client.send(command, { abortSignal });
        parts.push({ ETag: tag, PartNumber: number });
      });
    }
    await this.#ask(async ({ client, library }, signal) => {
      const whole = { ...upload, MultipartUpload: { Parts: parts } };
      return await client.send(new library.CompleteMultipartUploadCommand(whole), { abortSignal: signal });
    });
  }

  /** Removes an object, and the parts of one that was never whole. @throws Refusal `object_store_unavailable`. */
  async remove(object: string): Promise<void> {
    const { Bucket: bucket, Key: name } = this.#place(object);
    const unfinished = await this.#ask(
      async ({ client, library }, signal) =>
        await client.send(new library.ListMultipartUploadsCommand({ Bucket: bucket, Prefix: name }), {
          abortSignal: signal,
        }),
    );
    for (const { UploadId: id } of unfinished.Uploads ?? []) {
      await this.#ask(async ({ client, library }, signal) => {
        const upload = { Bucket: bucket, Key: name, UploadId: id };
        return await client.send(new library.AbortMultipartUploadCommand(upload), { abortSignal: signal });
      });
    }
    await this.#ask(
      async ({ client, library }, signal) =>
        await client.send(new library.DeleteObjectCommand(this.#place(object)), { abortSignal: signal }),
    );
  }

  /** Stores a few bytes, reads them back, asks for unfinished uploads and removes them. @throws what fails, for `objectStoreWordOf`. */
  async probe(): Promise<void> {
    const { client, library } = await this.#open();
    const abortSignal = this.#deadline();
    const place = this.#place(`probe-${randomUUID()}`);
    const said = Buffer.from('Parley was here.');
    const body = { Body: Readable.from([said]), ContentLength: said.length, ContentMD5: await md5Of(said) };
    await client.send(new library.PutObjectCommand({ ...place, ...body }), { abortSignal });
    const { Body: answered } = await client.send(new library.GetObjectCommand({ ...place, Range: 'bytes=7-9' }), {
      abortSignal,
    });
    const isRight = (await readAll(answered as Readable, said.length)).equals(said.subarray(7, 10));
    // Asked for with every removal, and a right of its own: without it objects that are to go would stay.
    await client.send(new library.ListMultipartUploadsCommand({ Bucket: place.Bucket, Prefix: place.Key }), {
      abortSignal,
    });
    await client.send(new library.DeleteObjectCommand(place), { abortSignal });
    if (!isRight) throw Object.assign(new Error('A range is not what it should be.'), { name: 'RangeIgnored' });
  }

  /** Ends what is under way. */
  close(): void {
    this.#ended.abort(new Error('The store is no longer used.'));
    for (const agent of this.#agents) agent.destroy();
  }

  /** Sends a part, and once more where the store did not take it. */
  async #sendPart(
    part: Buffer,
    send: (opened: Opened, body: SentBody, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const md5 = await md5Of(part);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#ask(async (opened, signal) => {
          const body = { Body: Readable.from(stepsOf(part)), ContentLength: part.length, ContentMD5: md5 };
          await send(opened, body, signal);
        });
      } catch (error) {
        if (attempt === PART_ATTEMPTS || this.#ended.signal.aborted) throw error;
      }
    }
  }

  /** One request. @throws Refusal `object_store_unavailable`; Error `ENOENT` where there is no such object. */
  async #ask<T>(work: (opened: Opened, signal: AbortSignal) => Promise<T>): Promise<T> {
    const rest = this.#restUntil - this.#options.now();
    if (rest > 0) throw storeRefusal('left alone after failures', Math.ceil(rest / 1000));
    try {
      const answer = await work(await this.#open(), this.#deadline());
      this.#failures = 0;
      return answer;
    } catch (error) {
      // One that ends before what is asked for is not the object that was stored, and no fault of the store's.
      if (GONE.has((error as Error).name)) throw Object.assign(new Error('No such object.'), { code: 'ENOENT' });
      this.#failures += 1;
      if (this.#failures >= OBJECT_STORE_FAILURES) {
        this.#failures = 0;
        this.#restUntil = this.#options.now() + OBJECT_STORE_REST_MILLIS;
      }
      throw storeRefusal(objectStoreWordOf(error));
    }
  }

  #deadline(): AbortSignal {
    return AbortSignal.any([this.#ended.signal, AbortSignal.timeout(this.#millis)]);
  }

  #place(object: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#settings.bucket, Key: `${PREFIX}${object}` };
  }

  /** The library takes 80 ms to load and 20 MB, so it is loaded by whoever has a store. @throws Refusal `target_private`. */
  async #open(): Promise<Opened> {
    const { accessKeyId, endpoint, region, secretAccessKey } = this.#settings;
    checkedHost(new URL(endpoint), this.#options.allowPrivateTargets);
    this.#opened ??= Promise.all([import('@aws-sdk/client-s3'), import('@smithy/node-http-handler')]).then(
      ([library, { NodeHttpHandler }]) => {
        const [httpAgent, httpsAgent] = this.#agents;
        const client = new library.S3Client({
          endpoint,
          region,
          credentials: { accessKeyId, secretAccessKey },
          forcePathStyle: true,
          // A body is sent once; what is tried again is tried again here.
          maxAttempts: 1,
          // Checksums of the newer kind are refused by older stores; MD5 is known to all.
          requestChecksumCalculation: 'WHEN_REQUIRED',
          responseChecksumValidation: 'WHEN_REQUIRED',
          expectContinueHeader: false,
          logger: SILENT,
          requestHandler: new NodeHttpHandler({ httpAgent, httpsAgent, connectionTimeout: CONNECT_MILLIS }),
        });
        // The library holds all of an answer that it reads itself, an error's too.
        client.middlewareStack.add(
          (proceed) => async (given) => {
            const result = await proceed(given);
            const response = result.response as { body?: unknown };
            if (response.body instanceof Readable) response.body = boundedBody(response.body);
            return result;
          },
          { step: 'deserialize', priority: 'low' },
        );
        return { client, library };
      },
    );
    return await this.#opened;
  }
}

/** Codes of the store for an object that is not there, or is shorter than it was. */
const GONE: ReadonlySet<string> = new Set(['NoSuchKey', 'InvalidRange']);

const nothing = (): void => undefined;
/** The library would write to the standard error by itself. */
const SILENT = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The same bytes, and a failure where there are more than an answer may have. */
function boundedBody(body: Readable): Readable {
  let bytes = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) done(new Error('The store answers without end.'));
      else done(null, chunk);
    },
  });
  return pipeline(body, bounded, nothing);
}

async function* stepsOf(part: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < part.length; at += STEP_BYTES) {
    yield part.subarray(at, at + STEP_BYTES);
    await new Promise(setImmediate);
  }
}

async function md5Of(part: Buffer): Promise<string> {
  const hash = createHash('md5');
  for await (const step of stepsOf(part)) hash.update(step);
  return hash.digest('base64');
}

/** All of a body, which may be no longer than that. */
async function readAll(body: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > bytesMax) throw new Error('The store answers with more than was asked for.');
  }
  return Buffer.concat(chunks);
}

/** What is away comes back: whoever asks is told to do so again. The word is for the log alone. */
function storeRefusal(word: string, retryAfter = OBJECT_STORE_REST_MILLIS / 1000): Refusal {
  return Object.assign(new Refusal('object_store_unavailable', { retryAfter }), { word });
}

/** Code of the store → what is said of it. */
const WORDS: Readonly<Record<string, string>> = {
  AccessDenied: 'the key may not do this',
  AuthorizationHeaderMalformed: 'another region',
  InvalidAccessKeyId: 'key refused',
  NoSuchBucket: 'no such bucket',
  PermanentRedirect: 'another region',
  RangeIgnored: 'ranges are not answered',
  RequestTimeTooSkewed: 'the clocks differ',
  SignatureDoesNotMatch: 'key refused',
  AbortError: 'timeout',
  TimeoutError: 'timeout',
};

/** Why a store could not be used, in a few words with nothing of what was sent. */
export function objectStoreWordOf(error: unknown): string {
  if (error instanceof Refusal) return (error as Refusal & { readonly word?: string }).word ?? error.code;
  const { $metadata: metadata, code, name = '' } = error as LibraryError;
  const word = WORDS[name];
  if (word !== undefined) return word;
  if (typeof code === 'string') return code.toLowerCase();
  return metadata?.httpStatusCode === undefined ? 'failed' : `answered ${metadata.httpStatusCode}`;
}

/** What the library's errors carry. */
interface LibraryError {
  readonly name?: string;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}
