/** Waiting until every shard has heard what the coordinator told it. */
import assert from 'node:assert/strict';
import { request, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';

/**
 * Resolves when all shards have taken what they were told before: the figures that /healthz asks of each come over
 * the same links, behind it.
 */
export async function shardsTold(server: TestServer): Promise<void> {
  const body = await until(async () => {
    const url = `${server.coordinator}/healthz`;
    const reply = await request<{ status: string; threads: { answered: string[] } }>('GET', url);
    return reply.body.status === 'ok' ? reply.body : undefined;
  }, 'all threads to answer');
  assert.equal(body.threads.answered.length, 3);
}
