/** What was written and not sent is one text, wherever somebody looks: in every tab, on every device, and after a time without a network. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { start } from '#test/messaging/conversing.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { fieldOf, messageOf, openRow, signIn } from './app-page.ts';
import { CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

let server: TestServer;
let people: People;
let alice: Person;

async function made(title: string): Promise<{ room: string; device: Page }> {
  const { id: room } = await start(server, alice, 'room', [], title);
  const device = await people.person();
  await signIn(server, device, 'alice');
  await openRow(device, title);
  return { room, device };
}

async function untilThere(page: Page, title: string, text: string): Promise<void> {
  const field = fieldOf(page, title);
  await until(async () => (await field.inputValue()) === text, `“${text}” to stand in the field`);
}

async function untilServerHas(room: string, text: string | undefined): Promise<void> {
  await until(async () => {
    const { body, status } = await server.api<{ body: string }>(alice, 'GET', `/v1/conversations/${room}/draft`);
    return status === 404 ? text === undefined : body.body === text;
  }, `the server to have “${text}”`);
}

const write = async (room: string, body: string) =>
  await server.api(alice, 'PUT', `/v1/conversations/${room}/draft`, { body });

describe('drafts', { skip: CHROMIUM === undefined && 'there is no Chromium' }, () => {
  before(async () => {
    buildApp();
    server = await startServer();
    ({ alice } = await server.people('alice'));
    await start(server, alice, 'room', [], 'Elsewhere');
    people = await People.start();
  });
  after(async () => {
    await people?.stop();
    await server?.stop();
  });

  test('what is written in one tab stands in the other, field and list, and is gone from both once it is sent', async () => {
    const { device, room } = await made('Two tabs');
    const other = await device.context().newPage();
    await other.goto(`${server.coordinator}/#/c/${room}`);
    const third = await device.context().newPage();
    await third.goto(server.coordinator);
    const row = third.getByRole('navigation').getByRole('link').filter({ hasText: 'Two tabs' });
    await row.waitFor();
    await fieldOf(other, 'Two tabs').waitFor();
    await fieldOf(device, 'Two tabs').pressSequentially('half a th');
    await untilThere(other, 'Two tabs', 'half a th');
    await row.getByText('Draft: half a th').waitFor();
    await fieldOf(other, 'Two tabs').press('End');
    await fieldOf(other, 'Two tabs').pressSequentially('ought');
    await untilThere(device, 'Two tabs', 'half a thought');
    await untilServerHas(room, 'half a thought');
    await fieldOf(device, 'Two tabs').press('Enter');
    await messageOf(other, 'half a thought').waitFor();
    await untilThere(other, 'Two tabs', '');
    await row.getByText('Draft:').waitFor({ state: 'detached' });
    await untilServerHas(room, undefined);
    await other.close();
    await third.close();
  });

  test('what another device writes on, sends or gives up is so in an open field, unless somebody writes there', async () => {
    const { device, room } = await made('Two devices');
    const field = fieldOf(device, 'Two devices');
    await write(room, 'from the phone');
    await untilThere(device, 'Two devices', 'from the phone');
    await field.press('End');
    await field.pressSequentially(', and the desk ');
    // Kept as it was written, the space behind it too: somebody goes on to write there.
    await untilServerHas(room, 'from the phone, and the desk ');
    assert.equal(await field.inputValue(), 'from the phone, and the desk ');
    await write(room, 'both of it again');
    await untilThere(device, 'Two devices', 'both of it again');
    await server.api(alice, 'DELETE', `/v1/conversations/${room}/draft`);
    await untilThere(device, 'Two devices', '');
    // Letters that the server has not been told of are nobody's to take.
    const held = Promise.withResolvers<void>();
    await device.route(/\/draft$/, async (route) => {
      await held.promise;
      await route.continue();
    });
    const asked = device.waitForRequest(/\/draft$/);
    await field.pressSequentially('mine');
    await asked;
    await write(room, 'theirs');
    const row = device.getByRole('navigation').getByRole('link').filter({ hasText: 'Two devices' });
    await openRow(device, 'Elsewhere');
    await row.getByText('Draft: theirs').waitFor();
    await openRow(device, 'Two devices');
    assert.equal(await field.inputValue(), 'mine');
    held.resolve();
    await untilServerHas(room, 'mine');
    assert.equal(await field.inputValue(), 'mine');
  });

  test('of two devices that write in the same moment, the one whose words the server had last is right', async () => {
    const { device, room } = await made('Same moment');
    const held = Promise.withResolvers<void>();
    await device.route(/\/draft$/, async (route) => {
      const answer = await route.fetch();
      await held.promise;
      await route.fulfill({ response: answer });
    });
    await fieldOf(device, 'Same moment').pressSequentially('first');
    await untilServerHas(room, 'first');
    await write(room, 'second');
    await openRow(device, 'Elsewhere');
    const row = device.getByRole('navigation').getByRole('link').filter({ hasText: 'Same moment' });
    await row.getByText('Draft: second').waitFor();
    held.resolve();
    await device.unrouteAll({ behavior: 'wait' });
    await openRow(device, 'Same moment');
    await untilThere(device, 'Same moment', 'second');
  });

  test('what was sent on another device while this one was away does not stand there when it comes back', async () => {
    const { device, room } = await made('Away');
    await fieldOf(device, 'Away').pressSequentially('to be sent elsewhere');
    await untilServerHas(room, 'to be sent elsewhere');
    await device.goto('about:blank');
    await server.api(alice, 'DELETE', `/v1/conversations/${room}/draft`);
    await device.goto(`${server.coordinator}/#/c/${room}`);
    await fieldOf(device, 'Away').waitFor();
    await untilThere(device, 'Away', '');
  });

  test('what was written or given up without a network reaches the server once there is one', async () => {
    const { device, room } = await made('Tunnel');
    const field = fieldOf(device, 'Tunnel');
    const failed = () => device.waitForEvent('requestfailed', (request) => request.url().endsWith('/draft'));
    for (const [text, then] of [
      ['in the tunnel', 'in the tunnel'],
      ['', undefined],
    ] as const) {
      await device.context().setOffline(true);
      await Promise.all([failed(), field.fill(text)]);
      await device.context().setOffline(false);
      await untilServerHas(room, then);
    }
  });

  test('no page complained', () => {
    assert.deepEqual(people.complaints, []);
  });
});
