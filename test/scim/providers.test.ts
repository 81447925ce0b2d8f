/**
 * SCIM as the two most common identity providers speak it: the requests that Microsoft Entra ID and Okta publish, in their
 * order, with their capitals, texts for truths and paths; and what a compliance suite asks for first (RFC 7644).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startConsoleServer } from '#test/support/console.ts';
import { request } from '#test/support/server.ts';
import { ENTERPRISE, GROUP, makeScimClient, patchOf, path, USER, type ScimReply } from './scim-client.ts';

const running = await startConsoleServer();
after(async () => await running.stop());
const { server, console } = running;
const entra = await makeScimClient(server, console, 'Entra ID');
const okta = await makeScimClient(server, console, 'Okta');

const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

/** An error in both forms at once. */
function refused({ body, headers, status }: ScimReply, [wanted, code, type]: [number, string, string?]): void {
  assert.deepEqual([status, body.status, body.code, body.scimType], [wanted, String(wanted), code, type]);
  assert.deepEqual(body.schemas, ['urn:ietf:params:scim:api:messages:2.0:Error']);
  assert.match(headers.get('content-type') ?? '', /^application\/scim\+json/);
  assert.equal(typeof body.detail, 'string');
  assert.equal(typeof body.error, 'string');
}

/** Signs a provisioned person in: an administrator made a link, since nobody was told a password. */
async function signIn(username: string): Promise<string> {
  const password = `a long password of ${username}`;
  const link = await console<{ url: string }>('POST', `/users/${username}/password-reset`, {});
  assert.equal(link.status, 201, link.text);
  const reset = new URL(link.body.url).pathname.split('/').at(-1);
  const used = await request('POST', `${server.coordinator}/v1/password-reset/${reset}`, { body: { password } });
  assert.equal(used.status, 200, used.text);
  return (await server.signIn(username, password)).token;
}

const meOf = async (token: string) => await request('GET', `${server.coordinator}/v1/me`, { token });

