/**
 * Every way into the app but the plain password: codes, recovery codes, passkeys of a virtual authenticator, a real OpenID provider;
 * and what somebody does who has to have a second factor. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import { APP_CLIENT_ID, CLIENT_SECRET } from '#test/coordinator/identity-provider.ts';
import { shareSsoServer } from '#test/security/sso-server.ts';
import { assertAccessible, CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

/** How long a code of an authenticator app holds. */
const STEP_MILLIS = 30_000;

buildApp();
const site = await shareSsoServer({ PARLEY_RATE_LIMITS: '0' }, ['/v1/auth/sso/office/callback']);
const { server } = site;
/** The one host name of this machine under which browsers keep passkeys without TLS. */
const NAMED = server.coordinator.replace('127.0.0.1', 'localhost');

describe('the ways into the app in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let page: Page;
  let secret = '';
  let codes: string[] = [];

  before(async () => {
    await server.people('alice', 'bob', 'carol');
    people = await People.start();
    page = await people.person();
    const authenticator = await page.context().newCDPSession(page);
    await authenticator.send('WebAuthn.enable');
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    } as const;
    await authenticator.send('WebAuthn.addVirtualAuthenticator', { options });
  });
  after(async () => {
    await people?.stop();
  });

  afterEach(() => assert.deepEqual(people.complaints.splice(0), []));

  const button = (within: Page | Locator, name: string) => within.getByRole('button', { name, exact: true });
  const list = (on: Page) => on.getByRole('navigation', { name: 'Conversations' });
  const password = async (on: Page, username: string, at = NAMED) => {
    await on.goto(at);
    await on.getByLabel('Username').fill(username);
    await on.getByLabel('Password', { exact: true }).fill(`password of ${username}`);
    await button(on, 'Sign in').click();
  };
  const settings = async (on: Page) => {
    await on.getByRole('navigation').getByTitle('Settings').click();
    const section = on.getByRole('region', { name: 'Second factor' });
    await section.getByRole('button').first().waitFor();
    return section;
  };
  const signOut = async (on: Page) => {
    await button(on, 'Sign out').first().click();
    await on.getByLabel('Username').waitFor();
  };
  const setRule = async (form: object) => {
    const answer = await site.ask('owner', 'PUT', '/settings/second-factors', form);
    assert.equal(answer.status, 200, answer.text);
  };
  /** Sets an app up in a section that shows what there is; answers its key and the recovery codes. */
  const setUpApp = async (on: Page, section: Page | Locator) => {
    await button(section, 'Set up an authenticator app').click();
    const key = await section.getByLabel('Or type this key into the app').inputValue();
    await section.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    await assertAccessible(on, 'setting up');
    await section.getByLabel('Code', { exact: true }).fill(codeAt(key, Date.now()));
    await button(section, 'Put in force').click();
    const kept = section.getByRole('group', { name: 'Your recovery codes' }).locator('code');
    await kept.first().waitFor();
    await assertAccessible(on, 'recovery codes');
    const shown = await kept.allTextContents();
    await button(section, 'I have kept them').click();
    return { key, shown };
  };

  test('TFA-01 an app is set up in the settings, and signing in asks for its code or a recovery code', async () => {
    await password(page, 'alice');
    await list(page).waitFor();
    const section = await settings(page);
    ({ key: secret, shown: codes } = await setUpApp(page, section));
    assert.equal(codes.length, 10);
    await section.getByText('10 recovery codes left').waitFor();
    await signOut(page);

    await password(page, 'alice');
    await page.getByLabel('Code', { exact: true }).waitFor();
    await assertAccessible(page, 'second factor');
    await page.getByLabel('Code', { exact: true }).fill('000 000');
    await button(page, 'Continue').click();
    await page.getByRole('alert').getByText('The code is wrong or was used already.').waitFor();
    // The code of the next step: that of this one was used above, perhaps, and each is good once.
    await page.getByLabel('Code', { exact: true }).fill(codeAt(secret, Date.now() + STEP_MILLIS));
    await button(page, 'Continue').click();
    await list(page).waitFor();
    await settings(page);
    await signOut(page);

    await password(page, 'alice');
    await button(page, 'Use a recovery code').click();
    await page.getByLabel('Recovery code').fill(codes[0] ?? '');
    await button(page, 'Continue').click();
    await list(page).waitFor();
  });

  test('TFA-01 a passkey is added after a proof and signs in alone; with it the app is taken away', async () => {
    const section = await settings(page);
    await section.getByText('9 recovery codes left').waitFor();
    await button(section, 'Add a passkey').click();
    await button(section, 'Use a recovery code').click();
    await section.getByLabel('Recovery code').fill(codes[1] ?? '');
    await button(section, 'Continue').click();
    await section.getByLabel('Name of the passkey').fill('Desk');
    await button(section, 'Put in force').click();
    await section.getByText('The second factor is in force.').waitFor();
    await section.getByText('Without a password').waitFor();
    await assertAccessible(page, 'second factors');
    await signOut(page);

    await button(page, 'Sign in with a passkey').click();
    await list(page).waitFor();
    const again = await settings(page);
    await button(again, 'Remove Authenticator app').click();
    await button(again, 'Use a passkey').click();
    await button(again, 'Use the passkey').click();
    await again.getByText('The second factor is removed.').waitFor();
    assert.equal(await button(again, 'Remove Authenticator app').count(), 0);
    await signOut(page);

    // Beside the password the passkey is what is asked for.
    await password(page, 'alice');
    await button(page, 'Use the passkey').click();
    await list(page).waitFor();
  });

  test('TFA-01 whoever has to have a second factor is told from when on, and then sets one up before anything else', async () => {
    await setRule({ everybody: true, grace_days: 3 });
    const bob = await people.person();
    await password(bob, 'bob');
    await bob
      .getByRole('status')
      .getByText(/^From .+ on, this installation asks for a second factor\./)
      .waitFor();
    await list(bob).waitFor();
    await assertAccessible(bob, 'days of grace');
    assert.ok(
      await bob.evaluate<boolean>('document.documentElement.scrollHeight <= innerHeight'),
      'nothing is pushed out',
    );
    await bob.getByRole('link', { name: 'Set one up' }).click();
    const section = bob.getByRole('region', { name: 'Second factor' });
    await setUpApp(bob, section);
    await bob.getByText('this installation asks for a second factor').waitFor({ state: 'detached' });
    await bob.context().close();

    await setRule({ grace_days: null });
    const carol = await people.person();
    await password(carol, 'carol');
    await carol.getByRole('heading', { name: 'Set up a second factor' }).waitFor();
    await assertAccessible(carol, 'has to set up');
    // It holds over a reload, too.
    await carol.reload();
    await carol.getByRole('heading', { name: 'Set up a second factor' }).waitFor();
    await setUpApp(carol, carol);
    await list(carol).waitFor();
    await carol.context().close();
    await setRule({ everybody: null });
  });

  test('CRD-10 a provider signs in whom it knows, and one who turns back reads that nothing came of it', async () => {
    const office = {
      name: 'Work',
      issuer: site.identity.issuer,
      client_id: APP_CLIENT_ID,
      client_secret: CLIENT_SECRET,
      creates_people: true,
    };
    assert.equal((await site.ask('owner', 'PUT', '/sso/providers/office', office)).status, 200);
    const form = { app_redirects: `${server.coordinator}/` };
    assert.equal((await site.ask('owner', 'PUT', '/settings/sign-in', form)).status, 200);
    site.identity.accounts.set('s-tom', { preferred_username: 'tom', name: 'Tom' });
    const tom = await people.person();
    await tom.goto(server.coordinator);
    await button(tom, 'Continue with Work').click();
    await tom.waitForURL(`${site.identity.issuer}/**`);
    await tom.getByRole('link', { name: 'Cancel' }).click();
    await tom.getByRole('alert').getByText('Signing in at the provider failed; start again.').waitFor();
    // What a link named is where one is afterwards.
    await tom.evaluate("location.hash = '#/settings'");
    await button(tom, 'Continue with Work').click();
    await tom.waitForURL(`${site.identity.issuer}/**`);
    await tom.locator('input[name=login]').fill('s-tom');
    await tom.locator('input[name=password]').fill('any');
    await tom.locator('button[type=submit]').click();
    await list(tom).waitFor();
    const { hash, search } = new URL(tom.url());
    assert.deepEqual([search, hash], ['', '#/settings'], 'the code is not left in the address');
    const cookies = await tom.context().cookies(`${server.coordinator}/v1/auth/renew`);
    assert.equal(cookies.filter(({ httpOnly, name }) => httpOnly && name.startsWith('parley-session-')).length, 1);
    await tom.reload();
    await list(tom).waitFor();
    await tom.context().close();
  });
});
