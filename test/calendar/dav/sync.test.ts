/** sync-collection: the faults that users of other servers met, and clients that converge whatever happens in between. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SeededRandom } from '#test/support/random.ts';
import { conditionsOf, DAV_NS, eventOf, rowsOf, startDav, tokenOf, type DavReply } from './dav-server.ts';

const dav = await startDav();
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

const make = async (name: string) => {
  const path = `/dav/calendars/ann/${name}/`;
  assert.equal((await dav.call('MKCALENDAR', path)).status, 201);
  return path;
};
const put = async (path: string, name: string, summary = name) =>
  await dav.call('PUT', `${path}${name}.ics`, { body: eventOf(name, [`SUMMARY:${summary}`]) });
const sync = async (path: string, token: string, limit?: number, user = 'ann'): Promise<DavReply> => {
  const limited = limit === undefined ? '' : `<D:limit><D:nresults>${limit}</D:nresults></D:limit>`;
  const body = `<D:sync-collection ${DAV_NS}><D:sync-token>${token}</D:sync-token><D:sync-level>1</D:sync-level>${limited}<D:prop><D:getetag/></D:prop></D:sync-collection>`;
  return await dav.call('REPORT', path, { body, user });
};
const hrefsOf = (reply: DavReply) =>
  rowsOf(reply).map(({ href, status }) => `${href}${status === undefined ? '' : ` ${status}`}`);

test('CAL-03 an empty token answers all members, and its token then nothing', async () => {
  const path = await make('empty');
  await put(path, 'a');
  await put(path, 'b');
  for (const token of ['', '  ']) {
    assert.deepEqual(hrefsOf(await sync(path, token)), [`${path}a.ics`, `${path}b.ics`]);
  }
  const none = await sync(path, tokenOf(await sync(path, '')));
  assert.deepEqual(rowsOf(none), []);
  assert.match(tokenOf(none), /^urn:/);
});

test('CAL-03 a delta has what changed and 404 for what was removed; token and ctag are the collection’s own', async () => {
  const path = await make('delta');
  await put(path, 'a');
  await put(path, 'b');
  const token = tokenOf(await sync(path, ''));
  await put(path, 'a', 'changed');
  await put(path, 'c');
  await dav.call('DELETE', `${path}b.ics`);
  const delta = await sync(path, token);
  assert.deepEqual(hrefsOf(delta).toSorted(), [`${path}a.ics`, `${path}b.ics HTTP/1.1 404 Not Found`, `${path}c.ics`]);
  const body = `<D:propfind ${DAV_NS}><D:prop><D:sync-token/><CS:getctag/></D:prop></D:propfind>`;
  const [row] = rowsOf(await dav.call('PROPFIND', path, { body, headers: { depth: '0' } }));
  assert.equal(row?.found.get('{DAV:}sync-token')?.text, tokenOf(delta));
  assert.equal(row?.found.get('{http://calendarserver.org/ns/}getctag')?.text, tokenOf(delta));
});

test('CAL-03 junk, foreign and future tokens are 403 valid-sync-token', async () => {
  const path = await make('junk');
  const other = tokenOf(await sync(await make('junk2'), ''));
  const own = tokenOf(await sync(path, ''));
  const future = own.replace(/:\d+-\d+$/, ':999999-999999');
  const restored = own.replace(':ep_1:', ':ep_2:');
  for (const token of [
    '0',
    'junk',
    'http://example.org/1',
    other,
    future,
    restored,
    `${own}0000`,
    '&lt;x&gt;',
    own.replace(/-\d+$/, '-99999999999999999999'),
  ]) {
    const reply = await sync(path, token);
    assert.equal(reply.status, 403, token);
    assert.deepEqual(conditionsOf(reply), ['{DAV:}valid-sync-token']);
  }
});

test('CAL-03 a truncated answer is 207 with 507 for the collection, and its token loses nothing', async () => {
  const path = await make('truncated');
  for (const name of ['a', 'b', 'c', 'd', 'e']) await put(path, name);
  const first = await sync(path, '', 2);
  assert.equal(first.status, 207);
  assert.deepEqual(hrefsOf(first), [`${path}a.ics`, `${path}b.ics`, `${path} HTTP/1.1 507 Insufficient Storage`]);
  assert.match(first.text, /<D:error><D:number-of-matches-within-limits\/><\/D:error>/);
  // Between two pages: one that was read changes, one that was not is removed, one comes.
  await put(path, 'a', 'again');
  await dav.call('DELETE', `${path}d.ics`);
  await put(path, 'f');
  const seen: string[] = [];
  let reply = first;
  for (let page = 0; page < 10 && reply.text.includes('507'); page += 1) {
    reply = await sync(path, tokenOf(reply), 2);
    seen.push(...hrefsOf(reply).filter((href) => !href.includes('507')));
  }
  assert.deepEqual(
    [...new Set(seen)].filter((href) => !href.includes(' 404')).toSorted(),
    ['a', 'c', 'e', 'f'].map((name) => `${path}${name}.ics`),
  );
  assert.deepEqual(rowsOf(await sync(path, tokenOf(reply))), []);
  for (const limit of [0, -1]) {
    const refused = await sync(path, '', limit);
    assert.deepEqual([refused.status, conditionsOf(refused)], [403, ['{DAV:}number-of-matches-within-limits']]);
  }
});

test('a depth of 1, of 0 and none, and no sync-level, ask for the same', async () => {
  const path = await make('depths');
  await put(path, 'a');
  const body = `<D:sync-collection ${DAV_NS}><D:sync-token/><D:prop><D:getetag/></D:prop></D:sync-collection>`;
  const headers: readonly Record<string, string>[] = [{}, { depth: '0' }, { depth: '1' }, { depth: 'infinity' }];
  for (const own of headers) {
    assert.deepEqual(hrefsOf(await dav.call('REPORT', path, { body, headers: own })), [`${path}a.ics`]);
  }
});

test('CAL-03 clients with truncation at random converge to what is there, seed 20261121', async () => {
  const random = new SeededRandom(20_261_121);
  const path = await make('random');
  const clients = Array.from({ length: 5 }, () => ({ token: '', etags: new Map<string, string>() }));
  const readSome = async (client: (typeof clients)[number], limit: number | undefined): Promise<boolean> => {
    const reply = await sync(path, client.token, limit);
    assert.equal(reply.status, 207, reply.text);
    let isCut = false;
    for (const { href, status, found } of rowsOf(reply)) {
      if (href === path) isCut = true;
      else if (status !== undefined) client.etags.delete(href);
      else client.etags.set(href, found.get('{DAV:}getetag')?.text ?? '');
    }
    client.token = tokenOf(reply);
    return isCut;
  };
  for (let step = 0; step < 400; step += 1) {
    const name = `o${random.whole(0, 11)}`;
    const kind = random.whole(0, 9);
    if (kind < 4) await put(path, name, `at ${step}`);
    else if (kind < 6) await dav.call('DELETE', `${path}${name}.ics`);
    else {
      await readSome(random.pick(clients), random.chance(1 / 3) ? undefined : random.whole(1, 4));
    }
  }
  const listing = await dav.call('PROPFIND', path, {
    body: `<D:propfind ${DAV_NS}><D:prop><D:getetag/></D:prop></D:propfind>`,
    headers: { depth: '1' },
  });
  const truth = rowsOf(listing)
    .filter(({ href }) => href !== path)
    .map(({ href, found }) => [href, found.get('{DAV:}getetag')?.text ?? ''] as const);
  for (const client of clients) {
    while (await readSome(client, random.whole(1, 3)));
    assert.deepEqual(new Map(client.etags), new Map(truth));
  }
});
