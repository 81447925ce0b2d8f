/** The audit trail on disk: every entry follows from the one before, and any damage to it is found (CON-04). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { verifyFolder } from '#src/cli/audit-commands.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { AUDIT_OWED_MAX, AuditWalk } from '#storage/accounts/audit-walk.ts';
import { AUDIT_HEAD, auditRecord, openEnvironment, type AccountWrite } from '#storage/accounts/accounts-reader.ts';
import {
  AUDIT_GENESIS,
  AUDIT_START,
  auditHash,
  nextAuditEntry,
  type AuditEntry,
  type AuditForm,
} from '#storage/accounts/audit-chain.ts';
import { backupFolder, restoreFolder } from '#storage/backup/backup.ts';
import { checkFolder } from '#storage/check/check.ts';
import { numbered, numberValue } from '#storage/engine/keys.ts';
import { ActorHost } from '#test/actors/actor-host.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const AT = 1_795_248_000_000;

const form = (subject: string): AuditForm => ({
  event: 'user.created',
  actor: 'user:alice',
  address: '10.0.0.7',
  subject,
  details: { before: null, after: { name: 'Боб', roles: ['a', 'b'], age: 7, active: true } },
});

/** A folder of a stopped server whose audit trail has five entries. */
async function makeFolder(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await host.close();
  const accounts = await Accounts.open(folder);
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    await accounts.change((draft) => draft.audit(AT, form(`user:${name}`)));
  }
  await accounts.close();
  return folder;
}

/** The entries of a folder, and a way to write into them as somebody with the file could. */
async function tamper(folder: string, writes: (entries: AuditEntry[]) => AccountWrite[]): Promise<void> {
  const accounts = await Accounts.open(folder);
  const entries = accounts.auditEntriesAfter(0, 100);
  await accounts.close();
  const environment = openEnvironment(folder, 'write');
  await environment.commit(writes(entries));
  await environment.close();
}

const at = (number: number, entry: AuditEntry | undefined): AccountWrite => {
  assert.ok(entry);
  return { table: 'audit', key: numbered(number), value: auditRecord.encode(entry) };
};
const gone = (number: number): AccountWrite => ({ table: 'audit', key: numbered(number), value: null });
const head = (number: number): AccountWrite => ({ table: 'meta', key: AUDIT_HEAD, value: numberValue(number) });
const problemsOf = async (folder: string): Promise<string[]> => (await checkFolder(folder)).problems;

test('CON-04 a trail as the server writes it has no problems', async (t) => {
  assert.deepEqual(await problemsOf(await makeFolder(t)), []);
});

const BROKEN = 'does not follow from the entry before it: it was changed or moved, or that was';

/** Name → what is written, and the sentence that names the first broken entry. */
const DAMAGE: Readonly<Record<string, readonly [(entries: AuditEntry[]) => AccountWrite[], string]>> = {
  'an entry with another actor': [
    ([, , third]) => [at(3, third && { ...third, actor: 'user:mallory' })],
    `audit [3] ${BROKEN}.`,
  ],
  'an entry with other details': [
    ([first]) => [at(1, first && { ...first, details: { ...first.details, before: 'x' } })],
    `audit [1] ${BROKEN}.`,
  ],
  'an entry with another time': [
    ([, , , , fifth]) => [at(5, fifth && { ...fifth, at: '2026-11-20T08:00:00.000Z' })],
    `audit [5] ${BROKEN}.`,
  ],
  'an entry that was changed and hashed anew': [
    ([first, second]) => {
      assert.ok(first && second);
      return [at(2, nextAuditEntry(first, second.at, form('user:mallory')))];
    },
    `audit [3] ${BROKEN}.`,
  ],
  'a removed entry': [() => [gone(3)], 'audit [3] is missing.'],
  'a removed first entry': [() => [gone(1)], 'audit [1] is missing.'],
  'a removed entry, with those behind it moved up': [
    ([, , , fourth, fifth]) => [
      at(3, fourth && { ...fourth, number: 3 }),
      at(4, fifth && { ...fifth, number: 4 }),
      gone(5),
      head(4),
    ],
    `audit [3] ${BROKEN}.`,
  ],
  'an inserted entry, with those behind it moved down': [
    ([, second, third, fourth, fifth]) => {
      assert.ok(second);
      return [
        at(3, nextAuditEntry(second, second.at, form('user:mallory'))),
        at(4, third && { ...third, number: 4 }),
        at(5, fourth && { ...fourth, number: 5 }),
        at(6, fifth && { ...fifth, number: 6 }),
        head(6),
      ];
    },
    `audit [4] ${BROKEN}.`,
  ],
  'two entries in each other’s place': [
    ([, second, third]) => [at(2, third && { ...third, number: 2 }), at(3, second && { ...second, number: 3 })],
    `audit [2] ${BROKEN}.`,
  ],
  'two entries in each other’s place under their own numbers': [
    ([, second, third]) => [at(2, third), at(3, second)],
    'audit [2] has the number of another entry.',
  ],
  'a trail that was cut off at its end': [() => [gone(4), gone(5)], 'The audit trail ends at 3, and its head is 5.'],
  'a head before the last entry': [() => [head(4)], 'The audit trail ends at 5, and its head is 4.'],
  'a missing head': [
    () => [{ table: 'meta', key: AUDIT_HEAD, value: null }],
    'The audit trail ends at 5, and its head is 0.',
  ],
};

