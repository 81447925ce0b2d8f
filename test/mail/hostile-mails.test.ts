/** Mails that are made to cost: each is refused by a limit, one step beyond it, before anything of it is decoded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MailTrust } from '#src/mail/inbound/authentication-results.ts';
import {
  BOUNDARY_LINES_MAX,
  CALENDAR_PART_BYTES_MAX,
  CALENDAR_PART_LINES_MAX,
  MAIL_DEPTH_MAX,
  MAIL_PARTS_MAX,
} from '#src/mail/inbound/calendar-part.ts';
import { FROM_LENGTH_MAX } from '#src/mail/inbound/from-address.ts';
import { HEADER_BYTES_MAX, HEADER_FIELDS_MAX } from '#src/mail/inbound/header-fields.ts';
import { MailPool, MAILS_WAITING_MAX } from '#src/mail/inbound/mail-pool.ts';
import { MAIL_BYTES_MAX, readMail } from '#src/mail/inbound/mail-reader.ts';

const trust: MailTrust = { authservId: 'mx', hops: 0 };
const HEAD = ['Authentication-Results: mx; dmarc=pass header.from=x.test', 'From: a@x.test'];
const CALENDAR = 'Content-Type: text/calendar; method=REQUEST';
const BODY = 'BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n';

const mail = (...lines: readonly string[]) => Buffer.from([...HEAD, ...lines].join('\r\n'), 'latin1');

async function outcomeOf(bytes: Uint8Array): Promise<string> {
  const read = await readMail({ mail: bytes, trust });
  return typeof read === 'string' ? read : read.part.method;
}

test('a header has so many bytes and fields', async () => {
  const own = mail(CALENDAR, 'X-A: ').length;
  const padded = (bytes: number) => mail(CALENDAR, `X-A: ${'a'.repeat(bytes - own)}`, '', BODY);
  assert.equal(await outcomeOf(padded(HEADER_BYTES_MAX)), 'REQUEST');
  assert.equal(await outcomeOf(padded(HEADER_BYTES_MAX + 1)), 'mail_malformed');
  const fields = (count: number) => mail(CALENDAR, ...Array.from({ length: count - 3 }, () => 'X-A: a'), '', BODY);
  assert.equal(await outcomeOf(fields(HEADER_FIELDS_MAX)), 'REQUEST');
  assert.equal(await outcomeOf(fields(HEADER_FIELDS_MAX + 1)), 'mail_malformed');
  assert.equal(await outcomeOf(mail('X-A: a'.repeat(MAIL_BYTES_MAX / 10))), 'mail_malformed');
});

test('what is no header is none', async () => {
  for (const line of ['no field', ': a', 'Ö: a', 'X-A: a\0b', 'X-A: a\rb', 'X-A: a\r\n \t']) {
    assert.equal(await outcomeOf(mail(line, CALENDAR, '', BODY)), 'mail_malformed', JSON.stringify(line));
  }
  assert.equal(await outcomeOf(Buffer.from(' folded: a\r\n\r\n')), 'mail_malformed');
  for (const empty of ['', '\r\n', '\n', '\r\n\r\n', 'a']) {
    assert.match(await outcomeOf(Buffer.from(empty)), /^sender_invalid$|^mail_malformed$/);
  }
});

test('a From field has so many characters', async () => {
  const named = (length: number) =>
    Buffer.from([HEAD[0], `From:${' <a@x.test>'.padStart(length, 'a')}`, CALENDAR, '', BODY].join('\r\n'));
  assert.equal(await outcomeOf(named(FROM_LENGTH_MAX)), 'REQUEST');
  assert.equal(await outcomeOf(named(FROM_LENGTH_MAX + 1)), 'sender_invalid');
});

test('a mail has so many parts', async () => {
  const parts = (count: number) => {
    const others = Array.from({ length: count - 2 }, () => ['--b', 'Content-Type: text/plain', '', 'hi']).flat();
    return mail('Content-Type: multipart/mixed; boundary=b', '', ...others, '--b', CALENDAR, '', BODY, '--b--');
  };
  assert.equal(await outcomeOf(parts(MAIL_PARTS_MAX)), 'REQUEST');
  assert.equal(await outcomeOf(parts(MAIL_PARTS_MAX + 1)), 'mail_malformed');
  assert.equal(await outcomeOf(parts(10_000)), 'mail_malformed');
  const almost = (count: number) => {
    const lines = Array.from({ length: count - 2 }, () => '--b x');
    return mail('Content-Type: multipart/mixed; boundary=b', '', ...lines, '--b', CALENDAR, '', BODY, '--b--');
  };
  assert.equal(await outcomeOf(almost(BOUNDARY_LINES_MAX)), 'REQUEST');
  assert.equal(await outcomeOf(almost(BOUNDARY_LINES_MAX + 1)), 'mail_malformed');
});

test('parts stand so deep in parts', async () => {
  const nested = (depth: number): string[] =>
    depth === 0
      ? [CALENDAR, '', BODY]
      : [
          `Content-Type: multipart/mixed; boundary=b${depth}x`,
          '',
          `--b${depth}x`,
          ...nested(depth - 1),
          `--b${depth}x--`,
        ];
  assert.equal(await outcomeOf(mail(...nested(MAIL_DEPTH_MAX))), 'REQUEST');
  assert.equal(await outcomeOf(mail(...nested(MAIL_DEPTH_MAX + 1))), 'mail_malformed');
  // One boundary for all of them.
  const same = Array.from({ length: 2_000 }, () => ['Content-Type: multipart/mixed; boundary=b', '', '--b']).flat();
  assert.equal(await outcomeOf(mail(...same, CALENDAR, '', BODY)), 'mail_malformed');
});

test('a calendar has so many bytes and lines before it is decoded', async () => {
  const single = (bytes: number) => mail(CALENDAR, '', BODY + 'a'.repeat(bytes - BODY.length));
  assert.equal(await outcomeOf(single(CALENDAR_PART_BYTES_MAX)), 'REQUEST');
  assert.equal(await outcomeOf(single(CALENDAR_PART_BYTES_MAX + 1)), 'too_large');
  const lines = (count: number) => mail(CALENDAR, '', BODY + '\n'.repeat(count - 3));
  assert.equal(await outcomeOf(lines(CALENDAR_PART_LINES_MAX)), 'REQUEST');
  assert.equal(await outcomeOf(lines(CALENDAR_PART_LINES_MAX + 1)), 'too_large');
  // All of them together.
  const part = ['--b', 'Content-Type: text/calendar', '', '\n'.repeat(CALENDAR_PART_LINES_MAX / 2)];
  const several = (count: number) =>
    mail('Content-Type: multipart/mixed; boundary=b', '', ...Array.from({ length: count }, () => part).flat(), '--b--');
  assert.equal(await outcomeOf(several(2)), 'no_calendar_part');
  assert.equal(await outcomeOf(several(3)), 'too_large');
  assert.equal(await outcomeOf(Buffer.alloc(MAIL_BYTES_MAX + 1)), 'too_large');
});

test('base64 without end, and without sense, is what it is', async () => {
  const encoded = (body: string) => mail(CALENDAR, 'Content-Transfer-Encoding: base64', '', body);
  assert.equal(await outcomeOf(encoded('QUJD'.repeat(150_000))), 'method_mismatch');
  assert.equal(await outcomeOf(encoded('QUJD'.repeat(500_000))), 'too_large');
  assert.equal(await outcomeOf(encoded('\u00ff=%'.repeat(1_000))), 'method_mismatch');
  assert.equal(await outcomeOf(encoded(Buffer.from(BODY).toString('base64').slice(0, 40))), 'method_mismatch');
});

test('structured fields that do not end cost their length', async () => {
  for (const value of [
    '('.repeat(60_000),
    '"'.repeat(60_001),
    `mx; ${'dmarc=pass '.repeat(5_000)}`,
    'a='.repeat(30_000),
  ]) {
    const bytes = Buffer.from([`Authentication-Results: ${value}`, 'From: a@x.test', CALENDAR, '', BODY].join('\r\n'));
    assert.equal(await outcomeOf(bytes), 'sender_unverified');
    assert.match(
      await outcomeOf(mail(`Content-Type: multipart/mixed; boundary=${value}`, '', BODY)),
      /^no_calendar_part$/,
    );
  }
  const local = Buffer.from([HEAD[0], `From: ${'a-'.repeat(900)}@${'a-'.repeat(90)}`, '', ''].join('\r\n'));
  assert.equal(await outcomeOf(local), 'sender_invalid');
});

test('so many mails wait for the thread, and one more is busy', async (t) => {
  const pool = new MailPool();
  t.after(async () => await pool.close());
  const reading = Array.from(
    { length: MAILS_WAITING_MAX + 1 },
    async () => await pool.read({ mail: mail(CALENDAR, '', BODY), trust }),
  );
  await assert.rejects(pool.read({ mail: mail(), trust }), { code: 'busy' });
  for (const read of await Promise.all(reading))
    assert.equal(typeof read === 'string' ? read : read.from.address, 'a@x.test');
  assert.equal(await pool.read({ mail: Buffer.from('x'), trust }), 'mail_malformed');
});
