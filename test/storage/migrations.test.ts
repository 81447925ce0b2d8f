/** Migrations: a stored folder of an old format opens with everything in it, once, whatever interrupts it. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { open } from 'lmdb';
import {
  conversationView,
  readChanges,
  readHistory,
  readPersonal,
  readRecord,
  readWatermark,
} from '#storage/conversations/conversation-reader.ts';
import { checkFolder } from '#storage/check/check.ts';
import {
  FOLDER_FORMAT,
  FolderError,
  lanePath,
  openFolder,
  readManifest,
  writeManifest,
} from '#storage/engine/folder.ts';
import { countUnread } from '#storage/conversations/inbox-reader.ts';
import { key as keyOf, numberValue, under } from '#storage/engine/keys.ts';
import { pack } from '#storage/engine/record-codec.ts';
import { AttachmentReader, openAttachments, uploadedKey } from '#storage/attachments/attachment-records.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { readRooms } from '#storage/conversations/usage-records.ts';
import { openLane, type LaneEnvironment } from '#storage/engine/lane.ts';
import { migrateFolder, MIGRATIONS, type Migration } from '#storage/engine/migrations.ts';
import { conversationRecord } from '#storage/engine/records.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { DELETED_ROOM, FORMAT_0_FOLDER, ROOM, writeFormat0 } from './fixtures/format-0.ts';
import { AGAIN, FORMAT_1_FOLDER, TALK, writeFormat1 } from './fixtures/format-1.ts';

const NOW = '2026-11-21T08:00:00.000Z';
const NOON = Date.UTC(2026, 10, 21, 12);

interface Event {
  readonly type: string;
  readonly rev: number;
  readonly ts: number;
  readonly seq?: number;
  readonly data: { readonly seq?: number };
}

const copyRow = ({ key, value }: { key: Buffer; value: Buffer }) => ({
  key: Buffer.from(key),
  value: Buffer.from(value),
});

/** A copy of a stored folder, by default that of format 0. */
function oldFolder(t: TestContext, stored = FORMAT_0_FOLDER): string {
  const folder = join(temporaryFolder(t), 'data');
  cpSync(stored, folder, { recursive: true });
  return folder;
}

async function inLane<T>(folder: string, use: (lane: LaneEnvironment) => T | Promise<T>): Promise<T> {
  const lane = openLane(lanePath(folder, 0), 1024 ** 3);
  try {
    return await use(lane);
  } finally {
    await lane.close();
  }
}

/** Everything in a file: table, key and value, in hex. */
async function contentOf(path: string): Promise<string[]> {
  const options = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const root = open({ path, noSubdir: true, maxDbs: 40, readOnly: true, ...options });
  try {
    return [...root.getKeys()].flatMap((name) => {
      const table = root.openDB<Buffer, Buffer>({ name: String(name), ...options });
      return [...table.getRange()].map(
        (row) => `${String(name)} ${row.key.toString('hex')} ${row.value.toString('hex')}`,
      );
    });
  } finally {
    await root.close();
  }
}

test('there is a migration for every format before the present one', () => {
  assert.equal(MIGRATIONS.length, FOLDER_FORMAT);
});

for (const [name, stored, write] of [
  ['format 0', FORMAT_0_FOLDER, writeFormat0],
  ['format 1', FORMAT_1_FOLDER, writeFormat1],
] as const) {
  test(`the stored folder of ${name} is what its script writes`, async (t) => {
    const made = join(temporaryFolder(t), 'data');
    await write(made);
    for (const file of ['lanes/00.mdb', 'accounts.mdb']) {
      assert.deepEqual(await contentOf(join(made, file)), await contentOf(join(oldFolder(t, stored), file)));
    }
    assert.equal(
      readFileSync(join(made, 'manifest.json'), 'utf8'),
      readFileSync(join(stored, 'manifest.json'), 'utf8'),
    );
  });
}

