/** The engine's classes one by one: what is replaced, what is nearly so and stays, and the time of hostile text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KNOWN_SECRET_MIN } from '#src/redaction/secrets/known-secrets.ts';
import { KEY_BYTES } from '#src/redaction/identifiers/pseudonyms.ts';
import { Redactor } from '#src/redaction/redactor.ts';
import { LINE_BYTES_MAX } from '#src/redaction/stream.ts';

const redactor = new Redactor({ key: Buffer.alloc(KEY_BYTES, 7) });
const ALICE = 'u-6a8851c5';
const PHONE = 'tel-f3d9dfcb';

/** Requirement, text, what becomes of it. */
const CASES: readonly (readonly [string, string, string])[] = [
  ['RED-01', 'password=hunter22 n=1', 'password=[REDACTED:secret] n=1'],
  ['RED-01', '{"db_password":12345678}', '{"db_password":"[REDACTED:secret]"}'],
  ['RED-01', 'token_count=7 public_key=abc', 'token_count=7 public_key=abc'],
  ['RED-01', 'redis://:pw@cache/0', 'redis://[REDACTED:url-credentials]@cache/0'],
  ['RED-01', 'Authorization: Bearer abc.def123 x=1', 'Authorization: [REDACTED:authorization] x=1'],
  ['RED-01', 'Basic authentication is off', 'Basic authentication is off'],
  ['RED-01', 'curl -u alice:pw https://h/', 'curl -u [REDACTED:url-credentials] https://h/'],
  ['RED-01', 'id 123e4567-e89b-12d3-a456-426614174000', 'id 123e4567-e89b-12d3-a456-426614174000'],
  ['RED-01', 'got xK9mP2qR7tW4zB8nL5vC3dF6 now', 'got [REDACTED:random] now'],
  [
    'RED-01',
    'api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456/x',
    'api.telegram.org/bot[REDACTED:api-key]/x',
  ],
  ['RED-02', 'subject=see you at nine from=<>', 'subject=[REDACTED:text] from=<>'],
  ['RED-02', 'Content-Type: text/plain', 'Content-Type: text/plain'],
  [
    'RED-03',
    'Accepted publickey for alice from 192.0.2.7 port 22 ssh2',
    `Accepted publickey for ${ALICE} from 192.0.2.x port 22 ssh2`,
  ],
  ['RED-03', 'user <1702970000:alice>', `user <1702970000:${ALICE}>`],
  ['RED-03', 'check pass; user unknown', 'check pass; user unknown'],
  ['RED-03', 'ruser= rhost=192.0.2.7', 'ruser= rhost=192.0.2.x'],
  ['RED-04', 'to=<Alice@ex.org>', `to=<${ALICE}@ex.org>`],
  ['RED-04', 'from=<postmaster@ex.org> noreply@ex.org', 'from=<postmaster@ex.org> noreply@ex.org'],
  ['RED-04', 'getty@tty1.service lodash@4.17.21', 'getty@tty1.service lodash@4.17.21'],
  ['RED-05', 'call 8 (916) 123-45-67, +7 916 123 45 67', `call ${PHONE}, ${PHONE}`],
  ['RED-05', '{"phone":79161234567}', `{"phone":"${PHONE}"}`],
  ['RED-05', 'at +0300 blk_89161234567 took 1700000000000', 'at +0300 blk_89161234567 took 1700000000000'],
  ['RED-05', 'to 8 (916) 123-45-67 8 (916) 123-45-67 89161234567', `to ${PHONE} ${PHONE} ${PHONE}`],
  ['RED-05', '+79161234567 8 (916) 123-45-67 +7 916 123 45 67 12', `${PHONE} ${PHONE} ${PHONE} 12`],
  ['RED-05', '+7=20916=20123-45-67', PHONE],
  ['RED-05', '\u001b[31m+79161234567\u001b[0m', `\u001b[31m${PHONE}\u001b[0m`],
  ['RED-06', '\u001b[1m192.0.2.7\u001b[0m #033[1m192.0.2.7', '\u001b[1m192.0.2.x\u001b[0m #033[1m192.0.2.x'],
  ['RED-06', String.raw`{"m":"\u001b[31m192.0.2.7\u001b[0m"}`, String.raw`{"m":"\u001b[31m192.0.2.x\u001b[0m"}`],
  ['RED-03', '\u001b[36muser\u001b[0m=alice n=1', `\u001b[36muser\u001b[0m=${ALICE} n=1`],
  [
    'RED-03',
    'From: alice <alice@ex.org>, alice <b@ex.org>',
    `From: ${ALICE} <${ALICE}@ex.org>, ${ALICE} <u-1c208ddb@ex.org>`,
  ],
  ['RED-03', '{"from":"alice <alice@ex.org>"}', `{"from":"${ALICE} <${ALICE}@ex.org>"}`],
  [
    'RED-03',
    'at {"user":{"name":"alice","mail":"alice@ex.org"}} 1',
    `at {"user":{"name":"${ALICE}","mail":"${ALICE}@ex.org"}} 1`,
  ],
  ['RED-03', 'Started Session 1 of User alice.', `Started Session 1 of User ${ALICE}.`],
  ['RED-03', '<s:user>alice</s:user><a/><token></token>', `<s:user>${ALICE}</s:user><a/><token></token>`],
  ['RED-01', '<password>hunter22</password>', '<password>[REDACTED:secret]</password>'],
  ['RED-02', '{"subject":{"a":true,"b":["late"]},"n":1}', '{"subject":{"a":true,"b":["[REDACTED:text]"]},"n":1}'],
  [
    'RED-01',
    'at {"auth":{"password":{"value":"hunter22","n":5}},"tokens":[{"secret":[{"a":"b"}]}]} 1',
    'at {"auth":{"password":{"value":"[REDACTED:secret]","n":"[REDACTED:secret]"}},"tokens":[{"secret":[{"a":"[REDACTED:secret]"}]}]} 1',
  ],
  ['RED-01', 'got inv_8qy7r4saprf22ewfw8cx37qqn7hx4j1z now', 'got [REDACTED:platform-token] now'],
  ['RED-06', '127.0.0.1 0.0.0.0 ::1 192.0.2.300 v1.2.3.4', '127.0.0.1 0.0.0.0 ::1 192.0.2.300 v1.2.3.4'],
  ['RED-06', '[2001:db8:1:2::3]:5060 at 10:11:12', '[2001:db8:1::]:5060 at 10:11:12'],
  ['RED-12', '/var/log/alice/x.log on db1.example.org', '/var/log/alice/x.log on db1.example.org'],
];

