/** What tests of attachments do all the time: bring a file up in pieces, post it, read it back. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { request, type Person, type Reply, type TestServer } from '#test/support/server.ts';
import { post } from './conversing.ts';

const TUS = { 'tus-resumable': '1.0.0' };
const BYTES = { ...TUS, 'content-type': 'application/offset+octet-stream' };

export interface Uploading {
  readonly name?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request of tus, as it is: an answer without a body, or a refusal. */
export async function tus(
  server: TestServer,
  who: Person | undefined,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: Uint8Array,
): Promise<Reply> {
  return await request(method, `${server.messaging}${path}`, {
    token: who?.session.token,
    headers: { ...(body === undefined ? TUS : BYTES), ...headers },
    ...(body === undefined ? {} : { body }),
  });
}

export function metadata(name: string): string {
  return `filename ${Buffer.from(name).toString('base64')}`;
}

/** Begins an upload of so many bytes; answers its path. */
export async function begin(
  server: TestServer,
  who: Person,
  bytes: number,
  { name = 'file.bin', headers = {} }: Uploading = {},
): Promise<string> {
  const named = { 'upload-length': String(bytes), 'upload-metadata': metadata(name), ...headers };
  const reply = await tus(server, who, 'POST', '/v1/attachments', named);
  assert.equal(reply.status, 201, reply.text);
  return reply.headers.get('location') ?? '';
}

export async function append(
  server: TestServer,
  who: Person,
  path: string,
  offset: number,
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return await tus(server, who, 'PATCH', path, { 'upload-offset': String(offset), ...headers }, bytes);
}

/** How many bytes of an upload the server has. */
export async function offsetOf(server: TestServer, who: Person, path: string): Promise<number> {
  const reply = await tus(server, who, 'HEAD', path);
  assert.equal(reply.status, 200);
  return Number(reply.headers.get('upload-offset'));
}

/** Sends a whole content in the request that begins its upload. */
export async function sendWhole(
  server: TestServer,
  who: Person,
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const whole = { 'upload-length': String(bytes.length), 'upload-metadata': metadata('file.bin'), ...headers };
  return await tus(server, who, 'POST', '/v1/attachments', whole, bytes);
}

/** Uploads a whole content at once; answers the attachment's id. */
export async function upload(server: TestServer, who: Person, bytes: Uint8Array, name = 'file.bin'): Promise<string> {
  const path = await begin(server, who, bytes.length, { name });
  if (bytes.length > 0) {
    const reply = await append(server, who, path, 0, bytes);
    assert.equal(reply.status, 204, reply.text);
    assert.equal(reply.headers.get('upload-offset'), String(bytes.length));
  }
  return idOf(path);
}

export function idOf(path: string): string {
  return path.split('/').at(-1) ?? '';
}

/** Posts a media message with an attachment. */
export async function attach(
  server: TestServer,
  who: Person,
  conversation: string,
  attachment: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Reply<Message>> {
  return await post(server, who, conversation, {
    kind: 'media',
    body: { attachment, name: 'file.bin', type: 'application/octet-stream', size: 0, ...more },
    client_msg_id: randomUUID(),
  });
}

export interface Download {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly body: unknown;
}

/** Reads an attachment in a conversation. */
export async function download(
  server: TestServer,
  who: Person | undefined,
  id: string,
  conversation: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Download> {
  const path = `/v1/attachments/${id}?conversation=${conversation}`;
  return await fetchBytes(server, path, {
    ...headers,
    ...(who === undefined ? {} : { authorization: `Bearer ${who.session.token}` }),
  });
}

export async function fetchBytes(
  server: TestServer,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Download> {
  const response = await fetch(`${server.messaging}${path}`, { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    body: isJson ? JSON.parse(bytes.toString()) : undefined,
  };
}
