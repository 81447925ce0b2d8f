/** Screens of the console that need nobody but an owner: rooms and resources, and the hosts of an installation. Without Chromium it is skipped. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { buildApp } from '#test/web/built-app.ts';
import { assertAccessible, CHROMIUM, People } from '#test/web/browser.ts';
import { ConsolePage } from './console-page.ts';

const PASSWORD = 'a long enough password';

describe(
  'screens of the console in Chromium',
  { skip: CHROMIUM === undefined && 'no Chromium on this machine' },
  () => {
    let server: TestServer;
    let people: People;
    let browser: ConsolePage;
    before(async () => {
      buildApp();
      server = await startServer();
      people = await People.start();
      browser = new ConsolePage(await people.person());
      const link = await until(
        () => /http:\S+\/v1\/enroll\/\S+/.exec(server.output.join('\n'))?.[0],
        'the set-up link',
      );
      await browser.page.goto(link);
      await browser.fill('Username', 'root');
      await browser.fill('Password', PASSWORD);
      await browser.fill('Password again', PASSWORD);
      await browser.press('Create the account');
      await browser.sees('Welcome, root.');
      await browser.page.goto(`${server.coordinator}/console/`);
      await browser.fill('Username', 'root');
      await browser.fill('Password', PASSWORD);
      await browser.press('Sign in');
      await browser.sees('Or type the secret by hand:');
      const secret = Secret.fromBase32(await browser.secret());
      await browser.fill('Code', new TOTP({ secret }).generate());
      await browser.press('Confirm');
      await browser.press('I have kept it');
      await browser.sees('Open sockets');
    });
    after(async () => {
      await people?.stop();
      await server?.stop();
    });

    test('GST-06 a room is made, is booked by whom it names, changed and removed', async () => {
      const eve = await server.person('eve');
      const bookable = async () => {
        const path = `${server.calendar}/v1/resources`;
        const reply = await fetch(path, { headers: { authorization: `Bearer ${eve.session.token}` } });
        return ((await reply.json()) as { items: { name: string; capacity: number }[] }).items;
      };
      const isBookable = async (wanted: string) =>
        await until(
          async () => (await bookable()).map(({ capacity, name }) => `${name} ${capacity}`).join() === wanted,
          `eve to see “${wanted}”`,
        );
      await browser.press('Groups', 'nav');
      await browser.fill('Name', 'Second line');
      await browser.fill('Members', 'root');
      await browser.press('Create', 'main');
      await browser.sees('Take people in');
      await browser.press('Rooms and resources', 'nav');
      await browser.sees('No rooms and no resources yet.');
      await browser.fill('Name', 'Harbour room');
      await browser.fill('Room for', '12');
      await browser.fill('Time zone', 'Nowhere/Land');
      await browser.press('Create', 'main');
      await browser.sees('A field is missing or has a value that is not allowed.');
      await browser.fill('Time zone', 'Europe/Berlin');
      await browser.press('Create', 'main');
      await browser.sees('Name among attendees');
      await isBookable('Harbour room 12');
      await browser.fill('Who may book it', 'groups');
      await browser.tick('Second line');
      await browser.press('Save', 'main');
      await isBookable('');
      await browser.fill('Who may book it', 'everybody');
      await browser.fill('Room for', '8');
      await browser.press('Save', 'main');
      await isBookable('Harbour room 8');
      assert.deepEqual(await browser.faults(['header', 'nav']), []);
      await browser.press('Remove it', 'main');
      await browser.sees('Remove “Harbour room” with its calendar?');
      await browser.fill('Confirmation', 'Harbour room');
      await browser.answer('Remove it');
      await browser.sees('No rooms and no resources yet.');
      await isBookable('');
    });

    test('CON-01 an installation of several hosts shows them, and one whose NATS is away', async () => {
      const cluster = {
        host: 'one',
        term: 7,
        reached: false,
        hosts: [
          { host: 'one', role: 'leads', lag_ms: 0 },
          { host: '<b>two</b>', role: 'cannot_store', lag_ms: 61_500 },
        ],
      };
      await browser.page.route('**/admin/api/overview', async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: { ...(await answer.json()), cluster } });
      });
      await browser.press('Overview', 'nav');
      await browser.sees('Hosts of the installation');
      await browser.sees('do not answer: nothing can be changed');
      const rows = browser.page.getByRole('region', { name: 'Hosts of the installation' }).getByRole('row');
      assert.deepEqual(await rows.allInnerTexts(), [
        'Host\tRole\tBehind',
        'one\tleads\t0 ms',
        '<b>two</b>\tcannot store what the others have\t61,500 ms',
      ]);
      await assertAccessible(browser.page, 'the hosts of the installation');
      await browser.page.unrouteAll({ behavior: 'wait' });
    });
  },
);
