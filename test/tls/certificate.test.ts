/** Which files of a certificate can be served, and what is said of those that cannot. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ConfigError, readConfig } from '#src/config.ts';
import { CertificateError, certificateFilesOf, judgeCertificate, readCertificateFiles } from '#src/tls/certificate.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const { certificate, key } = makeCertificate(Date.now(), 30);
const { key: otherKey } = makeCertificate(Date.now(), 30);
const sealed = createPrivateKey(key).export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'open sesame',
}) as string;

/** The three files with these texts, judged. */
async function judge(t: TestContext, texts: { chain?: string; key?: string; passphrase?: string; mode?: number }) {
  const folder = temporaryFolder(t);
  const paths = { chain: join(folder, 'chain.pem'), key: join(folder, 'key.pem'), passphrase: join(folder, 'word') };
  if (texts.chain !== undefined) writeFileSync(paths.chain, texts.chain);
  if (texts.key !== undefined) {
    writeFileSync(paths.key, texts.key);
    chmodSync(paths.key, texts.mode ?? 0o600);
  }
  if (texts.passphrase !== undefined) writeFileSync(paths.passphrase, texts.passphrase);
  const passphrase = texts.passphrase === undefined ? undefined : paths.passphrase;
  return judgeCertificate(await readCertificateFiles({ ...paths, passphrase }));
}

test('a certificate and its key are taken, with a passphrase where the key has one, and from a group that may read it', async (t) => {
  const plain = await judge(t, { chain: certificate, key });
  assert.match(plain.fingerprint, /^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  assert.ok(plain.notAfter > Date.now() + 29 * 86_400_000);
  assert.equal((await judge(t, { chain: certificate, key: sealed, passphrase: 'open sesame\n' })).key, plain.key);
  assert.equal((await judge(t, { chain: certificate, key, mode: 0o640 })).key, plain.key);
});

test('files that cannot be served are refused with the setting and the reason, and no word of the key', async (t) => {
  const refusals: [Parameters<typeof judge>[1], RegExp][] = [
    [{ key }, /^The file of PARLEY_TLS_CERTIFICATE_FILE, .*chain\.pem, cannot be read \(ENOENT\)\.$/],
    [{ chain: certificate }, /^The file of PARLEY_TLS_KEY_FILE, .*key\.pem, cannot be read \(ENOENT\)\.$/],
    [{ chain: key, key }, /^The file of PARLEY_TLS_CERTIFICATE_FILE holds no certificate in PEM\.$/],
    [{ chain: certificate, key: certificate }, /^The file of PARLEY_TLS_KEY_FILE holds no private key in PEM\.$/],
    [{ chain: certificate, key: otherKey }, /PARLEY_TLS_KEY_FILE and PARLEY_TLS_CERTIFICATE_FILE do not belong/],
    [{ chain: certificate, key, mode: 0o644 }, /^The file of PARLEY_TLS_KEY_FILE is open to everybody: chmod o= it\.$/],
    [{ chain: certificate, key, mode: 0o602 }, /is open to everybody/],
    [{ chain: certificate, key: sealed }, /PARLEY_TLS_KEY_FILE has a passphrase, and PARLEY_TLS_PASSPHRASE_FILE names/],
    [{ chain: certificate, key: sealed, passphrase: 'sesame' }, /holds no key that the passphrase opens/],
    [
      { chain: `${certificate}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`, key },
      /cannot be served/,
    ],
  ];
  for (const [texts, sentence] of refusals) {
    await assert.rejects(judge(t, texts), (error: Error) => {
      assert.ok(error instanceof CertificateError);
      assert.match(error.message, sentence);
      assert.doesNotMatch(error.message, /BEGIN|sesame/);
      return true;
    });
  }
});

test('the settings of TLS come together, name files, and keep the ending of their names', () => {
  const files = { PARLEY_TLS_CERTIFICATE_FILE: '/etc/chain.pem', PARLEY_TLS_KEY_FILE: '/etc/key.pem' };
  const config = readConfig(files);
  assert.deepEqual(certificateFilesOf(config), { chain: '/etc/chain.pem', key: '/etc/key.pem', passphrase: undefined });
  assert.equal(certificateFilesOf(readConfig({})), undefined);
  const refusals: [Record<string, string>, RegExp][] = [
    [{ PARLEY_TLS_KEY_FILE: '/k' }, /^PARLEY_TLS_KEY_FILE is set, and PARLEY_TLS_CERTIFICATE_FILE is missing/],
    [{ PARLEY_TLS_CERTIFICATE_FILE: '/c' }, /^PARLEY_TLS_CERTIFICATE_FILE is set, and PARLEY_TLS_KEY_FILE is missing/],
    [{ PARLEY_TLS_PASSPHRASE_FILE: '/p' }, /^PARLEY_TLS_PASSPHRASE_FILE is set, and PARLEY_TLS_KEY_FILE is missing/],
    [{ ...files, PARLEY_TLS_CERTIFICATE_FILE: certificate }, /must be the path of a file, not what it holds/],
    [{ ...files, PARLEY_TLS_KEY_FILE: key }, /^PARLEY_TLS_KEY_FILE is not valid: must be the path of a file/],
    [{ PARLEY_TLS_KEY: '/k' }, /^PARLEY_TLS_KEY is not a setting/],
  ];
  for (const [environment, sentence] of refusals) {
    assert.throws(
      () => readConfig(environment),
      (error) => error instanceof ConfigError && sentence.test(error.message) && !error.message.includes('PRIVATE KEY'),
    );
  }
});
