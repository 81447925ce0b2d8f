/** Reports on a home: what changed in all calendars, and what in them passes a filter. Clients of two levels converge, whatever happens in between. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { conditionsOf, DAV_NS, eventOf, rowsOf, startDav, tokenOf, type DavReply } from './dav-server.ts';

const dav = await startDav();
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

type Level = '1' | 'infinite';
const ETAG = '{DAV:}getetag';
const NAME = '{DAV:}displayname';
const homeOf = (user: string) => `/dav/calendars/${user}/`;
const make = async (user: string, name: string) => {
  const path = `${homeOf(user)}${name}/`;
  assert.equal((await dav.call('MKCALENDAR', path, { user })).status, 201);
  return path;
};
const put = async (path: string, name: string, summary = name, user = 'ann') =>
  await dav.call('PUT', `${path}${name}.ics`, { user, body: eventOf(name, [`SUMMARY:${summary}`]) });
const rename = async (path: string, name: string) => {
  const set = `<D:set><D:prop><D:displayname>${name}</D:displayname></D:prop></D:set>`;
  const body = `<D:propertyupdate ${DAV_NS}>${set}</D:propertyupdate>`;
  assert.equal((await dav.call('PROPPATCH', path, { body })).status, 207);
};
const sync = async (user: string, token: string, level: string, limit?: number): Promise<DavReply> => {
  const limited = limit === undefined ? '' : `<D:limit><D:nresults>${limit}</D:nresults></D:limit>`;
  const asked = `<D:sync-token>${token}</D:sync-token><D:sync-level>${level}</D:sync-level>${limited}`;
  const body = `<D:sync-collection ${DAV_NS}>${asked}<D:prop><D:getetag/><D:displayname/></D:prop></D:sync-collection>`;
  return await dav.call('REPORT', homeOf(user), { body, user });
};
const hrefsOf = (reply: DavReply) =>
  rowsOf(reply).map(({ href, status }) => `${href}${status === undefined ? '' : ` ${status.split(' ')[1]}`}`);
const textOf = async (user: string, property: string) => {
  const body = `<D:propfind ${DAV_NS}><D:prop>${property}</D:prop></D:propfind>`;
  return (await dav.call('PROPFIND', homeOf(user), { user, body, headers: { depth: '0' } })).text;
};

test('CAL-03 a home that nobody asked of yet has the calendar that everybody has', async () => {
  const reply = await sync('o.neil-1', '', '1');
  assert.deepEqual(hrefsOf(reply), [`${homeOf('o.neil-1')}default/`]);
});

test('CAL-03 level 1 answers the calendars that came, changed and went; level infinite what is in them as well', async () => {
  const [one, two] = [await make('ann', 'one'), await make('ann', 'two')];
  await put(one, 'a');
  const shallow = await sync('ann', '', '1');
  assert.deepEqual(hrefsOf(shallow).toSorted(), [one, two]);
  const deep = await sync('ann', '', 'infinite');
  assert.deepEqual(hrefsOf(deep).toSorted(), [one, `${one}a.ics`, two]);
  for (const level of ['1', 'infinite'] as const) {
    const token = tokenOf(level === '1' ? shallow : deep);
    assert.deepEqual(rowsOf(await sync('ann', token, level)), []);
  }
  await put(two, 'b');
  await rename(one, 'The first');
  assert.deepEqual(hrefsOf(await sync('ann', tokenOf(shallow), '1')).toSorted(), [one, two]);
  assert.deepEqual(hrefsOf(await sync('ann', tokenOf(deep), 'infinite')).toSorted(), [one, two, `${two}b.ics`]);
  await dav.call('DELETE', `${one}a.ics`);
  await dav.call('DELETE', two);
  assert.deepEqual(hrefsOf(await sync('ann', tokenOf(shallow), '1')).toSorted(), [one, `${two} 404`]);
  const later = await sync('ann', tokenOf(deep), 'infinite');
  assert.deepEqual(hrefsOf(later).toSorted(), [one, `${one}a.ics 404`, `${two} 404`]);
  const property = await textOf('ann', '<D:sync-token/><D:supported-report-set/>');
  assert.ok(property.includes(tokenOf(later)), property);
  assert.ok(property.includes('<D:sync-collection/>') && property.includes('<C:calendar-query/>'), property);
});

test('CAL-03 row by row, each answer says that it is cut, and the last that it is not', async () => {
  await put(await make('ann', 'rows'), 'a');
  for (const level of ['1', 'infinite'] as const) {
    const whole = hrefsOf(await sync('ann', '', level));
    const home = `${homeOf('ann')} 507`;
    const read: string[] = [];
    let token = '';
    for (const _ of whole) {
      const reply = await sync('ann', token, level, 1);
      token = tokenOf(reply);
      const hrefs = hrefsOf(reply);
      read.push(...hrefs.filter((href) => href !== home));
      assert.deepEqual([hrefs.length, hrefs.includes(home)], read.length < whole.length ? [2, true] : [1, false]);
    }
    assert.deepEqual(read, whole);
    assert.deepEqual(rowsOf(await sync('ann', token, level, 1)), []);
  }
});

test('CAL-03 junk, tokens of one calendar, of too little and of another folder are 403 valid-sync-token', async () => {
  const path = await make('ann', 'junk');
  const body = `<D:sync-collection ${DAV_NS}><D:sync-token/><D:sync-level>1</D:sync-level><D:prop/></D:sync-collection>`;
  const ofCalendar = tokenOf(await dav.call('REPORT', path, { body }));
  const shallow = tokenOf(await sync('ann', '', '1'));
  const deep = tokenOf(await sync('ann', '', 'infinite'));
  assert.equal((await sync('ann', deep, '1')).status, 207);
  const of = (rows: unknown) => `urn:parley:home:ep_1:all:${Buffer.from(JSON.stringify(rows)).toString('base64url')}`;
  const [first, ...rest] = JSON.parse(Buffer.from(deep.split(':').at(-1) ?? '', 'base64url').toString()) as [
    string,
    string,
    string,
    number,
    number,
  ][];
  assert.ok(first !== undefined);
  const future = of([[...first.slice(0, 3), 999_999, 999_999], ...rest]);
  const other = of([[first[0], 'another', ...first.slice(2)], ...rest]);
  const tokens = [
    '0',
    ofCalendar,
    shallow,
    deep.replace(':ep_1:', ':ep_2:'),
    future,
    other,
    of({}),
    of([[1]]),
    of([[...first.slice(0, 3), -1, 0]]),
    'urn:parley:home:ep_1:all:',
    `${deep}!`,
  ];
  for (const token of tokens) {
    const reply = await sync('ann', token, 'infinite');
    assert.deepEqual([reply.status, conditionsOf(reply)], [403, ['{DAV:}valid-sync-token']], token);
  }
  for (const level of ['0', '2', 'all']) assert.equal((await sync('ann', '', level)).status, 400, level);
  for (const limit of [0, -1]) {
    const refused = await sync('ann', '', '1', limit);
    assert.deepEqual([refused.status, conditionsOf(refused)], [403, ['{DAV:}number-of-matches-within-limits']]);
  }
  assert.equal((await sync('bob', deep, 'infinite')).status, 207, 'nothing in it is theirs: all of it is gone');
  assert.equal((await dav.call('REPORT', homeOf('ann'), { body, user: 'bob' })).status, 404);
});

test('CAL-03 whoever may see free and busy times only hears that there is a calendar, and of no change in it', async () => {
  const path = await make('ann', 'busy');
  const id = dav.calendars.ownedByName('ann', 'busy') ?? '';
  const theirs = `${homeOf('bob')}${id}/`;
  await dav.calendars.change((draft) => draft.share(id, 'bob', 'free_busy'));
  await put(path, 'a');
  const shallow = await sync('bob', '', '1');
  const deep = await sync('bob', '', 'infinite');
  assert.ok(hrefsOf(shallow).includes(theirs));
  assert.ok(hrefsOf(deep).includes(`${theirs} 403`) && !deep.text.includes('a.ics'), deep.text);
  assert.match(deep.text, /<D:error><D:sync-traversal-supported\/><\/D:error>/);
  await put(path, 'b');
  assert.deepEqual(rowsOf(await sync('bob', tokenOf(shallow), '1')), []);
  assert.deepEqual(rowsOf(await sync('bob', tokenOf(deep), 'infinite')), []);
  await dav.calendars.change((draft) => draft.share(id, 'bob', 'read'));
  assert.deepEqual(hrefsOf(await sync('bob', tokenOf(deep), 'infinite')).toSorted(), [
    theirs,
    `${theirs}a.ics`,
    `${theirs}b.ics`,
  ]);
});

test('CAL-03 a query on a home answers what passes of all calendars that are theirs to see', async () => {
  const [one, two] = [await make('ann', 'query1'), await make('ann', 'query2')];
  await put(one, 'wanted1', 'Harbour round');
  await put(two, 'wanted2', 'Harbour again');
  await put(two, 'other', 'Elsewhere');
  const match = '<C:prop-filter name="SUMMARY"><C:text-match>harbour</C:text-match></C:prop-filter>';
  const filter = `<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">${match}</C:comp-filter></C:comp-filter></C:filter>`;
  const query = (inner: string) =>
    `<C:calendar-query ${DAV_NS}><D:prop><D:getetag/></D:prop>${inner}</C:calendar-query>`;
  const found = await dav.call('REPORT', homeOf('ann'), { body: query(filter) });
  assert.deepEqual(hrefsOf(found).toSorted(), [`${one}wanted1.ics`, `${two}wanted2.ics`]);
  for (const inner of ['', '<C:filter/>', '<C:filter><C:comp-filter name="VEVENT"/></C:filter>']) {
    const refused = await dav.call('REPORT', homeOf('ann'), { body: query(inner) });
    assert.deepEqual([refused.status, conditionsOf(refused).length], [403, 1], inner);
  }
  const id = dav.calendars.ownedByName('ann', 'query2') ?? '';
  await dav.calendars.change((draft) => draft.share(id, 'bob', 'free_busy'));
  assert.deepEqual(hrefsOf(await dav.call('REPORT', homeOf('bob'), { body: query(filter), user: 'bob' })), []);
  await dav.calendars.change((draft) => draft.share(id, 'bob', 'read'));
  const shared = await dav.call('REPORT', homeOf('bob'), { body: query(filter), user: 'bob' });
  assert.deepEqual(hrefsOf(shared), [`${homeOf('bob')}${id}/wanted2.ics`]);
});

/** A client that believes what it is told: calendars with their names, and with the level infinite etags of what is in them. */
class Client {
  token = '';
  known = new Map<string, string>();
  readonly user: string;
  readonly level: Level;
  restarts = 0;

