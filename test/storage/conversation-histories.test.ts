/** Random histories over the real actor and a real lane: what readers compute agrees with what happened. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ConversationMirror } from '#src/client/conversations/conversation-mirror.ts';
import { readEvent } from '#src/client/events.ts';
import {
  readConversation as readWireConversation,
  readMessage as readWireMessage,
} from '#src/client/conversations/records.ts';
import type { ConversationMessage } from '#actors/conversation/conversation.messages.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { checkFolder } from '#storage/check/check.ts';
import {
  conversationView,
  readChanges,
  readConversation,
  readHistory,
  readMember,
  readWatermark,
  readWatermarks,
} from '#storage/conversations/conversation-reader.ts';
import { countUnread, readPinnedSeqs } from '#storage/conversations/inbox-reader.ts';
import { POSTED_BLOCK } from '#storage/conversations/posted-blocks.ts';
import { ActorHost, EPOCH, makeRoom, post } from '#test/actors/actor-host.ts';
import { NO_RETENTION, useRetention } from '#storage/conversations/retention.ts';
import { history, PEOPLE } from '#test/actors/history.ts';

const ROOM = 'c_0000000000000000000001';
const RUNS = { numRuns: 40 };

/** Messages before a history begins: one short of a block, so that most histories cross from one to the next. */
const BEFORE = POSTED_BLOCK - 1;

/** Runs `use` on a host with a room of alice, bob and carol that has some messages; afterwards the folder must be sound. */
async function withRoom(use: (host: ActorHost) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-history-'));
  const host = new ActorHost(folder, []);
  // Readers have the clock of those who write.
  useRetention(NO_RETENTION, { now: () => host.now });
  try {
    await makeRoom(host, ROOM, ['bob', 'carol']);
    await Promise.all(
      Array.from({ length: BEFORE }, (_, i) => host.reply(ROOM, post(i % 3 === 1 ? 'bob' : 'alice', 'to begin with'))),
    );
    await use(host);
    await host.close();
    assert.deepEqual((await checkFolder(folder)).problems, []);
    assert.deepEqual(host.reports, []);
  } finally {
    await host.close().catch(() => undefined);
    rmSync(folder, { recursive: true });
    useRetention(NO_RETENTION);
  }
}

function recordOf(host: ActorHost) {
  const record = readConversation(host.tables, ROOM);
  if (record === undefined) throw new Error('The room is gone.');
  return record;
}

function messagesOf(host: ActorHost): Message[] {
  const { items } = readHistory(host.tables, recordOf(host), { afterSeq: 0, limit: 1_000 });
  return items.map((json) => JSON.parse(json) as Message);
}

/** Counted the slow way, from what everybody can see. */
function recountUnread(host: ActorHost, user: string): number {
  const from = Math.max(
    readWatermark(host.tables, ROOM, user).read,
    readMember(host.tables, ROOM, user)?.joinedSeq ?? 0,
  );
  return messagesOf(host).filter((one) => one.seq > from && one.sender !== user && one.deleted_at === undefined).length;
}

test('unread counts equal a recount, and the folder is sound, after any history', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (actions) => {
      await withRoom(async (host) => {
        // Sent without waiting, so that what is decided on what is not yet on disk is tried too.
        await Promise.all(
          actions.map(async (action) => {
            host.now += 1;
            await (action.kind === 'typing'
              ? host.system.deliver(`conversation:${ROOM}`, action)
              : host.converse(ROOM, action));
          }),
        );
        const record = readConversation(host.tables, ROOM);
        if (record === undefined) return;
        for (const user of PEOPLE) {
          if (readMember(host.tables, ROOM, user) === undefined) continue;
          const { read } = readWatermark(host.tables, ROOM, user);
          assert.equal(countUnread(host.tables, record, user, read), recountUnread(host, user), `unread of ${user}`);
        }
      });
    }),
    RUNS,
  );
});

/** What a client shows: a mirror with its pins, kept by events alone. */
class Shown {
  readonly mirror: ConversationMirror;
  readonly pins: Set<number>;

  constructor(mirror: ConversationMirror, pins: Iterable<number>) {
    this.mirror = mirror;
    this.pins = new Set(pins);
  }

  static fresh(host: ActorHost): Shown {
    const record = readWireConversation(conversationView(host.tables, recordOf(host), EPOCH));
    const mirror = ConversationMirror.ofRecord(record);
    mirror.startAfresh({
      record,
      messages: messagesOf(host).map(readWireMessage),
      rev: record.rev,
      headSeq: record.head_seq,
      epoch: EPOCH,
      watermarks: watermarksOf(host),
    });
    const { floorSeq } = recordOf(host);
    return new Shown(
      mirror,
      readPinnedSeqs(host.tables, ROOM).filter((seq) => seq > floorSeq),
    );
  }

