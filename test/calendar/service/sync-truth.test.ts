/** Five clients of both doors, over random changes, pages cut anywhere and kills: all come to have what is there. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SeededRandom } from '#test/support/random.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { basic, call, eventText, makeCalendar } from './calling.ts';

const SEED = 20_261_121;
const KILLS = 2;
const WRITERS = 3;
const OBJECTS = 12;

/** Who keeps a copy of a calendar, and how far it has read. */
interface Client {
  readonly context: 'dav' | 'json';
  token: string;
  /** Name of the object, or id of the entry → etag. */
  readonly etags: Map<string, string>;
}

interface Page {
  readonly changed: readonly (readonly [string, string])[];
  readonly removed: readonly string[];
  readonly token: string;
  readonly more: boolean;
}

/** A person with two calendars, and what is asked of them. */
class Household {
  server: TestServer;
  person: Person;
  readonly headers: Record<string, string>;
  readonly calendars: readonly { readonly id: string; readonly name: string }[];

  constructor(server: TestServer, person: Person, password: string, calendars: Household['calendars']) {
    this.server = server;
    this.person = person;
    this.headers = basic(person.username, password);
    this.calendars = calendars;
  }

  path(calendar: number, name = ''): string {
    return `/dav/calendars/${this.person.username}/${this.calendars[calendar]?.name}/${name}`;
  }

  async dav(method: string, path: string, headers: Record<string, string> = {}, body?: string) {
    const init = { method, headers: { ...this.headers, 'content-type': 'text/calendar', ...headers } };
    const reply = await fetch(`${this.server.calendar}${path}`, body === undefined ? init : { ...init, body });
    return { status: reply.status, text: await reply.text() };
  }

  /** One page of what changed. Whatever a token's age, it is taken: nothing here is ever so old that it is refused. */
  async page(calendar: number, { context, token }: Client, limit: number): Promise<Page> {
    if (context === 'json') {
      const after = token === '' ? '' : `&after=${token}`;
      const path = `/v1/calendars/${this.calendars[calendar]?.id}/changes?limit=${limit}${after}`;
      const { body, status, text } = await call<{
        items: EntryView[];
        deleted: string[];
        next: string;
        more: boolean;
      }>(this.server, this.person, 'GET', path);
      assert.equal(status, 200, text);
      const changed = body.items.map(({ id, etag }) => [id, etag] as const);
      return { changed, removed: body.deleted, token: body.next, more: body.more };
    }
    const asked = `<D:sync-token>${token}</D:sync-token><D:sync-level>1</D:sync-level><D:limit><D:nresults>${limit}</D:nresults></D:limit>`;
    const body = `<D:sync-collection xmlns:D="DAV:">${asked}<D:prop><D:getetag/></D:prop></D:sync-collection>`;
    const { status, text } = await this.dav('REPORT', this.path(calendar), {}, body);
    assert.equal(status, 207, text);
    const rows = [...text.matchAll(/<D:response><D:href>([^<]*)<\/D:href>(.*?)<\/D:response>/g)];
    const objects = rows.filter(([, href = '']) => href.endsWith('.ics'));
    const etagIn = (row: string) => /<D:getetag>([^<]*)</.exec(row)?.[1]?.replaceAll('&quot;', '"');
    return {
      changed: objects.flatMap(([, href = '', row = '']) => [[href, etagIn(row)] as const]).filter(isChange),
      removed: objects.flatMap(([, href = '', row = '']) => (row.includes(' 404 ') ? [href] : [])),
      token: /<D:sync-token>([^<]*)</.exec(text)?.[1] ?? '',
      more: rows.some(([, href = '', row = '']) => href.endsWith('/') && row.includes(' 507 ')),
    };
  }

  /** What is there, as each door says it without any token. */
  async truth(calendar: number, context: Client['context']): Promise<Map<string, string>> {
    const whole = await this.page(calendar, { context, token: '', etags: new Map() }, 200);
    assert.equal(whole.more, false);
    if (context === 'json') return new Map(whole.changed);
    const body = '<D:propfind xmlns:D="DAV:"><D:prop><D:getetag/></D:prop></D:propfind>';
    const { text } = await this.dav('PROPFIND', this.path(calendar), { depth: '1' }, body);
    const rows = [...text.matchAll(/<D:href>([^<]*\.ics)<\/D:href>.*?<D:getetag>([^<]*)</g)];
    return new Map(rows.map(([, href = '', etag = '']) => [href, etag.replaceAll('&quot;', '"')]));
  }
}

function isChange(row: readonly [string, string | undefined]): row is readonly [string, string] {
  return row[1] !== undefined;
}

