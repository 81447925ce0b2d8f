/** A client of SCIM as identity providers are: plain HTTP, its own media type, whatever status comes. */
import assert from 'node:assert/strict';
import type { AskConsole } from '#test/support/console.ts';
import type { TestServer } from '#test/support/server.ts';

export interface ScimReply {
  readonly status: number;
  readonly headers: Headers;
  // What identity providers read is JSON of any form, and the tests say which.
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
}

export interface ScimClientUnderTest {
  readonly id: string;
  readonly token: string;
  readonly ask: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<ScimReply>;
}

export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
export const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

export async function askScim(
  server: Pick<TestServer, 'coordinator'>,
  token: string | undefined,
  ...[method, below, body, headers = {}]: Parameters<ScimClientUnderTest['ask']>
): Promise<ScimReply> {
  const reply = await fetch(`${server.coordinator}/scim/v2${below}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await reply.text();
  return { status: reply.status, headers: reply.headers, body: text === '' ? undefined : JSON.parse(text) };
}

/** Makes a client in the console, and what asks with its token. */
export async function makeScimClient(
  server: Pick<TestServer, 'coordinator'>,
  console: AskConsole,
  name: string,
  more: object = {},
): Promise<ScimClientUnderTest> {
  const made = await console<{ id: string; token: string }>('POST', '/scim-clients', { name, ...more });
  assert.equal(made.status, 201, made.text);
  const { id, token } = made.body;
  return { id, token, ask: async (...asked) => await askScim(server, token, ...asked) };
}

export function patchOf(...operations: object[]): object {
  return { schemas: [PATCH], Operations: operations };
}

export function path(filter: string, more = ''): string {
  return `?filter=${encodeURIComponent(filter)}${more}`;
}
