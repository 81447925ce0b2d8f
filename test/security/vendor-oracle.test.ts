/**
 * The oracle attack on the de-personalised view (RED-10, VND-16): a vendor who guesses a name, an address, an id or the
 * beginning of one, and asks by every filter and cursor there is whether the guess is right. The answer must be the one
 * that a guess gets which is certainly wrong.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { consoleRoutes } from '#src/console/route-table.ts';
import type { ConsoleRoute } from '#src/console/route.ts';
import { ADDRESS, startVendorScene, vendorReads, type VendorScene } from './vendor-scene.ts';

let scene: VendorScene;
/** Texts that an owner reads in the console: by what no answer shows a vendor, and what no de-personalised one does. */
let hidden: Readonly<Record<'open' | 'depersonalised', readonly string[]>>;
before(async () => {
  scene = await startVendorScene();
  hidden = await hiddenTexts();
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

/** Texts of a value, of a length that a filter takes. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(textsOf);
  return typeof value === 'string' && value.length > 2 && value.length < 200 ? [value] : [];
}

const INSTANT = /^\d{4}-\d\d-\d\dT/;

/** A hash of the trail: there are many, and one is as good as another. */
const HASH = /^[0-9a-f]{64}$/;
/** Sentences of the console itself are longer. */
const WORDS_MAX = 6;

/** Shorter words stand in many a text. */
const WORD_LENGTH_MIN = 4;

/** Whatever an owner reads in any list of the console, of which no word stands in what a vendor is shown. */
async function hiddenTexts(): Promise<typeof hidden> {
  const { call } = scene.host;
  const lists = consoleRoutes()
    .map(({ route }) => route)
    .filter(({ method, path, isStream }) => method === 'get' && !path.includes(':') && isStream !== true);
  const raw = new Set<string>();
  const shown = { open: '', depersonalised: '' };
  for (const { path, vendor } of lists) {
    const whole = await call('owner', 'GET', path);
    if (whole.status === 200) for (const text of textsOf(whole.body)) raw.add(text);
    if (vendor !== 'open' && vendor !== 'depersonalised') continue;
    const part = await call('vendor_active', 'GET', path);
    shown[vendor] += part.text.toLowerCase();
  }
  const texts = [...raw].filter(
    (text) => !INSTANT.test(text) && !HASH.test(text) && text.split(' ').length < WORDS_MAX,
  );
  const hiddenFrom = (answers: string) =>
    texts.filter((text) => {
      const words = text.toLowerCase().split(/[^\p{L}\p{N}.+_]+/u);
      return words.every((word) => word.length < WORD_LENGTH_MIN || !answers.includes(word));
    });
  return { open: hiddenFrom(shown.open + shown.depersonalised), depersonalised: hiddenFrom(shown.depersonalised) };
}

/** A text of the same shape that stands nowhere. */
function likeButWrong(text: string): string {
  return text.replaceAll(/[a-z](?![a-z]*_)/gi, 'z').replaceAll(/\d/g, '0');
}

const filterable = vendorReads().filter(({ query }) => query !== undefined);

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
type Guess = readonly [right: string, wrong: string];

/** Guesses that every field is tried with: a person, the beginning of one, an address, a line of the log. */
const SURE: readonly Guess[] = [
  ['user:ivanova', 'user:zzzzzzz'],
  ['user:iv', 'user:zz'],
  ['ivanova', 'zzzzzzz'],
  ['"user":"gus', '"user":"~'],
  [ADDRESS, '203.0.113.~~'],
  [ADDRESS.slice(0, -1), '203.0.113.~'],
];

/** Further ones: what is shorter or longer, and ids whole, in part and as the trail writes them. */
function guesses(): Guess[] {
  return [
    ['user:i', 'user:z'],
    ['gusev', 'zzzzz'],
    ['"user":"gusev"', '"user":"zzzzz"'],
    ['"user":"g', '"user":"~'],
    ['+79161234567', '+79160000000'],
    ...Object.values(scene.ids).flatMap((id): Guess[] => [
      [id, `${id.slice(0, -8)}00000000`],
      [id.slice(0, -4), `${id.slice(0, -8)}0000`],
      [`group:${id}`, `group:${id.slice(0, -8)}00000000`],
    ]),
  ];
}

function pathOf(route: ConsoleRoute, node: string): string {
  return route.path.replaceAll(':id', node);
}

/** Guesses that one field is tried with beside the sure ones: others in each run. */
const DRAWN_PER_FIELD = 10;

function triedWith({ path, vendor }: ConsoleRoute, field: string): Guess[] {
  const texts = hidden[vendor as keyof typeof hidden].map((text): Guess => [text, likeButWrong(text)]);
  if (vendor === 'open') return shuffled(texts).slice(0, DRAWN_PER_FIELD);
  const all = [...SURE, ...shuffled([...guesses(), ...texts]).slice(0, DRAWN_PER_FIELD)];
  // A cursor that is a number counts rows that are shown.
  return ORACLES[path]?.[field] === 'cursor' ? all.filter(([text]) => !/^\d+$/.test(text)) : all;
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

test('VND-16 the data itself says what vendors are tried with', () => {
  assert.ok(hidden.depersonalised.length > 40, hidden.depersonalised.join('\n'));
  assert.ok(hidden.open.length > 5, hidden.open.join('\n'));
  for (const name of ['ivanova', 'gusev', ADDRESS, 'Zymurgist of the yard', 'galina.q@corp.example', '+79161112233']) {
    assert.ok(hidden.depersonalised.includes(name), name);
  }
  assert.ok(hidden.open.includes('Windlass of the quay'));
  assert.ok(hidden.open.includes(ADDRESS));
});

for (const route of filterable) {
  const texts = Object.entries(fieldsOf(route)).filter(
    ([name, { type, enum: words }]) =>
      // A cursor of a list that is shown as it is stands between rows that are shown.
      type !== 'integer' &&
      words === undefined &&
      (route.vendor !== 'open' || ORACLES[route.path]?.[name] !== 'cursor'),
  );
  for (const [field] of texts) {
    test(`VND-16 ${route.path}?${field}= tells nothing of what is not shown`, async () => {
      const nodes = await scene.read('/nodes');
      const path = pathOf(route, String(nodes.body.items[0]?.['id']));
      const answers = new Map<string, string>();
      const answer = async (guess: string) => {
        const { status, text } = await scene.read(`${path}?${field}=${encodeURIComponent(guess)}`);
        return `${status} ${text}`;
      };
      for (const [right, wrong] of triedWith(route, field)) {
        if (!answers.has(wrong)) answers.set(wrong, await answer(wrong));
        assert.equal(await answer(right), answers.get(wrong), right);
      }
    });
  }
}

/** Routes with an id or a name in the path, of which a vendor reads the de-personalised ones. */
const withNames = vendorReads().filter(({ path, vendor }) => vendor === 'depersonalised' && path.includes(':'));

for (const { path } of withNames) {
  test(`VND-16 ${path} tells nothing of an id that is not shown`, async () => {
    const read = async (id: string) => {
      const { status, text } = await scene.read(path.replace(/:\w+/, encodeURIComponent(id)));
      return `${status} ${text}`;
    };
    for (const id of [
      ...Object.values(scene.ids),
      'ivanova',
      'gusev',
      ...shuffled(hidden.open).slice(0, DRAWN_PER_FIELD),
    ]) {
      assert.equal(await read(id), await read(likeButWrong(id)), id);
    }
  });
}

test('VND-16 what is shown is found: by actor, by subject, by the beginning of each, and in lines of the log', async () => {
  const all = await scene.read('/audit?limit=200');
  const made = all.body.items.find(({ event }) => event === 'dav.app_password_made');
  assert.match(String(made?.['actor']), /^user:u-[0-9a-f]{8}$/);
  assert.ok(all.body.items.some(({ event, address }) => event === 'group.created' && address === '203.0.113.x'));
  const found = async (query: string) => {
    const { status, text, body } = await scene.read(`/audit?${query}`);
    assert.equal(status, 200, text);
    return body.items.some(({ number }) => number === made?.['number']);
  };
  const actor = encodeURIComponent(String(made?.['actor']));
  const about = encodeURIComponent(String(made?.['about']));
  assert.ok(await found(`actor=${actor}&event=dav.app_password_made`));
  assert.ok(await found(`about=${about}`));
  assert.ok(await found(`prefix=${actor.slice(0, -2)}`));
  const near = await scene.read('/audit?prefix=203.0.113.x');
  assert.ok(near.body.items.length > 0 && near.body.items.every(({ address }) => address === '203.0.113.x'));
  assert.ok(!(await found('event=dav')));
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
