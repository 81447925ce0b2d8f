import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { OWNER_INVITATION_SECONDS } from '#src/directory/invitations.ts';
import { PASSWORD, startCoordinator } from './coordinator-fixture.ts';

const FORM = { username: 'root', password: PASSWORD };
const GONE = { code: 'invitation_used', error: 'This invitation was used or has expired; ask for a new one.' };

test('CRD-07 the first exchange makes the owner, every later one is 410', async (context) => {
  const { invitations, post, accounts, announced, login } = await startCoordinator(context);
  const path = (await invitations.ensureOwnerInvitation()) as string;
  assert.match(path, /^\/v1\/enroll\/inv_[0-9a-z]{32}$/);
  const made = await post(path, FORM);
  assert.deepEqual([made.status, made.json], [201, { user: 'root' }]);
  assert.equal(accounts.person('root')?.role, 'owner');
  const [entry] = accounts.auditEntries({ limit: 1 });
  assert.deepEqual(
    [entry?.event, entry?.actor, entry?.address, entry?.subject, entry?.details],
    ['enrollment.exchanged', 'user:root', '127.0.0.1', 'user:root', { kind: 'owner', invited_by: 'command' }],
  );
  assert.deepEqual(announced, [{ what: 'directory', user: 'root', rev: 1 }]);
  for (const username of ['root', 'second']) {
    const later = await post(path, { ...FORM, username });
    assert.deepEqual([later.status, later.json], [410, GONE]);
  }
  assert.equal((await login('root')).user, 'root');
  assert.equal(await invitations.ensureOwnerInvitation(), undefined);
});

test('CRD-07 of many exchanges at once one wins', async (context) => {
  const { invitations, post, accounts } = await startCoordinator(context);
  const path = (await invitations.ensureOwnerInvitation()) as string;
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, at) => post(path, { ...FORM, username: `owner${at}` })),
  );
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 410, 410, 410, 410, 410, 410, 410],
  );
  assert.equal(accounts.personCount, 1);
});

test('an invitation lives for a day', async (context) => {
  const { invitations, post, clock } = await startCoordinator(context);
  const path = (await invitations.ensureOwnerInvitation()) as string;
  clock.advance(OWNER_INVITATION_SECONDS);
  assert.deepEqual((await post(path, FORM)).json, GONE);
  const next = (await invitations.ensureOwnerInvitation()) as string;
  clock.advance(OWNER_INVITATION_SECONDS - 1);
  assert.equal((await post(next, FORM)).status, 201);
});

test('a new set-up link ends the one before, and an owner made otherwise ends both', async (context) => {
  const { invitations, people, post } = await startCoordinator(context);
  const [first, second] = [await invitations.ensureOwnerInvitation(), await invitations.ensureOwnerInvitation()];
  assert.deepEqual((await post(first as string, FORM)).json, GONE);
  await people.addOwner('other', PASSWORD);
  assert.deepEqual((await post(second as string, FORM)).json, GONE);
});

test('an invitation that never was costs no hash', async (context) => {
  const { passwords, post } = await startCoordinator(context);
  passwords.hash = () => Promise.reject(new Error('A password was hashed.'));
  assert.deepEqual((await post('/v1/enroll/inv_00000000000000000000000000000000', FORM)).json, GONE);
});

test('a taken username is 409 and leaves the invitation as it is', async (context) => {
  const { invitations, people, post } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const path = (await invitations.ensureOwnerInvitation()) as string;
  const taken = await post(path, { ...FORM, username: 'alice' });
  assert.deepEqual([taken.status, taken.json.code], [409, 'username_taken']);
  assert.equal((await post(path, FORM)).status, 201);
});

test('the link opens a page that may run its own script and nothing else, and opening it uses nothing up', async (context) => {
  const { call, invitations, post } = await startCoordinator(context);
  const path = (await invitations.ensureOwnerInvitation()) as string;
  const page = await call('GET', path);
  assert.equal(page.status, 200);
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
  const policy = page.headers.get('content-security-policy') ?? '';
  const script = /<script>([^]*?)<\/script>/.exec(page.text)?.[1] as string;
  assert.ok(policy.includes(`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`));
  assert.ok(policy.startsWith("default-src 'none'"));
  assert.ok(!policy.includes('unsafe'));
  assert.doesNotMatch(page.text, /\son[a-z]+=|style=|src=/);
  assert.deepEqual(page.text.match(/href="[^"]*"/g), ['href="/console/"']);
  assert.ok(!page.text.includes(path));
  assert.equal(page.text, (await call('GET', '/v1/enroll/inv_unknown')).text);
  assert.equal((await post(path, FORM)).status, 201);
});

test('the page asks for what the form takes', () => {
  const html = readFileSync(new URL('../../src/http/pages/enroll.html', import.meta.url), 'utf8');
  assert.match(html, /pattern="\[a-z0-9\]\[a-z0-9\._\\-\]\{0,63\}"/);
  assert.match(html, /minlength="8"\s+maxlength="256"/);
  assert.match(html, /JSON\.stringify\(\{ username: username\.value, password: password\.value \}\)/);
});