test('Entra ID: a user is looked for, made, read, changed, disabled and deleted', async () => {
  const probe = await entra.ask('GET', `/Users${path('userName eq "Test_User_ab6490ee-1e48@testuser.com"')}`);
  assert.equal(probe.status, 200);
  assert.deepEqual(probe.body, { schemas: [LIST], totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] });
  const made = await entra.ask('POST', '/Users', {
    schemas: [USER, ENTERPRISE],
    externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
    userName: 'Test_User_ab6490ee-1e48@testuser.com',
    active: true,
    emails: [{ primary: true, type: 'work', value: 'test_user@testuser.com' }],
    meta: { resourceType: 'User' },
    name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
    [ENTERPRISE]: { department: 'Sales', employeeNumber: '7' },
    roles: [],
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { id, meta } = made.body;
  assert.equal(made.headers.get('location'), `${server.coordinator}/scim/v2/Users/${id}`);
  assert.equal(made.headers.get('etag'), meta.version);
  assert.deepEqual(
    [id, made.body.displayName, made.body.active],
    ['test_user_ab6490ee-1e48', 'givenName familyName', true],
  );
  assert.deepEqual(made.body.emails, [{ value: 'test_user@testuser.com', type: 'work', primary: true }]);
  const entry = await console<{ display_name: string; email: string }>('GET', `/users/${id}`);
  assert.deepEqual([entry.body.display_name, entry.body.email], ['givenName familyName', 'test_user@testuser.com']);
  for (const filter of [
    'userName eq "test_user_AB6490ee-1e48@testuser.com"',
    'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"',
    'emails[type eq "work"].value eq "Test_User@testuser.com"',
    'name.familyName sw "family" and active eq true',
  ]) {
    const found = await entra.ask('GET', `/Users${path(filter)}`);
    assert.deepEqual([found.body.totalResults, found.body.Resources[0]?.id], [1, id], filter);
  }
  const changed = await entra.ask(
    'PATCH',
    `/Users/${id}`,
    patchOf(
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updatedEmail@testuser.com' },
      { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
      { op: 'Add', path: 'title', value: 'Sales lead' },
      { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 (206) 555-0100' },
      { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Research' },
      { op: 'Replace', value: { displayName: 'Family Updated', 'name.givenName': 'Updated' } },
    ),
  );
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  const { displayName, emails, name, phoneNumbers, title } = changed.body;
  assert.deepEqual(
    [displayName, title, emails[0].value, phoneNumbers[0].value],
    ['Family Updated', 'Sales lead', 'updatedEmail@testuser.com', '+12065550100'],
  );
  assert.deepEqual(name, { formatted: 'givenName familyName', familyName: 'updatedFamilyName', givenName: 'Updated' });
  const renamed = await entra.ask(
    'PATCH',
    `/Users/${id}`,
    patchOf({ op: 'Replace', path: 'userName', value: 'renamed@testuser.com' }),
  );
  assert.deepEqual([renamed.body.id, renamed.body.userName], [id, 'renamed@testuser.com']);
  const old = await entra.ask('GET', `/Users${path('userName eq "Test_User_ab6490ee-1e48@testuser.com"')}`);
  assert.equal(old.body.totalResults, 0);

  const token = await signIn(id);
  assert.equal((await meOf(token)).status, 200);
  const off = await entra.ask('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: 'False' }));
  assert.deepEqual([off.status, off.body.active], [200, false]);
  // Ended before the answer, on every thread.
  assert.equal((await meOf(token)).body['code'], 'session_revoked');
  const listed = await entra.ask('GET', `/Users${path('userName eq "renamed@testuser.com"')}`);
  assert.equal(listed.body.Resources[0].active, false);
  const on = await entra.ask('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', value: { active: 'True' } }));
  assert.equal(on.body.active, true);
  assert.equal((await meOf(token)).body['code'], 'session_revoked');

  assert.equal((await entra.ask('DELETE', `/Users/${id}`)).status, 204);
  refused(await entra.ask('GET', `/Users/${id}`), [404, 'person_not_found']);
  refused(await entra.ask('DELETE', `/Users/${id}`), [404, 'person_not_found']);
  assert.equal((await console<{ state: string }>('GET', `/users/${id}`)).body.state, 'blocked');
});

test('Entra ID: a group is made, read without its members, filled, emptied, renamed and deleted', async () => {
  const ids: string[] = [];
  for (const name of ['member-one', 'member-two', 'member-three']) {
    const made = await entra.ask('POST', '/Users', { schemas: [USER], userName: `${name}@testuser.com`, active: true });
    ids.push(made.body.id);
  }
  const [one, two, three] = ids;
  const made = await entra.ask('POST', '/Groups', {
    schemas: [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
    externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
    displayName: 'Sales of Europe',
    meta: { resourceType: 'Group' },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { id } = made.body;
  const bare = await entra.ask('GET', `/Groups/${id}?excludedAttributes=members`);
  assert.deepEqual([bare.status, 'members' in bare.body], [200, false]);
  const found = await entra.ask(
    'GET',
    `/Groups${path('displayName eq "sales of europe"', '&excludedAttributes=members')}`,
  );
  assert.deepEqual(
    [found.body.totalResults, found.body.Resources[0].externalId],
    [1, '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159'],
  );
  const membersNow = async () => {
    const { body } = await entra.ask('GET', `/Groups/${id}`);
    return body.members
      .map(({ value }: { value: string }) => value)
      .toSorted((a: string, b: string) => a.localeCompare(b));
  };
  const add = patchOf({
    op: 'Add',
    path: 'members',
    value: [
      { $ref: null, value: one },
      { $ref: null, value: two },
    ],
  });
  assert.equal((await entra.ask('PATCH', `/Groups/${id}`, add)).status, 204);
  // The same again is no fault, and is stored once.
  assert.equal((await entra.ask('PATCH', `/Groups/${id}`, add)).status, 204);
  assert.deepEqual(
    await membersNow(),
    ids.slice(0, 2).toSorted((a, b) => a.localeCompare(b)),
  );
  const isMember = `id eq "${id}" and members[value eq "${one}"]`;
  assert.equal((await entra.ask('GET', `/Groups${path(isMember)}`)).body.totalResults, 1);
  // As Entra ID takes members away, where the standard has a filter.
  const gone = patchOf({ op: 'Remove', path: 'members', value: [{ $ref: null, value: one }] });
  assert.equal((await entra.ask('PATCH', `/Groups/${id}`, gone)).status, 204);
  assert.deepEqual(await membersNow(), [two]);
  assert.equal((await entra.ask('GET', `/Groups${path(isMember)}`)).body.totalResults, 0);
  const both = patchOf(
    { op: 'remove', path: `members[value eq "${two}"]` },
    { op: 'add', path: 'members', value: { value: three } },
    { op: 'Replace', path: 'displayName', value: 'Sales' },
  );
  assert.equal((await entra.ask('PATCH', `/Groups/${id}`, both)).status, 204);
  assert.deepEqual(await membersNow(), [three]);
  const here = await console<{ items: { name: string }[] }>('GET', '/groups');
  assert.ok(here.body.items.some(({ name }) => name === 'Sales'));
  assert.equal((await entra.ask('DELETE', `/Groups/${id}`)).status, 204);
  refused(await entra.ask('GET', `/Groups/${id}`), [404, 'group_not_found']);
});

test('Okta: its specification suite of requests, then assignment, change by PUT, deactivation and return', async () => {
  const first = await okta.ask('POST', '/Users', {
    schemas: [USER],
    userName: 'first@atko.com',
    name: { givenName: 'First', familyName: 'Okta' },
    emails: [{ primary: true, value: 'first@atko.com', type: 'work' }],
    displayName: 'First Okta',
    locale: 'en-US',
    externalId: '00ujl29u0le5T6Aj10h7',
    groups: [],
    password: '1mz050nq',
    active: true,
  });
  assert.equal(first.status, 201, JSON.stringify(first.body));
  const page = await okta.ask('GET', '/Users?count=1&startIndex=1');
  assert.deepEqual(page.body.schemas, [LIST]);
  for (const name of ['itemsPerPage', 'startIndex', 'totalResults']) assert.equal(typeof page.body[name], 'number');
  const [shown] = page.body.Resources;
  assert.deepEqual(
    [shown.name.familyName, shown.name.givenName, shown.userName, shown.active, shown.emails[0].value],
    ['Okta', 'First', 'first@atko.com', true, 'first@atko.com'],
  );
  assert.equal((await okta.ask('GET', `/Users/${shown.id}`)).status, 200);
  const nobody = await okta.ask('GET', `/Users${path('userName eq "abcdefgh@atko.com"')}`);
  assert.deepEqual([nobody.status, nobody.body.totalResults], [200, 0]);
  refused(await okta.ask('GET', '/Users/010101001010101011001010101011'), [404, 'person_not_found']);
  const twice = await okta.ask('POST', '/Users', { schemas: [USER], userName: 'FIRST@atko.com' });
  refused(twice, [409, 'username_taken', 'uniqueness']);
  // The password that Okta made up opens nothing: it is not taken.
  const tried = await request('POST', `${server.coordinator}/v1/auth/login`, {
    body: { username: 'first', password: '1mz050nq' },
  });
  assert.equal(tried.status, 401);

  const { body: before } = await okta.ask('GET', `/Users/${shown.id}`);
  const changed = await okta.ask('PUT', `/Users/${shown.id}`, {
    ...before,
    name: { givenName: 'Another', familyName: 'Okta' },
    displayName: 'Another Okta',
  });
  assert.deepEqual(
    [changed.status, changed.body.displayName, changed.body.name.givenName],
    [200, 'Another Okta', 'Another'],
  );
  assert.equal(changed.body.id, shown.id);
  const off = await okta.ask('PATCH', `/Users/${shown.id}`, patchOf({ op: 'replace', value: { active: false } }));
  assert.deepEqual([off.status, off.body.active], [200, false]);
  const back = await okta.ask('PUT', `/Users/${shown.id}`, { ...changed.body, active: true });
  assert.equal(back.body.active, true);
  // What a replacement does not say is taken away; whether somebody may come in, it has to say.
  const bare = await okta.ask('PUT', `/Users/${shown.id}`, { schemas: [USER], userName: 'first@atko.com' });
  assert.deepEqual(
    [bare.body.emails, bare.body.name, bare.body.displayName, bare.body.active],
    [undefined, undefined, undefined, true],
  );
  const groups = await okta.ask('GET', '/Groups?count=100&startIndex=1');
  assert.deepEqual([groups.status, groups.body.totalResults], [200, 0]);
});

test('RFC 7644: what the server says of itself is true', async () => {
  const config = (await entra.ask('GET', '/ServiceProviderConfig')).body;
  assert.deepEqual(
    ['patch', 'bulk', 'filter', 'changePassword', 'sort', 'etag'].map((name) => config[name].supported),
    [true, false, true, false, true, true],
  );
  refused(await entra.ask('POST', '/Bulk', { Operations: [] }), [501, 'scim_not_supported']);
  refused(await entra.ask('GET', '/Me'), [501, 'scim_not_supported']);
  refused(await entra.ask('GET', '/Nothing'), [404, 'path_not_found']);
  const types = (await entra.ask('GET', '/ResourceTypes')).body;
  assert.deepEqual(
    types.Resources.map(({ endpoint, id }: Record<string, string>) => [id, endpoint]),
    [
      ['User', '/Users'],
      ['Group', '/Groups'],
    ],
  );
  assert.equal((await entra.ask('GET', '/ResourceTypes/Group')).body.schema, GROUP);
  const schemas = (await entra.ask('GET', '/Schemas')).body;
  assert.deepEqual(
    schemas.Resources.map(({ id }: { id: string }) => id),
    [USER, GROUP],
  );
  // Every attribute of an answer stands in its schema, and none that is not kept is promised.
  const { body: schema } = await entra.ask('GET', `/Schemas/${USER}`);
  const named = new Set<string>(schema.attributes.map(({ name }: { name: string }) => name));
  const made = await entra.ask('POST', '/Users', {
    schemas: [USER],
    userName: 'schema@testuser.com',
    externalId: 's',
    title: 'T',
    active: true,
    displayName: 'D',
    name: { formatted: 'F' },
    emails: [{ value: 'schema@testuser.com' }],
    phoneNumbers: [{ value: '+12065550101' }],
  });
  const answered = Object.keys(made.body).filter((name) => !['schemas', 'id', 'externalId', 'meta'].includes(name));
  assert.deepEqual(answered.toSorted(), [...named].toSorted());
});

test('RFC 7644: lists in pages and in order, cut to the attributes asked for; a search by POST is one by GET', async () => {
  const client = await makeScimClient(server, console, 'lists');
  const names = ['delta', 'alpha', 'charlie', 'bravo', 'echo'];
  for (const name of names)
    await client.ask('POST', '/Users', { schemas: [USER], userName: `l-${name}`, title: `T ${name}` });
  const namesOf = ({ body }: ScimReply) =>
    body.Resources.map(({ userName }: { userName: string }) => userName.slice(2));
  const read: string[] = [];
  for (let startIndex = 1; startIndex <= 5; startIndex += 2) {
    const page = await client.ask('GET', `/Users?startIndex=${startIndex}&count=2`);
    assert.deepEqual([page.body.totalResults, page.body.startIndex], [5, startIndex]);
    assert.equal(page.body.itemsPerPage, page.body.Resources.length);
    read.push(...namesOf(page));
  }
  assert.deepEqual(read, names);
  const ordered = await client.ask('GET', '/Users?sortBy=userName&sortOrder=descending&startIndex=2&count=3');
  assert.deepEqual([namesOf(ordered), ordered.body.totalResults], [['delta', 'charlie', 'bravo'], 5]);
  const filtered = await client.ask(
    'GET',
    `/Users${path('title co "A" and not (userName ew "delta")', '&sortBy=title')}`,
  );
  assert.deepEqual(namesOf(filtered), ['alpha', 'bravo', 'charlie']);
  // Numbers beyond their bounds count as the bound (section 3.4.2.4).
  const none = await client.ask('GET', '/Users?count=-3&startIndex=-7');
  assert.deepEqual([none.body.totalResults, none.body.startIndex, none.body.Resources], [5, 1, []]);
  const beyond = await client.ask('GET', '/Users?startIndex=6');
  assert.deepEqual([beyond.body.totalResults, beyond.body.Resources], [5, []]);
  const cut = await client.ask('GET', `/Users${path('userName eq "l-echo"', '&attributes=title,meta.version')}`);
  assert.deepEqual(Object.keys(cut.body.Resources[0]).toSorted(), ['id', 'meta', 'schemas', 'title']);
  assert.deepEqual(Object.keys(cut.body.Resources[0].meta), ['version']);
  const search = { schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'] };
  const posted = await client.ask('POST', '/Users/.search', {
    ...search,
    filter: 'title sw "T"',
    startIndex: 2,
    count: 2,
  });
  assert.deepEqual([namesOf(posted), posted.body.totalResults], [['alpha', 'charlie'], 5]);
  refused(await client.ask('GET', '/Users?count=many'), [400, 'query_invalid', 'invalidValue']);
  refused(await client.ask('GET', '/Users?sortBy=nothing'), [400, 'query_invalid', 'invalidValue']);
});

test('RFC 7644: versions hold a change that was decided on an older state, and spare an answer that is known', async () => {
  const { body, headers } = await entra.ask('POST', '/Users', { schemas: [USER], userName: 'versions@testuser.com' });
  const [url, tag] = [`/Users/${body.id}`, headers.get('etag') ?? ''];
  assert.equal((await entra.ask('GET', url, undefined, { 'if-none-match': tag })).status, 304);
  const title = patchOf({ op: 'replace', path: 'title', value: 'One' });
  const first = await entra.ask('PATCH', url, title, { 'if-match': tag });
  assert.equal(first.status, 200);
  assert.notEqual(first.headers.get('etag'), tag);
  const late = patchOf({ op: 'replace', path: 'title', value: 'Two' });
  refused(await entra.ask('PATCH', url, late, { 'if-match': tag }), [412, 'scim_version_mismatch']);
  refused(await entra.ask('PUT', url, { schemas: [USER], userName: 'v' }, { 'if-match': tag }), [
    412,
    'scim_version_mismatch',
  ]);
  refused(await entra.ask('DELETE', url, undefined, { 'if-match': tag }), [412, 'scim_version_mismatch']);
  assert.equal((await entra.ask('GET', url)).body.title, 'One');
  assert.equal((await entra.ask('PATCH', url, late, { 'if-match': '*' })).body.title, 'Two');
  const group = await entra.ask('POST', '/Groups', { schemas: [GROUP], displayName: 'Versions' });
  const groupUrl = `/Groups/${group.body.id}`;
  const groupTag = group.headers.get('etag') ?? '';
  const join = patchOf({ op: 'add', path: 'members', value: [{ value: body.id }] });
  assert.equal((await entra.ask('PATCH', groupUrl, join, { 'if-match': groupTag })).status, 204);
  const leave = patchOf({ op: 'remove', path: 'members' });
  refused(await entra.ask('PATCH', groupUrl, leave, { 'if-match': groupTag }), [412, 'scim_version_mismatch']);
  refused(await entra.ask('DELETE', groupUrl, undefined, { 'if-match': groupTag }), [412, 'scim_version_mismatch']);
  assert.equal((await entra.ask('GET', groupUrl)).body.members.length, 1);
});
