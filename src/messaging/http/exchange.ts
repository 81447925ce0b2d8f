/**
 * One HTTP request and its answer on uWebSockets.js, with the library's three traps closed: a request object lives
 * only until its handler returns, chunks are copied before they are kept, and an aborted response is never touched.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { isUtf8 } from 'node:buffer';
import { Cancellation } from '#actors/runtime/cancellation.ts';
import { isSoundJson, isSoundText } from '#src/base/json.ts';
import { errorBody, Refusal, statusOf, type ErrorCode } from '#src/protocol/errors.ts';
import type { JsonPage } from '#storage/conversations/json-page.ts';
import type { RequestHead } from './request-head.ts';

/** The status lines of the contract: no other status is ever sent. */
const STATUS_LINES: Readonly<Record<number, string>> = {
  200: '200 OK',
  201: '201 Created',
  202: '202 Accepted',
  204: '204 No Content',
  206: '206 Partial Content',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  409: '409 Conflict',
  410: '410 Gone',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
};

export interface ExchangeOptions {
  /** Headers of every answer: the version exchange. */
  readonly headers: readonly (readonly [string, string])[];
  readonly onAnswer: (status: number, code: ErrorCode | undefined) => void;
}

export class Exchange {
  readonly head: RequestHead;
  readonly #res: HttpResponse;
  readonly #options: ExchangeOptions;
  /** Cancelled when the client goes away before it is answered. */
  readonly cancellation = new Cancellation();
  #bodyBytes = 0;
  #done = false;
  #closesAfter = false;
  #wakeStream: (() => void) | undefined;

  constructor(res: HttpResponse, head: RequestHead, options: ExchangeOptions) {
    this.#res = res;
    this.head = head;
    this.#options = options;
    res.onAborted(() => {
      this.#done = true;
      this.cancellation.cancel();
      this.#wakeStream?.();
    });
  }

  get isDone(): boolean {
    return this.#done;
  }

  /** How long the body was that was read; 0 before. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /**
   * The body as JSON, checked for what a later reader would trip over.
   * @throws Refusal body_not_json, body_too_large, body_invalid_utf8, body_invalid_json.
   */
  async readJson(bytesMax: number): Promise<unknown> {
    if (!isJsonType(this.head.contentType)) throw new Refusal('body_not_json');
    return await this.#readBody(bytesMax, parseBody);
  }

  /**
   * The JSON in the one field of a form.
   * @throws Refusal body_too_large, body_invalid_utf8, body_invalid_json, field_unknown, field_invalid.
   */
  async readFormJson(field: string, bytesMax: number): Promise<unknown> {
    return await this.#readBody(bytesMax, (bytes) => parseFormBody(bytes, field));
  }

