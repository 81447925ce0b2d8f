/**
 * The console as a person meets it, in a real browser: from the set-up link of a new installation to a vendor token
 * that was issued, revoked, and stands in the audit trail. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { SCREENS } from '#src/web/console/screen-list.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { buildApp } from '#test/web/built-app.ts';
import { CHROMIUM, People, WIDE } from '#test/web/browser.ts';
import { ConsolePage } from './console-page.ts';
import { startProvider } from './refusing-provider.ts';

/** The narrowest that the console promises to fit. */
const NARROWEST = { width: 360, height: 740 };
const PASSWORD = 'a long enough password';
const STEP_MILLIS = 30_000;

/** What the page of an app does to make a passkey and to sign in by it: nothing of Parley's is in it. */
function passkeyOfApp(name: string, token: string): string {
  return `(async () => {
    const call = async (path, body, token) => {
      const headers = { 'content-type': 'application/json', ...(token ? { authorization: 'Bearer ' + token } : {}) };
      const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: answer.status, body: await answer.json() };
    };
    const own = '/v1/me/second-factors/passkeys';
    const token = ${JSON.stringify(token)};
    const made = (await call(own + '/options', {}, token)).body;
    const creation = PublicKeyCredential.parseCreationOptionsFromJSON(made);
    const created = await navigator.credentials.create({ publicKey: creation });
    const added = await call(own, { name: ${JSON.stringify(name)}, passkey: created.toJSON() }, token);
    const asked = (await call('/v1/auth/passkey/options', {})).body;
    const request = PublicKeyCredential.parseRequestOptionsFromJSON(asked);
    const given = await navigator.credentials.get({ publicKey: request });
    const entered = await call('/v1/auth/passkey', { passkey: given.toJSON() });
    return { added: added.status, entered: entered.body.user ?? JSON.stringify(entered) };
  })()`;
}

