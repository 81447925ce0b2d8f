/** COPY and MOVE of objects, and the properties that clients keep on them (RFC 4918 sections 9.2, 9.8, 9.9). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ALLOWED, METHODS, REFUSED_METHODS } from '#src/calendar/dav/compliance.ts';
import { conditionsOf, DAV_NS, eventOf, rowsOf, startDav, type DavReply } from './dav-server.ts';

const dav = await startDav();
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

const [work, home] = ['/dav/calendars/ann/work/', '/dav/calendars/ann/home/'] as const;
for (const path of [work, home]) await dav.call('MKCALENDAR', path);

const UID_CONFLICT = '{urn:ietf:params:xml:ns:caldav}no-uid-conflict';
const put = async (path: string, uid: string, user = 'ann') =>
  await dav.call('PUT', path, { body: eventOf(uid), user });
const send = async (method: string, from: string, to: string, headers: Record<string, string> = {}, user = 'ann') =>
  await dav.call(method, from, { headers: { destination: to, ...headers }, user });
const statusOf = async (path: string): Promise<number> => (await dav.call('GET', path)).status;

const keep = async (path: string, value: string, user = 'ann'): Promise<DavReply> =>
  await dav.call('PROPPATCH', path, {
    user,
    body: `<D:propertyupdate ${DAV_NS}><D:set><D:prop><X:note xmlns:X="urn:x">${value}</X:note></D:prop></D:set></D:propertyupdate>`,
  });
const noteOf = async (path: string, user = 'ann'): Promise<string | undefined> => {
  const body = `<D:propfind ${DAV_NS}><D:prop><X:note xmlns:X="urn:x"/></D:prop></D:propfind>`;
  const [row] = rowsOf(await dav.call('PROPFIND', path, { body, user, headers: { depth: '0' } }));
  return row?.found.get('{urn:x}note')?.text;
};

test('RFC 4918 9.8 COPY puts the same bytes into another calendar, and leaves what it copied', async () => {
  const created = await put(`${work}c.ics`, 'c');
  await keep(`${work}c.ics`, 'kept');
  const copied = await send('COPY', `${work}c.ics`, `${dav.url}${home}c%20opy.ics`);
  assert.deepEqual([copied.status, copied.headers['etag']], [201, created.headers['etag']]);
  const there = await dav.call('GET', `${home}c%20opy.ics`);
  assert.deepEqual([there.text, there.headers['etag']], [eventOf('c'), created.headers['etag']]);
  assert.equal(await noteOf(`${home}c%20opy.ics`), 'kept');
  assert.equal(await statusOf(`${work}c.ics`), 200);
  // Over itself at the other place: 204, or 412 where the client would have nothing replaced.
  assert.equal((await send('COPY', `${work}c.ics`, `${home}c%20opy.ics`)).status, 204);
  assert.equal((await send('COPY', `${work}c.ics`, `${home}c%20opy.ics`, { overwrite: 'F' })).status, 412);
});

test('RFC 4791 5.3.2.1 COPY and MOVE name the object that has the UID or would be lost', async () => {
  await put(`${work}one.ics`, 'one');
  await put(`${home}same.ics`, 'one');
  await put(`${home}other.ics`, 'other');
  for (const [method, to, holder] of [
    ['COPY', `${work}two.ics`, `${work}one.ics`],
    ['COPY', `${home}new.ics`, `${home}same.ics`],
    ['MOVE', `${home}new.ics`, `${home}same.ics`],
    ['COPY', `${home}other.ics`, `${home}same.ics`],
  ] as const) {
    const reply = await send(method, `${work}one.ics`, to);
    assert.deepEqual([reply.status, conditionsOf(reply)], [403, [UID_CONFLICT]], `${method} ${to}`);
    assert.equal(reply.xml.children[0]?.children[0]?.text, holder);
  }
  await put(`${work}alone.ics`, 'alone');
  const reply = await send('MOVE', `${work}alone.ics`, `${home}other.ics`);
  assert.deepEqual([reply.status, conditionsOf(reply)], [403, [UID_CONFLICT]]);
  assert.equal((await dav.call('GET', `${home}other.ics`)).text, eventOf('other'));
  assert.equal(await statusOf(`${work}alone.ics`), 200);
});

test('RFC 4918 9.8.5 COPY and MOVE say by status what is wrong with where they go', async () => {
  const from = `${work}s.ics`;
  await put(from, 's');
  const cases: readonly (readonly [to: string, headers: Record<string, string>, status: number])[] = [
    ['http://elsewhere.example.org/dav/calendars/ann/home/s.ics', {}, 502],
    ['ftp://127.0.0.1/dav/calendars/ann/home/s.ics', {}, 502],
    ['/dav/calendars/ann/missing/s.ics', {}, 409],
    ['/dav/calendars/bob/home/s.ics', {}, 409],
    ['/elsewhere/s.ics', {}, 409],
    [from, {}, 403],
    [home, {}, 403],
    ['/dav/principals/ann/', {}, 403],
    ['', {}, 400],
    ['/dav/calendars/ann/home/%ff', {}, 400],
    [`${home}s.ics`, { overwrite: 'x' }, 400],
    [`${home}s.ics`, { 'if-match': '"other"' }, 412],
    [`${home}s.ics`, { 'if-schedule-tag-match': '"other"' }, 412],
  ];
  for (const method of ['COPY', 'MOVE']) {
    for (const [to, headers, status] of cases) {
      assert.equal(
        (await send(method, from, to, headers)).status,
        status,
        `${method} ${to} ${JSON.stringify(headers)}`,
      );
    }
    assert.equal((await dav.call(method, from)).status, 400);
    assert.equal((await send(method, `${work}none.ics`, `${home}n.ics`)).status, 404);
    assert.equal((await send(method, work, '/dav/calendars/ann/renamed/')).status, 403);
  }
  assert.equal(await statusOf(`${home}s.ics`), 404);
  const { etag } = (await dav.call('GET', from)).headers;
  // The name that a proxy in front has is as good as the own one.
  const to = `https://calendar.example.org:443${home}s.ics`;
  assert.equal((await send('MOVE', from, to, { 'if-match': String(etag) })).status, 201);
  assert.deepEqual([await statusOf(from), await statusOf(`${home}s.ics`)], [404, 200]);
});

test('CAL-03 COPY needs to read the one calendar and MOVE to write it, and both to write the other', async () => {
  await put(`${work}r.ics`, 'r');
  await dav.call('MKCALENDAR', '/dav/calendars/bob/own/', { user: 'bob' });
  const id = dav.calendars.ownedByName('ann', 'work') as string;
  const share = async (access: 'read' | 'write' | 'free_busy') =>
    await dav.calendars.change((draft) => draft.share(id, 'bob', access));
  const [there, own] = [`/dav/calendars/bob/${id}/r.ics`, '/dav/calendars/bob/own/r.ics'];
  const statuses = async (method: string) => (await send(method, there, own, {}, 'bob')).status;
  assert.equal(await statuses('COPY'), 404);
  await share('free_busy');
  assert.equal(await statuses('COPY'), 404);
  await share('read');
  const refused = await send('MOVE', there, own, {}, 'bob');
  assert.deepEqual([refused.status, conditionsOf(refused)], [403, ['{DAV:}need-privileges']]);
  assert.match(refused.text, new RegExp(`<D:href>${there}</D:href>`));
  assert.equal((await keep(there, 'his', 'bob')).text.includes('<D:status>HTTP/1.1 403'), true);
  assert.equal(await statuses('COPY'), 201);
  assert.equal((await send('COPY', own, `/dav/calendars/bob/${id}/back.ics`, {}, 'bob')).status, 403);
  await share('write');
  await keep(there, 'for all', 'bob');
  assert.equal(await noteOf(`${work}r.ics`), 'for all');
  await dav.call('DELETE', own, { user: 'bob' });
  assert.equal(await statuses('MOVE'), 201);
  assert.equal(await noteOf(own, 'bob'), 'for all');
  assert.equal(await statusOf(`${work}r.ics`), 404);
});

test('RFC 4918 4.2 properties stay with their object, go with it, and are not those of its successor', async () => {
  await put(`${work}p.ics`, 'p');
  const before = (await dav.call('GET', `${work}p.ics`)).headers['etag'];
  const listing = await dav.call('PROPFIND', work, { headers: { depth: '1' } });
  assert.match((await keep(`${work}p.ics`, 'first')).text, /HTTP\/1.1 200/);
  // Nothing of the entry changed, so no client reads it again.
  assert.equal((await dav.call('GET', `${work}p.ics`)).headers['etag'], before);
  const tokenIn = (reply: DavReply) => rowsOf(reply)[0]?.found.get('{DAV:}sync-token')?.text;
  assert.equal(tokenIn(await dav.call('PROPFIND', work, { headers: { depth: '1' } })), tokenIn(listing));
  await dav.call('PUT', `${work}p.ics`, { body: eventOf('p', ['SUMMARY:Changed']) });
  assert.equal(await noteOf(`${work}p.ics`), 'first');
  assert.equal((await send('MOVE', `${work}p.ics`, `${home}p.ics`)).status, 201);
  assert.deepEqual([await noteOf(`${home}p.ics`), await noteOf(`${work}p.ics`)], ['first', undefined]);
  await dav.call('DELETE', `${home}p.ics`);
  await put(`${home}p.ics`, 'p');
  assert.equal(await noteOf(`${home}p.ics`), undefined);
  const large = await keep(`${home}p.ics`, 'x'.repeat(64 * 1024));
  assert.deepEqual([large.status, conditionsOf(large)], [507, ['{DAV:}quota-not-exceeded']]);
  const live = await dav.call('PROPPATCH', `${home}p.ics`, {
    body: `<D:propertyupdate ${DAV_NS}><D:set><D:prop><D:getetag>"x"</D:getetag></D:prop></D:set></D:propertyupdate>`,
  });
  assert.match(live.text, /403 Forbidden.*cannot-modify-protected-property/);
});

test('DAV and Allow name the methods that are answered somewhere, and no other', async () => {
  const allow = String((await dav.call('OPTIONS', work, { user: null })).headers['allow']);
  assert.equal(
    allow,
    'OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH, REPORT, MKCALENDAR, MKCOL, COPY, MOVE, POST',
  );
  assert.equal(allow, ALLOWED);
  const places = [work, `${work}absent.ics`, '/dav/outbox/ann/', `${work}c.ics`, '/dav/'];
  const answers = async (method: string) => {
    const statuses = [];
    for (const place of places)
      statuses.push((await dav.call(method, place, { headers: { destination: home } })).status);
    return statuses;
  };
  for (const method of METHODS)
    assert.ok(
      (await answers(method)).some((status) => status !== 405),
      method,
    );
  for (const method of REFUSED_METHODS) assert.deepEqual([...new Set(await answers(method))], [405], method);
});
