/** Where a listener says that it is reached, and whose pages may call it there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { originsOf } from '#src/http/cors.ts';
import { urlOf } from '#src/http/listening-address.ts';

test('a listener on all addresses is reached by a name that can be called', () => {
  const hosts = ['127.0.0.1', '0.0.0.0', '::', '::1', '10.0.0.7', 'chat'];
  const urls = hosts.map((host) => urlOf({ host, acmeNames: '', tlsCertificateFile: undefined }, 8080));
  assert.deepEqual(urls, [
    'http://127.0.0.1:8080',
    'http://localhost:8080',
    'http://localhost:8080',
    'http://[::1]:8080',
    'http://10.0.0.7:8080',
    'http://chat:8080',
  ]);
  assert.equal(
    urlOf({ host: '0.0.0.0', acmeNames: '', tlsCertificateFile: 'chain.pem' }, 8080),
    'https://localhost:8080',
  );
});

test('pages of this machine may call a listener on loopback or on all addresses, by any of its names', () => {
  const config = { allowedOrigins: '', coordinatorUrl: undefined, acmeNames: '' };
  const origins = (host: string, tlsCertificateFile?: string) => [
    ...originsOf({ ...config, host, tlsCertificateFile }, 8080),
  ];
  const own = ['http://127.0.0.1:8080', 'http://[::1]:8080', 'http://localhost:8080'];
  for (const host of ['127.0.0.1', '::1', 'localhost', '0.0.0.0', '::']) assert.deepEqual(origins(host), own);
  assert.deepEqual(origins('10.0.0.7'), ['http://10.0.0.7:8080']);
  assert.deepEqual(origins('10.0.0.7', 'chain.pem'), ['https://10.0.0.7:8080']);
});
