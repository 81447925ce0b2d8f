/** The three providers against a server on loopback that speaks their protocol: what is sent, and what answers mean. */
import assert from 'node:assert/strict';
import { createECDH, generateKeyPairSync, verify } from 'node:crypto';
import { after, beforeEach, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { Apns, APNS_TOKEN_SECONDS } from '#src/push/apns.ts';
import { Fcm } from '#src/push/fcm.ts';
import { readRetryAfter } from '#src/outgoing/retry-after.ts';
import { type OutgoingPush, type PushAnswer, type PushService } from '#src/push/push-service.ts';
import { vapidKey } from '#src/push/vapid-key.ts';
import { makeWebPush } from '#src/push/web-push.ts';
import { CERTIFICATE, LoopbackProvider, Subscription, type Answered } from './loopback-provider.ts';

setDefaultCACertificates([CERTIFICATE]);
const provider = await LoopbackProvider.open();
const services: PushService[] = [];
after(async () => {
  for (const service of services) service.close();
  await provider.close();
});
beforeEach(() => {
  provider.asked.length = 0;
  provider.answer = () => ({ status: 200 });
});

/** 2026-11-21T08:00:00Z. */
const NOW = Date.UTC(2026, 10, 21, 8);
let now = NOW;
const kept = <T extends PushService>(service: T): T => {
  services.push(service);
  return service;
};

const vapid = vapidKey(Buffer.alloc(32, 7), 'mailto:ops@example.org');
const webPush = kept(makeWebPush({ vapid, allowPrivateTargets: true, now: () => now }));
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key: { export(options: object): string | Buffer }) => String(key.export({ type: 'pkcs8', format: 'pem' }));
const makeApns = () =>
  kept(
    new Apns({
      credentials: {
        teamId: 'TEAM567890',
        keyId: 'KEY4567890',
        topic: 'org.example.chat',
        privateKey: pem(ec.privateKey),
        gateway: provider.url,
      },
      allowPrivateTargets: true,
      now: () => now,
    }),
  );
const makeFcm = () =>
  kept(
    new Fcm({
      credentials: {
        projectId: 'example-project',
        clientEmail: 'push@example.org',
        privateKey: pem(rsa.privateKey),
        tokenUrl: `${provider.url}/token`,
        gateway: provider.url,
      },
      allowPrivateTargets: true,
      now: () => now,
    }),
  );

const PUSH: Omit<OutgoingPush, 'address'> = {
  kind: 'message',
  data: { conversation_id: 'c_1', seq: 7 },
  badge: 3,
  text: undefined,
  ttlSeconds: 60,
  collapseId: 'abcdefghijklmnopqrstuvwxyz012345',
};
const apnsAddress = { provider: 'apns', token: 'ab'.repeat(32) } as const;
const fcmAddress = { provider: 'fcm', token: 'fcm-token-0123456789' } as const;

const partsOf = (token: string) =>
  token
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Record<string, unknown>);

test('Web Push: only the subscription can read it, and VAPID says who sends', async () => {
  const subscription = new Subscription(`${provider.url}/subscription/1`);
  assert.deepEqual(await webPush.send({ ...PUSH, address: subscription.address }), { result: 'sent' });
  const [asked] = provider.asked;
  assert.ok(asked !== undefined);
  assert.deepEqual(subscription.read(asked.body), { conversation_id: 'c_1', seq: 7, badge: 3 });
  const {
    authorization = '',
    topic,
    ttl,
    urgency,
    'content-encoding': encoding,
  } = asked.headers as Record<string, string>;
  assert.deepEqual(
    { topic, ttl, urgency, encoding },
    { topic: PUSH.collapseId, ttl: '60', urgency: 'normal', encoding: 'aes128gcm' },
  );
  const [, token = '', key] = /^vapid t=([^,]+), k=(.+)$/.exec(authorization) ?? [];
  assert.equal(key, vapid.publicKey);
  const [header, claims] = partsOf(token);
  assert.equal(header?.['alg'], 'ES256');
  assert.deepEqual([claims?.['aud'], claims?.['sub']], [provider.url, 'mailto:ops@example.org']);
});

test('the VAPID key follows from the installation key, and is a key of the curve', () => {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(vapid.privateKey, 'base64url');
  assert.equal(pair.getPublicKey('base64url'), vapid.publicKey);
  assert.equal(vapidKey(Buffer.alloc(32, 7), 'mailto:a@b').publicKey, vapid.publicKey);
  assert.notEqual(vapidKey(Buffer.alloc(32, 8), 'mailto:a@b').publicKey, vapid.publicKey);
});

