/** WebDAV Push over the real server: which requests tell of which calendar, and which registrations are refused or end. */
import assert from 'node:assert/strict';
import { createECDH } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { readXml } from '#src/calendar/dav/xml/xml-reader.ts';
import { dav, pushName } from '#src/calendar/dav/xml/xml-names.ts';
import { checkFolder } from '#storage/check/check.ts';
import { plantCallers } from '#test/console/callers.ts';
import { CERTIFICATE, LoopbackProvider } from '#test/push/loopback-provider.ts';
import { readMetric } from '#test/support/metrics.ts';
import { request, startServer, type Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { call } from '../service/calling.ts';
import { CONTENT, PROPERTY, PushClient, type Registered } from './push-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
const certificate = join(folder, 'certificate.pem');
writeFileSync(certificate, CERTIFICATE);
const provider = await LoopbackProvider.open();
const data = join(folder, 'data');
const callers = await plantCallers(data);
const server = await startServer({
  folder: data,
  environment: {
    NODE_EXTRA_CA_CERTS: certificate,
    PARLEY_ALLOW_PRIVATE_TARGETS: 'localhost',
    PARLEY_RATE_LIMITS: '0',
  },
});
const { ann, ben, cyn, dan } = await server.people('ann', 'ben', 'cyn', 'dan');
const phone = await PushClient.of(server, provider, ann);
const bens = await PushClient.of(server, provider, ben);
after(async () => {
  await server.end('SIGTERM');
  await provider.close();
  assert.deepEqual((await checkFolder(data)).problems, []);
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  provider.answer = () => ({ status: 201 });
});

const tokenOf = async (path: string) =>
  (await phone.properties(path, '<D:sync-token/>')).get(dav('sync-token'))?.text ?? '';
const topicOf = async (path: string) => (await phone.properties(path, '<topic/>')).get(pushName('topic'))?.text ?? '';
const share = async (who: Person, calendar: string, user: string, access: string | null) => {
  const path = `/v1/calendars/${calendar}/shares/${user}`;
  const reply =
    access === null ? await call(server, who, 'DELETE', path) : await call(server, who, 'PUT', path, { access });
  assert.ok(reply.status < 300, reply.text);
};
const transfer = async (method: 'COPY' | 'MOVE', from: string, to: string, headers: Record<string, string> = {}) =>
  assert.equal((await phone.call(method, from, undefined, { destination: to, ...headers })).status, 201);
/** What the one push of a registration said: up to where the content goes, and whether the calendar itself changed. */
const saidTo = async (registered: Registered) => {
  const told = await phone.toldTimes(registered, 1);
  return told.map(({ isProperty, syncToken }) => [syncToken, isProperty]);
};
/** Asked once, since asking ends it: 404 for a registration that ended before. */
const ending = async (client: PushClient, { location }: Registered) => (await client.call('DELETE', location)).status;
/** How many pushes came to each result so far. What is counted is written down before anything that is asked for afterwards. */
const results = async () => await readMetric(server, 'parley_calendar_pushes_total');

test('CAL-03 MOVE tells of the calendar that gives and the one that gets, and COPY of the one that gets', async () => {
  const [from, to] = [await phone.make('giving'), await phone.make('getting')];
  for (const name of ['a', 'b']) await phone.put(from, name);
  const moved = [await phone.register(from), await phone.register(to)] as const;
  await transfer('MOVE', `${from}a.ics`, `${to}a.ics`);
  assert.deepEqual(await saidTo(moved[0]), [[await tokenOf(from), false]]);
  assert.deepEqual(await saidTo(moved[1]), [[await tokenOf(to), false]]);
  const copied = [await phone.register(from), await phone.register(to)] as const;
  await transfer('COPY', `${from}b.ics`, `${to}b.ics`);
  assert.deepEqual(await saidTo(copied[1]), [[await tokenOf(to), false]]);
  // Of the calendar that was copied from nothing is said but what comes behind it.
  await phone.rename(from, 'Given');
  assert.deepEqual(await saidTo(copied[0]), [[undefined, true]]);
});

test('CAL-03 Push-Dont-Notify spares those that it names what COPY, MOVE and PROPPATCH do, in both calendars', async () => {
  const [from, to] = [await phone.make('spared-from'), await phone.make('spared-to')];
  for (const name of ['a', 'b']) await phone.put(from, name);
  const spared = [await phone.register(from), await phone.register(to)] as const;
  const headers = { 'push-dont-notify': spared.map(({ location }) => `"${location}"`).join(', ') };
  const toldOf = async (change: () => Promise<void>, ...paths: string[]) => {
    const others = await Promise.all(paths.map(async (path) => await phone.register(path)));
    await change();
    for (const other of others) await phone.toldTimes(other, 1);
    assert.deepEqual(
      spared.flatMap((one) => phone.told(one)),
      [],
    );
  };
  await toldOf(async () => await transfer('COPY', `${from}a.ics`, `${to}a.ics`, headers), to);
  await toldOf(async () => await transfer('MOVE', `${from}b.ics`, `${to}b.ics`, headers), from, to);
  await toldOf(async () => await phone.rename(from, 'Another name', headers), from);
});

test('CAL-03 whom a calendar is shared with, and for what, is of the calendar itself', async () => {
  const path = await phone.make('shared');
  const topic = await topicOf(path);
  const content = await phone.register(path, { trigger: CONTENT });
  for (const access of ['read', 'write', null]) {
    const property = await phone.register(path, { trigger: PROPERTY });
    await share(ann, topic, 'ben', access);
    assert.deepEqual(await saidTo(property), [[undefined, true]], String(access));
  }
  assert.deepEqual(phone.told(content), []);
});

test('CAL-03 whoever sees when somebody is busy registers for nothing, and ends what was registered before', async () => {
  const path = await phone.make('busy');
  const topic = await topicOf(path);
  const bensPath = `${bens.home}${topic}/`;
  await share(ann, topic, 'ben', 'read');
  const before = await bens.register(bensPath);
  const witness = await phone.register(path);
  await share(ann, topic, 'ben', 'free_busy');
  const again = await bens.call('POST', bensPath, bens.form(before.subscription));
  assert.deepEqual([again.status, await conditionOf(again)], [403, pushName('push-not-available')]);
  // An attempt that asks nobody is over long before the witness was told.
  await phone.toldTimes(witness, 1);
  assert.deepEqual(bens.told(before), []);
  assert.equal(await ending(bens, before), 404);
});

test('CAL-03 a push service that answers 404 or 410 ends the registration, and no other refusal does', async () => {
  const path = await phone.make('answered');
  const statuses = [404, 410, 400, 403, 413];
  const registered = await Promise.all(statuses.map(async () => await phone.register(path)));
  const paths = registered.map(({ subscription }) => new URL(subscription.endpoint).pathname);
  const before = await results();
  provider.answer = (asked) => ({ status: statuses[paths.indexOf(asked.path)] ?? 201 });
  await phone.put(path, 'a');
  for (const one of registered) await phone.toldTimes(one, 1);
  await until(async () => {
    const { gone, refused } = await results();
    return gone === (before['gone'] ?? 0) + 2 && refused === (before['refused'] ?? 0) + 3;
  }, 'all five to be counted');
  const ended: number[] = [];
  for (const one of registered) ended.push(await ending(phone, one));
  assert.deepEqual(ended, [404, 404, 204, 204, 204]);
});

test('CAL-03 VND-01 whoever is blocked or erased is told nothing more, and what they registered ended', async () => {
  const path = await phone.make('gone');
  const topic = await topicOf(path);
  const clients = [await PushClient.of(server, provider, cyn), await PushClient.of(server, provider, dan)];
  const registered: Registered[] = [];
  for (const client of clients) {
    await share(ann, topic, client.user, 'read');
    registered.push(await client.register(`${client.home}${topic}/`));
  }
  const ask = async (method: string, at: string) =>
    await request(method, `${server.coordinator}/admin/api${at}`, { headers: callers['owner'] });
  const blocked = await ask('POST', '/users/cyn/block');
  assert.equal(blocked.status, 200, blocked.text);
  const begun = await ask('POST', '/users/dan/erase');
  assert.equal(begun.status, 202, begun.text);
  const erasure = `/erasures/${String(begun.body['id'])}`;
  await until(async () => (await ask('GET', erasure)).body['state'] === 'done', 'the erasure to be done');
  const witness = await phone.register(path);
  await phone.put(path, 'a');
  await phone.toldTimes(witness, 1);
  assert.deepEqual(
    registered.flatMap((one) => phone.told(one)),
    [],
  );
  // What ended is not there when the person is back.
  const unblocked = await ask('POST', '/users/cyn/unblock');
  assert.equal(unblocked.status, 200, unblocked.text);
  assert.equal(await ending(clients[0]!, registered[0]!), 404);
});

test('CAL-03 a key that is no point of P-256, and an address that is private, are refused', async () => {
  const path = await phone.make('refused');
  const subscription = phone.subscription();
  const good = phone.form(subscription);
  const pointOn = (curve: string) => createECDH(curve).generateKeys('base64url', 'uncompressed');
  const { keys } = subscription.address;
  // As long as a point of P-256, and on another curve.
  assert.equal(pointOn('secp256k1').length, keys.p256dh.length);
  for (const body of [
    ...['secp256k1', 'secp384r1'].map((curve) => good.replace(keys.p256dh, pointOn(curve))),
    ...['127.0.0.1', '[::1]', '169.254.169.254', '192.168.0.1', 'local.localhost'].map((host) =>
      good.replace('//localhost', `//${host}`),
    ),
  ]) {
    const reply = await phone.call('POST', path, body);
    assert.deepEqual([reply.status, await conditionOf(reply)], [403, pushName('invalid-subscription')], body);
  }
  assert.equal((await phone.call('POST', path, good)).status, 204);
});

/** The element of the precondition that did not hold. */
async function conditionOf(reply: Response): Promise<string | undefined> {
  return readXml(Buffer.from(await reply.text())).children[0]?.name;
}
