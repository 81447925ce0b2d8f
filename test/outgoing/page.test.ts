/** What is read of a page that somebody links to, and what hostile ones cost. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PAGE_BYTES_MAX, readPage } from '#src/outgoing/page.ts';
import { REDIRECTS_MAX } from '#src/outgoing/redirects.ts';
import { summarize } from '#src/outgoing/page-summary.ts';
import { sendOutgoing } from '#src/outgoing/request.ts';
import { startReceiver } from '#test/coordinator/settings-fixture.ts';

const OPTIONS = { allowPrivateTargets: true, userAgent: 'Parley/0' };
const HTML = { 'content-type': 'text/html; charset=utf-8' };
const PAGE = '<title>Here</title>';

const site = async (t: TestContext, answer: (response: ServerResponse, before: number) => void) =>
  await startReceiver(t, answer);

test('og: goes before twitter: and plain names, entities are read, and only the head counts', () => {
  const html = `<!doctype html><html><head><!-- <title>no</title> --><script>"<title>no</title>"</script>
    <TITLE lang=en>Plain &amp; simple</TITLE>
    <meta name="twitter:title" content="Twitter"><meta property='og:title' content='A &#x201c;quoted&#8221; > title'/>
    <meta content="What it&apos;s
      about" name=Description><meta property=og:site_name content=Site></head>
    <body><meta property="og:description" content="no"></body>`;
  assert.deepEqual(summarize(html), { title: 'A “quoted” > title', description: "What it's about", site: 'Site' });
  assert.deepEqual(summarize('<title>a\u202e\u0000b &unknown; &#xd800;c</title>'), { title: 'a b &unknown; \ufffdc' });
  assert.equal(summarize('<head></head><title>too late</title>'), undefined);
  assert.equal(summarize('<title>  </title>'), undefined);
  assert.equal(summarize(''), undefined);
});

test('texts are cut at their lengths, between characters', () => {
  const titled = (title: string) => summarize(`<title>${title}</title>`)?.title;
  assert.equal(titled('x'.repeat(200)), 'x'.repeat(200));
  assert.equal(titled('x'.repeat(201)), `${'x'.repeat(199)}…`);
  assert.equal(titled(`${'x'.repeat(198)}😀😀`), `${'x'.repeat(198)}…`);
});

test('hostile HTML of the greatest length is walked over once', () => {
  const hostile = [
    '<',
    '<!--',
    '<title',
    '<title>',
    '<meta ',
    '<meta a="',
    "<meta a='b' ",
    '<script>',
    '</',
    '<a b=',
    '&#',
    '= ',
    ' ',
  ];
  for (const part of hostile) {
    const html = part.repeat(Math.ceil(PAGE_BYTES_MAX / part.length));
    assert.equal(summarize(`${PAGE}${html}`)?.title, 'Here', part);
    summarize(html);
  }
});

test('a page is asked for without a referrer or cookies, in the server’s own name, and read in its character set', async (t) => {
  const cyrillic = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]);
  const { received, url } = await site(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(
      Buffer.concat([Buffer.from('<meta charset="windows-1251"><title>'), cyrillic, Buffer.from('</title>')]),
    );
  });
  assert.deepEqual(await readPage(url, OPTIONS), { title: 'Привет' });
  const { host: _host, ...headers } = received[0]?.headers ?? {};
  assert.deepEqual(headers, {
    'user-agent': 'Parley/0',
    accept: 'text/html, application/xhtml+xml',
    'accept-encoding': 'identity',
    connection: 'close',
  });
});

test('what is no HTML, packed, or no success is not read', async (t) => {
  const answers: [number, Record<string, string>, string | Buffer][] = [
    [200, { 'content-type': 'application/json' }, PAGE],
    [200, {}, PAGE],
    [404, HTML, PAGE],
    [200, { ...HTML, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(64 * 1024 * 1024))],
  ];
  const { received, url } = await site(t, (response, before) => {
    const [status, headers, body] = answers[before] ?? [500, {}, ''];
    response.writeHead(status, headers).end(body);
  });
  for (const [, headers] of answers) assert.equal(await readPage(url, OPTIONS), undefined, JSON.stringify(headers));
  assert.equal(received.length, answers.length);
});

test('a page without an end is read up to its bound, and one that stands still up to the deadline', async (t) => {
  const endless = await site(t, (response) => {
    response.writeHead(200, HTML);
    response.write(PAGE);
    const more = () => void (response.writable && response.write(' '.repeat(64 * 1024), more));
    more();
  });
  assert.deepEqual(await readPage(endless.url, OPTIONS), { title: 'Here' });
  const late = await site(t, (response) => {
    response.writeHead(200, HTML);
    response.write(`${' '.repeat(PAGE_BYTES_MAX)}${PAGE}`);
  });
  assert.equal(await readPage(late.url, OPTIONS), undefined);
  const still = await site(t, (response) => void response.writeHead(200, HTML).write(PAGE));
  await assert.rejects(readPage(still.url, { ...OPTIONS, millis: 50 }), { name: 'OutgoingTimeout' });
});

test('three redirects are followed, a fourth is not, and none to what is no page of the web', async (t) => {
  const redirecting = (times: number, location: string) => (response: ServerResponse, before: number) => {
    if (before < times) response.writeHead(302, { location }).end();
    else response.writeHead(200, HTML).end(PAGE);
  };
  const three = await site(t, redirecting(REDIRECTS_MAX, '/next'));
  assert.deepEqual(await readPage(three.url, OPTIONS), { title: 'Here' });
  const four = await site(t, redirecting(REDIRECTS_MAX + 1, '/next'));
  assert.equal(await readPage(four.url, OPTIONS), undefined);
  assert.equal(four.received.length, REDIRECTS_MAX + 1);
  for (const location of ['file:///etc/passwd', 'http://a:b@127.0.0.1/', 'http://[', 'data:text/html,x']) {
    const one = await site(t, redirecting(1, location));
    assert.equal(await readPage(one.url, OPTIONS), undefined, location);
  }
});

test('a private target is refused, at once and behind a name', async (t) => {
  const { received, url } = await site(t, (response) => response.writeHead(200, HTML).end(PAGE));
  const { port } = new URL(url);
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1']) {
    const page = readPage(`http://${host}:${port}/`, { ...OPTIONS, allowPrivateTargets: false });
    await assert.rejects(page, { code: 'target_private' }, host);
  }
  assert.equal(received.length, 0);
});

test('a page elsewhere that redirects to a private target is refused there', async (t) => {
  const { received, url } = await site(t, (response) => response.writeHead(200, HTML).end(PAGE));
  const asked: string[] = [];
  const page = readPage('https://pages.example/', {
    ...OPTIONS,
    allowPrivateTargets: false,
    // The first answer stands for a site of the internet; what follows is sent as ever.
    send: async (request) => {
      asked.push(request.url);
      if (asked.length > 1) return await sendOutgoing(request);
      return { status: 302, headers: { location: url }, bytes: Buffer.alloc(0), text: '' };
    },
  });
  await assert.rejects(page, { code: 'target_private' });
  assert.deepEqual([asked, received], [['https://pages.example/', url], []]);
});
