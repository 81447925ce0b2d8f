/** How clients find a calendar: the redirect, the walks of Apple, principals, homes, and who is let in. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { conditionsOf, DAV_NS, eventOf, rowsOf, startDav } from './dav-server.ts';

const dav = await startDav();
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

const propfind = (names: string) => `<D:propfind ${DAV_NS}><D:prop>${names}</D:prop></D:propfind>`;
const hrefsOf = (element: { children: readonly { text: string }[] } | undefined) =>
  element?.children.map(({ text }) => text);

test('CAL-01 a program signs in by the address of its owner, which counts as their name', async () => {
  const open = async (name: string, password: string) =>
    (
      await dav.call('PROPFIND', '/dav/', {
        user: null,
        headers: { depth: '0', authorization: `Basic ${btoa(`${name}:${password}`)}` },
      })
    ).status;
  assert.equal(await open('ann@example.org', 'nna'), 207);
  assert.equal(await open('Ann@Example.ORG', 'nna'), 207);
  assert.equal(await open('bob@example.org', 'nna'), 401);
  assert.equal(await open('nobody@example.org', 'nna'), 401);
  assert.equal(await open('mailto:ann@example.org', 'nna'), 401);
});

test('CAL-01 OPTIONS is answered to anybody, with the version first and nothing that does not work', async () => {
  for (const path of ['/', '/principals/', '/dav/', '/dav/calendars/ann/', '/dav/calendars/nobody/x/y.ics']) {
    const reply = await dav.call('OPTIONS', path, { user: null });
    assert.equal(reply.status, 200, path);
    assert.equal(
      reply.headers['dav'],
      '1, 3, extended-mkcol, calendar-access, calendar-schedule, calendar-auto-schedule, calendar-availability, webdav-push',
    );
    assert.match(String(reply.headers['allow']), /PROPFIND.*REPORT/);
  }
});

test('CAL-01 well-known leads every method to the root and asks for no credentials', async () => {
  for (const method of ['GET', 'PROPFIND', 'OPTIONS', 'REPORT', 'PUT']) {
    const reply = await dav.call(method, '/.well-known/caldav', { user: null });
    assert.equal(reply.status, 308, method);
    assert.equal(reply.headers['location'], '/dav/');
  }
});

test('without credentials and with wrong ones the answer is one 401 that asks for Basic', async () => {
  for (const authorization of [
    undefined,
    'Basic !!!',
    'Bearer abc',
    `Basic ${Buffer.from('ann:x').toString('base64')}`,
  ]) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const reply = await dav.call('PROPFIND', '/dav/', { user: null, headers });
    assert.equal(reply.status, 401);
    assert.equal(reply.headers['www-authenticate'], 'Basic realm="Parley calendar", charset="UTF-8"');
    assert.equal(reply.xml.name, '{DAV:}error');
  }
});

test('clients that state no version are served although the oldest one served is 1', async () => {
  assert.equal((await dav.call('PROPFIND', '/dav/', { headers: { depth: '0' } })).status, 207);
});

test('CAL-01 every place where clients of Apple look yields the principal', async () => {
  const body = propfind('<D:current-user-principal/><D:principal-URL/><D:resourcetype/>');
  for (const path of ['/', '/principals', '/principals/', '/dav', '/dav/', '/dav/principals/', '/dav/calendars']) {
    const reply = await dav.call('PROPFIND', path, { body, headers: { depth: '0' } });
    assert.equal(reply.status, 207, path);
    const [row] = rowsOf(reply);
    assert.deepEqual(hrefsOf(row?.found.get('{DAV:}current-user-principal')), ['/dav/principals/ann/'], path);
    assert.deepEqual(hrefsOf(row?.found.get('{DAV:}principal-URL')), ['/dav/principals/ann/'], path);
  }
  assert.equal((await dav.call('PROPFIND', '/calendar/dav/ann/user/', { body })).status, 404);
});

test('CAL-01 principal, home and calendar are three URLs, and a name is encoded in one way', async () => {
  const user = 'o.neil-1';
  const body = propfind(
    '<C:calendar-home-set/><C:calendar-user-address-set/><CS:email-address-set/><D:displayname/><D:resourcetype/><CS:dropbox-home-URL/>',
  );
  const [row] = rowsOf(await dav.call('PROPFIND', `/dav/principals/${user}/`, { user, body, headers: { depth: '0' } }));
  assert.deepEqual(hrefsOf(row?.found.get('{urn:ietf:params:xml:ns:caldav}calendar-home-set')), [
    '/dav/calendars/o.neil-1/',
  ]);
  const addresses = hrefsOf(row?.found.get('{urn:ietf:params:xml:ns:caldav}calendar-user-address-set'));
  assert.equal(addresses?.[0], 'mailto:oneil@example.org');
  assert.match(addresses[1] ?? '', /^urn:uuid:/);
  assert.equal(row?.found.get('{DAV:}displayname')?.text, 'O’Neil');
  assert.deepEqual(row?.missing, ['{http://calendarserver.org/ns/}dropbox-home-URL']);
  await dav.call('MKCALENDAR', `/dav/calendars/${user}/a%20b@c/`, { user });
  const home = rowsOf(await dav.call('PROPFIND', `/dav/calendars/${user}/`, { user, headers: { depth: '1' } }));
  assert.deepEqual(
    home.map(({ href }) => href),
    ['/dav/calendars/o.neil-1/', '/dav/calendars/o.neil-1/a%20b%40c/'],
  );
  for (const path of ['a%20b%40c', 'a%20b@c/', '%61%20b%40c/']) {
    const reply = await dav.call('PROPFIND', `/dav/calendars/${user}/${path}`, { user, headers: { depth: '0' } });
    assert.equal(rowsOf(reply)[0]?.href, '/dav/calendars/o.neil-1/a%20b%40c/', path);
  }
});

test('ERR-05 what is absent and what is somebody else’s have one answer', async () => {
  await dav.call('MKCALENDAR', '/dav/calendars/bob/secret/', { user: 'bob' });
  await dav.call('PUT', '/dav/calendars/bob/secret/a.ics', { user: 'bob', body: eventOf('a') });
  const texts = new Set<string>();
  for (const path of [
    'bob/',
    'bob/secret/',
    'bob/secret/a.ics',
    'bob/other/',
    'nobody/',
    'ann/other/',
    'ann/a/b/c/d',
  ]) {
    for (const method of ['PROPFIND', 'GET', 'DELETE', 'REPORT']) {
      const body = method === 'REPORT' ? `<D:sync-collection ${DAV_NS}><D:sync-token/></D:sync-collection>` : '';
      const reply = await dav.call(method, `/dav/calendars/${path}`, { body });
      assert.equal(reply.status, 404, `${method} ${path}`);
      texts.add(reply.text);
    }
  }
  assert.equal(texts.size, 1);
  // Calendar ids are no secret among those who share one, and still open nothing.
  const id = dav.calendars.ownedByName('bob', 'secret') ?? '';
  assert.equal((await dav.call('PROPFIND', `/dav/calendars/ann/${id}/`)).status, 404);
  assert.equal((await dav.call('PROPFIND', '/dav/principals/hidden/')).status, 404);
  assert.equal((await dav.call('PROPFIND', '/dav/principals/nobody/')).status, 404);
});

test('CAL-01 everybody has a calendar when they come for the first time', async () => {
  const body = propfind('<D:resourcetype/><C:supported-calendar-component-set/><D:current-user-privilege-set/>');
  const rows = rowsOf(
    await dav.call('PROPFIND', '/dav/calendars/hidden/', { user: 'hidden', body, headers: { depth: '1' } }),
  );
  assert.deepEqual(
    rows.map(({ href }) => href),
    ['/dav/calendars/hidden/', '/dav/calendars/hidden/default/'],
  );
  const kinds = rows[1]?.found.get('{urn:ietf:params:xml:ns:caldav}supported-calendar-component-set')?.children;
  assert.deepEqual(
    kinds?.map(({ attributes }) => attributes.get('name')),
    ['VEVENT'],
  );
});

test('an infinite depth is refused by name, and one that WebDAV does not have by status', async () => {
  const infinite = await dav.call('PROPFIND', '/dav/calendars/ann/', { headers: { depth: 'infinity' } });
  assert.equal(infinite.status, 403);
  assert.deepEqual(conditionsOf(infinite), ['{DAV:}propfind-finite-depth']);
  assert.equal((await dav.call('PROPFIND', '/dav/calendars/ann/', { headers: { depth: '2' } })).status, 400);
});

test('methods that are not answered say which are', async () => {
  for (const method of ['LOCK', 'UNLOCK', 'ACL', 'POST', 'PATCH']) {
    const reply = await dav.call(method, '/dav/calendars/ann/', {});
    assert.equal(reply.status, 405, method);
    assert.match(String(reply.headers['allow']), /PROPFIND/);
  }
  assert.equal((await dav.call('GET', '/dav/calendars/ann/')).status, 405);
});

test('CAL-01 people are found by those who may see them, and by nobody else', async () => {
  const search = (match: string, attribute = '') =>
    `<D:principal-property-search ${DAV_NS} ${attribute}><D:property-search><D:prop><D:displayname/></D:prop><D:match>${match}</D:match></D:property-search><D:property-search><D:prop><CS:email-address-set/></D:prop><D:match>${match}</D:match></D:property-search><D:prop><D:displayname/></D:prop></D:principal-property-search>`;
  const found = async (body: string) =>
    rowsOf(await dav.call('REPORT', '/dav/principals/', { body })).map(({ href }) => href);
  assert.deepEqual(await found(search('bob')), ['/dav/principals/bob/']);
  assert.deepEqual(await found(search('Bob E')), []);
  assert.deepEqual(await found(search('Bob E', 'test="anyof"')), ['/dav/principals/bob/']);
  assert.deepEqual(await found(search('hidden', 'test="anyof"')), []);
  assert.deepEqual(await found(`<D:principal-match ${DAV_NS}><D:self/></D:principal-match>`), ['/dav/principals/ann/']);
  const set = await dav.call('REPORT', '/principals/', { body: `<D:principal-search-property-set ${DAV_NS}/>` });
  assert.equal(set.status, 200);
  assert.equal(set.xml.children.length, 4);
});

test('CAL-01 expand-property answers what lies behind an href in the same answer', async () => {
  const body = `<D:expand-property ${DAV_NS}><D:property name="current-user-principal"><D:property name="displayname"/><D:property name="calendar-home-set" namespace="urn:ietf:params:xml:ns:caldav"/></D:property></D:expand-property>`;
  const [row] = rowsOf(await dav.call('REPORT', '/dav/principals/ann/', { body }));
  const inner = row?.found.get('{DAV:}current-user-principal')?.children[0];
  assert.equal(inner?.name, '{DAV:}response');
  assert.equal(inner?.children[0]?.text, '/dav/principals/ann/');
  assert.match(JSON.stringify(inner), /Ann Example.*\/dav\/calendars\/ann\//);
});
