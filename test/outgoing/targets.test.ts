/** Where the server connects to on somebody's word, and where not. */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { sendOutgoing } from '#src/outgoing/request.ts';
import { checkedHost, isPrivateAddress, isTargetUrl, makeLookup } from '#src/outgoing/targets.ts';
import { startReceiver } from '#test/coordinator/settings-fixture.ts';

test('addresses that nobody has on the internet are private, in every form', () => {
  const closed = [
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.168.1.1',
    '198.19.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    'fc00::1',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
    'no address',
  ];
  assert.deepEqual(
    closed.filter((address) => !isPrivateAddress(address)),
    [],
  );
  const open = ['1.1.1.1', '9.255.255.255', '11.0.0.0', '172.32.0.1', '223.255.255.255', '2606:4700::1111', '2a00::1'];
  assert.deepEqual(open.filter(isPrivateAddress), []);
});

test('a host is refused by its address, however it is written', () => {
  const urls = [
    'http://127.1/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://[::ffff:7f00:1]/',
    'http://LOCALHOST./',
  ];
  for (const url of urls) {
    assert.throws(() => checkedHost(new URL(url), false, 'url'), { code: 'target_private', field: 'url' }, url);
    assert.ok(checkedHost(new URL(url), true).length > 0);
  }
  assert.equal(checkedHost(new URL('https://example.org/x'), false), 'example.org');
  assert.equal(checkedHost(new URL('https://[2606:4700::1111]/'), false), '2606:4700::1111');
});

test('hosts that the operator names may be private, and no others', async () => {
  const named = '10.0.0.5, Mail.Internal,::1,localhost';
  assert.equal(checkedHost(new URL('smtp://10.0.0.5:25'), named), '10.0.0.5');
  assert.equal(checkedHost(new URL('https://[::1]/'), named), '::1');
  assert.equal(checkedHost(new URL('https://LOCALHOST./'), named), 'localhost.');
  for (const url of ['https://10.0.0.6/', 'https://127.0.0.1/', 'https://[fd00::1]/', 'https://a.localhost/']) {
    assert.throws(() => checkedHost(new URL(url), named), { code: 'target_private' }, url);
  }
  const look = async (hosts: string) =>
    await new Promise((resolve) => {
      makeLookup(hosts)('localhost', { family: 4 }, (error, address) => resolve(error === null ? address : error));
    });
  assert.equal(await look(named), '127.0.0.1');
  // Where it leads does not make it one of those.
  assert.equal(((await look('127.0.0.1')) as { code: string }).code, 'target_private');
});

test('a URL with a user, a password or another scheme is no target', () => {
  assert.ok(isTargetUrl('https://example.org/hook?a=1', ['https:']));
  const wrong = [
    'http://example.org',
    'https://user@example.org',
    'https://:word@example.org',
    'file:///etc/passwd',
    'hook',
  ];
  assert.deepEqual(
    wrong.filter((url) => isTargetUrl(url, ['https:'])),
    [],
  );
});

test('a name is judged by what it resolves to', async () => {
  const look = async (allow: boolean, all: boolean) =>
    await new Promise((resolve) => {
      makeLookup(allow)('localhost', { all, family: 4 }, (error, address) => resolve(error === null ? address : error));
    });
  assert.equal(((await look(false, true)) as { code: string }).code, 'target_private');
  assert.equal(((await look(false, false)) as { code: string }).code, 'target_private');
  assert.deepEqual(await look(true, true), [{ address: '127.0.0.1', family: 4 }]);
  assert.equal(await look(true, false), '127.0.0.1');
});

test('an answer is cut, and a request that is broken off fails', async (context) => {
  const { url } = await startReceiver(context, (response, before) => {
    if (before === 0) response.end('abcdefghij');
  });
  const request = { method: 'POST', url, body: '{}', millis: 5_000, bytesMax: 4, allowPrivateTargets: true } as const;
  const { status, text } = await sendOutgoing(request);
  assert.deepEqual({ status, text }, { status: 200, text: 'abcd' });
  const stop = new AbortController();
  const sent = sendOutgoing({ ...request, signal: stop.signal });
  stop.abort();
  await assert.rejects(sent, { name: 'AbortError' });
  await assert.rejects(sendOutgoing({ ...request, millis: 20 }), { name: 'OutgoingTimeout' });
});

test('a name with one private address among public ones is refused, in whichever place that stands', async (t) => {
  const addresses = { public: '93.184.216.34', private: '127.0.0.1' };
  let answered: string[] = [];
  t.mock.method(dns, 'lookup', (_name: string, _options: object, answer: (...of: unknown[]) => void) =>
    answer(
      null,
      answered.map((address) => ({ address, family: 4 })),
    ),
  );
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const asked = async (...of: string[]) => {
    answered = of;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    makeLookup(false)('two-faced.example', { all: true }, (error, found) => resolve(error ?? found));
    return await promise;
  };
  assert.deepEqual(await asked(addresses.public), [{ address: addresses.public, family: 4 }]);
  for (const of of [
    [addresses.private, addresses.public],
    [addresses.public, addresses.private],
  ]) {
    assert.equal(((await asked(...of)) as { code?: string }).code, 'target_private', of.join(' '));
  }
});
