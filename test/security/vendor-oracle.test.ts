/**
 * The oracle attack on the de-personalised view (RED-10, VND-16): a vendor who guesses a name, an address, an id or the
 * beginning of one, and asks by every filter and cursor there is whether the guess is right. The answer must be the one
 * that a guess gets which is certainly wrong.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import type { ConsoleRoute } from '#src/console/route.ts';
import { ADDRESS, startVendorScene, vendorReads, type VendorScene } from './vendor-scene.ts';

let scene: VendorScene;
before(async () => {
  scene = await startVendorScene();
});
after(async () => await scene.host.stop());

/**
 * What a field of a query is: a text that shown rows are matched with; a choice of few words; an instant; the cursor of
 * a page; how many. Of a clear list everything is shown, so that it may be asked for.
 */
type Field = 'matched' | 'choice' | 'instant' | 'cursor' | 'count';

const AUDIT: Readonly<Record<string, Field>> = {
  event: 'matched',
  actor: 'matched',
  about: 'matched',
  prefix: 'matched',
  from: 'instant',
  to: 'instant',
  after: 'cursor',
  limit: 'count',
};
const PAGED: Readonly<Record<string, Field>> = { after: 'cursor', limit: 'count' };

/** Route that a vendor reads → the fields of its query. */
const ORACLES: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  '/alerts': { state: 'choice', ...PAGED },
  '/audit': AUDIT,
  '/calendar/audit': AUDIT,
  '/agents/audit': AUDIT,
  '/bots': PAGED,
  '/client-sessions': PAGED,
  '/console-roles': PAGED,
  '/gateways': PAGED,
  '/gateways/:id/reports': { role: 'choice', ...PAGED },
  '/guests': PAGED,
  '/logs': { level: 'choice', text: 'matched', since: 'instant', ...PAGED },
  '/meetings': PAGED,
  '/nodes': PAGED,
  '/servers': PAGED,
  '/telemetry': PAGED,
  '/users': { q: 'matched', sort: 'choice', ...PAGED },
  '/webhooks': PAGED,
};

interface JsonField {
  readonly type?: string;
  readonly enum?: readonly string[];
}