  constructor(user: string, level: Level) {
    this.user = user;
    this.level = level;
  }

  /** One answer; whether there is more. */
  async read(limit?: number): Promise<boolean> {
    const reply = await sync(this.user, this.token, this.level, limit);
    if (reply.status === 403) {
      assert.notEqual(this.token, '');
      this.restarts += 1;
      [this.token, this.known] = ['', new Map()];
      return true;
    }
    assert.equal(reply.status, 207, reply.text);
    const rows = rowsOf(reply);
    const isCut = rows.some(({ href }) => href === homeOf(this.user));
    assert.ok(rows.length - (isCut ? 1 : 0) <= (limit ?? Infinity), reply.text);
    for (const { found, href, status = '' } of rows) {
      if (href === homeOf(this.user)) continue;
      if (status.includes('404')) for (const key of this.known.keys()) if (key.startsWith(href)) this.known.delete(key);
      if (status.includes('404')) continue;
      this.known.set(href, status.includes('403') ? '403' : ((found.get(ETAG) ?? found.get(NAME))?.text ?? ''));
    }
    this.token = tokenOf(reply);
    return isCut;
  }
}

/** What a client of a level has to know, by PROPFIND. */
async function truthOf(user: string, level: Level): Promise<Map<string, string>> {
  const body = `<D:propfind ${DAV_NS}><D:prop><D:getetag/><D:displayname/><D:resourcetype/></D:prop></D:propfind>`;
  const list = async (path: string) =>
    rowsOf(await dav.call('PROPFIND', path, { user, body, headers: { depth: '1' } })).filter(
      ({ href }) => href !== path,
    );
  const truth = new Map<string, string>();
  for (const { href, found } of await list(homeOf(user))) {
    const isReadable = found.get('{DAV:}resourcetype')?.children.length === 2;
    truth.set(href, level === 'infinite' && !isReadable ? '403' : (found.get(NAME)?.text ?? ''));
    if (level === '1' || !isReadable) continue;
    for (const one of await list(href)) truth.set(one.href, one.found.get(ETAG)?.text ?? '');
  }
  return truth;
}

