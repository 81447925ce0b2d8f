/**
 * Forgotten passwords by mail: an address is confirmed first, and a link tells nobody anything but whom it is for (CRD-12). And what
 * people are told when what signs them in changes.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { NOTICES_OF_ONE_WAITING_MAX } from '#src/account-mail/account-outbox.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import { mailSettings, MailServer, smtpError, trusting, type TakenMail } from '#test/mail/mail-server.ts';
import { anotherDevice, assertRefused } from '#test/messaging/conversing.ts';
import { callControl } from '#test/support/control.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

const FRESH = 'heron over the quiet lake';
/** Requests of one address: what the tests before the one of the limit ask for, and some more. */
const REQUESTS_PER_MINUTE = 20;

const ends: (() => void)[] = [];
const host = await shareRestartedServer({
  ...trusting({ after: (end) => ends.push(end) }),
  PARLEY_RECOVERIES_PER_MINUTE: String(REQUESTS_PER_MINUTE),
});
after(() => ends.forEach((end) => end()));

let isDown = false;
let ann: Person;
let isRefused = false;
const onMail = () => {
  if (isRefused) return smtpError(550, 'No such mailbox');
  return isDown ? smtpError(421, 'Later') : undefined;
};
const mails = await MailServer.open({ after: (end) => after(end) }, { onMail });

const coordinator = () => host.server.coordinator;

async function give(user: string, profile: object): Promise<void> {
  const reply = await host.ask('administrator', 'PATCH', `/users/${user}`, profile);
  assert.equal(reply.status, 200, reply.text);
}

async function mine(who: Person, method: string, path: string, body?: object): Promise<Reply> {
  const options = { token: who.session.token, ...(body === undefined ? {} : { body }) };
  return await request(method, `${coordinator()}/v1/me${path}`, options);
}

async function ask(email: string): Promise<Reply> {
  return await request('POST', `${coordinator()}/v1/auth/password-reset`, { body: { email } });
}

/** Mails with a code or a link to an address, or the notices to it, which are those without either. */
function mailsTo(address: string, isNotice = false): TakenMail[] {
  return mails.mails.filter(({ email, to }) => {
    const opens = /^ {4}\w{10}$|\/v1\/password-reset\//m.test(email.text ?? '');
    return to.includes(address) && opens !== isNotice;
  });
}

/** The newest mail to an address, once there are so many. */
async function mailTo(address: string, count: number): Promise<string> {
  await until(() => mailsTo(address).length >= count, `${count} mails to ${address}`);
  return mailsTo(address).at(-1)?.email.text ?? '';
}

async function confirm(who: Person, email: string): Promise<void> {
  await give(who.username, { email });
  const earlier = mailsTo(email).length;
  const sent = await mine(who, 'POST', '/email/code');
  assert.deepEqual([sent.status, sent.body], [202, { email }]);
  const [code = ''] = /^ {4}\w{10}$/m.exec(await mailTo(email, earlier + 1)) ?? [];
  // As somebody types it who copied more than the code.
  const taken = await mine(who, 'PUT', '/email/confirmation', { code: ` ${code.toUpperCase()} ` });
  assert.equal(taken.status, 204, taken.text);
}

function linkIn(text: string): string {
  const [link] = /\S+\/v1\/password-reset\/rst_\w+/.exec(text) ?? assert.fail(text);
  return link;
}

/** A figure of mails about accounts, by the rest of its name and its labels; 0 before it was first counted. */
async function figure(rest: string): Promise<number> {
  const answer = await fetch(`${coordinator()}/healthz`, { headers: { accept: 'text/plain' } });
  const start = `parley_account_mails_${rest} `;
  const line = (await answer.text()).split('\n').find((one) => one.startsWith(start));
  return Number(line?.slice(start.length) ?? 0);
}

async function signIn(username: string, password: string): Promise<Reply> {
  return await request('POST', `${coordinator()}/v1/auth/login`, { body: { username, password } });
}