test('records of format 0 lack what the present ones have', async (t) => {
  await inLane(oldFolder(t), ({ tables }) => {
    const { floorSeq, floorRev } = readRecord(tables, ROOM) ?? {};
    assert.deepEqual([floorSeq, floorRev], [undefined, undefined]);
  });
});

test('an old folder opens, and nothing in it is lost', async (t) => {
  const folder = oldFolder(t);
  const manifest = await migrateFolder(folder, openFolder(folder, 8, NOW));
  assert.deepEqual(manifest, { format: 4, epoch: 'oldepoch0000', lanes: 1, created_at: '2026-10-01T08:00:00.000Z' });
  assert.deepEqual(readManifest(folder), manifest);
  await inLane(folder, ({ tables }) => {
    const record = readRecord(tables, ROOM);
    assert.ok(record);
    assert.deepEqual([record.floorSeq, record.floorRev], [0, 0]);
    assert.deepEqual(conversationView(tables, record, 'e'), {
      id: ROOM,
      kind: 'room',
      title: 'Old',
      created_at: '2026-10-01T08:00:00.000Z',
      created_by: 'alice',
      head_seq: 3,
      rev: 8,
      epoch: 'e',
      participant_count: 2,
      participants: [
        { user: 'alice', role: 'owner' },
        { user: 'bob', role: 'member' },
      ],
    });
    const { items } = readHistory(tables, record, { limit: 10 });
    assert.deepEqual(
      items.map((json) => (JSON.parse(json) as { body?: string }).body),
      ['hello, old world', undefined, 'привет'],
    );
    assert.deepEqual((JSON.parse(items[0] ?? '') as { reactions: unknown }).reactions, [
      { emoji: '👍', count: 1, users: ['bob'] },
    ]);
    assert.equal(readChanges(tables, record, 'e', 0)?.length, 8);
    assert.deepEqual(readWatermark(tables, ROOM, 'bob'), { delivered: 3, read: 1 });
    assert.equal(readPersonal(tables, ROOM, 'bob').draft?.body, 'unsent');
    const deleted = readRecord(tables, DELETED_ROOM);
    assert.deepEqual([deleted?.deleted, deleted?.floorSeq, deleted?.floorRev], [true, 5, 7]);
  });
  assert.deepEqual(await checkFolder(folder), { problems: [], conversations: 2, messages: 3, people: 2 });
});

test('a second start does nothing', async (t) => {
  const folder = oldFolder(t);
  const manifest = await migrateFolder(folder, openFolder(folder, 8, NOW));
  const written = statSync(join(folder, 'manifest.json'), { bigint: true });
  const content = await contentOf(lanePath(folder, 0));
  assert.deepEqual(await migrateFolder(folder, openFolder(folder, 8, NOW)), manifest);
  assert.equal(statSync(join(folder, 'manifest.json'), { bigint: true }).ino, written.ino);
  assert.deepEqual(await contentOf(lanePath(folder, 0)), content);
});

test('from format 1 on, changes of new messages and marks of senders are gathered into blocks', async (t) => {
  const folder = oldFolder(t, FORMAT_1_FOLDER);
  assert.equal(await inLane(folder, ({ tables }) => tables.changes.getCount()), 74);
  await migrateFolder(folder, readManifest(folder));
  await inLane(folder, ({ tables }) => {
    const talk = readRecord(tables, TALK);
    const again = readRecord(tables, AGAIN);
    assert.ok(talk && again);
    const changes = (readChanges(tables, talk, 'e', 0) ?? []).map((json) => JSON.parse(json) as Event);
    assert.deepEqual(
      changes.map(({ rev }) => rev),
      Array.from({ length: 43 }, (_, i) => i + 1),
    );
    assert.deepEqual(
      changes.filter(({ type }) => type === 'message.new').map(({ seq, data }) => [seq, data.seq]),
      Array.from({ length: 40 }, (_, i) => [i + 1, i + 1]),
    );
    assert.deepEqual(changes[1]?.ts, 1_793_520_000);
    assert.deepEqual([changes[11]?.type, changes[42]?.type], ['pin', 'conversation.updated']);
    assert.equal(readChanges(tables, again, 'e', 7)?.length, 31);
    assert.equal(readChanges(tables, again, 'e', 6), undefined);
    assert.deepEqual(
      [0, 1, 31, 32, 40].map((read) => countUnread(tables, talk, 'alice', read)),
      [20, 20, 5, 4, 0],
    );
    assert.deepEqual(
      ['alice', 'bob'].map((user) => countUnread(tables, again, user, 0)),
      [30, 0],
    );
  });
  const { problems } = await checkFolder(folder);
  assert.deepEqual(problems, []);
});

