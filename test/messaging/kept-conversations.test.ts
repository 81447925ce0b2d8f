/**
 * Whoever comes back with what they kept knows what one knows who begins anew (SOC-11): random changes by others and on other
 * devices while they are away, from a seed, and both held against each other.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { ConversationMirror } from '#src/client/conversations/conversation-mirror.ts';
import { MemoryStore } from '#test/client/memory-store.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { start } from './conversing.ts';

const ROUNDS = 6;
const CHANGES = 30;
const ROOMS = 8;

let server: TestServer;
let mia: Person;
let ned: Person;
before(async () => {
  server = await startServer({ shards: 2 });
  ({ mia, ned } = await server.people('mia', 'ned'));
});
after(async () => await server?.stop());

const urls = () => ({ coordinatorUrl: server.coordinator, messagingUrl: server.messaging });

/** What a client says of a conversation; messages apart, since one who begins anew has the last one alone. */
function saidOf(mirror: ConversationMirror) {
  const { headSeq, isHidden, own, rev } = mirror;
  // In what order they are listed is nobody's promise.
  const participants = mirror.conversation?.participants?.toSorted((a, b) => (a.user < b.user ? -1 : 1));
  const conversation = { ...mirror.conversation, participants };
  const read = mirror.watermarks.get('mia')?.read ?? 0;
  return { conversation, headSeq, isHidden, own, rev, read, unread: mirror.unread('mia') };
}

test(
  'SOC-11 whoever comes back with what they kept knows what one knows who begins anew',
  { timeout: 120_000 },
  async (t) => {
    const random = new SeededRandom(Number(process.env['SEED'] ?? freshSeed()));
    t.diagnostic(`SEED=${random.seed}`);
    const rooms: string[] = [];
    for (let at = 0; at < ROOMS; at += 1) rooms.push((await start(server, ned, 'room', ['mia'], `Room ${at}`)).id);
    const store = new MemoryStore();
    let client = await ParleyClient.signIn({
      ...urls(),
      username: 'mia',
      password: mia.password,
      conversationStore: store,
    });
    const heads = new Map<string, number>();
    const change = async () => {
      const room = random.pick(rooms);
      const head = heads.get(room) ?? 0;
      const seq = random.whole(1, Math.max(1, head));
      const ask = async (who: Person, method: string, end: string, body?: object) => {
        const reply = await server.api<{ seq?: number }>(who, method, `/v1/conversations/${room}${end}`, body);
        assert.ok(reply.status < 500, reply.text);
        return reply.body;
      };
      const post = async () => {
        const mentions = random.chance(0.3) ? { mentions: [{ username: 'mia', offset: 0, length: 4 }] } : {};
        const made = await ask(ned, 'POST', '/messages', {
          kind: 'text',
          body: `mia, ${random.whole(0, 999)}`,
          ...mentions,
        });
        heads.set(room, made.seq ?? head);
      };
      const changes: readonly (() => Promise<unknown>)[] = [
        post,
        post,
        post,
        async () => await ask(ned, 'PATCH', `/messages/${seq}`, { body: `edited ${random.whole(0, 999)}` }),
        async () => await ask(ned, 'DELETE', `/messages/${seq}`),
        async () => await ask(ned, 'PUT', `/messages/${seq}/reactions/${encodeURIComponent('👍')}`),
        async () => await ask(ned, 'PATCH', '', { title: `Title ${random.whole(0, 99)}` }),
        async () => await ask(ned, 'POST', '/participants', { participants: ['mia'] }),
        async () => await ask(ned, 'DELETE', '/participants/mia'),
        // On another device of hers.
        async () => await ask(mia, 'POST', '/receipts', { state: 'read', seq }),
        async () => await ask(mia, 'PUT', '/hidden', { seq: random.chance(0.5) ? head : null }),
        async () => await ask(mia, 'PUT', '/placement', { favourite: random.chance(0.5), category: null }),
      ];
      await random.pick(changes)();
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      await client.caughtUp();
      // Some of it she is there for: it comes by events.
      for (let at = 0; at < CHANGES; at += 1) await change();
      const isThere = () => [...client.conversations.values()].every(({ isBehind }) => !isBehind);
      await until(isThere, 'everything to be heard');
      await client.keep();
      const { session } = client;
      client.close();
      for (let at = 0; at < CHANGES; at += 1) await change();
      client = ParleyClient.resume({ ...urls(), session, conversationStore: store });
      await client.caughtUp();
      const anew = await ParleyClient.signIn({ ...urls(), username: 'mia', password: mia.password });
      try {
        await anew.caughtUp();
        assert.deepEqual([...client.conversations.keys()].toSorted(), [...anew.conversations.keys()].toSorted());
        for (const [id, mirror] of client.conversations) {
          const other = anew.conversations.get(id) as ConversationMirror;
          assert.deepEqual(saidOf(mirror), saidOf(other), `in ${mirror.conversation?.title}`);
          const { items } = await anew.history(id, { limit: 200 });
          const known = mirror.messages;
          assert.deepEqual(known, known.length === 0 ? [] : items.slice(-known.length));
        }
      } finally {
        anew.close();
      }
    }
    client.close();
  },
);