test('CRD-12 without a mail server no address can be confirmed, and the sign-in page says that no link comes', async () => {
  ann = await host.server.person('ann');
  const ways = async () => (await request('GET', `${coordinator()}/v1/auth/sso`)).body['reset_by_mail'];
  assert.equal(await ways(), false);
  assertRefused(await mine(ann, 'POST', '/email/code'), 409, 'mail_unavailable');
  const set = await host.ask('owner', 'PUT', '/settings/mail', mailSettings(mails.port));
  assert.equal(set.status, 200, set.text);
  assert.equal(await ways(), true);
  assertRefused(await mine(ann, 'POST', '/email/code'), 409, 'email_missing');
});

test('CRD-12 an address counts once its person typed the code that was mailed there, until they are given another one', async () => {
  const state = async () => (await mine(ann, 'GET', '')).body['email_confirmed'];
  assert.equal(await state(), undefined);
  await give('ann', { email: 'Ann@example.org' });
  assert.equal(await state(), false);
  assertRefused(await mine(ann, 'PUT', '/email/confirmation', { code: '0000000000' }), 403, 'email_code_wrong');
  await mine(ann, 'POST', '/email/code');
  const [early = ''] = /^ {4}\w{10}$/m.exec(await mailTo('Ann@example.org', 1)) ?? [];
  // The code is for the address that it went to.
  await give('ann', { email: 'ann@example.com' });
  assertRefused(await mine(ann, 'PUT', '/email/confirmation', { code: early }), 403, 'email_code_wrong');
  await confirm(ann, 'ann@example.com');
  assert.equal(await state(), true);
  await give('ann', { email: 'ann@example.net' });
  assert.equal(await state(), false);
  await give('ann', { email: 'ann@example.com' });
  assert.equal(await state(), false, 'whose the old address is now, nobody knows');
  const { body } = await host.ask<{ items: { event: string }[] }>('owner', 'GET', '/audit');
  assert.equal(body.items.filter(({ event }) => event === 'user.email_confirmed').length, 1);
});

test('CRD-12 every address has the same answer, and a mail goes to one that its person confirmed and to nobody else', async () => {
  const { bea, cas } = await host.server.people('bea', 'cas');
  await give('cas', { email: 'cas@example.org' });
  await confirm(bea, 'bea@example.org');
  const raised = { vic: 'viewer', oli: 'owner' };
  for (const [name, role] of Object.entries(raised)) {
    await confirm(await host.server.person(name), `${name}@example.org`);
    assert.equal((await host.ask('owner', 'PUT', `/console-roles/${name}`, { role })).status, 204);
  }
  const asked = ['nobody', 'cas', 'vic', 'oli', 'BEA'].map((name) => `${name}@example.org`);
  const answers: [number, string][] = [];
  for (const email of asked) {
    const { status, text } = await ask(email);
    answers.push([status, text]);
  }
  assert.deepEqual(
    answers,
    asked.map(() => [202, '{"status":"ok"}']),
  );
  const text = await mailTo('bea@example.org', 2);
  assert.match(text, /your account bea/);
  assert.doesNotMatch(text, /password of bea/);
  assert.deepEqual([mailsTo('cas@example.org').length, mailsTo('nobody@example.org').length], [0, 0]);
  for (const name of Object.keys(raised)) assert.equal(mailsTo(`${name}@example.org`).length, 1, 'the code alone');
  for (const body of [{ email: 'none' }, {}, { email: 'bea@example.org', user: 'cas' }]) {
    assert.equal((await request('POST', `${coordinator()}/v1/auth/password-reset`, { body })).status, 400);
  }

  const other = await connect(host.server, bea);
  const link = linkIn(text);
  const used = await request('POST', link, { body: { password: FRESH } });
  assert.deepEqual([used.status, used.body], [200, { status: 'ok' }]);
  assert.equal((await other.closing()).code, 4401);
  assertRefused(await request('POST', link, { body: { password: `${FRESH} 2` } }), 410, 'reset_link_used');
  assert.equal((await signIn('bea', FRESH)).status, 200);
  assert.equal((await signIn('cas', cas.password)).status, 200);
});

