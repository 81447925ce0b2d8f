/** One person, one phone, one pseudonym, in every syntax a log has; and what is nobody's stays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redactor } from '#src/redaction/redactor.ts';
import { auditHex, formValue, percent, quotedPrintable, unicodeEscaped } from './corpus/encodings.ts';
import { digest, KEY } from './corpus/labels.ts';
import { readings } from './corpus/leak-oracle.ts';

const engine = new Redactor({ key: KEY });

const ALICE = 'u-f0c3b85b';
const PHONE = 'tel-ef8c67b6';

test('RED-07 a pseudonym is the first eight hex digits of the HMAC-SHA256 of the canonical value', () => {
  assert.equal(ALICE, `u-${digest('alice.petrov')}`);
  assert.equal(PHONE, `tel-${digest('79161234567')}`);
  assert.equal(engine.text('user=Alice.Petrov'), `user=${ALICE}`);
  assert.equal(engine.text('mail of alice.petrov@example.org ok'), `mail of ${ALICE}@example.org ok`);
  assert.equal(engine.text('call +7 916 123-45-67 ended'), `call ${PHONE} ended`);
});

const NAME = 'alice.petrov';
const ADDRESS = `${NAME}@example.org`;

const ONE_PERSON: readonly string[] = [
  `user=${NAME}`,
  `username="${NAME.toUpperCase()}" ok`,
  `{"login":"${NAME}"}`,
  `{"msg":"{\\"account\\":\\"${NAME}\\"}"}`,
  `{"actor":"${unicodeEscaped(NAME)}"}`,
  `"GET /x?login=${percent(ADDRESS)} HTTP/1.1" 200`,
  `"GET /x?next=${percent(`/y?login=${percent(ADDRESS)}`)} HTTP/1.1" 200`,
  `from=<${ADDRESS}> size=1`,
  `to: Alice <${ADDRESS.toUpperCase().replace('EXAMPLE.ORG', 'example.org')}>`,
  `Content: sender=3D${quotedPrintable(ADDRESS)}`,
  `sasl_username=${NAME}`,
  `<34>1 2026-11-20T10:00:00Z mx1 app 7 ID [auth@32473 user="${NAME}"] done`,
  `sshd[7]: Failed password for invalid user ${NAME} from 192.0.2.4 port 22 ssh2`,
  `FATAL:  password authentication failed for user "${NAME}"`,
  `pam_unix(sshd:session): session opened for user ${NAME}(uid=1000) by (uid=0)`,
  `session 7: realm <example.org> user <1790000000:${NAME}>: incoming packet ALLOCATE processed, success`,
  `imap-login: Login: user=<${NAME}>, method=PLAIN`,
  `msg='op=login acct="${NAME}" exe="/usr/sbin/sshd"'`,
  `msg='op=login acct=${auditHex(NAME)} exe="/usr/sbin/sshd"'`,
  `BIND dn="uid=${NAME},ou=people,dc=example,dc=org" method=128`,
  `sip:${NAME}@pbx.example.org`,
];

for (const line of ONE_PERSON) {
  test(`RED-03 RED-04 RED-07 one person has one pseudonym: ${line}`, () => {
    const outcome = engine.text(line);
    assert.ok(
      readings(outcome).some((reading) => reading.includes(ALICE)),
      outcome,
    );
    assert.ok(!readings(outcome).some((reading) => reading.toLowerCase().includes('petrov')), outcome);
  });
}

const ONE_PHONE: readonly string[] = [
  'call +7 916 123-45-67 ended',
  'call +79161234567 ended',
  'call +7 (916) 123-45-67 ended',
  'call 8 (916) 123-45-67 ended',
  'call 8(916)1234567 ended',
  'call 8-916-123-45-67 ended',
  'call 89161234567 ended',
  'call +7\u00a0916\u00a0123\u00a045\u00a067 ended',
  'call +7 916 123\u201145\u201167 ended',
  'dial tel:+7-916-123-45-67;ext=1',
  'INVITE sip:+79161234567@pbx.example.org;user=phone SIP/2.0',
  'INVITE sip:79161234567@pbx.example.org SIP/2.0',
  '{"phone":79161234567}',
  '{"phone":"8 (916) 123-45-67"}',
  '{"note":"\\u002b79161234567"}',
  'phone=79161234567 sent',
  `"GET /x?phone=${percent('+79161234567')} HTTP/1.1" 200`,
  `payload: phone=${formValue('+7 (916) 123-45-67')}&x=1`,
  'call &#43;79161234567 ended',
];

for (const line of ONE_PHONE) {
  test(`RED-05 RED-07 one phone has one pseudonym: ${line}`, () => {
    const outcome = engine.text(line);
    assert.ok(outcome.includes(PHONE), outcome);
    assert.ok(!outcome.replace(/\D/gu, '').includes('1234567'), outcome);
  });
}

test('RED-07 another key gives other pseudonyms, another engine with the same key the same', () => {
  const line = `user=${NAME} mail ${ADDRESS} call +79161234567 end`;
  const other = new Redactor({ key: KEY.map((byte) => byte ^ 0x55) }).text(line);
  assert.equal(new Redactor({ key: KEY.slice() }).text(line), engine.text(line));
  assert.equal(engine.text(line), `user=${ALICE} mail ${ALICE}@example.org call ${PHONE} end`);
  const [name, , phone] = other.match(/(?:u|tel)-[0-9a-f]{8}/gu) ?? [];
  assert.ok(name !== undefined && name !== ALICE);
  assert.ok(phone !== undefined && phone !== PHONE);
});

for (const local of ['postmaster', 'MAILER-DAEMON', 'abuse', 'noreply']) {
  test(`RED-04 the role address ${local} stays in every syntax`, () => {
    const address = `${local}@example.org`;
    for (const line of [
      `mail to ${address} sent`,
      `from=<${address}> size=1`,
      `{"to":["${address}"]}`,
      `to="${address}" n=1`,
      `x=${percent(address)}&y=1`,
    ]) {
      assert.equal(engine.text(line), line);
    }
  });
}

test('RED-06 the loopback and unspecified addresses stay; their neighbours are cut', () => {
  const line = 'from 127.0.0.1:8080 and [::1]:8080 to 0.0.0.0:53, ip="127.0.0.1" {"a":"::1","b":"0.0.0.0"}';
  assert.equal(engine.text(line), line);
  assert.equal(engine.text('from 127.0.0.53 to 127.0.1.1 and 10.0.0.10'), 'from 127.0.0.x to 127.0.1.x and 10.0.0.x');
});