for (const [requirement, text, expected] of CASES)
  test(`${requirement} ${text}`, () => {
    assert.equal(redactor.text(text), expected);
    assert.equal(redactor.text(expected), expected);
  });

test('RED-01 a key in many lines, behind prefixes, and the tail of one whose beginning is missing', () => {
  const body = 'MIIEpAIBAAKCAQEA7bq3mYxKq9cZ1v8N2kPfR5tS0wLhJxGdEuVbIoQnMzAyCpTk';
  const text = `a app[7]: -----BEGIN RSA PRIVATE KEY-----\na app[7]: ${body}\na app[7]: Zm9v\na app[7]: -----END RSA PRIVATE KEY-----\ndone`;
  assert.equal(redactor.text(text), 'a app[7]: [REDACTED:private-key]\n'.repeat(4).concat('done'));
  assert.equal(
    redactor.text('Zm9vYg==\n-----END PRIVATE KEY-----\nok'),
    '[REDACTED:private-key]\n[REDACTED:private-key]\nok',
  );
});

test('RED-01 a known secret of 8 characters is masked, one of 7 is not', () => {
  const knowing = new Redactor({ key: Buffer.alloc(KEY_BYTES, 7), secrets: ['weakpass', 'weakpas'] });
  assert.equal(KNOWN_SECRET_MIN, 8);
  assert.equal(knowing.text('said weakpass here'), 'said [REDACTED:secret] here');
  assert.equal(knowing.text('said weakpas here'), 'said weakpas here');
  assert.deepEqual(knowing.explain('x weakpass 192.0.2.7'), [
    { class: 'secret', start: 2, end: 10, replacement: '[REDACTED:secret]' },
    { class: 'ip', start: 19, end: 20, replacement: 'x' },
  ]);
});

test('a key of another length is refused', () => {
  assert.throws(() => new Redactor({ key: Buffer.alloc(KEY_BYTES - 1) }), RangeError);
});

test('a line longer than a stream holds is given out in parts, and nothing of it is lost', () => {
  const stream = redactor.stream();
  const word = 'plain words '.repeat(Math.ceil((LINE_BYTES_MAX + 1) / 12));
  const early = stream.push(Buffer.from(word));
  assert.ok(early.length > 0);
  assert.equal(Buffer.concat([early, stream.end()]).toString(), word);
});