test('Web Push: keys that are no point of the curve, and private targets, are not sent to', async () => {
  const { address } = new Subscription(`${provider.url}/subscription/1`);
  const broken = { ...address, keys: { ...address.keys, p256dh: Buffer.alloc(65, 1).toString('base64url') } };
  assert.deepEqual(await webPush.send({ ...PUSH, address: broken }), { result: 'gone' });
  const strict = kept(makeWebPush({ vapid, allowPrivateTargets: false, now: () => now }));
  assert.deepEqual(await strict.send({ ...PUSH, address }), { result: 'refused', reason: 'target_private' });
  assert.equal(provider.asked.length, 0);
});

test('APNs: HTTP/2, one connection, a provider token that is renewed within the hour', async () => {
  const apns = makeApns();
  const before = provider.connections;
  await apns.send({ ...PUSH, address: apnsAddress });
  now += 60_000;
  await apns.send({ ...PUSH, kind: 'cancel', address: { ...apnsAddress, topic: 'org.example.chat.voip' } });
  now += APNS_TOKEN_SECONDS * 1000;
  await apns.send({ ...PUSH, address: apnsAddress });
  const asked = [...provider.asked];
  assert.deepEqual(
    asked.map(({ path, version }) => [path, version]),
    Array.from({ length: 3 }, () => [`/3/device/${'ab'.repeat(32)}`, '2.0']),
  );
  assert.equal(provider.connections - before, 1);
  const tokens = asked.map(({ headers }) => String(headers['authorization']).replace('bearer ', ''));
  assert.equal(tokens[0], tokens[1]);
  assert.notEqual(tokens[0], tokens[2]);
  assert.deepEqual(partsOf(tokens[0] ?? ''), [
    { alg: 'ES256', kid: 'KEY4567890' },
    { iss: 'TEAM567890', iat: NOW / 1000 },
  ]);
  const [content = '', signature = ''] = [tokens[0]?.split('.').slice(0, 2).join('.'), tokens[0]?.split('.')[2]];
  const key = { key: ec.publicKey, dsaEncoding: 'ieee-p1363' } as const;
  assert.equal(verify('sha256', Buffer.from(content), key, Buffer.from(signature, 'base64url')), true);
  const { headers } = asked[0] as (typeof asked)[number];
  assert.deepEqual(
    [
      headers['apns-topic'],
      headers['apns-push-type'],
      headers['apns-priority'],
      headers['apns-collapse-id'],
      headers['apns-expiration'],
    ],
    ['org.example.chat', 'alert', '10', PUSH.collapseId, String(NOW / 1000 + 60)],
  );
  assert.equal(asked[1]?.headers['apns-push-type'], 'voip');
  assert.deepEqual(JSON.parse(asked[0]?.body.toString('utf8') ?? ''), {
    aps: { alert: { 'loc-key': 'NEW_MESSAGE' }, 'mutable-content': 1, sound: 'default', badge: 3, 'thread-id': 'c_1' },
    conversation_id: 'c_1',
    seq: 7,
  });
  now = NOW;
});

test('APNs: a topic of another app is not tried', async () => {
  const address = { ...apnsAddress, topic: 'com.example.other' };
  assert.deepEqual(await makeApns().send({ ...PUSH, address }), { result: 'refused', reason: 'topic' });
});

test('APNs: a connection that breaks is made anew', async () => {
  const apns = makeApns();
  provider.answer = async () => {
    provider.answer = () => ({ status: 200 });
    return await new Promise(() => apns.close());
  };
  const broken = await apns.send({ ...PUSH, address: apnsAddress });
  assert.equal(broken.result, 'failed');
  assert.deepEqual(await apns.send({ ...PUSH, address: apnsAddress }), { result: 'sent' });
});

test('FCM: an access token for the service account, fetched once, and a data message', async () => {
  const fcm = makeFcm();
  provider.answer = ({ path }) =>
    path === '/token'
      ? { status: 200, body: '{"access_token":"granted","expires_in":3600}' }
      : { status: 200, body: '{}' };
  await Promise.all([1, 2].map(() => fcm.send({ ...PUSH, address: fcmAddress })));
  const [token, ...more] = await provider.askedOn('/token', 1);
  assert.equal(more.length, 0);
  const form = new URLSearchParams(token?.body.toString('utf8'));
  const assertion = form.get('assertion') ?? '';
  assert.equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer');
  assert.deepEqual(partsOf(assertion)[1], {
    iss: 'push@example.org',
    scope: 'https://www.googleapis.com/auth/firebase.messaging',
    aud: `${provider.url}/token`,
    iat: NOW / 1000,
    exp: NOW / 1000 + 3600,
  });
  const content = assertion.split('.').slice(0, 2).join('.');
  const signature = Buffer.from(assertion.split('.')[2] ?? '', 'base64url');
  assert.equal(verify('sha256', Buffer.from(content), rsa.publicKey, signature), true);
  const [sent] = await provider.askedOn('/v1/projects/example-project/messages:send', 2);
  assert.equal(sent?.headers['authorization'], 'Bearer granted');
  assert.deepEqual(JSON.parse(sent?.body.toString('utf8') ?? ''), {
    message: {
      token: fcmAddress.token,
      data: { kind: 'message', conversation_id: 'c_1', seq: '7', badge: '3' },
      android: { collapse_key: PUSH.collapseId, priority: 'high', ttl: '60s' },
    },
  });
});

