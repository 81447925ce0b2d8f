/** WebDAV Push over the real server: what programs find, register and are told (draft-bitfire-webdav-push, read at 2026-05-01). */
import assert from 'node:assert/strict';
import { createVerify, createPublicKey } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { readXml } from '#src/calendar/dav/xml/xml-reader.ts';
import { dav, pushName } from '#src/calendar/dav/xml/xml-names.ts';
import { PUSH_REGISTRATIONS_PER_PERSON_MAX } from '#storage/calendars/calendar-registrations.ts';
import { checkFolder } from '#storage/check/check.ts';
import { CERTIFICATE, LoopbackProvider } from '#test/push/loopback-provider.ts';
import { readMetric } from '#test/support/metrics.ts';
import { startServer, request, type Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { call } from '../service/calling.ts';
import { CONTENT, PROPERTY, PUSH_NS, PushClient, type Registered } from './push-client.ts';

const DAY = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
const certificate = join(folder, 'certificate.pem');
writeFileSync(certificate, CERTIFICATE);
const provider = await LoopbackProvider.open();
const environment = {
  NODE_EXTRA_CA_CERTS: certificate,
  PARLEY_ALLOW_PRIVATE_TARGETS: 'localhost',
  PARLEY_RATE_LIMITS: '0',
};
const data = join(folder, 'data');
let server = await startServer({ folder: data, environment });
const { ann, ben } = await server.people('ann', 'ben');
let phone = await PushClient.of(server, provider, ann);
let bens = await PushClient.of(server, provider, ben);
after(async () => {
  await server.end('SIGTERM');
  await provider.close();
  assert.deepEqual((await checkFolder(data)).problems, []);
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  provider.answer = () => ({ status: 201 });
});

const tokenOf = async (client: PushClient, path: string) =>
  (await client.properties(path, '<D:sync-token/>')).get(dav('sync-token'))?.text;
const share = async (who: Person, calendar: string, user: string, access: string | null) => {
  const path = `/v1/calendars/${calendar}/shares/${user}`;
  const reply =
    access === null ? await call(server, who, 'DELETE', path) : await call(server, who, 'PUT', path, { access });
  assert.ok(reply.status < 300, reply.text);
};
const topicOf = async (client: PushClient, path: string) =>
  (await client.properties(path, '<topic/>')).get(pushName('topic'))?.text ?? '';
/** What was due before is on its way by then: a program that registers now is told of a change that comes now. */
const settle = async (path: string) => {
  const witness = await phone.register(path);
  await phone.put(path, 'settled');
  await phone.toldTimes(witness, 1);
  await phone.call('DELETE', witness.location);
};

test('CAL-03 a calendar says that it pushes, over what, under which topic and of what; a home and free-busy do not', async () => {
  const path = await phone.make('found');
  const options = await phone.call('OPTIONS', path);
  assert.ok((options.headers.get('dav') ?? '').split(', ').includes('webdav-push'));
  const asked = '<transports/><topic/><supported-triggers/>';
  const found = await phone.properties(path, asked);
  const { body } = await server.api<{ vapid_public_key: string }>(ann, 'GET', '/v1/push');
  const [transport] = found.get(pushName('transports'))?.children ?? [];
  assert.equal(transport?.name, pushName('web-push'));
  const [key] = transport?.children ?? [];
  assert.deepEqual(
    [key?.name, key?.text, key?.attributes.get('type')],
    [pushName('vapid-public-key'), body.vapid_public_key, 'p256ecdsa'],
  );
  const triggers = found
    .get(pushName('supported-triggers'))
    ?.children.map(({ children, name }) => [name, children[0]?.name, children[0]?.text]);
  assert.deepEqual(triggers, [
    [pushName('content-update'), dav('depth'), '1'],
    [pushName('property-update'), dav('depth'), '0'],
  ]);
  const topic = found.get(pushName('topic'))?.text ?? '';
  assert.ok(topic !== '' && topic !== (await topicOf(phone, await phone.make('other'))));
  assert.equal((await phone.properties(phone.home, asked)).size, 0);
  await share(ann, topic, 'ben', 'free_busy');
  assert.equal((await bens.properties(`${bens.home}${topic}/`, asked)).size, 0);
  const refused = await bens.call('POST', `${bens.home}${topic}/`, bens.form(bens.subscription()));
  assert.deepEqual([refused.status, await conditionOf(refused)], [403, pushName('push-not-available')]);
  await share(ann, topic, 'ben', 'read');
  assert.equal(await topicOf(bens, `${bens.home}${topic}/`), topic);
});

test('CAL-03 what another program puts is told to those who registered, sealed, signed, and up to where it goes', async () => {
  const path = await phone.make('told');
  const topic = await topicOf(phone, path);
  await share(ann, topic, 'ben', 'read');
  const own = await phone.register(path);
  const bensOwn = await bens.register(`${bens.home}${topic}/`);
  const computer = await PushClient.of(server, provider, ann);
  for (const name of ['a', 'b', 'c']) await computer.put(path, name);
  const [told, ...more] = await phone.toldTimes(own, 1);
  const [bensTold] = await bens.toldTimes(bensOwn, 1);
  assert.deepEqual(more, []);
  assert.deepEqual([told?.topic, told?.syncToken, told?.isProperty], [topic, await tokenOf(phone, path), false]);
  assert.deepEqual([bensTold?.topic, bensTold?.syncToken], [topic, await tokenOf(bens, `${bens.home}${topic}/`)]);
  const { headers } = told!.asked;
  assert.equal(headers['content-encoding'], 'aes128gcm');
  assert.match(String(headers['content-type']), /^application\/xml/);
  assert.ok(Number(headers['ttl']) > 3_600 && Number(headers['ttl']) <= 86_400, String(headers['ttl']));
  assert.ok(!String(headers['topic']).includes(topic));
  const [, token = '', key = ''] = /^vapid t=([^,]+), ?k=(\S+)$/.exec(String(headers['authorization'])) ?? [];
  const { body } = await server.api<{ vapid_public_key: string }>(ann, 'GET', '/v1/push');
  assert.equal(key, body.vapid_public_key);
  const [head, claims, signature = ''] = token.split('.');
  const point = Buffer.from(key, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x!, y: y! }, format: 'jwk' });
  const verify = createVerify('sha256').update(`${head}.${claims}`);
  assert.ok(verify.verify({ key: publicKey, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url')));
});

test('CAL-03 a registration lasts as long as was asked, a week at most, and is one however often it is made', async () => {
  const path = await phone.make('lasting');
  const asked = new Date(Date.now() + 3 * DAY).toUTCString();
  const first = await phone.register(path, { expires: asked });
  assert.equal(first.expires, Date.parse(asked));
  assert.ok(first.location.startsWith(`${server.calendar}/dav/push/ann/`), first.location);
  const again = await phone.register(path, {
    subscription: first.subscription,
    expires: new Date(Date.now() + 30 * DAY).toUTCString(),
  });
  assert.equal(again.location, first.location);
  assert.ok(Math.abs(again.expires - Date.now() - 7 * DAY) < 60_000);
  const without = await phone.register(path, { subscription: first.subscription, trigger: PROPERTY });
  assert.ok(Math.abs(without.expires - Date.now() - 7 * DAY) < 60_000);
  // What it is for now counts: an entry is none of it.
  await settle(path);
  assert.deepEqual(phone.told(first), []);
  assert.equal((await bens.call('DELETE', first.location)).status, 404);
  assert.equal((await phone.call('GET', first.location)).status, 404);
  assert.equal((await phone.call('DELETE', first.location)).status, 204);
  assert.equal((await phone.call('DELETE', first.location)).status, 404);
});

test('CAL-03 of the calendar itself those are told who asked for that', async () => {
  const path = await phone.make('renamed');
  const [both, content, property] = await Promise.all([
    phone.register(path),
    phone.register(path, { trigger: CONTENT }),
    phone.register(path, { trigger: PROPERTY }),
  ]);
  await phone.rename(path, 'Another name');
  for (const one of [both, property]) {
    const [told] = await phone.toldTimes(one, 1);
    assert.deepEqual([told?.syncToken, told?.isProperty], [undefined, true]);
  }
  assert.deepEqual(phone.told(content), []);
  await phone.put(path, 'a');
  const [told] = await phone.toldTimes(content, 1);
  assert.deepEqual([told?.syncToken, told?.isProperty], [await tokenOf(phone, path), false]);
});

test('CAL-03 Push-Dont-Notify spares the registrations that it names, if they are one’s own, or all', async () => {
  const path = await phone.make('spared');
  const topic = await topicOf(phone, path);
  await share(ann, topic, 'ben', 'write');
  const bensPath = `${bens.home}${topic}/`;
  const [own, other, bensOwn] = [await phone.register(path), await phone.register(path), await bens.register(bensPath)];
  const spare = (...registered: Registered[]) => {
    return { 'push-dont-notify': registered.map(({ location }) => `"${location}"`).join(', ') };
  };
  await phone.put(path, 'a', spare(own));
  await phone.toldTimes(other, 1);
  await bens.toldTimes(bensOwn, 1);
  assert.deepEqual(phone.told(own), []);
  // Somebody else's URL, and what is none, is nobody's: all are told.
  const third = await phone.register(path);
  await bens.put(bensPath, 'b', {
    'push-dont-notify': `"${own.location}", "nonsense", nonsense, "${third.location}%"`,
  });
  await phone.toldTimes(third, 1);
  await phone.toldTimes(own, 1);
  const [fourth, fifth] = [await phone.register(path), await phone.register(path)];
  await phone.put(path, 'c', { 'push-dont-notify': '*' });
  await phone.call('DELETE', `${path}a.ics`, undefined, spare(fourth));
  await phone.call('MOVE', `${path}b.ics`, undefined, { destination: `${path}d.ics`, ...spare(fourth) });
  await phone.rename(path, 'Spared', spare(fourth));
  await phone.toldTimes(fifth, 1);
  assert.deepEqual(phone.told(fourth), []);
  await settle(path);
  assert.equal(phone.told(fourth).length, 1);
});

test('CAL-03 VND-01 whoever may not read any more, and whose password ended, is told nothing more', async () => {
  const path = await phone.make('left');
  const topic = await topicOf(phone, path);
  await share(ann, topic, 'ben', 'read');
  const bensOwn = await bens.register(`${bens.home}${topic}/`);
  const tablet = await PushClient.of(server, provider, ann);
  const tablets = await tablet.register(path);
  await share(ann, topic, 'ben', null);
  const { coordinator } = server;
  const { token } = ann.session;
  const passwords = await request<{ items: { id: string; created_at: string }[] }>(
    'GET',
    `${coordinator}/v1/app-passwords`,
    { token },
  );
  const newest = passwords.body.items.at(-1)!;
  assert.equal((await request('DELETE', `${coordinator}/v1/app-passwords/${newest.id}`, { token })).status, 204);
  await settle(path);
  assert.deepEqual([bens.told(bensOwn), phone.told(tablets)], [[], []]);
  // It ended with what it was made by, and is not there when that is had again.
  await share(ann, topic, 'ben', 'read');
  assert.equal((await bens.call('DELETE', bensOwn.location)).status, 404);
  assert.equal((await phone.call('DELETE', tablets.location)).status, 404);
});

test('CAL-03 that a calendar is gone is told once more', async () => {
  const path = await phone.make('removed');
  const topic = await topicOf(phone, path);
  const own = await phone.register(path);
  assert.equal((await phone.call('DELETE', path)).status, 204);
  const [told] = await phone.toldTimes(own, 1);
  assert.deepEqual([told?.topic, told?.syncToken, told?.isProperty], [topic, '', false]);
  assert.equal((await phone.call('DELETE', own.location)).status, 404);
});

test('CAL-03 a push service that does not know the subscription ends it, and one that is busy is asked again', async () => {
  const path = await phone.make('answers');
  const [gone, busy] = [await phone.register(path), await phone.register(path)];
  const pathname = new URL(gone.subscription.endpoint).pathname;
  let refusals = 0;
  provider.answer = (asked) => ({ status: asked.path === pathname ? 410 : refusals++ === 0 ? 503 : 201 });
  await phone.put(path, 'a');
  const [first, second] = await phone.toldTimes(busy, 2);
  assert.deepEqual([first?.syncToken, second?.syncToken], [await tokenOf(phone, path), await tokenOf(phone, path)]);
  // What is counted is written down before what is asked for afterwards, which is asked once, since asking ends it.
  await until(async () => (await readMetric(server, 'parley_calendar_pushes_total'))['gone'] === 1, 'it to be gone');
  assert.equal((await phone.call('DELETE', gone.location)).status, 404);
  assert.equal((await phone.call('DELETE', busy.location)).status, 204);
});

test('CAL-03 what is no registration is refused with what is wrong, and one more than a person may have', async () => {
  const path = await phone.make('refused');
  const good = phone.form(phone.subscription());
  const status = async (body: string, headers: Record<string, string> = {}, at = path) => {
    const reply = await phone.call('POST', at, body, headers);
    return [reply.status, await conditionOf(reply)];
  };
  assert.deepEqual(await status(good, {}, phone.home), [405, undefined]);
  assert.deepEqual(await status(good, {}, `${phone.home}nowhere/`), [404, undefined]);
  assert.deepEqual(await status(good, {}, '/dav/calendars/ben/default/'), [404, undefined]);
  assert.deepEqual(await status(good, { 'content-type': 'text/calendar' }), [415, undefined]);
  for (const body of ['', 'x', `<D:propfind ${PUSH_NS}/>`, good.slice(0, -4)])
    assert.deepEqual(await status(body), [400, undefined], body);
  for (const expires of [
    'tomorrow',
    '2026-12-24T00:00:00Z',
    'Wed, 20 Dec 2023 10:03:31 GMT',
    'Wed, 99 Dec 2029 10:03:31 GMT',
  ]) {
    assert.deepEqual(await status(phone.form(phone.subscription(), { expires })), [400, undefined], expires);
  }
  const invalid = [403, pushName('invalid-subscription')];
  for (const [from, to] of [
    [/<subscription>.*<\/subscription>/, ''],
    [/<subscription>(.*)<\/subscription>/, '<subscription>$1$1</subscription>'],
    [/web-push-subscription/g, 'other-subscription'],
    [/<push-resource>.*<\/push-resource>/, ''],
    [/<push-resource>https/, '<push-resource>http'],
    [/<push-resource>.*<\/push-resource>/, '<push-resource>https://10.0.0.7/x</push-resource>'],
    [/<push-resource>.*<\/push-resource>/, '<push-resource>https://me:word@localhost/x</push-resource>'],
    [/<push-resource>.*<\/push-resource>/, `<push-resource>https://localhost/${'x'.repeat(2_000)}</push-resource>`],
    [/<auth-secret>.*<\/auth-secret>/, ''],
    [/<auth-secret>..../, '<auth-secret>'],
    [/(<subscription-public-key[^>]*>).*(<\/subscription-public)/, `$1${'B'.repeat(87)}$2`],
    [/<push-resource>/, '<content-encoding>aesgcm</content-encoding><push-resource>'],
  ] as const) {
    assert.deepEqual(await status(good.replace(from, to)), invalid, String(from));
  }
  const unsupported = [403, pushName('no-supported-trigger')];
  assert.deepEqual(await status(phone.form(phone.subscription(), { trigger: '<trigger/>' })), unsupported);
  assert.deepEqual(
    await status(phone.form(phone.subscription(), { trigger: '<trigger><other/></trigger>' })),
    unsupported,
  );
  const cyn = await PushClient.of(server, provider, await server.person('cyn'));
  const cyns = await cyn.make('many');
  const kept = await cyn.register(cyns);
  for (let count = 1; count < PUSH_REGISTRATIONS_PER_PERSON_MAX; count += 1) await cyn.register(cyns);
  const full = await cyn.call('POST', cyns, cyn.form(cyn.subscription()));
  assert.deepEqual([full.status, await conditionOf(full)], [403, pushName('push-not-available')]);
  // One that is there may be made again, and one that was ended leaves its place.
  await cyn.register(cyns, { subscription: kept.subscription });
  assert.equal((await cyn.call('DELETE', kept.location)).status, 204);
  await cyn.register(cyns);
  assert.equal((await cyn.call('DELETE', cyns)).status, 204);
  await cyn.register(await cyn.make('room'));
});

test('CAL-03 REL-01 what was acknowledged before kill -9 is told after the start', async () => {
  const path = await phone.make('killed');
  const own = await phone.register(path, { trigger: CONTENT });
  await phone.put(path, 'a');
  await server.end('SIGKILL');
  assert.deepEqual(phone.told(own), []);
  server = await startServer({ folder: data, environment });
  [phone, bens] = [phone.at(server), bens.at(server)];
  const [told] = await phone.toldTimes(own, 1);
  assert.deepEqual([told?.syncToken, told?.isProperty], [await tokenOf(phone, path), false]);
});

/** The element of the precondition that did not hold. */
async function conditionOf(reply: Response): Promise<string | undefined> {
  const [first] = readXml(Buffer.from(await reply.text())).children;
  return first?.name === dav('responsedescription') ? undefined : first?.name;
}