test('CRD-12 a mailed link ends no link of an administrator, is over with another address, and asks for the second factor still', async () => {
  const { dan } = await host.server.people('dan');
  const factors = `${coordinator()}/v1/me/second-factors`;
  const { token } = dan.session;
  const setup = await request<{ secret: string }>('POST', `${factors}/totp`, { token });
  const code = codeAt(setup.body.secret, Date.now());
  assert.equal((await request('POST', `${factors}/totp/confirm`, { token, body: { code } })).status, 200);
  await confirm(dan, 'dan@example.org');
  const made = await host.ask<{ url: string }>('administrator', 'POST', '/users/dan/password-reset');
  assert.equal(made.status, 201, made.text);
  await ask('dan@example.org');
  const over = linkIn(await mailTo('dan@example.org', 2));
  await give('dan', { email: 'dan@example.com' });
  assertRefused(await request('POST', over, { body: { password: FRESH } }), 410, 'reset_link_used');
  await confirm(dan, 'dan@example.com');
  await ask('dan@example.com');
  const earlier = linkIn(await mailTo('dan@example.com', 2));
  await ask('dan@example.com');
  const link = linkIn(await mailTo('dan@example.com', 3));
  assertRefused(await request('POST', earlier, { body: { password: FRESH } }), 410, 'reset_link_used');
  assert.equal((await request('POST', link, { body: { password: FRESH } })).status, 200);
  const { body, status } = await signIn('dan', FRESH);
  assert.deepEqual([status, body['code']], [401, 'second_factor_required']);
  // The other password ended what an administrator handed over, too.
  assertRefused(await request('POST', made.body.url, { body: { password: FRESH } }), 410, 'reset_link_used');

  // The fourth within the hour: the answer is the same, and no mail goes. Eve's, which is asked for behind it, does.
  const { eve } = await host.server.people('eve');
  await confirm(eve, 'eve@example.org');
  const answer = await ask('dan@example.com');
  assert.deepEqual([answer.status, answer.text], [202, '{"status":"ok"}']);
  await ask('eve@example.org');
  await mailTo('eve@example.org', 2);
  assert.equal(mailsTo('dan@example.com').length, 3);
});

test('CRD-12 a link that could not be mailed goes once the mail server is there again, also after a restart', async () => {
  const fay = await host.server.person('fay');
  await confirm(fay, 'fay@example.org');
  isDown = true;
  const tried = mails.sources.length;
  await ask('fay@example.org');
  await until(() => mails.sources.length > tried, 'the mail to be tried');
  await host.restart('SIGTERM', async () => void (isDown = false));
  const link = linkIn(await mailTo('fay@example.org', 2)).replace(/^.*(?=\/v1\/)/, coordinator());
  assert.equal((await request('POST', link, { body: { password: FRESH } })).status, 200);
});

interface Notice {
  readonly id: number;
  readonly kind: string;
  readonly by: string;
  readonly address?: string;
  readonly is_here: boolean;
  readonly is_seen: boolean;
}

/** What a person was told, the newest first, once the newest is of that kind. */
async function noticesOf(who: Person, newest: string): Promise<Notice[]> {
  return await until(async () => {
    const { body, status, text } = await mine(who, 'GET', '/security-notices');
    assert.equal(status, 200, text);
    const items = body['items'] as Notice[];
    return items[0]?.kind === newest && items;
  }, `a notice of ${newest}`);
}

