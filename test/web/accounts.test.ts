/**
 * What people reach for once they have an account: a forgotten password, by mail and by its link. A mail server of the test takes what
 * the installation sends. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, test } from 'node:test';
import { APP_PASSWORDS_MAX } from '#src/protocol/sessions/app-passwords.ts';
import { mailSettings, MailServer, trusting } from '#test/mail/mail-server.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { request } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { start } from '#test/messaging/conversing.ts';
import { fieldOf, messageOf, openRow, send, signIn } from './app-page.ts';
import { assertAccessible, CHROMIUM, NARROW, People, WIDE } from './browser.ts';
import { buildApp } from './built-app.ts';

buildApp();
const ends: (() => void)[] = [];
const environment = { ...trusting({ after: (end) => ends.push(end) }), PARLEY_RATE_LIMITS: '0' };
const { console: ask, server, stop } = await startConsoleServer({ environment });
const mails = await MailServer.open({ after: (end) => after(end) });
after(async () => {
  await stop();
  ends.forEach((end) => end());
});

describe('accounts in the app in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  /** Where a page copies what it shows. */
  let withClipboard: People;

  before(async () => {
    await server.people('alice', 'bob');
    assert.equal((await ask('PATCH', '/users/alice', { email: 'alice@example.org' })).status, 200);
    people = await People.start();
    withClipboard = await People.start({ whole: true });
  });
  after(async () => {
    await people?.stop();
    await withClipboard?.stop();
  });
  afterEach(() => assert.deepEqual([...people.complaints.splice(0), ...withClipboard.complaints.splice(0)], []));

  /** The newest mail, once there are so many. */
  const mail = async (count: number): Promise<string> => {
    await until(() => mails.mails.length >= count, `${count} mails`);
    return mails.mails.at(-1)?.email.text ?? '';
  };

  test('CRD-12 without mail the sign-in page says to ask an administrator, and a guest asks for a code', async () => {
    const page = await people.person({ viewport: NARROW });
    await page.goto(server.coordinator);
    await page.getByRole('button', { name: 'Forgot your password?' }).click();
    await page.getByText('Ask an administrator of your organisation').waitFor();
    assert.equal(await page.getByLabel('Your e-mail address').count(), 0);
    await page.getByRole('button', { name: 'I am a guest here' }).click();
    await page.getByLabel('Your phone number').fill('+44 20 7946 0958');
    await page.getByRole('button', { name: 'Ask for a code' }).click();
    await page.getByText('a code is there for ten minutes').waitFor();
    await page.getByLabel('Code of twelve digits').fill('0000 0000 0000');
    await page.getByLabel('New password').fill('heron over the quiet lake');
    await assertAccessible(page, 'code of a guest');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Back to signing in' }).click();
    await page.getByLabel('Username').waitFor();
    await page.context().close();
  });

  test('CRD-12 an address is confirmed in the settings, and its link sets a forgotten password', async () => {
    assert.equal((await ask('PUT', '/settings/mail', mailSettings(mails.port))).status, 200);
    const page = await people.person();
    await signIn(server, page, 'alice');
    await page.getByRole('navigation').getByTitle('Settings').click();
    const profile = page.getByRole('region', { name: 'Profile' });
    await profile.getByText('Your e-mail address is alice@example.org.').waitFor();
    await profile.getByRole('button', { name: 'Mail me a code' }).click();
    await profile.getByText('A code is on its way to alice@example.org.').waitFor();
    const code = /^ {4}(\w{10})$/m.exec(await mail(1))?.[1] ?? '';
    await profile.getByLabel('Code from the mail').fill('wrong');
    await profile.getByRole('button', { name: 'Confirm', exact: true }).click();
    await profile.getByRole('alert').getByText('This code is wrong or over').waitFor();
    await profile.getByLabel('Code from the mail').fill(code);
    await profile.getByRole('button', { name: 'Confirm', exact: true }).click();
    await profile.getByText('You have confirmed it.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).first().click();

    await page.getByRole('button', { name: 'Forgot your password?' }).click();
    await page.getByLabel('Your e-mail address').fill('alice@example.org');
    await assertAccessible(page, 'forgotten password');
    await page.getByRole('button', { name: 'Send me a link' }).click();
    await page.getByText('a link is on its way').waitFor();
    const [link = ''] = /\S+\/v1\/password-reset\/\S+/.exec(await mail(2)) ?? [];
    await page.goto(link);
    await page.getByLabel('Password', { exact: true }).fill('heron over the quiet lake');
    await page.getByLabel('Password again').fill('heron over the quiet lake');
    await assertAccessible(page, 'page of the link');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Username').fill('alice');
    await page.getByLabel('Password', { exact: true }).fill('heron over the quiet lake');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('navigation', { name: 'Conversations' }).waitFor();
    await page.context().close();

    const russian = await people.person({ locale: 'ru-RU' });
    await russian.goto(link);
    await russian.getByRole('heading', { name: 'Новый пароль' }).waitFor();
    await russian.goto(server.coordinator);
    await russian.getByRole('button', { name: 'Забыли пароль?' }).click();
    await russian.getByRole('button', { name: 'Прислать ссылку' }).waitFor();
    await russian.context().close();
  });

  test('CRD-12 a changed password is told on the other device until it was seen', async () => {
    const [desk, phone] = [await people.person(), await people.person()];
    await signIn(server, desk, 'bob');
    await signIn(server, phone, 'bob');
    await desk.getByRole('navigation').getByTitle('Settings').click();
    const section = desk.getByRole('region', { name: 'Password' });
    await section.getByLabel('Current password').fill('password of bob');
    await section.getByLabel('New password').fill('heron over the quiet lake');
    await section.getByLabel('Sign out my other devices').uncheck();
    await section.getByRole('button', { name: 'Change the password' }).click();
    await section.getByText('The password is changed').waitFor();
    const notice = phone.getByRole('alert').filter({ hasText: 'Your password was changed' });
    await notice.waitFor();
    await assertAccessible(phone, 'a notice');
    assert.equal(await desk.getByText('Your password was changed').count(), 0);
    // A device that comes later hears of it, too.
    await phone.reload();
    const stored = phone.waitForResponse(/\/v1\/me\/security-notices\/seen$/);
    await notice.getByRole('button', { name: 'I know of it' }).click();
    await notice.waitFor({ state: 'detached' });
    assert.equal((await stored).status(), 204);
    const { token } = await server.signIn('bob', 'heron over the quiet lake');
    const { body } = await request<{ items: { kind: string; is_seen: boolean }[] }>(
      'GET',
      `${server.coordinator}/v1/me/security-notices`,
      { token },
    );
    assert.deepEqual(
      body.items.map(({ is_seen: isSeen, kind }) => [kind, isSeen]),
      [['password_changed', true]],
    );
    await phone.reload();
    await phone.getByRole('navigation', { name: 'Conversations' }).waitFor();
    assert.equal(await notice.count(), 0);
    await desk.context().close();
    await phone.context().close();
  });

  test('CRD-05 CAL-03 a calendar program gets a password of its own, signs in with what the page says, and is shut out again', async () => {
    const page = await withClipboard.person();
    const { fay } = await server.people('fay');
    await signIn(server, page, fay.username);
    await page.getByRole('navigation').getByTitle('Settings').click();
    const programs = page.getByRole('region', { name: 'Calendar programs' });
    const make = programs.getByRole('button', { name: 'Make a password' });
    await programs.getByLabel('What is it for?').fill('  ');
    assert.ok(await make.isDisabled());
    await programs.getByLabel('What is it for?').fill('My phone');
    await make.click();
    const password = await programs.getByLabel('Password for My phone').inputValue();
    const address = await programs.getByLabel('Address of the server').inputValue();
    const username = await programs.getByLabel('User name for programs').inputValue();
    assert.equal(address, `${server.calendar}/dav/`);
    await programs.getByRole('button', { name: 'Copy the password' }).click();
    await programs.getByText('Copied.').first().waitFor();
    // A program knows nothing but these three.
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    const program = async () =>
      (await fetch(address, { method: 'PROPFIND', headers: { authorization, depth: '0' } })).status;
    assert.equal(await program(), 207);
    const tabs = programs.getByRole('tablist', { name: 'How to set up a program' });
    for (const [name, words] of [
      ['iPhone, iPad, Mac', new URL(server.calendar).host],
      ['Thunderbird', 'Find Calendars'],
      ['Another program', 'never with your own'],
      ['DAVx⁵ (Android)', 'UnifiedPush'],
    ] as const) {
      await tabs.getByRole('tab', { name }).click();
      await programs.getByRole('tabpanel', { name }).getByText(words).waitFor();
    }
    for (const size of [WIDE, NARROW]) {
      await page.setViewportSize(size);
      await assertAccessible(page, `calendar programs, ${size.width}`);
    }
    // It is shown once; that it was used stands in the list.
    await page.reload();
    const list = programs.getByRole('list', { name: 'Passwords of programs' });
    await list
      .getByRole('listitem')
      .filter({ hasText: 'My phone' })
      .getByText(/^Last used/)
      .waitFor();
    assert.equal(await programs.getByLabel('Password for My phone').count(), 0);
    for (let count = 1; count < APP_PASSWORDS_MAX; count += 1) {
      const form = { token: fay.session.token, body: { name: `other ${count}` } };
      assert.equal((await request('POST', `${server.coordinator}/v1/app-passwords`, form)).status, 201);
    }
    await programs.getByLabel('What is it for?').fill('One more');
    await make.click();
    await programs.getByRole('alert').waitFor();
    // What was typed is there still.
    assert.equal(await programs.getByLabel('What is it for?').inputValue(), 'One more');
    await list.getByRole('listitem').filter({ hasText: 'My phone' }).getByRole('button', { name: 'Revoke' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke the password for My phone?' });
    await assertAccessible(page, 'revoking a password');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(await program(), 207);
    await list.getByRole('listitem').filter({ hasText: 'My phone' }).getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await list.getByText('My phone').waitFor({ state: 'detached' });
    assert.equal(await program(), 401);
    await make.click();
    await programs.getByLabel('Password for One more').waitFor();
    await page.context().close();
  });

  test('what the installation knows of a person is a file among their downloads, and none where it breaks off', async () => {
    const page = await people.person();
    const { gus } = await server.people('gus');
    const { id } = await start(server, gus, 'room', [], 'Notes');
    await signIn(server, page, gus.username);
    await openRow(page, 'Notes');
    await send(page, 'Notes', 'a word of mine');
    await page.getByRole('navigation').getByTitle('Settings').click();
    const own = page.getByRole('region', { name: 'Your data' });
    const coming = page.waitForEvent('download');
    await own.getByRole('button', { name: 'Download my data' }).click();
    const download = await coming;
    assert.match(download.suggestedFilename(), /^parley-gus-\d{4}-\d\d-\d\d\.ndjson$/);
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\n');
    const parts = lines.map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>);
    assert.ok(parts.some(({ message }) => message?.['body'] === 'a word of mine'));
    assert.ok(parts.some(({ conversation }) => conversation?.['id'] === id));
    assert.ok(parts.at(-1)?.['end'] !== undefined);
    await own.getByRole('status').getByText('The file is with your downloads.').waitFor();
    await page.route('**/v1/me/export', async (route) => {
      const reply = await route.fetch();
      const body = (await reply.text()).split('\n').slice(0, -2).join('\n');
      await route.fulfill({ response: reply, body });
    });
    let downloads = 0;
    page.on('download', () => (downloads += 1));
    await own.getByRole('button', { name: 'Download my data' }).click();
    await own.getByRole('alert').getByText('It broke off before the end').waitFor();
    assert.equal(downloads, 0);
    await page.context().close();
  });

  test('GST-01 a guest is invited into a room, comes in by the link, is seen with their term, and is shown out again', async () => {
    const rule = async (values: object) => assert.equal((await ask('PUT', '/settings/guests', values)).status, 200);
    const { cecil, dora } = await server.people('cecil', 'dora');
    await start(server, cecil, 'room', ['dora'], 'Quay');
    const page = await withClipboard.person();
    await signIn(server, page, 'cecil');
    await openRow(page, 'Quay');
    await page.getByRole('button', { name: 'People', exact: true }).click();
    const beside = page.getByRole('complementary', { name: 'People' });
    await beside.getByRole('button', { name: 'Add people' }).waitFor();
    // Nothing is offered that the installation does not let: it comes and goes with the setting.
    assert.equal(await beside.getByRole('button', { name: 'Invite a guest' }).count(), 0);
    await rule({ everybody: true, term_days: 30, per_person: 2 });
    await beside.getByRole('button', { name: 'Invite a guest' }).click();
    const form = beside.getByRole('form', { name: 'Invite a guest' });
    const make = form.getByRole('button', { name: 'Make a link for the guest' });
    await form.getByLabel('Phone number of the guest').fill('0161 496 0000');
    await make.click();
    await form.getByText('A number begins with a plus sign').waitFor();
    await form.getByLabel('Phone number of the guest').fill('+44 (161) 496-0000');
    await form.getByLabel('Name of the guest').fill('Gerda');
    await form.getByLabel('Stays until').fill(`${new Date().getFullYear() + 2}-01-01`);
    await make.click();
    await form.getByText('That day is past, or further away').waitFor();
    await assertAccessible(page, 'form for a guest');
    const soon = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
    await form.getByLabel('Stays until').fill(soon);
    await make.click();
    const link = await beside.getByLabel('Link for the guest').inputValue();
    await beside.getByRole('button', { name: 'Copy the link' }).click();
    await beside.getByText('Copied.').waitFor();
    await beside.getByRole('list', { name: 'Invited guests' }).getByText('Gerda').waitFor();
    await assertAccessible(page, 'link for a guest');

    // A second browser, which knows nothing but the link.
    const guest = await people.person({ viewport: NARROW });
    await guest.goto(link);
    await guest.getByLabel('Username').fill('gerda');
    await guest.getByLabel('Password', { exact: true }).fill('password of gerda');
    await guest.getByLabel('Password again').fill('password of gerda');
    await guest.getByRole('button', { name: 'Create the account' }).click();
    await guest.getByRole('link', { name: 'Go on to the app' }).click();
    await guest.getByLabel('Password', { exact: true }).fill('password of gerda');
    await guest.keyboard.press('Enter');
    await fieldOf(guest, 'Quay').waitFor();
    await send(guest, 'Quay', 'Here I am');
    await messageOf(page, 'Here I am').waitFor();
    const row = beside.getByRole('list', { name: 'People' }).getByRole('listitem').filter({ hasText: 'gerda' });
    await row.getByText('guest', { exact: true }).waitFor();
    await row.getByText(/^Stays until/).waitFor();
    await until(
      async () => (await beside.getByRole('list', { name: 'Invited guests' }).count()) === 0,
      'nobody to be waited for',
    );
    // A member who invited nobody sees a guest as one, and neither the term nor its end.
    const other = await people.person();
    await signIn(server, other, dora.username);
    await openRow(other, 'Quay');
    await other.getByRole('button', { name: 'People', exact: true }).click();
    const seen = other.getByRole('complementary').getByRole('listitem').filter({ hasText: 'gerda' });
    await seen.getByText('guest', { exact: true }).waitFor();
    assert.equal(await seen.getByText(/Stays until/).count(), 0);
    await other.context().close();

    // Refusals are words: a number that a guest has, one guest too many, and a right that is gone.
    const inviteAgain = async (phone: string) => {
      await form.getByLabel('Phone number of the guest').fill(phone);
      await make.click();
    };
    await beside.getByRole('button', { name: 'Invite another guest' }).click();
    await inviteAgain('+441614960000');
    await form.getByRole('alert').getByText('A guest with this phone number exists already.').waitFor();
    await inviteAgain('+441614960001');
    await beside.getByRole('button', { name: 'Invite another guest' }).click();
    await inviteAgain('+441614960002');
    await form.getByRole('alert').getByText('You have as many guests as you may').waitFor();
    await beside.getByRole('button', { name: 'Take back the invitation of +441614960001' }).click();
    await until(
      async () => (await beside.getByRole('list', { name: 'Invited guests' }).count()) === 0,
      'the invitation to be taken back',
    );

    await row.getByRole('button', { name: 'What to do with' }).click();
    await page.getByRole('menuitem', { name: 'End the stay' }).click();
    const question = page.getByRole('dialog');
    await question.getByText('They are signed out now').waitFor();
    // The menu that led here goes out of sight by and by.
    await page.getByRole('menu').waitFor({ state: 'hidden' });
    await assertAccessible(page, 'end of a stay');
    await question.getByRole('button', { name: 'End the stay' }).click();
    await guest.getByLabel('Username').waitFor();
    await rule({ everybody: false });
    await until(
      async () => (await beside.getByRole('button', { name: 'Invite a guest' }).count()) === 0,
      'the offer to go with the right',
    );
    await guest.context().close();
    await page.context().close();
  });
});