function fieldsOf({ query }: ConsoleRoute): Readonly<Record<string, JsonField>> {
  if (query === undefined) return {};
  const schema = z.toJSONSchema(query, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  const named = (schema.$defs ?? {}) as Record<string, JsonField>;
  const fields = Object.entries((schema.properties ?? {}) as Record<string, JsonField & { $ref?: string }>);
  return Object.fromEntries(
    fields.map(([name, field]) => [name, named[field.$ref?.slice('#/$defs/'.length) ?? ''] ?? field]),
  );
}

const filterable = vendorReads().filter(({ query }) => query !== undefined);
const depersonalised = filterable.filter(({ vendor }) => vendor === 'depersonalised');

test('VND-16 every route with a query that a vendor reads states what its fields are', () => {
  assert.ok(filterable.length > 10);
  const stated = Object.fromEntries(
    Object.entries(ORACLES).map(([path, fields]) => [path, Object.keys(fields).toSorted()]),
  );
  const real = Object.fromEntries(filterable.map((route) => [route.path, Object.keys(fieldsOf(route)).toSorted()]));
  assert.deepEqual(real, Object.fromEntries(Object.keys(real).map((path) => [path, stated[path]])));
  assert.deepEqual(
    Object.keys(stated).filter((path) => !(path in real)),
    [],
  );
  for (const route of filterable) {
    for (const [name, { enum: words }] of Object.entries(fieldsOf(route))) {
      assert.equal(words !== undefined, ORACLES[route.path]?.[name] === 'choice', `${route.path}?${name}`);
    }
  }
});

/** A guess that is right of raw data and stands in no answer to a vendor, and one of the same shape that is wrong. */
function guesses(): [right: string, wrong: string][] {
  const { ids } = scene;
  const inText = `"user":"gusev"`;
  const letters = [1, 2, 3, 4, 5].map((length): [string, string] => [
    `"user":"${'gusev'.slice(0, length)}`,
    `"user":"~`,
  ]);
  return [
    ['user:ivanova', 'user:zzzzzzz'],
    ['user:iv', 'user:zz'],
    ['user:i', 'user:z'],
    ['ivanova', 'zzzzzzz'],
    ['gusev', 'zzzzz'],
    [inText, '"user":"zzzzz"'],
    ...letters,
    [ADDRESS, '203.0.113.~~'],
    [ADDRESS.slice(0, -1), '203.0.113.~'],
    ['+79161234567', '+79160000000'],
    ...Object.values(ids).flatMap((id): [string, string][] => [
      [id, `${id.slice(0, -8)}00000000`],
      [id.slice(0, -4), `${id.slice(0, -8)}0000`],
      [`group:${id}`, `group:${id.slice(0, -8)}00000000`],
    ]),
  ];
}

function pathOf(route: ConsoleRoute, node: string): string {
  return route.path.replaceAll(':id', node);
}

for (const route of depersonalised) {
  const texts = Object.entries(fieldsOf(route)).filter(
    ([, { type, enum: words }]) => type === 'string' && words === undefined,
  );
  for (const [field] of texts) {
    test(`VND-16 ${route.path}?${field}= tells nothing of what is not shown`, async () => {
      const nodes = await scene.read('/nodes');
      const path = pathOf(route, String(nodes.body.items[0]?.['id']));
      const answer = async (guess: string) => {
        const { status, text } = await scene.read(`${path}?${field}=${encodeURIComponent(guess)}`);
        return `${status} ${text}`;
      };
      for (const [right, wrong] of guesses()) assert.equal(await answer(right), await answer(wrong), right);
    });
  }
}

test('VND-16 what is shown is found: by actor, by subject, by the beginning of each, and in lines of the log', async () => {
  const all = await scene.read('/audit?limit=200');
  const made = all.body.items.find(({ event }) => event === 'meeting.created');
  assert.match(String(made?.['actor']), /^user:u-[0-9a-f]{8}$/);
  assert.ok(all.body.items.some(({ event, address }) => event === 'group.created' && address === '203.0.113.x'));
  const found = async (query: string) => {
    const { status, text, body } = await scene.read(`/audit?${query}`);
    assert.equal(status, 200, text);
    return body.items.some(({ number }) => number === made?.['number']);
  };
  const actor = encodeURIComponent(String(made?.['actor']));
  const about = encodeURIComponent(String(made?.['about']));
  assert.ok(await found(`actor=${actor}&event=meeting.created`));
  assert.ok(await found(`about=${about}`));
  assert.ok(await found(`prefix=${actor.slice(0, -2)}`));
  const near = await scene.read('/audit?prefix=203.0.113.x');
  assert.ok(near.body.items.length > 0 && near.body.items.every(({ address }) => address === '203.0.113.x'));
  assert.ok(!(await found('event=meeting')));
  const lines = await scene.read('/logs?text=delivered');
  const [named] = lines.body.items as unknown as { fields: { user: string } }[];
  assert.ok(named);
  const { user } = named.fields;
  assert.match(user, /^u-[0-9a-f]{8}$/);
  const again = await scene.read(`/logs?text=${encodeURIComponent(`"user":"${user}"`)}`);
  assert.deepEqual(again.body.items, lines.body.items);
});

test('VND-16 a vendor walks a filtered trail to its end, and reads what an unfiltered walk shows', async () => {
  const walk = async (query: string) => {
    const numbers: number[] = [];
    for (let cursor = ''; ;) {
      const page = await scene.read(`/audit?${query}limit=3${cursor}`);
      assert.equal(page.status, 200, page.text);
      assert.ok(page.body.items.length <= 3);
      numbers.push(...page.body.items.map(({ number }) => number as number));
      if (page.body.next === null) return numbers;
      cursor = `&after=${encodeURIComponent(page.body.next)}`;
    }
  };
  const all = await walk('');
  assert.deepEqual(
    all,
    all.toSorted((a, b) => b - a),
  );
  assert.ok(all.length > 10);
  const page = await scene.read('/audit?limit=200');
  const wanted = page.body.items.filter(({ event }) => String(event).startsWith('group.'));
  assert.deepEqual(
    await walk('prefix=group.&'),
    wanted.map(({ number }) => number),
  );
});

test('VND-16 administrators go on finding raw data', async () => {
  const { call } = scene.host;
  for (const query of ['actor=user:ivanova', `prefix=${ADDRESS}`, 'prefix=user:iv']) {
    const { body } = await call<{ items: unknown[] }>('administrator', 'GET', `/audit?${query}`);
    assert.ok(body.items.length > 0, query);
  }
  const lines = await call<{ items: unknown[] }>('administrator', 'GET', '/logs?text=%22user%22%3A%22g');
  assert.ok(lines.body.items.length > 0);
});
