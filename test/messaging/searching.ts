/** Searches as a client makes them: page after page. */
import assert from 'node:assert/strict';
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { Person, Reply, TestServer } from '#test/support/server.ts';

export type Found = Message & { readonly highlights: readonly [number, number][] };

export interface FoundPage {
  readonly items: readonly Found[];
  readonly next: string | null;
}

/** One page, or why there is none. */
export async function search(
  server: TestServer,
  who: Person | undefined,
  query: Readonly<Record<string, string>>,
): Promise<Reply<FoundPage>> {
  return await server.api<FoundPage>(who, 'GET', `/v1/search?${new URLSearchParams(query)}`);
}

/** All that is found. A page may have fewer than there are: a search stops after some milliseconds, and is gone on with. */
export async function searchAll(
  server: TestServer,
  who: Person,
  query: Readonly<Record<string, string>>,
): Promise<readonly Found[]> {
  const items: Found[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const reply = await search(server, who, { ...query, ...(cursor === undefined ? {} : { cursor }) });
    assert.equal(reply.status, 200, reply.text);
    items.push(...reply.body.items);
    cursor = reply.body.next;
  }
  return items;
}
