import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptTotp, makeTotpSecret, NO_STEP, totpSetup } from '#src/identity/credentials/totp.ts';

/** The key and codes of RFC 6238, appendix B: SHA-1, the last six of its eight digits. */
const KEY = new TextEncoder().encode('12345678901234567890');

const accepted = (code: string, seconds: number, lastStep = NO_STEP) =>
  acceptTotp(KEY, code, { nowMillis: seconds * 1000, lastStep });

const VECTORS: [seconds: number, code: string, step: number][] = [
  [59, '287082', 1],
  [1_111_111_109, '081804', 37_037_036],
  [1_111_111_111, '050471', 37_037_037],
  [1_234_567_890, '005924', 41_152_263],
  [2_000_000_000, '279037', 66_666_666],
  [20_000_000_000, '353130', 666_666_666],
];

for (const [seconds, code, step] of VECTORS) {
  test(`TFA-01 the code of RFC 6238 at ${seconds} s is right and belongs to its step`, () => {
    assert.equal(accepted(code, seconds), step);
  });
}

test('TFA-01 a phone may be one step off either way, and not two', () => {
  // 081804 is the code from 1,111,111,080 s up to, but not at, 1,111,111,110 s.
  assert.equal(accepted('081804', 1_111_111_050), 37_037_036);
  assert.equal(accepted('081804', 1_111_111_139), 37_037_036);
  assert.equal(accepted('081804', 1_111_111_049), undefined);
  assert.equal(accepted('081804', 1_111_111_140), undefined);
});

test('TFA-01 a step that was used, and every one before it, is refused', () => {
  assert.equal(accepted('081804', 1_111_111_109, 37_037_035), 37_037_036);
  assert.equal(accepted('081804', 1_111_111_109, 37_037_036), undefined);
  assert.equal(accepted('081804', 1_111_111_111, 37_037_037), undefined);
  assert.equal(accepted('050471', 1_111_111_111, 37_037_036), 37_037_037);
});

test('a code is taken with the space that apps show in it', () => {
  assert.equal(accepted('081 804', 1_111_111_109), 37_037_036);
});

for (const code of ['', '81804', '0081804', '08180a', '٠٨١٨٠٤', '-81804', ' 81804', '1e5804']) {
  test(`${JSON.stringify(code)} is no code`, () => {
    assert.equal(accepted(code, 1_111_111_109), undefined);
  });
}

test('TFA-01 a set-up has the secret in base 32, its URL and the URL as a QR code', async () => {
  const { secret, otpauth_url: url, qr } = await totpSetup(KEY, 'alice');
  assert.equal(secret, 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
  assert.equal(
    url,
    'otpauth://totp/Parley:alice?issuer=Parley&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&algorithm=SHA1&digits=6&period=30',
  );
  assert.match(qr, /^<svg [^]*<\/svg>\s*$/);
});

test('a new secret has 160 bits and is another each time', () => {
  assert.equal(makeTotpSecret().length, 20);
  assert.notDeepEqual(makeTotpSecret(), makeTotpSecret());
});