  /** @throws Refusal body_too_large, and as `parse` does. */
  async #readBody(bytesMax: number, parse: (bytes: Buffer) => unknown): Promise<unknown> {
    if (Number(this.head.contentLength) > bytesMax) throw new Refusal('body_too_large');
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const chunks: Buffer[] = [];
    let bytes = 0;
    this.#res.onData((chunk, isLast) => {
      bytes += chunk.byteLength;
      this.#bodyBytes = bytes;
      if (bytes > bytesMax) return reject(new Refusal('body_too_large'));
      const part = Buffer.from(chunk);
      try {
        if (isLast) return resolve(parse(chunks.length === 0 ? part : Buffer.concat([...chunks, part])));
      } catch (error) {
        return reject(error);
      }
      // A body that arrives whole is parsed in place; what must wait is copied, for the chunk is gone afterwards.
      chunks.push(Buffer.from(part));
      return undefined;
    });
    this.cancellation.onCancel(() => reject(new Refusal('request_malformed')));
    return await promise;
  }

  /** Answers with a JSON text, or with no body where the text is empty; of a page the bytes are taken at once. */
  send(status: number, json: string | JsonPage, headers: readonly (readonly [string, string])[] = []): void {
    const isText = typeof json === 'string';
    this.#write(status, isText ? json : json.bytes, 'application/json; charset=utf-8', headers, undefined);
    if (!isText) json.release();
  }

  /** Answers with a body of another type. */
  sendText(status: number, text: string, headers: Readonly<Record<string, string>>): void {
    const { 'content-type': contentType = 'text/plain', ...rest } = headers;
    this.#write(status, text, contentType, Object.entries(rest), undefined);
  }

  refuse(refusal: Refusal): void {
    const { code, field, limit, retryAfter } = refusal;
    const headers: [string, string][] = retryAfter === undefined ? [] : [['retry-after', String(retryAfter)]];
    const json = JSON.stringify(errorBody(code, field, limit));
    this.#write(statusOf(code), json, 'application/json; charset=utf-8', headers, code);
  }

  /** The answer ends the connection: of the body, more is to come than anybody wants. */
  closeAfter(): void {
    this.#closesAfter = true;
  }

  /**
   * Answers with so many bytes, as fast as the other end takes them. Resolves when all are handed over or the other
   * end is gone; if the chunks fail or are fewer, the connection is cut, since the answer has begun.
   */
  async sendStream(
    status: number,
    headers: readonly (readonly [string, string])[],
    bytes: number,
    chunks: AsyncIterable<Buffer>,
  ): Promise<void> {
    if (this.#done) return;
    const res = this.#res;
    let hasBegun = false;
    try {
      for await (const chunk of chunks) {
        if (this.#done) return;
        const begin = hasBegun ? undefined : () => this.#writeHead(status, headers);
        hasBegun = true;
        await this.#offer(chunk, bytes, begin);
      }
    } finally {
      if (!this.#done && (hasBegun || bytes > 0)) res.close();
      this.#options.onAnswer(status, undefined);
    }
    if (!hasBegun && bytes === 0) this.send(status, '', headers);
  }

  /** Hands over one chunk of a known total; resolves when the library has taken it whole. */
  async #offer(chunk: Buffer, total: number, begin: (() => void) | undefined): Promise<void> {
    const res = this.#res;
    const { promise, resolve } = Promise.withResolvers<void>();
    let start = 0;
    const push = (rest: Buffer): boolean => {
      const [isTaken, isOver] = res.tryEnd(rest, total);
      this.#done ||= isOver;
      if (isTaken || isOver) resolve();
      return isTaken;
    };
    res.onWritable((offset) => push(chunk.subarray(offset - start)));
    this.#wakeStream = resolve;
    res.cork(() => {
      begin?.();
      start = res.getWriteOffset();
      push(chunk);
    });
    await promise;
  }

  /** Ends the connection of a request that takes too long to arrive. */
  drop(): void {
    if (!this.#done) this.#res.close();
  }

  #write(
    status: number,
    body: string | Buffer,
    contentType: string,
    headers: readonly (readonly [string, string])[],
    code: ErrorCode | undefined,
  ): void {
    if (this.#done) return;
    this.#done = true;
    const res = this.#res;
    // A refusal before the body was read would have the rest of it taken for the next request.
    const closes = this.#closesAfter || code === 'body_too_large' || code === 'body_not_json';
    res.cork(() => {
      this.#writeHead(status, headers);
      // Only 204 has no length; any other answer without one would keep its reader waiting. The library takes an
      // argument, `undefined` too, for a length that is still to come. A body behind HEAD is read as the next answer.
      if (status === 204 || status === 304) return res.endWithoutBody();
      if (body.length > 0) res.writeHeader('content-type', contentType);
      if (this.head.method === 'head') return res.endWithoutBody();
      return res.end(body, closes);
    });
    this.#options.onAnswer(status, code);
  }

  /** The status and the headers of every answer, where this one does not say something else. */
  #writeHead(status: number, own: readonly (readonly [string, string])[]): void {
    const res = this.#res;
    res.writeStatus(STATUS_LINES[status] ?? '500 Internal Server Error');
    for (const [name, value] of this.#options.headers) {
      if (own.length === 0 || !own.some(([other]) => other === name)) res.writeHeader(name, value);
    }
    for (const [name, value] of own) res.writeHeader(name, value);
  }
}

/** @throws Refusal body_invalid_utf8, body_invalid_json. */
function parseBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new Refusal('body_invalid_utf8');
  return parseText(bytes.toString('utf8'));
}

function parseText(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal('body_invalid_json');
  }
  if (!isSoundJson(value)) throw new Refusal('body_invalid_json');
  return value;
}

/** Whether a body says of itself that it is JSON. Nearly every one says it in the first way. */
function isJsonType(contentType: string): boolean {
  return (
    contentType === 'application/json' || /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(contentType)
  );
}

/** Whether a body says of itself that it is a form. */
export function isFormType(contentType: string): boolean {
  return /^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(contentType);
}

/** The JSON in a form's one field. What another reader could take for something else is refused, not passed over. */
function parseFormBody(bytes: Buffer, wanted: string): unknown {
  if (!isUtf8(bytes)) throw new Refusal('body_invalid_utf8');
  const [first = '', ...others] = bytes.toString('utf8').split('&', 2);
  for (const part of [first, ...others]) {
    const name = decodePart(part.split('=', 1)[0] ?? '').slice(0, FIELD_NAMED_MAX);
    if (name !== '' && name !== wanted && isSoundText(name)) throw new Refusal('field_unknown', { field: name });
    if (name !== wanted) throw new Refusal('field_invalid', { field: wanted });
  }
  // Of two, readers take the first, or the last.
  if (others.length > 0) throw new Refusal('field_invalid', { field: wanted });
  return parseText(decodePart(first.slice(first.indexOf('=') + 1)));
}

/** How much of a name that somebody made up an answer repeats. */
const FIELD_NAMED_MAX = 100;

/** @throws Refusal body_invalid_utf8 for an escape that is none, or that stands for no text. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '));
  } catch {
    throw new Refusal('body_invalid_utf8');
  }
}
