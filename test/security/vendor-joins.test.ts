/**
 * The joining attack on the de-personalised view (VND-16): a vendor reads people by name in the lists that are clear, and
 * by pseudonym in those that are not. Whatever stands in both beside one of them says which name is which pseudonym.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { auditHash, type AuditEntry } from '#storage/accounts/audit-chain.ts';
import { formatInstant } from '#src/base/time.ts';
import { startVendorScene, vendorReads, type Page, type VendorScene } from './vendor-scene.ts';

let scene: VendorScene;
before(async () => {
  scene = await startVendorScene();
});
after(async () => await scene.host.stop());

/** Ids as the server makes them, of bots without a prefix. */
const ID = /(?<![0-9A-Za-z])(?:[a-z]{1,4}_)?[0-9abcdefghjkmnpqrstvwxyz]{22}(?![0-9A-Za-z])/g;

/** Ids of what belongs to no person: nodes, alerts, asks, webhooks, and the vendor's own token. */
const NOBODYS = /^(?:n|alrt|ask|hook|ep)_/;

async function texts(vendor: 'open' | 'depersonalised'): Promise<Map<string, string>> {
  const { body: users } = await scene.read('/users');
  const people = users.items.map(({ user }) => String(user));
  const first = async (path: string) => String((await scene.read(path)).body.items[0]?.['id']);
  const parameters: Readonly<Record<string, readonly string[]>> = {
    '/users/': people,
    '/guests/': ['gusev'],
    '/groups/': [await first('/groups')],
    '/meetings/': [await first('/meetings')],
    '/bots/': [await first('/bots')],
    '/nodes/': [await first('/nodes')],
    '/gateways/': [await first('/nodes')],
    '/conversations/': [scene.ids.conversation],
  };
  const found = new Map<string, string>();
  for (const route of vendorReads().filter((each) => each.vendor === vendor)) {
    const given = Object.entries(parameters).find(
      ([start]) => route.path.startsWith(start) && route.path.includes(':'),
    );
    assert.ok(given !== undefined || !route.path.includes(':'), `${route.path} is read with an id that the test has`);
    for (const parameter of given?.[1] ?? ['']) {
      const path = route.path.replace(/:\w+/, parameter);
      const { status, text } = await scene.read(path);
      assert.ok(status === 200 || status === 404, `${path}: ${text}`);
      if (status === 200) found.set(path, text);
    }
  }
  return found;
}

test('VND-16 no id stands in a clear list and in a de-personalised one', async () => {
  const own = (scene.host.callers.vendor_active['authorization'] as string).split('_')[2] as string;
  const clear = new Set([...(await texts('open')).values()].flatMap((text) => text.match(ID) ?? []));
  // What the attack is made with is there: her device, her session, her group, her meeting.
  const { device, session, group, meeting, conversation } = scene.ids;
  for (const id of [device, session, group, meeting, conversation]) assert.ok(clear.has(id), id);
  const joins: string[] = [];
  for (const [path, text] of await texts('depersonalised')) {
    for (const id of new Set(text.match(ID))) {
      if (clear.has(id) && id !== own && !NOBODYS.test(id)) joins.push(`${path}: ${id}`);
    }
  }
  assert.deepEqual(joins, []);
});

/** Rows of answers, each with what its path names. */
function rowsOf(answers: ReadonlyMap<string, string>): { readonly path: string; readonly row: string[] }[] {
  return [...answers].flatMap(([path, text]) => {
    const body = JSON.parse(text) as { items?: readonly unknown[] };
    return (body.items ?? [body]).map((row) => ({ path, row: [...path.split('/').slice(2), ...leavesOf(row)] }));
  });
}

/** Every text and number of a value, and the instants that its ids were made at. */
function leavesOf(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leavesOf);
  if (typeof value !== 'string' && typeof value !== 'number') return [];
  const ids = typeof value === 'string' ? (value.match(ID) ?? []) : [];
  return [String(value), ...ids.map((id) => formatInstant(madeAt(id)))];
}

/** When an id was made, in milliseconds: its first nine symbols say it to everybody. */
function madeAt(id: string): number {
  const symbols = id.slice(id.indexOf('_') + 1).slice(0, 9);
  return symbols.split('').reduce((sum, symbol) => sum * 32 + '0123456789abcdefghjkmnpqrstvwxyz'.indexOf(symbol), 0);
}

/**
 * What both sides may have: an administrator under the pseudonym that is theirs everywhere, and the platforms of devices,
 * which the contract has in both lists (docs/security.md says so).
 */
const SHARED = /^(?:user:u-[0-9a-f]{8}|macos)$/;

/** People who share a value, from which on it says nothing of one of them. */
const CROWD = 3;

