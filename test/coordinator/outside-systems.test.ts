/** What a personnel system, a service desk and a language model are asked by a running server, over TLS (VND-10). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LEAVERS_PER_PULL_MAX, PersonnelPull } from '#src/directory/personnel-pull.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { TICKET_ATTEMPTS_MAX } from '#src/integrations/alert-tickets.ts';
import type { PersonRecord } from '#storage/accounts/account-records.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import type { Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';

interface Heard {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const heard: Heard[] = [];
/** Path → what is answered next. */
const answers = new Map<string, readonly [status: number, body: unknown]>();
const { certificate, key } = makeCertificate(Date.now(), 90, ['127.0.0.1']);
const outside = createServer({ cert: certificate, key }, (request, response) => {
  let text = '';
  request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  request.on('end', () => {
    const path = request.url ?? '';
    heard.push({ path, headers: request.headers, text });
    const [status, body] = answers.get(path) ?? [404, {}];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
});
const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
let running: ConsoleServer;
let base = '';
let people: Record<'ann' | 'ben' | 'cid', Person>;

before(async () => {
  outside.listen(0, '127.0.0.1');
  await once(outside, 'listening');
  base = `https://127.0.0.1:${(outside.address() as AddressInfo).port}`;
  const file = join(folder, 'certificate.pem');
  writeFileSync(file, certificate);
  const environment = { NODE_EXTRA_CA_CERTS: file, PARLEY_ALLOW_PRIVATE_TARGETS: 'true', PARLEY_DEBUG_HOOKS: '1' };
  running = await startConsoleServer({ shards: 2, environment: { ...environment, PARLEY_LOG_LEVEL: 'warn' } });
  people = await running.server.people('ann', 'ben', 'cid');
});
after(async () => {
  await running.stop();
  outside.closeAllConnections();
  outside.close();
  rmSync(folder, { recursive: true, force: true });
});

const HR = () => ({ base_url: `${base}/hr`, api_token: 'heron of the staff' });
const asked = (path: string) => heard.filter((one) => one.path === path);

async function set(screen: string, form: object): Promise<void> {
  const reply = await running.console('PUT', `/settings/${screen}`, form);
  assert.equal(reply.status, 200, reply.text);
}

const stateOf = async (user: string) => (await running.console('GET', `/users/${user}`)).body['state'];
const left = (...names: string[]) => names.map((username) => ({ username, state: 'left' }));
const said = (text: string) => running.server.output.some((line) => line.includes(text));

test('VND-10 who has left by the personnel system is blocked, but for owners, and nobody while a page is missing', async () => {
  answers.set('/hr/people', [200, { items: left('ben', 'root', 'unknown'), next: 'page 2' }]);
  answers.set('/hr/people?after=page+2', [
    200,
    { items: [{ username: 'ann', state: 'active' }, { username: 'cid' }], next: null },
  ]);
  await set('hrms', { ...HR(), base_url: `${base}/hr/` });
  await until(() => said('the personnel system could not be asked'), 'a page of the wrong form to be noted');
  assert.equal(await stateOf('ben'), 'active');
  answers.set('/hr/people?after=page+2', [200, { items: [{ username: 'ann', state: 'active' }], next: null }]);
  await set('hrms', HR());
  await until(async () => (await stateOf('ben')) === 'blocked', 'ben to be blocked');
  assert.deepEqual([await stateOf('ann'), await stateOf('cid'), await stateOf('root')], ['active', 'active', 'active']);
  assert.equal(asked('/hr/people').at(-1)?.headers.authorization, 'Bearer heron of the staff');
  const refused = await running.server.api(people.ben, 'GET', '/v1/inbox');
  assert.equal(refused.status, 401);
  const trail = await running.console<{ items: { actor: string; about: string }[] }>(
    'GET',
    '/audit?event=user.blocked',
  );
  assert.deepEqual(
    trail.body.items.map(({ about, actor }) => [about, actor]),
    [['user:ben', 'hrms']],
  );
});

test('VND-10 a personnel system that lost its people locks nobody out', async () => {
  const names = Array.from({ length: LEAVERS_PER_PULL_MAX + 1 }, (_, number) => `staff${number}`);
  for (const username of names) {
    const made = await running.console('POST', '/users', { username, password: 'heron on the roof of it' });
    assert.equal(made.status, 201, made.text);
  }
  answers.set('/hr/people', [200, { items: left(...names), next: null }]);
  await set('hrms', HR());
  await until(() => said('too many have left'), 'the log to say so');
  assert.equal(await stateOf('staff0'), 'active');
  // One fewer is a pull as any other.
  answers.set('/hr/people', [200, { items: left(...names.slice(1)), next: null }]);
  await set('hrms', HR());
  const last = names.at(-1) ?? '';
  await until(async () => (await stateOf(last)) === 'blocked', 'the last of them to be blocked');
  assert.deepEqual([await stateOf('staff0'), await stateOf('staff1')], ['active', 'blocked']);
});

test('VND-10 a long page of the personnel system is not read on the thread that answers requests', async (context) => {
  const items = Array.from({ length: 20_000 }, (_, number) => ({ username: `staff${number}`, state: 'active' }));
  const page = JSON.stringify({ items: [...items, ...left('staff0')], next: null });
  const system = createPlainServer((_request, response) => response.end(page)).listen(0, '127.0.0.1');
  await once(system, 'listening');
  context.after(() => system.close());
  const blocked: string[] = [];
  const warned: string[] = [];
  const pull = new PersonnelPull({
    accounts: { person: () => ({ state: 'active', role: 'person' }) as PersonRecord },
    people: {
      block: async (username) => {
        blocked.push(username);
        await Promise.resolve();
      },
    },
    system: () => ({ base_url: `http://127.0.0.1:${(system.address() as AddressInfo).port}`, api_token: 'heron' }),
    allowPrivateTargets: true,
    log: { warn: (message: string) => void warned.push(message) } as unknown as Logger,
  });
  const parse = context.mock.method(JSON, 'parse');
  pull.pull();
  await until(() => blocked.length + warned.length > 0, 'the page to be read');
  await pull.stop();
  assert.deepEqual([blocked, warned], [['staff0'], []]);
  assert.deepEqual(parse.mock.calls.filter(({ arguments: [text] }) => text.length > 10_000).length, 0);
});

test('VND-10 an alert opens a ticket with the advice of the model, and one that the desk did not take comes again', async () => {
  const advice = { choices: [{ message: { role: 'assistant', content: 'Look at the log of the thread.' } }] };
  answers.set('/ai/chat/completions', [200, advice]);
  answers.set('/desk/tickets', [500, {}]);
  await set('ai-keys', { base_url: `${base}/ai`, model: 'small', api_key: 'heron of the model' });
  await set('simpleone', { base_url: `${base}/desk`, username: 'parley', password: 'heron of the desk' });
  process.kill(running.server.pid, 'SIGUSR2');
  const [first] = await until(() => asked('/desk/tickets').length > 0 && asked('/desk/tickets'), 'a ticket');
  const ticket = JSON.parse(first?.text ?? '{}') as Record<string, unknown>;
  assert.deepEqual([ticket['kind'], ticket['advice']], ['shard_restarted', 'Look at the log of the thread.']);
  assert.match(String(ticket['subject']), /^shard:/);
  const basic = Buffer.from('parley:heron of the desk').toString('base64');
  assert.equal(first?.headers.authorization, `Basic ${basic}`);
  const model = JSON.parse(asked('/ai/chat/completions')[0]?.text ?? '{}') as { model: string; messages: unknown };
  assert.equal(model.model, 'small');
  assert.ok(!JSON.stringify(model).includes(String(ticket['subject'])), 'the model is told the kind alone');
  // The desk works again and the model does not: the ticket is the same one, without advice.
  answers.set('/desk/tickets', [201, {}]);
  answers.set('/ai/chat/completions', [500, {}]);
  await set('simpleone', { base_url: `${base}/desk` });
  const again = await until(() => asked('/desk/tickets').length > 1 && asked('/desk/tickets')[1], 'the ticket again');
  assert.deepEqual(
    JSON.parse(again.text),
    Object.fromEntries(Object.entries(ticket).filter(([name]) => name !== 'advice')),
  );
  assert.equal(again.headers['idempotency-key'], first?.headers['idempotency-key']);
});

test('VND-10 a ticket that the desk never takes is left out after its last attempt, and the log says so', async () => {
  answers.set('/desk/tickets', [400, {}]);
  const sent = asked('/desk/tickets').length;
  process.kill(running.server.pid, 'SIGUSR2');
  for (let attempt = 1; attempt <= TICKET_ATTEMPTS_MAX; attempt += 1) {
    await until(() => asked('/desk/tickets').length === sent + attempt, `attempt ${attempt}`);
    if (attempt < TICKET_ATTEMPTS_MAX) await set('simpleone', { username: 'parley' });
  }
  await until(() => said('it is left out'), 'the log to say so');
  const keys = new Set(
    asked('/desk/tickets')
      .slice(sent)
      .map(({ headers }) => headers['idempotency-key']),
  );
  assert.equal(keys.size, 1);
});