/** One change at random; acknowledged ones are counted. */
async function changeSomething(home: Household, random: SeededRandom, turn: string): Promise<boolean> {
  const [calendar, name] = [random.whole(0, 1), `o${random.whole(0, OBJECTS - 1)}`];
  const [path, other] = [home.path(calendar, `${name}.ics`), home.path(1 - calendar, `${name}.ics`)];
  const destination = { destination: random.chance(0.7) ? other : home.path(calendar, `${name}-b.ics`) };
  const drawn = random.whole(0, 19);
  if (drawn < 9) return isDone(await home.dav('PUT', path, {}, eventText(name, [`LOCATION:${turn}`])));
  if (drawn < 12) return isDone(await home.dav('DELETE', path));
  if (drawn < 15) return isDone(await home.dav('MOVE', path, destination));
  if (drawn < 17) return isDone(await home.dav('COPY', path, { destination: other }));
  const entries = `/v1/calendars/${home.calendars[calendar]?.id}/entries`;
  const form = { title: turn, start_at: '2026-11-23T09:00:00Z' };
  return isDone(await call(home.server, home.person, 'POST', entries, form));
}

function isDone({ status, text }: { readonly status: number; readonly text: string }): boolean {
  // What is not there, is there already or has its UID elsewhere is refused; nothing fails.
  assert.ok(status < 300 || [403, 404, 409, 412].includes(status), `${status} ${text}`);
  return status < 300;
}

/** Reads one page of some length, and keeps what it says. */
async function readPage(home: Household, calendar: number, client: Client, limit: number): Promise<Page> {
  const page = await home.page(calendar, client, limit);
  for (const [name, etag] of page.changed) client.etags.set(name, etag);
  for (const name of page.removed) client.etags.delete(name);
  client.token = page.token;
  return page;
}

async function converge(home: Household, clients: readonly Client[][], random: SeededRandom): Promise<void> {
  for (const [calendar, readers] of clients.entries()) {
    for (const client of readers) {
      while ((await readPage(home, calendar, client, random.whole(1, 5))).more);
      assert.deepEqual(client.etags, await home.truth(calendar, client.context));
      const again = await readPage(home, calendar, client, 5);
      assert.deepEqual([again.changed, again.removed], [[], []]);
    }
  }
}

/** Writers and readers until the process is killed under them. */
async function live(
  home: Household,
  clients: readonly Client[][],
  random: SeededRandom,
  life: number,
): Promise<number> {
  let [done, isKilled] = [0, false];
  const enough = random.whole(60, 120);
  const lived = Promise.withResolvers<void>();
  const untilKilled = async (step: (own: SeededRandom, turn: number) => Promise<void>): Promise<void> => {
    const own = random.fork();
    for (let turn = 0; !isKilled; turn += 1) {
      try {
        await step(own, turn);
      } catch (error) {
        if (!isKilled && error instanceof assert.AssertionError) throw error;
        isKilled = true;
        lived.resolve();
      }
    }
  };
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    await untilKilled(async (own, turn) => {
      if (await changeSomething(home, own, `${life}-${writer}-${turn}`)) done += 1;
      if (done === enough) lived.resolve();
    });
  });
  const readers = clients.flatMap((all, calendar) =>
    all.map(async (client) => {
      await untilKilled(async (own) => void (await readPage(home, calendar, client, own.whole(1, 4))));
    }),
  );
  await lived.promise;
  const ended = home.server.end('SIGKILL');
  await Promise.all([...writers, ...readers, ended]);
  isKilled = true;
  return done;
}

test(`CAL-03 five clients converge over random changes, cut pages and kill -9, seed ${SEED}`, async (t) => {
  const random = new SeededRandom(SEED);
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  let server = await startServer({ folder });
  t.after(async () => await server.end('SIGKILL'));
  const person = await server.person('sam');
  const made = await request<{ password: string }>('POST', `${server.coordinator}/v1/app-passwords`, {
    body: { name: 'sync' },
    token: person.session.token,
  });
  const calendars = [await makeCalendar(server, person), await makeCalendar(server, person)];
  const home = new Household(server, person, made.body.password, calendars);
  const client = (context: Client['context']): Client => ({ context, token: '', etags: new Map() });
  const clients = [
    [client('dav'), client('dav'), client('json')],
    [client('dav'), client('json')],
  ];
  for (let life = 0; life < KILLS; life += 1) {
    assert.ok((await live(home, clients, random, life)) >= 60);
    server = await startServer({ folder });
    home.server = server;
    home.person.session = await server.signIn('sam', person.password);
    await converge(home, clients, random);
  }
});