for (const [name, [writes, sentence]] of Object.entries(DAMAGE)) {
  test(`CON-04 ${name} is found`, async (t) => {
    const folder = await makeFolder(t);
    await tamper(folder, writes);
    assert.deepEqual(await problemsOf(folder), [`In the accounts, ${sentence}`]);
  });
}

test('CON-04 an entry that cannot be read is found', async (t) => {
  const folder = await makeFolder(t);
  await tamper(folder, () => [{ table: 'audit', key: numbered(2), value: Buffer.of(9, 1) }]);
  assert.deepEqual(await problemsOf(folder), [
    'In the accounts, audit [2] cannot be read (A document of audit has version 9; 1 is known).',
  ]);
});

test('the hash of an entry is what it was in the first version', () => {
  const entry = nextAuditEntry({ number: 0, hash: AUDIT_GENESIS }, '2026-11-21T08:00:00.000Z', form('user:bob'));
  assert.equal(entry.number, 1);
  assert.equal(entry.hash, '87c2f86087f43ca18a844a8a28882ff1e41fdf931f0327a7666ead3caccefb77');
});

test('the hash does not depend on the order in which details were named', () => {
  const entry = { ...form('user:bob'), number: 1, at: '2026-11-21T08:00:00.000Z' };
  const one = auditHash(AUDIT_GENESIS, { ...entry, details: { a: 1, b: { c: 2, d: 3 } } });
  assert.equal(auditHash(AUDIT_GENESIS, { ...entry, details: { b: { d: 3, c: 2 }, a: 1 } }), one);
  assert.notEqual(auditHash(AUDIT_GENESIS, { ...entry, details: { a: 1, b: { c: 3, d: 2 } } }), one);
  // An object is not the list of its pairs.
  const pairs = auditHash(AUDIT_GENESIS, { ...entry, details: { a: { b: 1 } } });
  assert.notEqual(auditHash(AUDIT_GENESIS, { ...entry, details: { a: [['b', 1]] } }), pairs);
});

test('entries of changes in one commit are numbered in their order, and a refused change leaves none', async (t) => {
  const accounts = await Accounts.open(temporaryFolder(t));
  t.after(() => accounts.close());
  const outcomes = await Promise.allSettled(
    ['a', 'b', 'c'].map((name) =>
      accounts.change((draft) => {
        draft.audit(AT, form(`user:${name}`));
        if (name === 'b') throw new Error('refused');
        draft.audit(AT, form(`user:${name}2`));
      }),
    ),
  );
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(
    accounts.auditEntriesAfter(0, 10).map(({ number, subject }) => [number, subject]),
    [
      [1, 'user:a'],
      [2, 'user:a2'],
      [3, 'user:c'],
      [4, 'user:c2'],
    ],
  );
});