const unregistered = '{"error":{"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}}';
const ANSWERS: readonly [provider: 'webpush' | 'apns' | 'fcm', answered: Answered, means: PushAnswer][] = [
  ['webpush', { status: 404 }, { result: 'gone' }],
  ['webpush', { status: 410 }, { result: 'gone' }],
  ['webpush', { status: 413 }, { result: 'refused', reason: '413' }],
  [
    'webpush',
    { status: 429, headers: { 'retry-after': '7' } },
    { result: 'failed', reason: '429', isDown: false, retryMillis: 7_000 },
  ],
  ['webpush', { status: 503 }, { result: 'failed', reason: '503', isDown: true, retryMillis: undefined }],
  ['apns', { status: 410, body: '{"reason":"Unregistered"}' }, { result: 'gone' }],
  ['apns', { status: 400, body: '{"reason":"BadDeviceToken"}' }, { result: 'gone' }],
  ['apns', { status: 400, body: '{"reason":"PayloadEmpty"}' }, { result: 'refused', reason: 'PayloadEmpty' }],
  [
    'apns',
    { status: 403, body: '{"reason":"ExpiredProviderToken"}' },
    { result: 'failed', reason: 'ExpiredProviderToken', isDown: true },
  ],
  [
    'apns',
    { status: 429, body: '{"reason":"TooManyRequests"}' },
    { result: 'failed', reason: 'TooManyRequests', isDown: false, retryMillis: undefined },
  ],
  [
    'apns',
    { status: 503, headers: { 'retry-after': '9' } },
    { result: 'failed', reason: '503', isDown: true, retryMillis: 9_000 },
  ],
  ['fcm', { status: 404, body: unregistered }, { result: 'gone' }],
  [
    'fcm',
    { status: 400, body: '{"error":{"status":"INVALID_ARGUMENT"}}' },
    { result: 'refused', reason: 'INVALID_ARGUMENT' },
  ],
  [
    'fcm',
    { status: 403, body: '{"error":{"status":"PERMISSION_DENIED"}}' },
    { result: 'failed', reason: 'PERMISSION_DENIED', isDown: true, retryMillis: undefined },
  ],
  [
    'fcm',
    { status: 429, headers: { 'retry-after': '3' }, body: '{"error":{"status":"QUOTA_EXCEEDED"}}' },
    { result: 'failed', reason: 'QUOTA_EXCEEDED', isDown: false, retryMillis: 3_000 },
  ],
  ['fcm', { status: 500, body: 'oops' }, { result: 'failed', reason: '500', isDown: true, retryMillis: undefined }],
];
for (const [name, answered, means] of ANSWERS) {
  test(`${name} answers ${answered.status} ${answered.body ?? ''}: ${means.result}`, async () => {
    provider.answer = ({ path }) =>
      path === '/token' ? { status: 200, body: '{"access_token":"granted","expires_in":3600}' } : answered;
    const { address } = new Subscription(`${provider.url}/subscription/1`);
    const addressed = { webpush: address, apns: apnsAddress, fcm: fcmAddress }[name];
    const service = name === 'webpush' ? webPush : name === 'apns' ? makeApns() : makeFcm();
    assert.deepEqual(await service.send({ ...PUSH, address: addressed }), means);
  });
}

test('FCM: without an access token the provider counts as down', async () => {
  provider.answer = () => ({ status: 400, body: '{"error":"invalid_grant"}' });
  assert.deepEqual(await makeFcm().send({ ...PUSH, address: fcmAddress }), {
    result: 'failed',
    reason: 'oauth',
    isDown: true,
  });
});

test('an endpoint that nobody listens on is tried again', async () => {
  const dead = await LoopbackProvider.open();
  const { address } = new Subscription(`${dead.url}/1`);
  await dead.close();
  assert.deepEqual(await webPush.send({ ...PUSH, address }), {
    result: 'failed',
    reason: 'econnrefused',
    isDown: true,
  });
});

test('Retry-After is read as seconds or a date', () => {
  assert.equal(readRetryAfter('120', NOW), 120_000);
  assert.equal(readRetryAfter('Sat, 21 Nov 2026 08:00:30 GMT', NOW), 30_000);
  assert.equal(readRetryAfter('Sat, 21 Nov 2026 07:00:00 GMT', NOW), 0);
  assert.equal(readRetryAfter('soon', NOW), undefined);
  assert.equal(readRetryAfter(undefined, NOW), undefined);
});