test('CAL-03 multiget on the home answers hrefs of whichever calendar, and 404 rows for those that are none', async () => {
  const [one, two] = [await make('ann', 'first'), await make('ann', 'second')];
  await put(one, 'a');
  await put(two, 'b');
  const foreign = '/dav/calendars/bob/default/a.ics';
  const hrefs = [`${one}a.ics`, `${two}b.ics`, `${two}a.ics`, foreign];
  const named = hrefs.map((href) => `<D:href>${href}</D:href>`).join('');
  const body = `<C:calendar-multiget ${DAV_NS}><D:prop><D:getetag/></D:prop>${named}</C:calendar-multiget>`;
  const reply = await dav.call('REPORT', homeOf('ann'), { body });
  assert.deepEqual(hrefsOf(reply), [`${one}a.ics`, `${two}b.ics`, `${two}a.ics 404`, `${foreign} 404`]);
});

test('CAL-03 free-busy-query on the home is when its owner is taken: in all of their calendars, and in none of the others’', async () => {
  const at = (name: string, hour: string) =>
    eventOf(name, [`DTSTART:20270105T${hour}0000Z`, `DTEND:20270105T${hour}3000Z`]);
  const [one, two] = [await make('o.neil-1', 'one'), await make('o.neil-1', 'two')];
  await dav.call('PUT', `${one}a.ics`, { user: 'o.neil-1', body: at('a', '09') });
  await dav.call('PUT', `${two}b.ics`, { user: 'o.neil-1', body: at('b', '11') });
  const free = await make('o.neil-1', 'free');
  const transparent = '<C:schedule-calendar-transp><C:transparent/></C:schedule-calendar-transp>';
  const set = `<D:propertyupdate ${DAV_NS}><D:set><D:prop>${transparent}</D:prop></D:set></D:propertyupdate>`;
  assert.equal((await dav.call('PROPPATCH', free, { user: 'o.neil-1', body: set })).status, 207);
  await dav.call('PUT', `${free}c.ics`, { user: 'o.neil-1', body: at('c', '13') });
  const shared = await make('bob', 'shared');
  await dav.call('PUT', `${shared}d.ics`, { user: 'bob', body: at('d', '15') });
  const id = dav.calendars.ownedByName('bob', 'shared') as string;
  await dav.calendars.change((draft) => draft.share(id, 'o.neil-1', 'write'));
  const ask = async (end: string) => {
    const range = `<C:time-range start="20270105T000000Z" end="${end}"/>`;
    const body = `<C:free-busy-query ${DAV_NS}>${range}</C:free-busy-query>`;
    return await dav.call('REPORT', homeOf('o.neil-1'), { user: 'o.neil-1', body });
  };
  const reply = await ask('20270106T000000Z');
  assert.deepEqual([reply.status, reply.headers['content-type']], [200, 'text/calendar; charset=utf-8']);
  const periods = [...reply.text.matchAll(/^FREEBUSY[^:]*:(.*)\r$/gm)].flatMap(([, list = '']) => list.split(','));
  assert.deepEqual(
    periods.map((period) => period.slice(0, 13)),
    ['20270105T0900', '20270105T1100'],
    reply.text,
  );
  assert.equal((await ask('20280209T000000Z')).status, 200);
  const long = await ask('20280209T000001Z');
  assert.deepEqual([long.status, conditionsOf(long)], [403, ['{DAV:}number-of-matches-within-limits']]);
  const named = await textOf('o.neil-1', '<D:supported-report-set/>');
  for (const report of ['calendar-multiget', 'free-busy-query']) assert.ok(named.includes(`<C:${report}/>`), named);
});

