/** Makes the picture of the app for the README: `npm run picture` writes `docs/app.png`. */
import { startServer, type Person } from '#test/support/server.ts';
import { People } from './browser.ts';
import { buildApp } from './built-app.ts';

const PICTURE = new URL('../../docs/app.png', import.meta.url).pathname;

buildApp();
const server = await startServer();
const { ada, grace } = await server.people('ada', 'grace');
const people = await People.start();

const post = async (who: Person, id: string, body: string, more: object = {}) => {
  const message = { kind: 'text', body, client_msg_id: `picture-${body.length}`, ...more };
  await server.api(who, 'POST', `/v1/conversations/${id}/messages`, message);
};
const nameOf = async (who: Person, display_name: string) =>
  await fetch(`${server.coordinator}/v1/me`, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${who.session.token}`,
      'content-type': 'application/json',
      'x-service-client-protocol': '1',
    },
    body: JSON.stringify({ display_name }),
  });

await nameOf(ada, 'Ada Lovelace');
await nameOf(grace, 'Grace Hopper');
const room = { kind: 'room', title: 'Engine room', topic: 'What the machine does next', participants: ['grace'] };
const { id } = (await server.api<{ id: string }>(ada, 'POST', '/v1/conversations', room)).body;
const direct = (
  await server.api<{ id: string }>(grace, 'POST', '/v1/conversations', { kind: 'direct', participants: ['ada'] })
).body;
await post(ada, id, 'The new cards are punched: **three** for the loop, one for the sum.');
await post(grace, id, 'Good. I found a moth in the relay of panel F, it is taped into the log now.');
await post(ada, id, '@grace a *real* bug! Which one was it?', {
  mentions: [{ username: 'grace', offset: 0, length: 6 }],
});
await post(grace, id, 'Relay 70. These two hold it:\n\n- a line in the log\n- `panel-f --check` every hour', {
  reply_to: 3,
});
await server.api(ada, 'PUT', `/v1/conversations/${id}/messages/2/reactions/${encodeURIComponent('❤️')}`);
await post(grace, direct.id, 'Lunch at one?');

const page = await people.person({ viewport: { width: 1200, height: 720 } });
await page.goto(server.coordinator);
await page.getByLabel('Username').fill('ada');
await page.getByLabel('Password', { exact: true }).fill('password of ada');
await page.getByRole('button', { name: 'Sign in', exact: true }).click();
await page.getByRole('link', { name: 'Engine room' }).click();
await page.getByRole('article').getByText('Relay 70.').waitFor();
await page.mouse.move(600, 20);
await page.screenshot({ path: PICTURE });
await people.stop();
await server.stop();