test('CRD-12 SOC-04 who changes their password is told on their other devices and by mail, and nobody else is', async () => {
  const { gil, hal } = await host.server.people('gil', 'hal');
  await give('gil', { email: 'gil@example.org' });
  const other = await anotherDevice(host.server, gil);
  const [socket, stranger] = [await connect(host.server, other), await connect(host.server, hal)];
  const told = socket.event(({ data, type }) => type === 'directory.changed' && data['user'] === 'gil');
  const changed = await mine(gil, 'POST', '/password', { current: gil.password, new: FRESH, end_others: false });
  assert.equal(changed.status, 200, changed.text);
  await told;
  const [here] = await noticesOf(gil, 'password_changed');
  const [there, ...rest] = await noticesOf(other, 'password_changed');
  assert.deepEqual(
    [here?.is_here, there?.is_here, there?.is_seen, there?.by, there?.address, rest],
    [true, false, false, 'you', '127.0.0.1', []],
  );
  await until(() => mailsTo('gil@example.org', true).length > 0, 'a mail to gil');
  const text = mailsTo('gil@example.org', true)[0]?.email.text ?? '';
  assert.match(text, /^Your password was changed \(gil\), with your account, at \d{4}-/);
  assert.doesNotMatch(text, /password-reset|heron/);

  // Whoever did it does not take the word of it from the others. Seen on one of those is seen on all, and told again; what is not
  // there yet is not.
  const see = async (who: Person, id: unknown) =>
    assert.equal((await mine(who, 'PUT', '/security-notices/seen', { id })).status, 204);
  await see(gil, here?.id);
  assert.equal((await noticesOf(other, 'password_changed'))[0]?.is_seen, false);
  assert.equal((await mine(other, 'PUT', '/security-notices/seen', { id: Number(there?.id) + 1_000 })).status, 204);
  assert.equal((await noticesOf(gil, 'password_changed'))[0]?.is_seen, true);
  await until(
    () => socket.events.filter(({ data, type }) => type === 'directory.changed' && data['user'] === 'gil').length > 1,
    'the other devices to be told',
  );
  assert.deepEqual((await mine(hal, 'GET', '/security-notices')).body, { items: [], next: null });
  assert.equal(
    stranger.events.some(({ data }) => data['user'] === 'gil'),
    false,
  );
  for (const body of [{ id: -1 }, {}, { id: 1, user: 'hal' }]) {
    assert.equal((await mine(gil, 'PUT', '/security-notices/seen', body)).status, 400);
  }
  const again = await mine(gil, 'POST', '/password', { current: FRESH, new: `${FRESH} 2`, end_others: false });
  assert.equal(again.status, 200, again.text);
  assert.equal((await host.ask('administrator', 'POST', '/users/gil/password-reset')).status, 201);
  const [link] = await noticesOf(gil, 'password_link_made');
  await see(gil, link?.id);
  const seenAt = async (who: Person) =>
    (await noticesOf(who, 'password_link_made')).map(({ is_seen: isSeen }) => isSeen);
  assert.deepEqual(await seenAt(other), [true, false, true]);
  await see(other, link?.id);
  assert.deepEqual(await seenAt(gil), [true, true, true]);
  await socket.close();
  await stranger.close();
});

test('TFA-01 second factors that come and go, and what administrators do, are told to their person', async () => {
  const { ida } = await host.server.people('ida');
  const factors = `${coordinator()}/v1/me/second-factors`;
  const { token } = ida.session;
  const setup = await request<{ secret: string }>('POST', `${factors}/totp`, { token });
  const code = codeAt(setup.body.secret, Date.now());
  assert.equal((await request('POST', `${factors}/totp/confirm`, { token, body: { code } })).status, 200);
  assert.equal((await noticesOf(ida, 'factor_added'))[0]?.by, 'you');
  assert.equal((await request('POST', `${factors}/recovery-codes`, { token })).status, 200);
  await noticesOf(ida, 'recovery_codes_made');
  assert.equal((await host.ask('administrator', 'POST', '/users/ida/password-reset')).status, 201);
  assert.equal((await noticesOf(ida, 'password_link_made'))[0]?.by, 'administrator');
  // An account that an administrator says is hers opens what she has: she hears of it before anybody uses it.
  const provider = { name: 'Work', issuer: 'https://id.example.org', client_id: 'parley' };
  assert.equal((await host.ask('owner', 'PUT', '/sso/providers/office', provider)).status, 200);
  const identity = '/sso/providers/office/identities/ida';
  assert.equal((await host.ask('administrator', 'PUT', identity, { subject: 's-ida' })).status, 204);
  assert.equal((await noticesOf(ida, 'account_bound'))[0]?.by, 'administrator');
  assert.equal((await host.ask('owner', 'DELETE', '/sso/providers/office')).status, 204);
  assert.equal((await host.ask('administrator', 'DELETE', '/users/ida/second-factors')).status, 204);
  const again = { ...ida, session: await host.server.signIn('ida', ida.password) };
  const [removed, ...before] = await noticesOf(again, 'factor_removed');
  assert.deepEqual([removed?.by, removed?.address, removed?.is_here], ['administrator', undefined, false]);
  assert.equal(before.length, 4);
  await callControl(host.server.folder, 'user.reset', { username: 'ida' });
  await until(async () => (await noticesOf(again, 'password_link_made'))[0]?.by === 'host', 'the host to be named');
  // A restart tells nothing again, and goes on.
  await host.restart();
  const later = { ...ida, session: await host.server.signIn('ida', ida.password) };
  const changed = await mine(later, 'POST', '/password', { current: ida.password, new: FRESH, end_others: true });
  assert.equal(changed.status, 200, changed.text);
  assert.equal((await noticesOf(later, 'password_changed')).length, 7);
});

