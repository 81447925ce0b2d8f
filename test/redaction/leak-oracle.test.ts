/** The judge itself: what it must take for a leak, and what it must not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditHex, formValue, jsonEscaped, percent, quotedPrintable, unicodeEscaped } from './corpus/encodings.ts';
import type { Label } from './corpus/labels.ts';
import { leakOf, readings } from './corpus/leak-oracle.ts';

const SECRET: Label = { class: 'secret', kind: 'secret', value: 'kX9/tr+Qm2"Zv7' };

function leaks(label: Label, outcome: string, context = ''): boolean {
  return leakOf(label, readings(outcome), context) !== undefined;
}

test('six characters of a secret are a leak, five are not', () => {
  assert.ok(leaks(SECRET, 'rest: kX9/tr end'));
  assert.ok(leaks(SECRET, 'rest: m2"Zv7 end'));
  assert.ok(!leaks(SECRET, 'rest: kX9/t end'));
  assert.ok(!leaks(SECRET, 'rest: [REDACTED:secret] end'));
});

test('what the line says besides its values is no leak', () => {
  const weak: Label = { class: 'secret', kind: 'secret', value: 'accepted' };
  assert.ok(leaks(weak, 'login accepted'));
  assert.ok(!leaks(weak, 'login accepted', 'login accepted by'));
});

const FORMS: Readonly<Record<string, (text: string) => string>> = {
  JSON: jsonEscaped,
  'JSON in JSON': (text) => jsonEscaped(JSON.stringify(text)),
  'unicode escapes': unicodeEscaped,
  percent,
  'percent twice': (text) => percent(percent(text)),
  form: formValue,
  'quoted-printable': quotedPrintable,
  hex: auditHex,
  base64: (text) => Buffer.from(`{"a":"${text}"}`).toString('base64'),
  'the tail of base64': (text) => Buffer.from(`xy ${text}${text}`).toString('base64').slice(7),
  bytes: (text) => JSON.stringify([...Buffer.from(text)]),
  'character references': (text) => text.replace(/./gsu, (mark) => `&#${mark.codePointAt(0)};`),
};

for (const [form, write] of Object.entries(FORMS)) {
  test(`a secret is read through ${form}`, () => {
    assert.ok(leaks(SECRET, `value=${write(SECRET.value)} end`));
  });
}

test('a name is read in any case, by its parts, and not inside another word', () => {
  const name: Label = { class: 'user', kind: 'name', value: 'Anna.Petrov' };
  assert.ok(leaks(name, 'user ANNA.PETROV'));
  assert.ok(leaks(name, 'user u-1a2b3c4d petrov'));
  assert.ok(leaks(name, 'user anna '));
  assert.ok(!leaks(name, 'user savannah'));
});

test('a phone is read through its separators', () => {
  const phone: Label = { class: 'phone', kind: 'phone', value: '79161234567' };
  assert.ok(leaks(phone, 'call (916) 123-45\u201167'));
  assert.ok(!leaks(phone, 'call tel-1a2b3c4d'));
});

test('an address is read whole, in hex, and by the tail that must go', () => {
  const v4: Label = { class: 'ipv4', kind: 'ipv4', value: '203.0.113.77' };
  assert.ok(leaks(v4, 'from 203.0.113.77:80'));
  assert.ok(leaks(v4, 'saddr=02000050CB00714D'));
  assert.ok(!leaks(v4, 'from 203.0.113.x:80 and 203.0.113.7'));
  const v6: Label = { class: 'ipv6', kind: 'ipv6', value: '2001:db8:12:9a0f::77e1' };
  assert.ok(leaks(v6, 'from 2001:0db8:0012:9a0f:0:0:0:77e1'));
  assert.ok(leaks(v6, 'from 2001:db8:12:9a0f::'));
  assert.ok(!leaks(v6, 'from 2001:db8:12:: on eth0'));
});
