/** XML of the DAV door: what is read, what is refused, and what can be written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DavRefusal } from '#src/calendar/dav/dav-refusal.ts';
import { inflateBody, readXmlBody, XML_BYTES_MAX } from '#src/calendar/dav/request-body.ts';
import {
  readLongXml,
  readXml,
  STEP_LENGTH,
  XML_ATTRIBUTES_MAX,
  XML_DEPTH_MAX,
  XML_ELEMENTS_MAX,
  XML_LINES_MAX,
} from '#src/calendar/dav/xml/xml-reader.ts';
import { element, escapeText } from '#src/calendar/dav/xml/xml-writer.ts';
import { gzipSync } from 'node:zlib';

const read = (text: string) => readXml(Buffer.from(text));
const refusedWith =
  (status: number, text: RegExp) =>
  (error: unknown): boolean =>
    error instanceof DavRefusal && error.status === status && text.test(error.message);

test('the same element under any prefix and under none has one name', () => {
  for (const text of [
    '<D:propfind xmlns:D="DAV:"><D:prop/></D:propfind>',
    '<propfind xmlns="DAV:"><prop/></propfind>',
    '<?xml version="1.0" encoding="UTF-8"?>\n<ns0:propfind xmlns:ns0="DAV:"><A:prop xmlns:A="DAV:"/></ns0:propfind>',
  ]) {
    const root = read(text);
    assert.equal(root.name, '{DAV:}propfind');
    assert.deepEqual(
      root.children.map(({ name }) => name),
      ['{DAV:}prop'],
    );
  }
});

test('UTF-16 with its mark is read; another encoding is 415', () => {
  const utf16 = Buffer.from('\ufeff<a xmlns="DAV:">ä</a>', 'utf16le');
  assert.equal(readXml(utf16).text, 'ä');
  assert.throws(() => read('<?xml version="1.0" encoding="iso-8859-1"?><a/>'), refusedWith(415, /UTF-8/));
});

test('CAL-01 a document type, with entities or without, is refused', () => {
  const bomb = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "xxxx"><!ENTITY y "&x;&x;&x;">]><a xmlns="DAV:">&y;</a>';
  assert.throws(() => read(bomb), refusedWith(400, /document type/));
  assert.throws(() => read('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'), refusedWith(400, /document type/));
  assert.throws(() => read('<a>&unknown;</a>'), refusedWith(400, /well-formed/));
});

test('depth, elements and attributes are bounded, one beyond each is refused', () => {
  const nested = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth);
  assert.equal(read(nested(XML_DEPTH_MAX)).name, '{}a');
  assert.throws(() => read(nested(XML_DEPTH_MAX + 1)), refusedWith(400, /nested/));
  assert.throws(() => read('<a>'.repeat(100_000)), refusedWith(400, /nested/));
  const many = (count: number) => `<a>${'<b/>'.repeat(count - 1)}</a>`;
  assert.equal(read(many(XML_ELEMENTS_MAX)).children.length, XML_ELEMENTS_MAX - 1);
  assert.throws(() => read(many(XML_ELEMENTS_MAX + 1)), refusedWith(400, /elements/));
  const attributed = (count: number) => `<a ${Array.from({ length: count }, (_, at) => `b${at}=""`).join(' ')}/>`;
  assert.equal(read(attributed(XML_ATTRIBUTES_MAX)).attributes.size, XML_ATTRIBUTES_MAX);
  assert.throws(() => read(attributed(XML_ATTRIBUTES_MAX + 1)), refusedWith(400, /attributes/));
  const together = `<a>${'<b c="" d=""/>'.repeat(XML_ELEMENTS_MAX / 2)}<b c=""/></a>`;
  assert.throws(() => read(together), refusedWith(400, /attributes/));
  assert.throws(() => read(`<a>${'<!---->'.repeat(XML_ELEMENTS_MAX)}</a>`), refusedWith(400, /elements/));
  assert.throws(() => read(`<!-- a --><?b c?>\n<!DOCTYPE a><a/>`), refusedWith(400, /document type/));
});

test('what is not well-formed, not UTF-8 or nothing at all is refused', async () => {
  for (const text of ['<a>', '<a></b>', '<a b=1/>', 'hello', '<x:a/>', '<a/><b/>', '<a>\u0000</a>']) {
    assert.throws(() => read(text), refusedWith(400, /./), text);
  }
  assert.throws(
    () => readXml(Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e])),
    refusedWith(400, /UTF-8/),
  );
  assert.equal(await readXmlBody(Buffer.alloc(0)), undefined);
});

test('a body of more than its bytes is 413, and only a multiget may be long', async () => {
  const long = (name: string) => Buffer.from(`<${name} xmlns="DAV:">${' '.repeat(XML_BYTES_MAX)}</${name}>`);
  await assert.rejects(readXmlBody(long('propfind')), refusedWith(413, /bytes/));
  assert.equal((await readXmlBody(long('calendar-multiget')))?.name, '{DAV:}calendar-multiget');
});

test('a long body is read in steps as a short one is, whatever a step ends within', async () => {
  const text = `<a xmlns="DAV:">${`<href>/ä\u{1F389}\r\n&amp;b</href>`.repeat(9_000)}</a>`;
  for (const shift of ['', ' ', '  ', '   ', '    ', '     ']) {
    const bytes = Buffer.from(shift + text);
    assert.ok(bytes.length > 2 * STEP_LENGTH);
    assert.deepEqual(await readLongXml(bytes), readXml(bytes));
  }
  assert.equal((await readLongXml(Buffer.from(text))).children[8_999]?.text, '/ä\u{1F389}\n&b');
  const filled = (inner: string) => Buffer.from(`<?xml version="1.0"?><!-- x --><a xmlns="DAV:">${inner}</a>`);
  assert.equal((await readLongXml(filled('&lt;'.repeat(XML_ELEMENTS_MAX)))).text.length, XML_ELEMENTS_MAX);
  assert.equal((await readLongXml(filled('\r\n'.repeat(XML_LINES_MAX)))).text.length, XML_LINES_MAX);
  for (const [inner, say] of [
    ['&lt;'.repeat(XML_ELEMENTS_MAX + 1), /references/],
    ['\n'.repeat(XML_LINES_MAX + 1), /lines/],
    [`${' '.repeat(2_048)}<!-- x -->`, /comments/],
    [`${' '.repeat(2_048)}<?x y?>`, /comments/],
    ['<b>', /well-formed/],
  ] as const) {
    await assert.rejects(readLongXml(filled(inner)), refusedWith(400, say));
  }
});

test('a compressed body is unpacked up to its bound and no further', async () => {
  const text = Buffer.from('<a/>');
  assert.deepEqual(await inflateBody(gzipSync(text), 'gzip', 1_000), text);
  assert.deepEqual(await inflateBody(text, undefined, 1_000), text);
  await assert.rejects(inflateBody(gzipSync(Buffer.alloc(10_000_000)), 'gzip', 100_000), refusedWith(413, /bytes/));
  await assert.rejects(inflateBody(text, 'gzip', 1_000), refusedWith(400, /gzip/));
  await assert.rejects(inflateBody(text, 'compress', 1_000), refusedWith(415, /gzip/));
});

test('what XML has no way to write is left out, and a line end of iCalendar survives', () => {
  assert.equal(escapeText('a\u0000\u000b<&>\r\n\ufffeb\ud800'), 'a&lt;&amp;&gt;&#13;\nb\ufffd');
  assert.equal(read(`<a>${escapeText('BEGIN:VCALENDAR\r\n')}</a>`).text, 'BEGIN:VCALENDAR\r\n');
});

test('a property of any namespace is written so that it is read as the same', () => {
  const names = ['{DAV:}getetag', '{http://example.org/"&<}thing', '{}plain'] as const;
  for (const name of names) assert.equal(read(`<r xmlns:D="DAV:">${element(name, 'x')}</r>`).children[0]?.name, name);
});