test('CRD-12 who changes what signs them in over and over takes no more than some places among the mails that wait', async () => {
  const { jan, kim } = await host.server.people('jan', 'kim');
  await give('jan', { email: 'jan@example.org' });
  await confirm(kim, 'kim@example.org');
  isDown = true;
  for (let links = 0; links <= NOTICES_OF_ONE_WAITING_MAX; links += 1) {
    assert.equal((await host.ask('administrator', 'POST', '/users/jan/password-reset')).status, 201);
  }
  const all = await until(async () => {
    const { body } = await mine(jan, 'GET', '/security-notices');
    const items = body['items'] as Notice[];
    return items.length > NOTICES_OF_ONE_WAITING_MAX && items;
  }, 'every link to be told on the devices');
  assert.equal(all.length, NOTICES_OF_ONE_WAITING_MAX + 1);
  // What is asked for behind them has its place, and leaves while jan's go one after the other.
  await ask('kim@example.org');
  const waiting = NOTICES_OF_ONE_WAITING_MAX + 1;
  await until(async () => (await figure('waiting')) === waiting, 'as many as may to wait, and the link');
  assert.equal(await figure('total{kind="notice",result="left_out"}'), 1);
  await host.restart('SIGTERM', async () => void (isDown = false));
  await mailTo('kim@example.org', 2);
  await until(() => mailsTo('jan@example.org', true).length >= NOTICES_OF_ONE_WAITING_MAX, 'notices to jan');
  // Mails to one person keep their order, so one that was kept all the same would be before this.
  assert.equal((await mine(jan, 'POST', '/email/code')).status, 202);
  await mailTo('jan@example.org', 1);
  assert.equal(mailsTo('jan@example.org', true).length, NOTICES_OF_ONE_WAITING_MAX);
  await until(async () => (await figure('waiting')) === 0, 'nothing to wait');
  assert.equal(await figure('total{kind="notice",result="sent"}'), NOTICES_OF_ONE_WAITING_MAX);
  assert.deepEqual(
    [await figure('total{kind="reset",result="sent"}'), await figure('total{kind="code",result="sent"}')],
    [1, 1],
  );
});

test('a mail about an account that a mail server refuses is counted, and said in the log without its address', async () => {
  const lou = await host.server.person('lou');
  await give('lou', { email: 'lou@example.org' });
  isRefused = true;
  assert.equal((await mine(lou, 'POST', '/email/code')).status, 202);
  await until(async () => (await figure('total{kind="code",result="failed"}')) === 1, 'the failure');
  isRefused = false;
  const line = host.server.output.find((one) => one.includes('a mail about an account was not taken')) ?? '';
  assert.match(line, /"kind":"code"/);
  assert.doesNotMatch(line, /example\.org/);
});

test('CRD-12 one address asks for so many links a minute, whoever they are for', async () => {
  let [tries, last] = [0, await ask('none-0@example.org')];
  for (; last.status === 202 && tries < 10 * REQUESTS_PER_MINUTE; tries += 1)
    last = await ask(`none-${tries}@example.org`);
  assertRefused(last, 429, 'rate_limited');
  assert.ok(Number(last.headers.get('retry-after')) > 0);
  const settled = mails.mails.filter(({ to }) => to.some((one) => one.startsWith('none-')));
  assert.deepEqual(settled, []);
});