describe('the console in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let server: TestServer;
  let people: People;
  let browser: ConsolePage;
  let totp: TOTP;
  let token: string;
  let recoveryCodes: string[];
  before(async () => {
    buildApp();
    // The provider of the last test is on this machine.
    server = await startServer({ environment: { PARLEY_ALLOW_PRIVATE_TARGETS: 'localhost' } });
    people = await People.start();
    browser = new ConsolePage(await people.person());
  });
  after(async () => {
    await people?.stop();
    await server?.stop();
  });

  /** Sets up the second factor of somebody who signed in for the first time. */
  const setUpFactor = async (): Promise<void> => {
    await browser.sees('Or type the secret by hand:');
    const secret = await browser.secret();
    await browser.fill('Code', new TOTP({ secret: Secret.fromBase32(secret) }).generate());
    await browser.press('Confirm');
    await browser.press('I have kept it');
  };

  /** The next code of the app is half a minute away; a recovery code is good at once. */
  const signInAgain = async () => {
    await browser.fill('Username', 'root');
    await browser.fill('Password', PASSWORD);
    await browser.press('Sign in');
    await browser.press('Use a recovery code');
    await browser.fill('Recovery code', recoveryCodes.shift() as string);
    await browser.press('Sign in');
    await browser.sees('root · Owner');
  };

  /** Gives the second factor again where the console asks for it; what was asked for is done then. */
  const stepUp = async () => {
    await browser.sees('Confirm that it is you');
    await browser.answer('Use a recovery code');
    await browser.fill('Recovery code', recoveryCodes.shift() as string);
    await browser.answer('Confirm');
  };

  test('CRD-07 the set-up link makes the owner', async () => {
    const link = await until(() => /http:\S+\/v1\/enroll\/\S+/.exec(server.output.join('\n'))?.[0], 'the set-up link');
    await browser.page.goto(link);
    await browser.fill('Username', 'root');
    await browser.fill('Password', PASSWORD);
    await browser.fill('Password again', PASSWORD);
    await browser.press('Create the account');
    await browser.sees('Welcome, root.');
  });

  test('TFA-01 the first sign-in sets up a second factor, and opens the console after it', async () => {
    await browser.page.goto(`${server.coordinator}/console/`);
    await browser.fill('Username', 'root');
    await browser.fill('Password', PASSWORD);
    await browser.press('Sign in');
    await browser.sees('Or type the secret by hand:');
    const secret = await browser.secret();
    const isDrawn =
      "(() => { const { complete, naturalWidth } = document.querySelector('.totp img'); return complete && naturalWidth > 0; })()";
    await until(async () => await browser.read<boolean>(isDrawn), 'the QR code to be drawn');
    totp = new TOTP({ secret: Secret.fromBase32(secret) });
    await browser.fill('Code', totp.generate());
    await browser.press('Confirm');
    await browser.sees('Recovery codes');
    const codes = (await browser.secret()).split('\n');
    assert.equal(codes.length, 10);
    recoveryCodes = codes;
    await browser.press('I have kept it');
    await browser.sees('Open sockets');
  });

  test('DIR-01 POL-01 people are invited, and groups and rules are made and deleted', async () => {
    await browser.press('People', 'nav');
    await browser.press('Invite', 'main');
    await browser.fill('Phone', 'not a number');
    await browser.press('Make the link');
    await browser.sees('A field is missing or has a value that is not allowed.');
    await browser.fill('Phone', '');
    await browser.press('Make the link');
    await browser.sees('The link works once.');
    assert.match(await browser.secret(), /\/v1\/enroll\/inv_/);
    await browser.answer('I have kept it');
    // The list is searched, ordered and paged by the server.
    await browser.fill('Find in the list', 'nobody at all');
    await browser.sees('Nobody is here yet.');
    await browser.fill('Find in the list', 'ROO');
    await browser.fill('Order', 'name');
    assert.match(await browser.read('location.hash'), /text=ROO&sort=name/);
    await browser.press('root', 'tbody');
    await browser.sees('Profile');
    await browser.press('Groups', 'nav');
    await browser.fill('Name', 'Second line');
    await browser.fill('Members', 'root');
    await browser.press('Create', 'main');
    await browser.sees('Take people in');
    await browser.press('Access policies', 'nav');
    await browser.fill('Effect', 'deny');
    await browser.fill('Whom', 'guests');
    await browser.press('Create', 'main');
    await browser.press('Delete', 'table');
    await browser.sees('Delete rule 1? It is out of force at once.');
    await browser.answer('Delete');
    await browser.sees('No rules.');
  });

  test('DIR-01 people are invited by a file, several are blocked at once, and Ctrl+K leads anywhere', async () => {
    const { page } = browser;
    await browser.press('People', 'nav');
    await browser.press('Invite by a file', 'main');
    const lines = ['display_name,email', '"Doe, Jane",jane@example.org', 'Nobody,no address', 'Twin,jane@example.org'];
    const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from([...lines, '=1+1,'].join('\r\n')) };
    await page.locator('[role=dialog] input[type=file]').setInputFiles(file);
    await browser.sees('This is no e-mail address.');
    await browser.sees('The address or number stands in the file twice.');
    await browser.answer('Invite: 2');
    await browser.sees('Download the links');
    const [download] = await Promise.all([page.waitForEvent('download'), browser.answer('Download the links')]);
    const links = (await text(await download.createReadStream())).split('\r\n');
    assert.match(links[1] ?? '', /^"Doe, Jane","jane@example\.org","","","http\S+\/v1\/enroll\/inv_\w+",""$/);
    assert.match(links[2] ?? '', /^"Nobody","no address","","","","This is no e-mail address\."$/);
    assert.match(links[4] ?? '', /^"'=1\+1","","","","http/, 'a spreadsheet takes no name for a formula');
    await browser.answer('Close');

    const [cleo, dora] = [await server.person('cleo'), await server.person('dora')];
    for (const { username } of [cleo, dora]) {
      await browser.fill('Find in the list', username);
      await browser.tick(`Choose ${username}`);
      await browser.press('Block', '.bulk');
      await browser.sees(`Block ${username}? All their sessions end`);
      await browser.answer(username === 'cleo' ? 'Block' : 'Cancel');
    }
    assert.equal((await server.api(dora, 'GET', '/v1/inbox')).status, 200);
    assert.equal((await server.api(cleo, 'GET', '/v1/inbox')).status, 401);

    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Type a few letters').fill('erasu');
    await page.keyboard.press('Enter');
    await browser.sees('Nobody was erased.');
    assert.equal(await browser.read('location.hash'), '#/erasures');
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Type a few letters').fill('dor');
    await page.getByRole('option', { name: 'dora' }).click();
    await page.getByRole('heading', { name: 'dora' }).waitFor();
  });

  test('CRD-04 NOD-01 bots and join commands are made, and their secrets shown once', async () => {
    await browser.press('Bots', 'nav');
    await browser.fill('Username', 'reader');
    await browser.fill('Name', 'Reader');
    await browser.press('Create', 'main');
    await browser.sees('It is shown once.');
    assert.match(await browser.secret(), /^bot_/);
    await browser.answer('I have kept it');
    await browser.press('Nodes', 'nav');
    await browser.fill('Name', 'mail-1');
    await browser.page.locator('input[value=mail]').check();
    await browser.press('Make the join command');
    await browser.sees('npx parley node join --coordinator');
    await browser.answer('I have kept it');
    await browser.press('mail-1', 'table');
    await browser.sees('It has not reported its health.');
    await browser.fill('Unit', 'postfix.service');
    await browser.press('Ask for it');
    // A host that has not joined has nobody who could answer.
    await browser.sees('There is no such node.');
  });

  test('BOT-01 webhooks, subscriptions, legal holds and erasures are made in the console', async () => {
    const ada = await server.person('ada');
    const room = await server.api<{ id: string }>(ada, 'POST', '/v1/conversations', {
      kind: 'room',
      title: `<b>R</b>${'\u0301'.repeat(50)}`,
      participants: [],
    });
    assert.equal(room.status, 201, room.text);
    const { id } = room.body;
    await browser.press('Conversations', 'nav');
    const title = browser.page.locator(`main a[href="#/conversations/${id}"]`);
    assert.equal(await title.textContent(), `<b>R</b>${'\u0301'.repeat(4)}`, 'marks do not pile up, and text is text');
    await browser.press('Webhooks', 'nav');
    await browser.sees('No room has a webhook.');
    await browser.fill('Conversation', id);
    await browser.fill('Name', 'Builds');
    await browser.press('Create', 'main');
    await browser.sees('It is shown once.');
    const path = await browser.secret();
    const hook = async () =>
      (
        await fetch(`${server.messaging}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"text":"built"}',
        })
      ).status;
    assert.equal(await hook(), 201);
    await browser.press('I have kept it');
    await browser.press('Revoke', 'table');
    await browser.sees('What it posted stays.');
    await browser.answer('Revoke');
    await browser.sees('No room has a webhook.');
    assert.equal(await hook(), 404);

    await browser.press('Bots', 'nav');
    await browser.press('bot.reader', 'table');
    await browser.sees('It offers no commands.');
    await browser.fill('URL', 'http://127.0.0.1:9/hook');
    await browser.page.locator('input[value=command]').check();
    await browser.press('Create', 'main');
    await browser.sees('The server may not connect to a private address.');
    await browser.fill('URL', 'https://hooks.example.org/parley');
    await browser.press('Create', 'main');
    await browser.sees('It signs what is sent.');
    await browser.answer('I have kept it');
    await browser.sees('https://hooks.example.org/parley');
    await browser.press('Delete', 'table');
    await browser.answer('Delete');
    await browser.sees('It is sent no events.');

    await browser.press('Legal holds', 'nav');
    await browser.fill('Conversation', id);
    await browser.press('Begin the hold');
    await stepUp();
    await browser.sees('user:root');
    const held = await server.api(ada, 'DELETE', `/v1/conversations/${id}/messages?before_seq=2`);
    assert.deepEqual([held.status, held.body['code']], [409, 'conversation_held']);
    await browser.press('End the hold', 'table');
    await browser.answer('End the hold');
    await browser.sees('No conversation is on hold.');
    await browser.press('Hold everything');
    await browser.press('End the hold over everything');
    await browser.answer('End the hold over everything');
    await browser.sees('Hold everything');

    await browser.press('Settings', 'nav');
    await browser.press('How long messages are kept', 'main');
    await browser.fill('Messages are kept for', '30');
    await browser.press('Save', 'main');
    await browser.sees('0 messages in 0 conversations would go');
    await browser.fill('The shorter time', '30');
    await browser.answer('Keep messages for a shorter time');
    await browser.sees('A field is missing or has a value that is not allowed.');
    await browser.fill('The shorter time', '30 days');
    await browser.answer('Keep messages for a shorter time');
    await browser.sees('A shorter time waits');
    await browser.sees(' left)');
    await browser.press('Take it back', 'main');
    await browser.seesNot('A shorter time waits');

    await browser.press('Erasures', 'nav');
    await browser.fill('Username', 'ada');
    await browser.press('Erase', 'main');
    await browser.sees('Erase ada? It cannot be undone.');
    await browser.fill('Confirmation', 'adam');
    await browser.answer('Erase');
    await browser.sees('That is something else.');
    await browser.fill('Confirmation', 'ada');
    await browser.answer('Erase');
    await until(async () => {
      await browser.press('Refresh');
      return await browser.read<boolean>("document.querySelector('main table .badge.good')?.textContent === 'done'");
    }, 'the erasure to be done');
    assert.equal((await server.api(ada, 'GET', '/v1/inbox')).status, 401);
  });

  test('encryption at rest is turned on, locked and unlocked by the key that was kept', async () => {
    await browser.press('Encryption at rest', 'nav');
    await browser.press('Make a master key');
    await browser.sees('It is shown once and kept nowhere.');
    const key = await browser.secret();
    await browser.answer('I have kept it');
    await browser.fill('Master key', key);
    await browser.press('Turn on');
    await browser.sees('Keep it on paper, away from this server.');
    await browser.press('I have kept it');
    await browser.press('Lock', 'main');
    await browser.answer('Lock');
    await browser.sees('Unlock');
    await browser.fill('Master key', `${key.startsWith('0') ? '1' : '0'}${key.slice(1)}`);
    await browser.press('Unlock');
    await browser.sees('This is not the master key.');
    await browser.fill('Master key', key);
    await browser.press('Unlock');
    await browser.press('Change the data key');
    await browser.sees('Done.');
  });

  test('CON-02 every screen of the menu loads, wide and narrow, for an owner', async () => {
    assert.deepEqual(await browser.walk(WIDE, NARROWEST), { count: SCREENS.length, faults: [] });
    await browser.page.setViewportSize(WIDE);
  });

  test('CON-01 a sign-in with password and code leads back to the screen that somebody was on', async () => {
    await browser.press('Vendor tokens', 'nav');
    await browser.sees('No vendor token was issued.');
    // The session ends elsewhere while its page is open.
    await browser.read(`fetch('/admin/api/logout', {
      method: 'POST',
      headers: { 'x-admin-token': JSON.parse(sessionStorage.getItem('parley.console.credential')).token },
    })`);
    await browser.press('Bots', 'nav');
    await browser.sees('Sign in to the console');
    await browser.read("location.hash = '#/vendor-tokens'");
    await browser.fill('Username', 'root');
    await browser.fill('Password', PASSWORD);
    await browser.press('Sign in');
    await browser.sees('Six digits from your authenticator app.');
    await browser.fill('Code', '000000');
    await browser.press('Sign in');
    await browser.sees('The code is wrong or was used already.');
    await browser.fill('Code', totp.generate({ timestamp: Date.now() + STEP_MILLIS }));
    await browser.press('Sign in');
    await browser.sees('No vendor token was issued.');
    assert.equal(await browser.read('location.hash'), '#/vendor-tokens');
  });

  test('TFA-01 a passkey is added, signs in alone, beside a password, and to an app', async () => {
    // Passkeys are bound to a name, which an address is none.
    const named = `http://localhost:${new URL(server.coordinator).port}`;
    const pullOut = await browser.plugAuthenticator();
    await browser.page.goto(`${named}/console/`);
    await signInAgain();
    await browser.press('My second factor', 'nav');
    await browser.sees('You have no passkey.');
    await browser.fill('Name of the passkey', 'Laptop');
    await browser.press('Add a passkey');
    await stepUp();
    await browser.sees('Laptop');
    await browser.press('Sign out');
    await browser.press('Use a passkey');
    await browser.sees('root · Owner');
    await browser.press('Sign out');
    await browser.fill('Username', 'root');
    await browser.fill('Password', PASSWORD);
    await browser.press('Sign in');
    await browser.sees('Six digits from your authenticator app.');
    await browser.press('Use a passkey');
    await browser.sees('root · Owner');
    await browser.press('My second factor', 'nav');
    await browser.press('Take it away', 'table');
    await browser.sees('Confirm that it is you');
    await browser.answer('Use a passkey');
    await browser.sees('You have no passkey.');
    await browser.press('Sign out');
    // A browser asks a person which of two passkeys it is to be, and a test has no finger: this one was taken away above.
    await pullOut();
    await browser.plugAuthenticator();
    assert.deepEqual(await browser.read(passkeyOfApp('bea', (await server.person('bea')).session.token)), {
      added: 201,
      entered: 'bea',
    });
    await browser.page.goto(`${server.coordinator}/console/#/vendor-tokens`);
    await browser.sees('No vendor token was issued.');
  });

  test('VND-02 VND-04 VND-17 an owner issues a vendor token, with the second factor again, and it is shown once', async () => {
    await browser.fill('Name', 'second line');
    await browser.fill('Purpose', 'ticket 4711');
    await browser.fill('Term', '730');
    await browser.press('Issue a token');
    await stepUp();
    await browser.sees('It is shown once.');
    token = await browser.secret();
    assert.match(token, /^svc_vst_[0-9a-z]{22}_[\w-]{43}$/);
    await browser.press('I have kept it');
    await browser.sees('ticket 4711');
    assert.equal(await browser.read(`document.documentElement.outerHTML.includes(${JSON.stringify(token)})`), false);
  });

  test('VND-07 the token reads the console de-personalised, and is offered nothing that writes', async () => {
    await browser.press('Sign out');
    await browser.press('Use a vendor token');
    await browser.fill('Vendor token', token);
    await browser.press('Sign in');
    await browser.sees('De-personalised: a vendor token reads this.');
    const menu = await browser.read<string[]>("[...document.querySelectorAll('nav a')].map((one) => one.textContent)");
    assert.ok(menu.includes('Audit trail'));
    const closed = ['Vendor tokens', 'Second factors', 'Break-glass account', 'Recovery codes of guests', 'Encryption'];
    // Under a banner that says that names are pseudonyms nobody stands by name.
    closed.push(
      'Conversations',
      'People',
      'Groups',
      'Guests',
      'Access policies',
      'Meetings',
      'Bots',
      'Rooms and resources',
    );
    assert.deepEqual(
      menu.filter((name) => closed.includes(name)),
      [],
    );
    assert.deepEqual((await browser.walk(WIDE)).faults, []);
    await browser.press('Audit trail', 'nav');
    await browser.sees('vendor_token.used');
    assert.doesNotMatch(
      await browser.read<string>("document.querySelector('main').textContent"),
      /\broot\b|How long the trail is kept/,
    );
    await browser.read("location.hash = '#/people'");
    await browser.sees('“People” is closed to vendor tokens');
    await browser.press('Closed to vendor tokens', 'nav');
    const explained = await browser.page.locator('nav details li').allTextContents();
    assert.deepEqual(
      closed.filter((name) => name !== 'Encryption' && !explained.includes(name)),
      [],
    );
    await browser.press('Audit trail', 'nav');
    await browser.sees('vendor_token.used');
    await browser.press('Sign out');
  });

  test('VND-05 VND-13 a revoked token is in the list and in the audit trail, and opens nothing', async () => {
    await signInAgain();
    await browser.press('Vendor tokens', 'nav');
    await browser.press('Revoke', 'table');
    await browser.sees('Its access ends at once.');
    await browser.answer('Revoke');
    await stepUp();
    await browser.sees('“second line” was revoked.');
    await browser.press('Audit trail', 'nav');
    await browser.sees('vendor_token.issued');
    await browser.sees('vendor_token.revoked');
    await browser.press('Sign out');
    await browser.press('Use a vendor token');
    await browser.fill('Vendor token', token);
    await browser.press('Sign in');
    await browser.sees('The vendor token was revoked.');
    await browser.press('Back');
  });

  test('VND-17 owners set how long the audit trail is kept, and a viewer reads it', async () => {
    const kept = "document.querySelector('main section dl dd')?.textContent";
    const isKept = async (shown: string) =>
      await until(async () => (await browser.read<string | undefined>(kept)) === shown, `the days to be ${shown}`);
    await signInAgain();
    await browser.press('Audit trail', 'nav');
    await isKept('for ever');
    await browser.fill('Days kept', '89');
    await browser.press('Save', 'main');
    await browser.sees('Keep entries for 89 days?');
    await browser.answer('Save');
    await stepUp();
    await browser.sees('A field is missing or has a value that is not allowed.');
    await browser.fill('Days kept', '90');
    await browser.press('Save', 'main');
    await browser.sees('Keep entries for 90 days?');
    await browser.answer('Save');
    await isKept('90');
    // What is no number does not become null, which is for ever; and what is longer takes nothing, so it is not asked about.
    await browser.fill('Days kept', 'ten');
    await browser.press('Save', 'main');
    await browser.fill('Days kept', '91');
    await browser.press('Save', 'main');
    await isKept('91');
    await browser.press('Show', 'main');
    const change = '{"before":90,"after":91}';
    await browser.page.locator('details.entry', { hasText: change }).locator('summary').click();
    await browser.sees(change);
    assert.doesNotMatch(await browser.read<string>("document.querySelector('main').textContent"), /"after":null/);
    await browser.fill('Days kept', '');
    await browser.press('Save', 'main');
    await isKept('for ever');

    const { username, password } = await server.person('vic');
    const given = `fetch('/admin/api/console-roles/${username}', {
      method: 'PUT',
      headers: {
        'content-type': 'application/json',
        'x-admin-token': JSON.parse(sessionStorage.getItem('parley.console.credential')).token,
      },
      body: '{"role":"viewer"}',
    }).then(({ ok }) => ok)`;
    assert.equal(await browser.read(given), true);
    await browser.press('Sign out');
    await browser.fill('Username', username);
    await browser.fill('Password', password);
    await browser.press('Sign in');
    await setUpFactor();
    await browser.sees('vic · Viewer');
    await browser.press('Audit trail', 'nav');
    await isKept('for ever');
    assert.equal(await browser.read("document.querySelector('main input[name=days]')"), null);
    await browser.press('Sign out');
  });

  test('TFA-02 sign-in at the provider is offered when it is set up, and leads there and back', async () => {
    const provider = await startProvider();
    try {
      await signInAgain();
      await browser.read("location.hash = '#/settings/sso'");
      await browser.fill('issuer', provider.issuer);
      await browser.fill('client id', 'parley-console');
      await browser.fill('client secret', 'a secret that is kept');
      await browser.fill('redirect uri', `${server.coordinator}/console/signed-in`);
      await browser.fill('roles', 'staff = viewer');
      await browser.press('Save');
      await stepUp();
      await browser.sees('Done.');
      await browser.sees('This secret is set');
      assert.equal(await browser.read("document.body.outerHTML.includes('a secret that is kept')"), false);
      await browser.press('Sign out');
      await browser.sees('Sign in at the provider');
      await browser.read("location.hash = '#/people'");
      await browser.press('Sign in at the provider');
      // The provider of this test refuses by sending a code that it does not take afterwards.
      await browser.sees('Signing in at the provider failed; start again.');
      assert.equal(await browser.read('location.href'), `${server.coordinator}/console/#/people`);
      const [asked] = provider.asked;
      assert.equal(asked?.get('code_challenge_method'), 'S256');
      assert.equal(asked?.get('redirect_uri'), `${server.coordinator}/console/signed-in`);
    } finally {
      provider.stop();
    }
  });

  test('the console speaks Russian when it is asked to, and remembers it', async () => {
    await browser.fill('Language', 'ru');
    await browser.sees('Вход в консоль');
    assert.equal(await browser.read('document.documentElement.lang'), 'ru');
    await browser.page.goto(`${server.coordinator}/console/`);
    await browser.sees('Имя пользователя');
  });

  test('no script failed, and the policy of the page had nothing to refuse', () => {
    assert.deepEqual(people.complaints, []);
  });
});