test('a restored trail is whole, and says that it was restored', async (t) => {
  const folder = await makeFolder(t);
  const out = join(temporaryFolder(t), 'backup');
  const restored = join(temporaryFolder(t), 'data');
  await backupFolder(folder, out);
  const report = await restoreFolder(out, restored);
  assert.deepEqual(await problemsOf(restored), []);
  const accounts = await Accounts.open(restored);
  t.after(() => accounts.close());
  const entries = accounts.auditEntriesAfter(0, 100);
  assert.deepEqual(
    entries.map(({ number }) => number),
    [1, 2, 3, 4, 5, 6],
  );
  const { event, actor, details } = entries.at(-1) as AuditEntry;
  assert.deepEqual([event, actor], ['backup.restored', 'command']);
  assert.deepEqual(details, {
    backup_created_at: report['backup_created_at'],
    epoch: report['epoch'],
    epoch_before: report['epoch_before'],
    sessions_ended: 0,
    credentials_ended: 0,
  });
});

/** Takes the names out of two entries, as an erasure does, and then once more out of one of them. */
async function eraseTwice(folder: string): Promise<void> {
  const accounts = await Accounts.open(folder);
  for (const [numbers, left] of [
    [[2, 4], { before: null, after: { name: '[erased]', age: 7 } }],
    [[4], { before: null, after: '[erased]' }],
  ] as const) {
    const entries = numbers.map((number) => ({ ...accounts.auditEntriesAfter(number - 1, 1)[0], details: left }));
    await accounts.change((draft) => draft.eraseAuditDetails(AT, entries as AuditEntry[], 'user:b'));
  }
  await assert.rejects(
    accounts.change((draft) => {
      const [newest] = accounts.auditEntries({ limit: 1 });
      draft.eraseAuditDetails(AT, [{ ...newest, number: 99 } as AuditEntry], 'user:b');
    }),
    /Audit entry 99 is not there/,
  );
  await accounts.close();
}

const UNFOLLOWED = 'does not follow from the entry before it: it was changed or moved, or that was.';

test('CON-04 erased details leave a chain that is proven by what later entries tell', async (t) => {
  const folder = await makeFolder(t);
  await eraseTwice(folder);
  assert.deepEqual(await problemsOf(folder), []);
  const { isWhole, lines } = await verifyFolder(folder);
  assert.deepEqual(
    [isWhole, lines[0], lines.at(-2)],
    [true, 'entries: 7', 'erased: details of 2, told by later entries'],
  );
  const accounts = await Accounts.open(folder);
  assert.ok(!JSON.stringify(accounts.auditEntriesAfter(1, 1)).includes('Боб'));
  await accounts.close();
});

test('CON-04 what is left of an entry is as the erasure told, and details go by no other way', async (t) => {
  const cases: [name: string, broken: number, writes: (entries: AuditEntry[]) => AccountWrite[]][] = [
    ['another actor in what is left', 2, ([, second]) => [at(2, { ...second, actor: 'user:eve' } as AuditEntry)]],
    [
      'what was left between the two erasures',
      4,
      ([, second, , fourth]) => [at(4, { ...fourth, details: second?.details } as AuditEntry)],
    ],
    ['details of another entry erased by hand', 3, ([, , third]) => [at(3, { ...third, details: {} } as AuditEntry)]],
    ['no entry of the erasure any more', 2, () => [gone(6), gone(7), head(5)]],
    [
      'another entry of the erasure',
      2,
      ([, , , , , sixth]) => [at(6, { ...sixth, details: { entries: [] } } as AuditEntry)],
    ],
  ];
  for (const [name, broken, writes] of cases) {
    const folder = await makeFolder(t);
    await eraseTwice(folder);
    await tamper(folder, writes);
    const problems = await problemsOf(folder);
    assert.ok(problems.includes(`In the accounts, audit [${broken}] ${UNFOLLOWED}`), `${name}: ${problems.join()}`);
  }
});

test('one entry more than may be owed breaks the chain', () => {
  const walk = new AuditWalk(AUDIT_START);
  const entry = { ...nextAuditEntry(AUDIT_START, '2026-11-22T08:00:00.000Z', form('user:a')), hash: 'f' };
  for (let number = 1; number <= AUDIT_OWED_MAX; number += 1) assert.ok(walk.follow({ ...entry, number }));
  assert.equal(walk.follow({ ...entry, number: AUDIT_OWED_MAX + 1 }), false);
  assert.deepEqual([walk.finish(), walk.head], [1, AUDIT_START]);
});