  take(wire: Record<string, unknown>): void {
    const event = readEvent(wire);
    if (event?.type === 'receipt') this.mirror.raiseWatermark(event.data.user, { [event.data.state]: event.data.seq });
    if (event?.rev === undefined) return;
    this.mirror.receive({ rev: event.rev, revCount: event.rev_count ?? 1, event });
    if (event.type === 'pin') {
      if (event.data.pinned) this.pins.add(event.data.seq);
      else this.pins.delete(event.data.seq);
    }
    if (event.type === 'message.delete') this.pins.delete(event.data.seq);
    if (event.type === 'purge') {
      for (const seq of this.pins) if (seq < event.data.before_seq) this.pins.delete(seq);
    }
  }

  get state() {
    const { participants = [], ...record } = this.mirror.conversation ?? {};
    return {
      record,
      participants: participants.toSorted((a, b) => (a.user < b.user ? -1 : 1)),
      messages: this.mirror.messages,
      pins: [...this.pins].toSorted((a, b) => a - b),
    };
  }
}

function watermarksOf(host: ActorHost) {
  const listed = readWatermarks(host.tables, recordOf(host), 'alice');
  return new Map(listed.map(({ user, delivered, read }) => [user, { delivered, read }]));
}

/** Watermarks of those who take part: a client keeps what it knew of somebody who left. */
function watermarksOfMembers(shown: Shown) {
  const members = shown.state.participants.map(({ user }) => user);
  return members.map((user) => [user, shown.mirror.watermarks.get(user) ?? { delivered: 0, read: 0 }] as const);
}

/** Nobody leaves: a rejoin starts watermarks again, which a client learns with the next reading of changes. */
const isStaying = (action: ConversationMessage) => action.kind !== 'remove';

test('a snapshot with the events after it equals a fresh snapshot, after every single change', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (actions) => {
      await withRoom(async (host) => {
        const shown = Shown.fresh(host);
        for (const action of actions) {
          const before = host.events(ROOM).length;
          host.now += 1;
          if (action.kind === 'typing') host.system.deliver(`conversation:${ROOM}`, action);
          else await host.converse(ROOM, action);
          for (const event of host.events(ROOM).slice(before)) shown.take(event);
          if (readConversation(host.tables, ROOM) === undefined) return;
          const fresh = Shown.fresh(host);
          assert.deepEqual(shown.state, fresh.state);
          assert.equal(shown.mirror.isBehind, false);
          if (actions.every(isStaying)) assert.deepEqual(watermarksOfMembers(shown), watermarksOfMembers(fresh));
        }
      });
    }),
    RUNS,
  );
});

test('a snapshot with the changes read after any rev equals a fresh snapshot', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.nat(59), async (actions, away) => {
      await withRoom(async (host) => {
        let shown = Shown.fresh(host);
        for (const [at, action] of actions.entries()) {
          host.now += 1;
          if (action.kind !== 'typing') await host.converse(ROOM, action);
          if (readConversation(host.tables, ROOM) === undefined) return;
          if (at < away) shown = Shown.fresh(host);
        }
        const items = readChanges(host.tables, recordOf(host), EPOCH, shown.mirror.rev);
        for (const json of items ?? []) shown.take(JSON.parse(json) as Record<string, unknown>);
        // Behind the floor one starts afresh.
        assert.equal(items === undefined, shown.mirror.rev < recordOf(host).floorRev);
        if (items === undefined) return;
        assert.deepEqual(shown.state, Shown.fresh(host).state);
      });
    }),
    RUNS,
  );
});

test('the record that an answer carries is the one that readers get', async () => {
  await withRoom(async (host) => {
    const steps: ConversationMessage[] = [
      { kind: 'add', participants: ['carol', 'dave'], role: 'member', user: 'alice', device: 'd' },
      {
        kind: 'describe',
        form: { title: 'Other', topic: 'News', visibility: 'organisation' },
        user: 'alice',
        device: 'd',
      },
      { kind: 'setRole', participant: 'bob', role: 'moderator', user: 'alice', device: 'd' },
    ];
    for (const step of steps) {
      const { body } = await host.reply(ROOM, step);
      assert.deepEqual(body, conversationView(host.tables, recordOf(host), EPOCH));
    }
  });
});