test('from format 1 on, a crash in the middle is found and finished', async (t) => {
  const folder = oldFolder(t, FORMAT_1_FOLDER);
  const whole = oldFolder(t, FORMAT_1_FOLDER);
  await migrateFolder(whole, readManifest(whole));
  // Half done: the first conversation has its changes, the first block is counted, nothing else.
  const rows = await inLane(whole, ({ tables }) => ({
    changes: [...tables.changes.getRange(under(TALK))].map(copyRow),
    senders: [...tables.senders.getRange({ limit: 1 })].map(copyRow),
  }));
  await inLane(folder, async (lane) => {
    const gone = [...lane.tables.changes.getKeys(under(TALK))].map((itemKey) => Buffer.from(itemKey));
    await lane.commit(gone.map((itemKey) => ({ table: 'changes', key: itemKey, value: null })));
    await lane.commit(rows.changes.map((row) => ({ table: 'changes', ...row })));
    await lane.commit(rows.senders.map((row) => ({ table: 'senders', ...row })));
  });
  await migrateFolder(folder, readManifest(folder));
  assert.deepEqual(await contentOf(lanePath(folder, 0)), await contentOf(lanePath(whole, 0)));
});

test('a migration that a crash left half done runs again and finds its way', async (t) => {
  const folder = oldFolder(t);
  const whole = oldFolder(t);
  await migrateFolder(whole, readManifest(whole));
  // Half done: one record has its new form, the manifest still says 0.
  const [migrated] = await inLane(whole, ({ tables }) => [...tables.conversations.getRange({ limit: 1 })]);
  assert.ok(migrated);
  const write = { table: 'conversations', key: Buffer.from(migrated.key), value: Buffer.from(migrated.value) } as const;
  await inLane(folder, async (lane) => await lane.commit([write]));
  await migrateFolder(folder, readManifest(folder));
  assert.deepEqual(await contentOf(lanePath(folder, 0)), await contentOf(lanePath(whole, 0)));
  assert.equal(readManifest(folder).format, 4);
});

test('a migration that fails leaves the format where it was, and those before it done', async (t) => {
  const folder = oldFolder(t);
  const ran: string[] = [];
  const note =
    (name: string): Migration =>
    async () =>
      void ran.push(name);
  const crash: Migration = async () => {
    throw new Error('the power went');
  };
  const before = { ...readManifest(folder), format: 0 };
  await assert.rejects(migrateFolder(folder, before, [note('first'), crash, note('third')]), /the power went/);
  assert.equal(readManifest(folder).format, 1);
  await migrateFolder(folder, readManifest(folder), [note('first'), note('second')]);
  assert.deepEqual(ran, ['first', 'second']);
});

test('more conversations than one transaction takes are all migrated', async (t) => {
  const folder = oldFolder(t);
  await inLane(folder, async (lane) => {
    const old = lane.tables.conversations.get(Buffer.from(ROOM)) as Buffer;
    // The rest of each record does not matter here.
    const rows = Array.from({ length: 2_001 }, (_, i) => ({
      table: 'conversations' as const,
      key: Buffer.from(`c_many${String(i).padStart(5, '0')}`),
      value: Buffer.from(old),
    }));
    await lane.commit(rows);
  });
  await migrateFolder(folder, readManifest(folder));
  const floors = await inLane(folder, ({ tables }) =>
    [...tables.conversations.getRange()].map(({ value }) => conversationRecord.decode(value).floorSeq),
  );
  assert.equal(floors.length, 2_003);
  assert.equal(floors.filter((floor) => floor === 0).length, 2_002);
});