test('CAL-03 clients of both levels, cut at random, converge to what is there', async (t) => {
  const random = new SeededRandom(Number(process.env['SEED'] ?? freshSeed()));
  t.diagnostic(`SEED=${random.seed}`);
  const levels = ['1', 'infinite'] as const;
  const clients = ['ann', 'bob'].flatMap((user) => levels.map((level) => new Client(user, level)));
  const names = ['r0', 'r1', 'r2', 'r3'];
  const acts: Record<string, () => Promise<unknown>> = {
    make: async () => await dav.call('MKCALENDAR', `${homeOf('ann')}${random.pick(names)}/`),
    remove: async () => await dav.call('DELETE', `${homeOf('ann')}${random.pick(names)}/`),
    rename: async () => {
      const name = random.pick(names);
      if (dav.calendars.ownedByName('ann', name) !== undefined)
        await rename(`${homeOf('ann')}${name}/`, `Name ${random.whole(0, 99)}`);
    },
    share: async () => {
      const id = dav.calendars.ownedByName('ann', random.pick(names));
      const access = random.pick(['read', 'write', 'free_busy', null] as const);
      if (id !== undefined) await dav.calendars.change((draft) => draft.share(id, 'bob', access));
    },
  };
  for (let step = 0; step < 400; step += 1) {
    const path = `${homeOf('ann')}${random.pick(names)}/`;
    const name = `o${random.whole(0, 5)}`;
    const kind = random.whole(0, 19);
    if (kind < 7) await put(path, name, `at ${step}`);
    else if (kind < 10) await dav.call('DELETE', `${path}${name}.ics`);
    else if (kind < 13) await acts[random.pick(['make', 'make', 'remove', 'rename', 'rename', 'share', 'share'])]?.();
    else await random.pick(clients).read(random.chance(1 / 3) ? undefined : random.whole(1, 4));
  }
  for (const client of clients) {
    while (await client.read(random.whole(1, 3)));
    const what = `SEED=${random.seed} ${client.user} ${client.level}`;
    const entries = (map: ReadonlyMap<string, string>) => [...map].map(([href, is]) => `${href} ${is}`).toSorted();
    assert.deepEqual(entries(client.known), entries(await truthOf(client.user, client.level)), what);
    // It is not by beginning anew that they converge.
    const { restarts } = client;
    await put(`${homeOf('ann')}one/`, 'last', what);
    while (await client.read());
    assert.equal(client.restarts, restarts, what);
    assert.deepEqual(entries(client.known), entries(await truthOf(client.user, client.level)), what);
  }
});
