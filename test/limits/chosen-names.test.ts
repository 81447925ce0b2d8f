/** Attacks on limits by names that are chosen so that they meet another's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { post, say, start } from '#test/messaging/conversing.ts';
import { startServer } from '#test/support/server.ts';

/** The place of a name among 65,536 by FNV-1a without a key, which anybody can work out for any name. */
function unkeyedPlace(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & 0xffff;
}

/** A name that an unkeyed hash places where it places that one. */
function nameBeside(victim: string): string {
  for (let number = 0; ; number += 1) {
    const name = `eve${number.toString(36)}`;
    if (unkeyedPlace(name) === unkeyedPlace(victim)) return name;
  }
}

test('ERR-06 a name that is chosen to share a colleague’s bucket throttles nobody but itself', async (t) => {
  const server = await startServer({ shards: 2, environment: { PARLEY_RATE_LIMITS: '0.05' } });
  t.after(() => server.stop());
  const eve = nameBeside('victor');
  const people: Record<string, Awaited<ReturnType<typeof server.people>>[string]> = await server.people('victor', eve);
  const attacker = people[eve];
  const victor = people['victor'];
  assert.ok(attacker !== undefined && victor !== undefined);
  const { id } = await start(server, attacker, 'room', ['victor']);
  // As many as are answered at once; refusals beyond thirty come a second later each.
  let refused = 0;
  for (let count = 0; count < 38; count += 1) {
    const { status } = await post(server, attacker, id, { kind: 'text', body: 'once more' });
    if (status === 429) refused += 1;
  }
  assert.ok(refused > 0, 'the attacker was never refused');
  for (let count = 0; count < 5; count += 1) await say(server, victor, id, `word ${count} of the colleague`);
});