test('VND-16 nothing that a clear list says of one person stands beside that person’s pseudonym', async () => {
  const raw = await scene.host.call<Page>('owner', 'GET', '/audit?limit=200');
  const shown = await scene.read('/audit?limit=200');
  const of = new Map(shown.body.items.map((entry) => [entry['number'], entry]));
  const pseudonyms = new Map<string, string>();
  for (const entry of raw.body.items) {
    for (const field of ['actor', 'about']) {
      const [name, pseudonym] = [entry, of.get(entry['number'])].map((one) => String(one?.[field]));
      if (/^user:u-[0-9a-f]{8}$/.test(pseudonym as string))
        pseudonyms.set(name?.slice(5) ?? '', pseudonym?.slice(5) ?? '');
    }
  }
  assert.ok(pseudonyms.has('ivanova'), [...pseudonyms.keys()].join(' '));
  const clear = rowsOf(await texts('open'));
  const people = (await scene.read('/users?limit=200')).body.items.map(({ user }) => String(user));
  /** Value → the people in whose rows it stands. */
  const said = new Map<string, Set<string>>();
  for (const { row } of clear) {
    for (const person of people.filter((name) => row.includes(name))) {
      for (const value of row) said.set(value, (said.get(value) ?? new Set()).add(person));
    }
  }
  assert.deepEqual([...(said.get('Zymurgist of the yard') ?? [])], ['ivanova']);
  const joins = new Set<string>();
  for (const { path, row } of rowsOf(await texts('depersonalised'))) {
    const text = row.join(' ');
    for (const value of row.slice(path.split('/').length - 2)) {
      const named = said.get(value);
      if (named === undefined || named.size >= CROWD) continue;
      for (const person of named) {
        const pseudonym = pseudonyms.get(person);
        if (pseudonym !== undefined && !SHARED.test(value) && text.includes(pseudonym)) {
          joins.add(`${path}: ${person} by ${value} in ${row.slice(1, 4).join(' ')}`);
        }
      }
    }
  }
  assert.deepEqual([...joins], []);
});

test('VND-16 one thing has one pseudonym everywhere, of the kind that it is', async () => {
  const { body } = await scene.read('/client-sessions');
  const devices = body.items.map(({ device }) => String(device));
  assert.ok(devices.length > 1);
  assert.ok(
    devices.every((device) => /^d-[0-9a-f]{8}$/.test(device)),
    devices.join(' '),
  );
  const telemetry = await scene.read('/telemetry');
  assert.ok(devices.includes(String(telemetry.body.items[0]?.['device'])));
  const trail = await scene.read('/audit?event=user.session_ended');
  const [ended] = trail.body.items as unknown as { details: { device: string; session: string } }[];
  assert.ok(ended);
  const { device, session } = ended.details;
  assert.ok(devices.includes(device));
  assert.match(session, /^s-[0-9a-f]{8}$/);
});

test('VND-16 people stand in the order of their pseudonyms, and instants of sessions join nobody', async () => {
  const { body } = await scene.read('/client-sessions');
  const people = body.items.map(({ user }) => String(user));
  assert.ok(new Set(people).size > 5);
  assert.deepEqual(people, people.toSorted());
  for (const { created_at, used_at, session_until } of body.items) {
    for (const instant of [created_at, used_at, session_until]) {
      assert.match(String(instant), /^(?:null|\d{4}-\d\d-\d\dT00:00:00\.000Z)$/);
    }
  }
});

test('VND-16 pages of people by pseudonym have everybody once', async () => {
  const whole = await scene.read('/client-sessions');
  const paged: unknown[] = [];
  for (let cursor = ''; ;) {
    const page = await scene.read(`/client-sessions?limit=1${cursor}`);
    paged.push(...page.body.items);
    if (page.body.next === null) break;
    cursor = `&after=${page.body.next}`;
  }
  assert.deepEqual(paged, whole.body.items);
});

test('VND-16 no hash of the trail says which name stands behind a pseudonym', async () => {
  const { body } = await scene.read('/audit?limit=200');
  const entries = body.items as unknown as (Omit<AuditEntry, 'subject'> & { about: string })[];
  const at = entries.findIndex(({ event }) => event === 'meeting.created');
  const [entry, older] = [entries[at], entries[at + 1]];
  assert.ok(entry !== undefined && older !== undefined);
  // The attack: every name of the clear list and every last octet are tried, until the hash is right.
  const guess = { ...entry, actor: 'user:ivanova', address: '203.0.113.77', subject: `meeting:${scene.ids.meeting}` };
  assert.notEqual(auditHash(older.hash, guess), entry.hash);
  assert.ok(entries.every(({ hash }) => hash === '[REDACTED:random]'));
  const raw = await scene.host.call<{ items: AuditEntry[] }>('owner', 'GET', '/audit?limit=200');
  assert.ok(raw.body.items.every(({ hash }) => hash.length === createHash('sha256').digest('hex').length));
});

test('VND-16 who issued a token is to its holder who the trail says it was', async () => {
  const { body } = await scene.read<{ vendor_token: { issued_by: string } }>('/me');
  const trail = await scene.read('/audit?event=vendor_token.issued');
  assert.match(body.vendor_token.issued_by, /^user:u-[0-9a-f]{8}$/);
  assert.equal(body.vendor_token.issued_by, trail.body.items[0]?.['actor']);
});

test('VND-16 names that people give to groups and rooms do not stand beside pseudonyms', async () => {
  for (const [path, text] of await texts('depersonalised')) {
    assert.doesNotMatch(text, /Chief accountants|ivanova|gusev|Accounting/, path);
  }
});

test('VND-16 a room is found by its pseudonym and not by its id', async () => {
  const all = await scene.read('/webhooks');
  const room = String(all.body.items[0]?.['conversation_id']);
  assert.match(room, /^c-[0-9a-f]{8}$/);
  const shown = await scene.read(`/conversations/${room}/webhooks`);
  assert.deepEqual(shown.body.items, all.body.items);
  const raw = await scene.read(`/conversations/${scene.ids.conversation}/webhooks`);
  assert.deepEqual(raw.body.items, []);
  const byOwner = await scene.host.call<{ items: unknown[] }>(
    'owner',
    'GET',
    `/conversations/${scene.ids.conversation}/webhooks`,
  );
  assert.equal(byOwner.body.items.length, 1);
});