test('what people use of a folder of before is counted once: rooms, entries and bytes of calendars, uploads', async (t) => {
  const folder = oldFolder(t);
  await migrateFolder(folder, readManifest(folder), MIGRATIONS.slice(0, 2));
  const form = { displayname: 'x', description: '', color: '', order: 0, zone: 'UTC', kinds: ['event'] as const };
  const flags = { recurring: false, transparent: false, scheduled: false, unanswered: false };
  const calendars = Calendars.open(folder, { now: () => NOON });
  for (const [owner, name, subscribed, sizes] of [
    ['alice', 'home', undefined, [10, 20]],
    ['alice', 'work', undefined, [5]],
    ['alice', 'feed', true, [1_000]],
    ['bob', 'home', undefined, [7]],
  ] as const) {
    const { id } = await calendars.createCalendar({
      ...form,
      owner,
      name,
      transparency: 'opaque',
      ...(subscribed && { subscribed }),
    });
    for (const bytes of sizes) {
      const index = { uid: `u${bytes}`, kind: 'event', firstAt: NOON, lastAt: NOON + 1, ...flags } as const;
      await calendars.putObject(id, `${bytes}.ics`, Buffer.alloc(bytes, 'x'), index);
    }
  }
  // As a server of format 2 left it: no counts, and records that end before the bytes.
  await calendars.change((draft) => {
    for (const who of ['', 'alice', 'bob']) draft.put('meta', keyOf('usage', who), null);
    for (const owner of ['alice', 'bob'])
      for (const calendar of calendars.ownedBy(owner)) {
        const { bytes: _new, ...before } = calendar;
        draft.put('calendars', keyOf(calendar.id), pack(Object.values(before), 'undefined'));
      }
  });
  await calendars.close();
  const attachments = openAttachments(folder, 'write');
  await attachments.commit(
    (['ada', 'bob'] as const).map((who, at) => ({
      table: 'uploaded',
      key: uploadedKey(who, 20_000),
      value: numberValue(5_000 + at),
    })),
  );
  await attachments.close();
  // A crash after the first file: what was counted is counted again, and comes out the same.
  for (let times = 0; times < 2; times += 1) {
    writeManifest(folder, { ...readManifest(folder), format: 2 });
    await migrateFolder(folder, readManifest(folder));
  }
  const rooms = await inLane(folder, (lane) => ['', 'alice', 'bob'].map((who) => readRooms([lane], who)));
  assert.deepEqual(rooms, [1, 1, 0]);
  const after = Calendars.open(folder, { now: () => NOON });
  assert.deepEqual(
    ['', 'alice', 'bob'].map((who) => after.calendarUse(who)),
    [
      { entries: 4, bytes: 42 },
      { entries: 3, bytes: 35 },
      { entries: 1, bytes: 7 },
    ],
  );
  await after.close();
  const uploads = new AttachmentReader(openAttachments(folder));
  assert.equal(uploads.uploadedSince('', 19_999), 10_001);
  await uploads.close();
  assert.deepEqual((await checkFolder(folder)).problems, []);
});

test('a folder of a newer format is refused, and stays as it is', async (t) => {
  const folder = oldFolder(t);
  const newer = { ...readManifest(folder), format: FOLDER_FORMAT + 1 };
  writeManifest(folder, newer);
  assert.throws(() => openFolder(folder, 8, NOW), FolderError);
  await assert.rejects(migrateFolder(folder, newer), {
    message: `${folder} has format 5; this server knows up to 4. Use a newer one.`,
  });
});
