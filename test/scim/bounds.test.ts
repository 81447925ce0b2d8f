/**
 * What a client of SCIM may not: touch whom it was not given, give rights, come in by another credential, or hold the server up
 * with a request (RFC 7644, sections 7.5 and 7.7).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SCIM_CLIENTS_MAX } from '#src/identity/scim-clients.ts';
import { GROUP_MEMBERS_MAX } from '#src/protocol/directory/policies.ts';
import { TEXT_LENGTH_MAX } from '#src/scim/attributes.ts';
import { FILTER_DEPTH_MAX, FILTER_LENGTH_MAX, FILTER_TERMS_MAX } from '#src/scim/filter.ts';
import { SCIM_PAGE_MAX } from '#src/scim/listing.ts';
import { COMPARISONS_MAX, OPERATIONS_MAX } from '#src/scim/patch.ts';
import { SCIM_BODY_BYTES_MAX } from '#src/scim/scim-service.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { request } from '#test/support/server.ts';
import { askScim, GROUP, makeScimClient, patchOf, path, USER, type ScimReply } from './scim-client.ts';

const running = await startConsoleServer();
after(async () => await running.stop());
const { server, console } = running;
const idp = await makeScimClient(server, console, 'provider');
const rival = await makeScimClient(server, console, 'rival');
const { local, boss } = await server.people('local', 'boss');

function refused({ body, status }: ScimReply, wanted: readonly [number, string, string?], said?: string): void {
  assert.deepEqual(
    [status, body?.code, body?.scimType],
    [wanted[0], wanted[1], wanted[2]],
    said ?? JSON.stringify(body),
  );
}

const stateOf = async (user: string) => (await console<{ state: string }>('GET', `/users/${user}`)).body.state;
const make = async (userName: string, more: object = {}) => {
  const made = await idp.ask('POST', '/Users', { schemas: [USER], userName, ...more });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body.id as string;
};

test('takeover: nobody who was made here is found, changed, claimed by a name, an id or an address, or put into a group', async () => {
  await console('PATCH', '/users/local', { email: 'local@example.org' });
  for (const victim of ['local', 'root', 'boss']) {
    refused(await idp.ask('GET', `/Users/${victim}`), [404, 'person_not_found']);
    const off = patchOf({ op: 'replace', path: 'active', value: false });
    refused(await idp.ask('PATCH', `/Users/${victim}`, off), [404, 'person_not_found']);
    refused(await idp.ask('PUT', `/Users/${victim}`, { schemas: [USER], userName: victim }), [404, 'person_not_found']);
    refused(await idp.ask('DELETE', `/Users/${victim}`), [404, 'person_not_found']);
    for (const filter of [`userName eq "${victim}"`, `id eq "${victim}"`, `externalId eq "${victim}"`]) {
      assert.equal((await idp.ask('GET', `/Users${path(filter)}`)).body.totalResults, 0, filter);
    }
    // Not by the name, nor by one whose plain form is the name.
    for (const userName of [victim, `${victim}@example.org`, victim.toUpperCase()]) {
      refused(await idp.ask('POST', '/Users', { schemas: [USER], userName }), [409, 'username_taken', 'uniqueness']);
    }
    const group = { schemas: [GROUP], displayName: `with ${victim}`, members: [{ value: victim }] };
    refused(await idp.ask('POST', '/Groups', group), [400, 'field_invalid', 'invalidValue']);
  }
  assert.equal((await idp.ask('GET', `/Users${path('emails.value eq "local@example.org"')}`)).body.totalResults, 0);
  const twin = await make('twin@example.org', { emails: [{ value: 'local@example.org' }] });
  assert.notEqual(twin, 'local');
  // A rename that names somebody who is here renames nothing here.
  const renamed = await idp.ask(
    'PATCH',
    `/Users/${twin}`,
    patchOf({ op: 'replace', path: 'userName', value: 'local' }),
  );
  assert.deepEqual([renamed.status, renamed.body.id], [200, twin]);
  refused(await idp.ask('PATCH', `/Users/${twin}`, patchOf({ op: 'replace', path: 'id', value: 'local' })), [
    400,
    'scim_read_only',
    'mutability',
  ]);
  // Nor does a whole person with another's id, whatever the path says that it is of.
  const whole = { schemas: [USER], userName: 'twin@example.org', id: 'local', externalId: 'local' };
  assert.equal((await idp.ask('PUT', `/Users/${twin}`, whole)).body.id, twin);
  for (const id of [`${twin}/../local`, `${twin}%2f..%2flocal`, 'local%00', 'LOCAL', '%6cocal', 'local?x=', ';local']) {
    const off = patchOf({ op: 'replace', path: 'active', value: false });
    refused(await idp.ask('PATCH', `/Users/${id}`, off), [404, 'person_not_found'], id);
  }
  assert.equal(await stateOf('local'), 'active');
  assert.equal((await server.api(local, 'GET', '/v1/inbox')).status, 200);
  // Of two clients neither sees the other's.
  refused(await rival.ask('GET', `/Users/${twin}`), [404, 'person_not_found']);
  assert.equal((await rival.ask('GET', '/Users')).body.totalResults, 0);
  refused(await rival.ask('POST', '/Users', { schemas: [USER], userName: 'twin@example.org' }), [
    409,
    'username_taken',
    'uniqueness',
  ]);
});

test('takeover: groups that were made here are neither seen, changed nor joined by their name', async () => {
  const made = await console<{ id: string }>('POST', '/groups', { name: 'Works council', members: ['local'] });
  const user = await make('joiner@example.org');
  const url = `/Groups/${made.body.id}`;
  refused(await idp.ask('GET', url), [404, 'group_not_found']);
  const join = patchOf({ op: 'add', path: 'members', value: [{ value: user }] });
  refused(await idp.ask('PATCH', url, join), [404, 'group_not_found']);
  refused(await idp.ask('DELETE', url), [404, 'group_not_found']);
  assert.equal((await idp.ask('GET', `/Groups${path('displayName eq "Works council"')}`)).body.totalResults, 0);
  const named = { schemas: [GROUP], displayName: 'WORKS COUNCIL' };
  refused(await idp.ask('POST', '/Groups', named), [409, 'group_name_taken', 'uniqueness']);
  const own = await idp.ask('POST', '/Groups', { schemas: [GROUP], displayName: 'Own', members: [{ value: user }] });
  refused(await rival.ask('GET', `/Groups/${own.body.id}`), [404, 'group_not_found']);
  // Whom an administrator puts into it the client does not learn of.
  const put = await console('PATCH', `/groups/${own.body.id}`, { add: ['local'] });
  assert.equal(put.status, 200, put.text);
  const read = await idp.ask('GET', `/Groups/${own.body.id}`);
  assert.deepEqual(
    read.body.members.map(({ value }: { value: string }) => value),
    [user],
  );
  const listed = await idp.ask('GET', `/Groups${path('displayName eq "Own"')}`);
  assert.equal(listed.body.Resources[0].members.length, 1);
  for (const [value, total] of [
    ['local', 0],
    [user, 1],
  ])
    assert.equal((await idp.ask('GET', `/Groups${path(`members.value eq "${value}"`)}`)).body.totalResults, total);
});

test('rights: no attribute gives one, and who runs the installation is read and not changed', async () => {
  const roles = [{ value: 'owner', primary: true }];
  const user = await make('ambitious@example.org', { roles, entitlements: roles, userType: 'owner', groups: roles });
  await idp.ask('PATCH', `/Users/${user}`, patchOf({ op: 'add', path: 'roles', value: roles }));
  const read = await console<{ role: string }>('GET', `/users/${user}`);
  assert.equal(read.body.role, 'person');
  const given = await console('PUT', `/console-roles/${user}`, { role: 'administrator' });
  assert.ok(given.status < 300, given.text);
  assert.equal((await idp.ask('GET', `/Users/${user}`)).status, 200);
  const off = patchOf({ op: 'replace', path: 'active', value: false });
  refused(await idp.ask('PATCH', `/Users/${user}`, off), [403, 'right_missing']);
  const mail = patchOf({ op: 'replace', path: 'emails', value: [{ value: 'thief@example.org' }] });
  refused(await idp.ask('PATCH', `/Users/${user}`, mail), [403, 'right_missing']);
  refused(await idp.ask('DELETE', `/Users/${user}`), [403, 'right_missing']);
  assert.equal(await stateOf(user), 'active');
  await console('PUT', `/console-roles/${user}`, { role: null });
  assert.equal((await idp.ask('PATCH', `/Users/${user}`, off)).status, 200);
});

test('an owner hands somebody to a client, which keeps them from then on, and takes them back; nobody else is handed over', async () => {
  const url = `/scim-clients/${idp.id}/people`;
  for (const [user, code] of [
    ['root', 'right_missing'],
    ['nobody-at-all', 'person_not_found'],
  ] as const) {
    assert.equal((await console('PUT', `${url}/${user}`, { user_name: user })).body['code'], code);
  }
  const adopt = await console('PUT', `${url}/boss`, { user_name: 'Boss@example.org', external_id: 'b-1' });
  assert.equal(adopt.status, 204, adopt.text);
  const again = await console('PUT', `/scim-clients/${rival.id}/people/boss`, { user_name: 'boss' });
  assert.equal(again.body['code'], 'scim_person_kept');
  const found = await idp.ask('GET', `/Users${path('userName eq "boss@example.org"')}`);
  assert.deepEqual([found.body.Resources[0].id, found.body.Resources[0].externalId], ['boss', 'b-1']);
  assert.equal(
    (await idp.ask('PATCH', '/Users/boss', patchOf({ op: 'add', path: 'title', value: 'Chief' }))).status,
    200,
  );
  const own = await request('PATCH', `${server.coordinator}/v1/me`, {
    token: boss.session.token,
    body: { title: 'King' },
  });
  assert.deepEqual([own.status, own.body['code']], [403, 'field_managed']);
  assert.equal((await console('DELETE', `${url}/boss`)).status, 204);
  refused(await idp.ask('GET', '/Users/boss'), [404, 'person_not_found']);
  assert.equal((await idp.ask('GET', `/Users${path('externalId eq "b-1"')}`)).body.totalResults, 0);
  assert.equal(await stateOf('boss'), 'active');
});

test('who was blocked here stays so, whatever a client says; who was blocked by it comes back by it', async () => {
  const user = await make('blocked@example.org');
  const say = async (active: boolean) =>
    (await idp.ask('PATCH', `/Users/${user}`, patchOf({ op: 'replace', path: 'active', value: active }))).body.active;
  assert.equal(await say(false), false);
  assert.equal(await say(true), true);
  assert.equal((await console('POST', `/users/${user}/block`)).status, 200);
  assert.equal(await say(true), false);
  assert.equal(await stateOf(user), 'blocked');
  // Blocked by the client first and by an administrator then: it is the administrator's word that counts.
  await console('POST', `/users/${user}/unblock`);
  await say(false);
  await console('POST', `/users/${user}/block`);
  assert.equal(await say(true), false);
});

test('a name that a client deleted goes to somebody new under another username; the same id brings the person back', async () => {
  const first = await make('Jürgen Müller@example.org', { externalId: 'jm', title: 'Old' });
  assert.equal(first, 'jurgen-muller');
  await idp.ask('DELETE', `/Users/${first}`);
  const second = await make('Jürgen Müller@example.org', { externalId: 'other' });
  assert.equal(second, 'jurgen-muller-2');
  const back = await make('juergen@example.org', { externalId: 'jm' });
  assert.equal(back, first);
  assert.equal(await stateOf(first), 'active');
  assert.equal((await idp.ask('GET', `/Users${path('userName sw "J"')}`)).body.totalResults, 3);
});

test('filters beyond their bounds are refused, those at them are answered', async () => {
  const at = async (filter: string) => await idp.ask('GET', `/Users${path(filter)}`);
  const chain = (terms: number) => Array.from({ length: terms }, () => 'title pr').join(' or ');
  const nested = (depth: number) => `${'('.repeat(depth)}title pr${')'.repeat(depth)}`;
  const long = (length: number) => `title eq "${'x'.repeat(length - 11)}"`;
  for (const filter of [chain(FILTER_TERMS_MAX), nested(FILTER_DEPTH_MAX), long(FILTER_LENGTH_MAX)]) {
    assert.equal((await at(filter)).status, 200, filter.slice(0, 40));
  }
  const hostile = [
    chain(FILTER_TERMS_MAX + 1),
    nested(FILTER_DEPTH_MAX + 1),
    long(FILTER_LENGTH_MAX + 1),
    'not ('.repeat(300),
    `emails[${'('.repeat(200)}`,
    '"'.repeat(999),
    `title eq "${'\\"'.repeat(900)}`,
    'title eq',
    'title',
    'eq "x"',
    'title eq "x" and',
    'title eq x',
    'title eq {"a":1}',
    'title zz "x"',
    'userName[value eq "x"]',
    'emails[type eq "work"',
    'emails[type eq "work"]value eq "x"',
    'active gt true',
    'nothing eq "x"',
    '__proto__ eq "x"',
    'constructor.name eq "Object"',
    'title eq "x" garbage',
    'not title pr',
  ];
  for (const filter of hostile) {
    refused(await at(filter), [400, 'scim_filter_invalid', 'invalidFilter'], filter.slice(0, 60));
  }
  // What other servers keep is nobody's here, and no fault.
  assert.equal((await at('nickName eq "x" or preferredLanguage pr')).body.totalResults, 0);
});

test('changes beyond their bounds are refused and change nothing', async () => {
  const user = await make('bounds@example.org', { title: 'Kept' });
  const url = `/Users/${user}`;
  const replace = (count: number) =>
    patchOf(...Array.from({ length: count }, () => ({ op: 'replace', path: 'title', value: 'Kept' })));
  assert.equal((await idp.ask('PATCH', url, replace(OPERATIONS_MAX))).status, 200);
  // What later operations take away again was still held against their filters.
  const passing = (value: unknown) =>
    patchOf({ op: 'add', path: 'emails', value: [{ value }] }, { op: 'remove', path: 'emails' });
  assert.equal((await idp.ask('PATCH', url, passing('x'.repeat(TEXT_LENGTH_MAX)))).status, 200);
  // Each of these operations holds the whole of what a filter may have against the elements.
  const terms = (count: number) => Array.from({ length: count }, () => 'value co "z"').join(' or ');
  const comparing = (count: number) => {
    const whole = Array.from({ length: Math.floor(count / FILTER_TERMS_MAX) }, () => terms(FILTER_TERMS_MAX));
    const rest = count % FILTER_TERMS_MAX === 0 ? [] : [terms(count % FILTER_TERMS_MAX)];
    return patchOf(...[...whole, ...rest].map((filter) => ({ op: 'remove', path: `emails[${filter}]` })));
  };
  assert.equal((await idp.ask('PATCH', url, comparing(COMPARISONS_MAX))).status, 200);
  // Attributes of an operation without a path are operations, whatever case and schema they are written in.
  const spelled = (count: number) => {
    const names = Array.from({ length: count }, (_, at) => [`urn:example:${at}:title`, 'x']);
    return patchOf({ op: 'replace', value: Object.fromEntries(names) });
  };
  assert.equal((await idp.ask('PATCH', url, spelled(OPERATIONS_MAX))).status, 200);
  const cases: [unknown, readonly [number, string, string?]][] = [
    [comparing(COMPARISONS_MAX + 1), [400, 'field_invalid', 'invalidValue']],
    [spelled(OPERATIONS_MAX + 1), [400, 'field_invalid', 'invalidValue']],
    [replace(OPERATIONS_MAX + 1), [400, 'field_invalid', 'invalidValue']],
    [passing('x'.repeat(TEXT_LENGTH_MAX + 1)), [400, 'field_invalid', 'invalidValue']],
    [passing(['x']), [400, 'field_invalid', 'invalidValue']],
    [
      patchOf({ op: 'add', path: 'emails[type eq "work"].value', value: ['x'] }, { op: 'remove', path: 'emails' }),
      [400, 'field_invalid', 'invalidValue'],
    ],
    [
      patchOf({ op: 'replace', path: 'title', value: 'Lost' }, { op: 'explode', path: 'title' }),
      [400, 'field_invalid', 'invalidValue'],
    ],
    [patchOf({ op: 'replace', path: 'title', value: 'Lost' }, { op: 'remove' }), [400, 'scim_no_target', 'noTarget']],
    [
      patchOf({ op: 'replace', path: 'emails[value eq "none"].value', value: 'x@example.org' }),
      [400, 'scim_no_target', 'noTarget'],
    ],
    [patchOf({ op: 'replace', path: 'title[', value: 'x' }), [400, 'scim_path_invalid', 'invalidPath']],
    [patchOf({ op: 'replace', path: '__proto__.polluted', value: 'x' }), [400, 'scim_path_invalid', 'invalidPath']],
    [patchOf({ op: 'replace', value: { 'constructor.prototype': 'x' } }), [400, 'scim_path_invalid', 'invalidPath']],
    [
      patchOf({ op: 'replace', path: 'meta.created', value: '2001-01-01T00:00:00Z' }),
      [400, 'scim_read_only', 'mutability'],
    ],
    [patchOf({ op: 'remove', path: 'userName' }), [400, 'field_invalid', 'invalidValue']],
    [
      patchOf({ op: 'replace', path: 'emails', value: [{ value: 'no address' }] }),
      [400, 'field_invalid', 'invalidValue'],
    ],
    [patchOf({ op: 'replace', path: 'active', value: 'maybe' }), [400, 'field_invalid', 'invalidValue']],
    [patchOf({ op: 'replace', path: 'title', value: 'x'.repeat(101) }), [400, 'field_invalid', 'invalidValue']],
    [
      patchOf({
        op: 'add',
        path: 'emails',
        value: Array.from({ length: 21 }, (_, at) => ({ value: `${at}@example.org` })),
      }),
      [400, 'field_invalid', 'invalidValue'],
    ],
    [{ schemas: [USER], Operations: [] }, [400, 'field_invalid', 'invalidValue']],
    [{ ...patchOf(), Operations: [] }, [400, 'field_invalid', 'invalidValue']],
    ['{"schemas":', [400, 'body_invalid_json', 'invalidSyntax']],
    [`${'['.repeat(50_000)}${']'.repeat(50_000)}`, [400, 'body_invalid_json', 'invalidSyntax']],
    ['{"__proto__":{"polluted":true}}', [400, 'body_invalid_json', 'invalidSyntax']],
    [{ schemas: [USER], userName: 'x'.repeat(SCIM_BODY_BYTES_MAX) }, [400, 'body_too_large']],
  ];
  for (const [body, wanted] of cases)
    refused(await idp.ask('PATCH', url, body), wanted, JSON.stringify(body).slice(0, 90));
  refused(await idp.ask('POST', '/Users', { schemas: [USER], userName: '日本' }), [
    400,
    'field_invalid',
    'invalidValue',
  ]);
  refused(await idp.ask('POST', '/Users', { userName: 'schemaless' }), [400, 'field_invalid', 'invalidValue']);
  assert.equal((await idp.ask('GET', url)).body.title, 'Kept');
  const text = await idp.ask('PATCH', url, 'title', { 'content-type': 'text/plain' });
  refused(text, [400, 'body_not_json']);
});

test('a page has no more than its bound, and a client no more people than its owner lets it have', async () => {
  const most = SCIM_PAGE_MAX + 1;
  const small = await makeScimClient(server, console, 'small', { people_max: most });
  for (let at = 0; at < most; at += 1) {
    const made = await small.ask('POST', '/Users', { schemas: [USER], userName: `s-${at}@example.org` });
    assert.equal(made.status, 201, JSON.stringify(made.body));
  }
  const page = await small.ask('GET', '/Users?count=100000000');
  assert.deepEqual([page.body.totalResults, page.body.itemsPerPage], [most, SCIM_PAGE_MAX]);
  refused(await small.ask('POST', '/Users', { schemas: [USER], userName: 's-more' }), [409, 'scim_people_full']);
  // Nobody is made room for by deleting: the account stays, and so does its name.
  await small.ask('DELETE', '/Users/s-0');
  refused(await small.ask('POST', '/Users', { schemas: [USER], userName: 's-more' }), [409, 'scim_people_full']);
  const members = Array.from({ length: most }, (_, at) => ({ value: `s-${at}` })).slice(1);
  const group = await small.ask('POST', '/Groups', { schemas: [GROUP], displayName: 'All of small', members });
  assert.equal(group.body.members.length, most - 1);
  // More than any group may hold, of names that are short: refused before anybody is looked for.
  const many = Array.from({ length: GROUP_MEMBERS_MAX + 1 }, (_, at) => ({ value: `${at}` }));
  refused(await small.ask('PATCH', `/Groups/${group.body.id}`, patchOf({ op: 'add', path: 'members', value: many })), [
    409,
    'group_full',
  ]);
  assert.equal((await small.ask('GET', `/Groups/${group.body.id}`)).body.members.length, most - 1);
});

test('only the token of a client opens it, and that until it is replaced or the client is removed', async () => {
  const client = await makeScimClient(server, console, 'tokens');
  const get = async (token: string | undefined) => await askScim(server, token, 'GET', '/Users');
  assert.equal((await get(client.token)).status, 200);
  const vendor = await console<{ token: string }>('POST', '/vendor-tokens', {
    name: 'v',
    purpose: 'p',
    term_days: 365,
  });
  for (const token of [
    local.session.token,
    vendor.body.token,
    client.token.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x')),
    client.id,
    `scim_${'0'.repeat(22)}_${'A'.repeat(43)}`,
  ]) {
    const { body, headers, status } = await get(token);
    assert.deepEqual([status, body.code], [401, 'token_invalid']);
    assert.equal(headers.get('www-authenticate'), 'Bearer');
  }
  refused(await get(undefined), [401, 'token_missing']);
  // And it opens nothing else.
  const outside = await request('GET', `${server.coordinator}/v1/directory`, { token: client.token });
  assert.equal(outside.status, 401);
  const listed = await console<{ items: Record<string, unknown>[] }>('GET', '/scim-clients');
  const [record] = listed.body.items.filter(({ id }) => id === client.id);
  assert.equal(record?.['last_used_address'], '127.0.0.1');
  assert.ok(!listed.text.includes(client.token.slice(-43)));
  const user = await client.ask('POST', '/Users', { schemas: [USER], userName: 'outlives@example.org' });
  const renewed = await console<{ token: string }>('POST', `/scim-clients/${client.id}/token`, {});
  refused(await get(client.token), [401, 'token_invalid']);
  assert.equal((await get(renewed.body.token)).body.totalResults, 1);
  assert.equal((await console('DELETE', `/scim-clients/${client.id}`)).status, 204);
  refused(await get(renewed.body.token), [401, 'token_invalid']);
  assert.equal(await stateOf(user.body.id), 'active');
  // What a client that is gone had may be handed to another.
  const adopted = await console('PUT', `/scim-clients/${rival.id}/people/${user.body.id}`, { user_name: 'outlives' });
  assert.equal(adopted.status, 204, adopted.text);
  assert.equal((await rival.ask('GET', '/Users')).body.totalResults, 1);
  const trail = async (query: string) => {
    const { body } = await console<{ items: { about: string; event: string }[] }>('GET', `/audit?limit=200&${query}`);
    return body.items;
  };
  const events = (await trail(`about=scim:${client.id}`)).map(({ event }) => event);
  assert.deepEqual(events, ['scim_client.removed', 'scim_client.token_made', 'scim_client.created']);
  const done = (await trail(`actor=scim:${client.id}`)).map(({ about, event }) => `${event} ${about}`);
  assert.deepEqual(done, [`sso.identity_bound user:${user.body.id}`, `user.created user:${user.body.id}`]);
});

test('erasing a person takes what the client said of them along', async () => {
  const user = await make('forgotten@example.org', { externalId: 'forget-me', name: { familyName: 'Forgetmenot' } });
  const erased = await console('POST', `/users/${user}/erase`);
  assert.ok(erased.status < 300, erased.text);
  refused(await idp.ask('GET', `/Users/${user}`), [404, 'person_not_found']);
  assert.equal((await idp.ask('GET', `/Users${path('externalId eq "forget-me"')}`)).body.totalResults, 0);
  assert.equal((await idp.ask('GET', `/Users${path('name.familyName eq "Forgetmenot"')}`)).body.totalResults, 0);
  const next = await make('forgotten@example.org', { externalId: 'forget-me' }).catch((error: unknown) =>
    String(error),
  );
  // The name of who was erased is never given again.
  assert.match(next, /username_taken/);
});

test('there are no more clients than there may be, and the place of one that is removed is free again', async () => {
  const before = await console<{ items: { id: string }[] }>('GET', '/scim-clients');
  const made: string[] = [];
  for (let at = before.body.items.length; at < SCIM_CLIENTS_MAX; at += 1) {
    made.push((await makeScimClient(server, console, `client ${at}`)).id);
  }
  const full = await console('POST', '/scim-clients', { name: 'one more' });
  assert.deepEqual([full.status, full.body['code']], [409, 'scim_clients_full']);
  for (const id of made) assert.equal((await console('DELETE', `/scim-clients/${id}`)).status, 204);
  await makeScimClient(server, console, 'in a free place');
});
