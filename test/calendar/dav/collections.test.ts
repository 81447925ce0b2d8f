/** Calendars over CalDAV: made, changed, shared, removed, and the properties that clients keep on them. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { PROPERTIES_BYTES_MAX } from '#storage/calendars/calendar-records.ts';
import { conditionsOf, DAV_NS, eventOf, rowsOf, startDav, tokenOf } from './dav-server.ts';

const dav = await startDav();
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

const C = (local: string) => `{urn:ietf:params:xml:ns:caldav}${local}` as const;
const propertiesOf = async (path: string, names: string, user = 'ann') => {
  const body = `<D:propfind ${DAV_NS}><D:prop>${names}</D:prop></D:propfind>`;
  const [row] = rowsOf(await dav.call('PROPFIND', path, { body, user, headers: { depth: '0' } }));
  assert.ok(row !== undefined);
  return row;
};
const patch = async (path: string, set: string, user = 'ann', headers: Record<string, string> = {}) =>
  await dav.call('PROPPATCH', path, {
    body: `<D:propertyupdate ${DAV_NS}>${set}</D:propertyupdate>`,
    user,
    headers,
  });
const setting = (inner: string) => `<D:set><D:prop>${inner}</D:prop></D:set>`;

const ZONE =
  'BEGIN:VCALENDAR&#13;\nVERSION:2.0&#13;\nBEGIN:VTIMEZONE&#13;\nTZID:Europe/Berlin&#13;\nEND:VTIMEZONE&#13;\nEND:VCALENDAR&#13;\n';

test('CAL-01 MKCALENDAR with everything that clients of Apple say of it', async () => {
  const path = '/dav/calendars/ann/5E1C-44/';
  const body = `<C:mkcalendar ${DAV_NS}>${setting(
    `<D:displayname>Work &amp; more</D:displayname><A:calendar-color symbolic-color="red">#FF2968FF</A:calendar-color><A:calendar-order>7</A:calendar-order><C:calendar-timezone>${ZONE}</C:calendar-timezone><C:supported-calendar-component-set><C:comp name="VEVENT"/></C:supported-calendar-component-set><C:schedule-calendar-transp><C:transparent/></C:schedule-calendar-transp><X:odd xmlns:X="urn:x">kept</X:odd>`,
  )}</C:mkcalendar>`;
  assert.equal((await dav.call('MKCALENDAR', path, { body })).status, 201);
  const { found } = await propertiesOf(
    path,
    '<D:displayname/><A:calendar-color/><A:calendar-order/><C:calendar-timezone-id/><C:calendar-timezone/><C:schedule-calendar-transp/><X:odd xmlns:X="urn:x"/><C:supported-calendar-component-set/>',
  );
  assert.equal(found.get('{DAV:}displayname')?.text, 'Work & more');
  assert.equal(found.get('{http://apple.com/ns/ical/}calendar-color')?.text, '#FF2968FF');
  assert.equal(found.get('{http://apple.com/ns/ical/}calendar-order')?.text, '7');
  assert.equal(found.get(C('calendar-timezone-id'))?.text, 'Europe/Berlin');
  assert.match(found.get(C('calendar-timezone'))?.text ?? '', /BEGIN:DAYLIGHT\r\n/);
  assert.equal(found.get(C('schedule-calendar-transp'))?.children[0]?.name, C('transparent'));
  assert.equal(found.get('{urn:x}odd')?.text, 'kept');
  const again = await dav.call('MKCALENDAR', path, { body });
  assert.deepEqual([again.status, conditionsOf(again)], [403, ['{DAV:}resource-must-be-null']]);
});

test('CAL-01 extended MKCOL makes a calendar, also without the slash; nothing else can be made', async () => {
  const body = `<D:mkcol ${DAV_NS}>${setting('<D:resourcetype><D:collection/><C:calendar/></D:resourcetype><D:displayname>By MKCOL</D:displayname>')}</D:mkcol>`;
  assert.equal((await dav.call('MKCOL', '/dav/calendars/ann/mkcol', { body })).status, 201);
  assert.equal((await dav.call('MKCOL', '/dav/calendars/ann/mkcol/', { body })).status, 405);
  assert.equal((await dav.call('MKCOL', '/dav/calendars/ann/')).status, 405);
  const plain = await dav.call('MKCOL', '/dav/calendars/ann/plain/');
  assert.deepEqual([plain.status, conditionsOf(plain)], [403, ['{DAV:}valid-resourcetype']]);
  for (const path of ['/dav/calendars/bob/mine/', '/dav/calendars/ann/mkcol/b/', '/dav/other/']) {
    const reply = await dav.call('MKCALENDAR', path);
    assert.deepEqual([reply.status, conditionsOf(reply)], [403, [C('calendar-collection-location-ok')]], path);
  }
  // What is missing is the collection around it (RFC 4918, 9.3.1).
  assert.equal((await dav.call('MKCALENDAR', '/dav/calendars/ann/missing/b/')).status, 409);
  assert.equal((await dav.call('MKCOL', '/dav/calendars/ann/missing/b/', { body })).status, 409);
  const unknown = `<C:mkcalendar ${DAV_NS}>${setting('<C:supported-calendar-component-set><C:comp name="VCARD"/></C:supported-calendar-component-set>')}</C:mkcalendar>`;
  const reply = await dav.call('MKCALENDAR', '/dav/calendars/ann/cards/', { body: unknown });
  assert.deepEqual([reply.status, conditionsOf(reply)], [403, [C('supported-calendar-component')]]);
  assert.equal((await dav.call('PROPFIND', '/dav/calendars/ann/cards/')).status, 404);
});

test('RFC 4918 9.3 MKCOL with a body of another kind is 415, and 9.6.1 a fragment removes nothing', async () => {
  const path = '/dav/calendars/ann/kinds/';
  for (const [type, body, status] of [
    ['xzy-foo/bar-512', 'afafafaf', 415],
    ['application/xml', 'afafafaf', 400],
    ['application/xml', '<x xmlns="DAV:"/>', 415],
  ] as const) {
    assert.equal((await dav.call('MKCOL', path, { body, headers: { 'content-type': type } })).status, status, type);
  }
  assert.equal((await dav.call('MKCALENDAR', path)).status, 201);
  assert.equal((await dav.call('DELETE', `${path}#part`)).status, 400);
  assert.equal((await dav.call('PROPFIND', path)).status, 207);
});

test('CAL-01 PROPPATCH changes all or nothing', async () => {
  const path = '/dav/calendars/ann/patch/';
  await dav.call('MKCALENDAR', path);
  const refused = await patch(path, setting('<D:displayname>New</D:displayname><D:getetag>x</D:getetag>'));
  assert.equal(refused.status, 207);
  assert.match(refused.text, /getetag\/><\/D:prop><D:status>HTTP\/1.1 403/);
  assert.match(refused.text, /cannot-modify-protected-property/);
  assert.match(refused.text, /displayname\/><\/D:prop><D:status>HTTP\/1.1 424/);
  assert.equal((await propertiesOf(path, '<D:displayname/>')).found.get('{DAV:}displayname')?.text, 'patch');
  for (const bad of [
    '<A:calendar-color>red</A:calendar-color>',
    '<C:calendar-timezone-id>Mars/Base</C:calendar-timezone-id>',
    `<C:calendar-timezone>${ZONE.replace('END:VCALENDAR', 'BEGIN:VEVENT\r\nUID:x\r\nEND:VEVENT\r\nEND:VCALENDAR')}</C:calendar-timezone>`,
  ]) {
    assert.match((await patch(path, setting(bad))).text, /HTTP\/1.1 409/);
  }
  const done = await patch(path, setting('<D:displayname>New</D:displayname>'));
  assert.match(done.text, /displayname\/><\/D:prop><D:status>HTTP\/1.1 200/);
  assert.equal((await propertiesOf(path, '<D:displayname/>')).found.get('{DAV:}displayname')?.text, 'New');
  assert.equal(
    (await patch(path, setting('<D:displayname>Newer</D:displayname>'), 'ann', { prefer: 'return=minimal' })).status,
    204,
  );
});

test('CAL-01 properties that the server does not know are kept, with their inner elements, and can be removed', async () => {
  const path = '/dav/calendars/ann/dead/';
  await dav.call('MKCALENDAR', path);
  const value = '<X:a xmlns:X="urn:x" k="v">one<X:b>&lt;two&gt;</X:b></X:a>';
  await patch(path, setting(`<X:dead xmlns:X="urn:x">${value}</X:dead><plain xmlns="">p</plain>`));
  const { found } = await propertiesOf(path, '<X:dead xmlns:X="urn:x"/><plain xmlns=""/>');
  const kept = found.get('{urn:x}dead')?.children[0];
  assert.equal(kept?.name, '{urn:x}a');
  assert.equal(kept.attributes.get('k'), 'v');
  assert.equal(kept.children[0]?.text, '<two>');
  assert.equal(found.get('{}plain')?.text, 'p');
  await patch(path, '<D:remove><D:prop><X:dead xmlns:X="urn:x"/></D:prop></D:remove>');
  assert.deepEqual((await propertiesOf(path, '<X:dead xmlns:X="urn:x"/>')).missing, ['{urn:x}dead']);
  const much = await patch(path, setting(`<X:dead xmlns:X="urn:x">${'x'.repeat(PROPERTIES_BYTES_MAX)}</X:dead>`));
  assert.deepEqual([much.status, conditionsOf(much)], [507, ['{DAV:}quota-not-exceeded']]);
  assert.equal((await patch('/dav/calendars/ann/', setting('<X:h xmlns:X="urn:x">h</X:h>'))).status, 207);
  assert.equal((await propertiesOf('/dav/calendars/ann/', '<X:h xmlns:X="urn:x"/>')).found.get('{urn:x}h')?.text, 'h');
  assert.match((await patch('/dav/principals/bob/', setting('<X:h xmlns:X="urn:x">h</X:h>'))).text, /HTTP\/1.1 403/);
});

test('allprop leaves out what CalDAV says it should, propname names everything, and Brief spares the missing', async () => {
  const path = '/dav/calendars/ann/all/';
  await dav.call('MKCALENDAR', path);
  const [all] = rowsOf(await dav.call('PROPFIND', path, { headers: { depth: '0' } }));
  assert.equal(all?.found.has('{DAV:}displayname'), true);
  assert.equal(all?.found.has(C('calendar-timezone')), false);
  const named = `<D:propfind ${DAV_NS}><D:allprop/><D:include><C:calendar-timezone-id/></D:include></D:propfind>`;
  const [included] = rowsOf(await dav.call('PROPFIND', path, { body: named, headers: { depth: '0' } }));
  assert.equal(included?.found.get(C('calendar-timezone-id'))?.text, 'UTC');
  const [names] = rowsOf(
    await dav.call('PROPFIND', path, {
      body: `<D:propfind ${DAV_NS}><D:propname/></D:propfind>`,
      headers: { depth: '0' },
    }),
  );
  assert.ok(names?.found.has(C('calendar-timezone')));
  const body = `<D:propfind ${DAV_NS}><D:prop><D:displayname/><CS:pushkey/></D:prop></D:propfind>`;
  for (const headers of [{ brief: 't' }, { prefer: 'return=minimal' }, { prefer: 'return-minimal' }] as const) {
    const [row] = rowsOf(await dav.call('PROPFIND', path, { body, headers: { depth: '0', ...headers } }));
    assert.deepEqual(row?.missing, []);
  }
});

test('CAL-03 a shared calendar is in the sharee’s home, with what they may do there', async () => {
  await dav.call('MKCALENDAR', '/dav/calendars/ann/team/');
  await dav.call('PUT', '/dav/calendars/ann/team/a.ics', { body: eventOf('a') });
  const id = dav.calendars.ownedByName('ann', 'team') ?? '';
  const path = `/dav/calendars/bob/${id}/`;
  const share = async (access: 'read' | 'write' | 'free_busy' | null) =>
    await dav.calendars.change((draft) => draft.share(id, 'bob', access));
  const privileges = async () =>
    (await propertiesOf(path, '<D:current-user-privilege-set/>', 'bob')).found
      .get('{DAV:}current-user-privilege-set')
      ?.children.map(({ children }) => children[0]?.name);
  const write = async () => await dav.call('PUT', `${path}b.ics`, { body: eventOf('b'), user: 'bob' });
  await share('read');
  const home = rowsOf(await dav.call('PROPFIND', '/dav/calendars/bob/', { user: 'bob', headers: { depth: '1' } }));
  assert.ok(home.some(({ href }) => href === path));
  assert.deepEqual(await privileges(), ['{DAV:}read', '{DAV:}read-current-user-privilege-set', C('read-free-busy')]);
  const denied = await write();
  assert.deepEqual([denied.status, conditionsOf(denied)], [403, ['{DAV:}need-privileges']]);
  assert.equal((await dav.call('DELETE', `${path}a.ics`, { user: 'bob' })).status, 403);
  assert.equal((await dav.call('GET', `${path}a.ics`, { user: 'bob' })).status, 200);
  const owner = await propertiesOf(path, '<D:owner/>', 'bob');
  assert.equal(owner.found.get('{DAV:}owner')?.children[0]?.text, '/dav/principals/ann/');
  await share('write');
  assert.ok((await privileges())?.includes('{DAV:}write-content'));
  assert.equal((await write()).status, 201);
  // How it looks is everybody's own.
  await patch(
    path,
    setting('<A:calendar-color>#000000</A:calendar-color><D:displayname>Theirs</D:displayname>'),
    'bob',
  );
  const own = (await propertiesOf(path, '<A:calendar-color/><D:displayname/>', 'bob')).found;
  assert.equal(own.get('{DAV:}displayname')?.text, 'Theirs');
  assert.deepEqual((await propertiesOf('/dav/calendars/ann/team/', '<D:displayname/><A:calendar-color/>')).missing, [
    '{http://apple.com/ns/ical/}calendar-color',
  ]);
  assert.match(
    (await patch(path, setting('<C:calendar-timezone-id>Europe/Berlin</C:calendar-timezone-id>'), 'bob')).text,
    /HTTP\/1.1 403/,
  );
  await share('free_busy');
  const type = (await propertiesOf(path, '<D:resourcetype/>', 'bob')).found.get('{DAV:}resourcetype');
  assert.deepEqual(
    type?.children.map(({ name }) => name),
    ['{DAV:}collection'],
  );
  assert.equal((await dav.call('GET', `${path}a.ics`, { user: 'bob' })).status, 404);
  const range = '<C:time-range start="20261121T000000Z" end="20261122T000000Z"/>';
  const free = await dav.call('REPORT', path, {
    user: 'bob',
    body: `<C:free-busy-query ${DAV_NS}>${range}</C:free-busy-query>`,
  });
  assert.match(free.text, /FREEBUSY;FBTYPE=BUSY:20261121T090000Z\/20261121T100000Z/);
  const query = await dav.call('REPORT', path, {
    user: 'bob',
    body: `<D:sync-collection ${DAV_NS}><D:sync-token/></D:sync-collection>`,
  });
  assert.equal(query.status, 403);
  assert.equal(rowsOf(await dav.call('PROPFIND', path, { user: 'bob', headers: { depth: '1' } })).length, 1);
  // Removing it from one's home is leaving it.
  assert.equal((await dav.call('DELETE', path, { user: 'bob' })).status, 204);
  assert.equal((await dav.call('PROPFIND', path, { user: 'bob' })).status, 404);
  assert.equal((await dav.call('GET', '/dav/calendars/ann/team/a.ics')).status, 200);
});

test('CAL-01 a calendar is removed with what is in it; homes and principals stay', async () => {
  await dav.call('MKCALENDAR', '/dav/calendars/ann/gone/');
  await dav.call('PUT', '/dav/calendars/ann/gone/a.ics', { body: eventOf('a') });
  assert.equal((await dav.call('DELETE', '/dav/calendars/ann/gone/')).status, 204);
  assert.equal((await dav.call('GET', '/dav/calendars/ann/gone/a.ics')).status, 404);
  assert.equal((await dav.call('DELETE', '/dav/calendars/ann/')).status, 403);
  assert.equal((await dav.call('DELETE', '/dav/principals/ann/')).status, 403);
});

test('CAL-05 what was stored before its class was kept is read for it', async () => {
  const path = '/dav/calendars/ann/before/';
  await dav.call('MKCALENDAR', path);
  const id = dav.calendars.ownedByName('ann', 'before') as string;
  await dav.calendars.change((draft) => draft.share(id, 'bob', 'read'));
  const time = Date.UTC(2026, 10, 21, 9);
  for (const name of ['PUBLIC', 'CONFIDENTIAL', 'PRIVATE']) {
    const uid = `before-${name}`;
    const text = eventOf(uid, [`CLASS:${name}`, `SUMMARY:Words of ${name}`]);
    const flags = { recurring: false, transparent: false, scheduled: false, unanswered: false };
    const index = { uid, kind: 'event', firstAt: time, lastAt: time + 3_600_000, ...flags } as const;
    await dav.calendars.putObject(id, `${name}.ics`, Buffer.from(text), index);
  }
  const read = async (name: string) => await dav.call('GET', `/dav/calendars/bob/${id}/${name}.ics`, { user: 'bob' });
  assert.match((await read('PUBLIC')).text, /SUMMARY:Words of PUBLIC/);
  assert.match((await read('CONFIDENTIAL')).text, /SUMMARY:Busy/);
  assert.doesNotMatch((await read('CONFIDENTIAL')).text, /Words/);
  assert.equal((await read('PRIVATE')).status, 404);
  // Whoever may have it is told that it is gone, since nobody knows whether they do.
  const token = tokenOf(await sync(id, ''));
  assert.equal((await dav.call('DELETE', `${path}PRIVATE.ics`)).status, 204);
  assert.match((await sync(id, token)).text, /PRIVATE\.ics<\/D:href><D:status>HTTP\/1.1 404/);
});

async function sync(id: string, token: string) {
  const body = `<D:sync-collection ${DAV_NS}><D:sync-token>${token}</D:sync-token><D:sync-level>1</D:sync-level><D:prop/></D:sync-collection>`;
  return await dav.call('REPORT', `/dav/calendars/bob/${id}/`, { user: 'bob', body });
}
