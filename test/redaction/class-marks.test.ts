/** What stands where a secret was: the mark of its class, and the installation's own secrets known by value. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redactor } from '#src/redaction/redactor.ts';
import { KEY, type SpanClass } from './corpus/labels.ts';
import { leakOf, readings } from './corpus/leak-oracle.ts';

const engine = new Redactor({ key: KEY });

const MARKERS: readonly (readonly [SpanClass, string, string])[] = [
  [
    'private-key',
    '-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\\n-----END PRIVATE KEY-----',
    'MIIEvQ',
  ],
  ['authorization', 'Authorization: Bearer 9fKq3ZtB7xLm2Vw8', '9fKq3Z'],
  ['cookie', 'Cookie: sid=Zk3mQ9vT1x', 'Zk3mQ9'],
  ['url-credentials', 'open postgres://app:s3cr3tPw@db1/main', 's3cr3t'],
  ['platform-token', 'got svc_vst_k3v9_Qm4Zx7Tb2Wn8Lf5Rk1Yc6Hd3Jg9Pv0Sa2Eu now', 'Qm4Zx7'],
  ['platform-token', 'POST /v1/webhooks/hook_0123456789abcdefghjkmn_Qm4Zx7Tb2Wn8Lf5Rk1Yc 404', 'Qm4Zx7'],
  ['aws-key', 'got AKIAZ7QK2M4N6P3R5T2V now', 'Z7QK2M'],
  ['api-key', 'got ghp_R7kQ2mZ9tXb4Wn8Lf5Vk1Yc6Hd3Jg0Pv2Sa now', 'R7kQ2m'],
  ['secret', 'password=correcthorse done', 'correct'],
  ['random', 'got 4f9a1c7e2b8d3f6a0c5e9b1d7f3a8c2e now', '4f9a1c'],
  ['text', 'subject="quarterly salary" n=1', 'salary'],
];

for (const [name, line, piece] of MARKERS) {
  test(`RED-01 RED-02 ${name} is replaced with the mark of its class: ${line.slice(0, 40)}`, () => {
    const outcome = engine.text(line);
    assert.ok(outcome.includes(`[REDACTED:${name}]`), outcome);
    assert.ok(!outcome.includes(piece), outcome);
  });
}

test('RED-01 a signed token is replaced as a platform token or as a JWT', () => {
  const outcome = engine.text(
    'got eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIn0.Qm4Zx7Tb2Wn8Lf5Rk1Yc now',
  );
  assert.match(outcome, /^got \[REDACTED:(?:jwt|platform-token)\] now$/u);
});

/** The installation's own secrets are known by heart, weak as they may be, from eight characters on. */
test('RED-01 the secrets of the installation are hidden by value in every encoding', () => {
  const secret = 'winter "snow" 26';
  const knowing = new Redactor({ key: KEY, secrets: [secret, 'shortie'] });
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
  ];
  for (const form of forms) {
    const outcome = knowing.text(`driver said: ${form} is what it got`);
    assert.equal(leakOf({ class: 'secret', kind: 'secret', value: secret }, readings(outcome), ''), undefined, outcome);
    assert.match(outcome, /^driver said: \[REDACTED:[a-z-]+\]\S{0,4} is what it got$/u);
  }
  assert.equal(
    knowing.text('the shortie stays: seven characters are a word'),
    'the shortie stays: seven characters are a word',
  );
});
