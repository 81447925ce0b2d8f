/** Feeds that are hostile, broken or large: each fails by a word of its own, and takes nothing away. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { fetchFeed, FeedFailed } from '#src/calendar/subscriptions/feed-fetch.ts';
import { REFRESHES_AT_ONCE_MAX } from '#src/calendar/subscriptions/subscription-schedule.ts';
import { REDIRECTS_MAX } from '#src/outgoing/redirects.ts';
import { sendOutgoing } from '#src/outgoing/request.ts';
import {
  CALENDAR_FEED_BYTES_MAX,
  CALENDAR_FEED_OBJECTS_MAX,
  CALENDAR_FETCHES_PER_MINUTE,
} from '#src/protocol/limits.ts';
import { startReceiver } from '#test/coordinator/settings-fixture.ts';
import { startServer, type Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, call, makeCalendar, makeEntry } from '../service/calling.ts';
import { contents, FeedServer, feedOf, follow, refresh, settled, vevent, type Answer } from './feed-server.ts';

const feeds = await FeedServer.open();
after(async () => await feeds.close());
const environment = { ...feeds.environment, PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
const { server } = await shareServer([], { environment });
const GOOD = feedOf([vevent('a', 'One'), vevent('b', 'Two')]);

/** How a feed fails that was good before: its outcome and line. What it said before has to be there still. */
async function outcomeOf(who: Person, path: string, answer: Answer | string): Promise<[string | null, number | null]> {
  const { id } = await follow(server, who, feeds.serve(path, GOOD));
  const before = await contents(server, who, id);
  assert.deepEqual(before.titles, ['One', 'Two']);
  feeds.serve(path, answer);
  const { line, outcome, state } = await refresh(server, who, id);
  assert.equal(state, 'failing', outcome ?? '');
  assert.deepEqual(await contents(server, who, id), before);
  await call(server, who, 'DELETE', `/v1/calendars/${id}`);
  return [outcome, line];
}

test('a feed that is none fails by a word and keeps the last good copy', async () => {
  const text = (body: string) => body;
  const cut: Answer = (response) => {
    response.writeHead(200, { 'content-length': '5000' }).write(GOOD);
    setImmediate(() => response.destroy());
  };
  const cases: [string, Answer | string, [string, number | null]][] = [
    ['html', text('<!doctype html><title>Sign in</title>'), ['not_calendar', 1]],
    ['empty', text(''), ['not_calendar', 1]],
    ['nonsense', text('BEGIN:VCALENDAR\r\nVERSION:2.0\r\n§ § §\r\nEND:VCALENDAR\r\n'), ['not_calendar', 3]],
    ['version', text(GOOD.replace('VERSION:2.0', 'VERSION:1.0')), ['not_calendar', 2]],
    ['broken-off', text(GOOD.slice(0, -20)), ['truncated', null]],
    ['shorter', cut, ['unreachable', null]],
    ['gzip-cut', packed(gzipSync(GOOD).subarray(0, -20)), ['truncated', null]],
    ['encoding', packed(Buffer.from(GOOD), 'br'), ['not_calendar', 1]],
    ['refused', (response) => response.writeHead(403).end(), ['access_refused', null]],
    ['gone', (response) => response.writeHead(410).end(), ['gone', null]],
    ['busy', (response) => response.writeHead(429).end(), ['rate_limited', null]],
    ['failed', (response) => response.writeHead(500).end(), ['server_error', null]],
    ['odd', (response) => response.writeHead(204).end(), ['status_unexpected', null]],
    ['unasked', (response) => response.writeHead(304).end(), ['status_unexpected', null]],
  ];
  for (const [name, answer, expected] of cases) {
    const who = await server.person(name);
    assert.deepEqual(await outcomeOf(who, `/${name}.ics`, answer), expected, name);
  }
});

function packed(bytes: Uint8Array, encoding = 'gzip'): Answer {
  return (response) => response.writeHead(200, { 'content-encoding': encoding }).end(bytes);
}

test('a bomb and a body without end are cut off at the size of a feed; one of just that size is taken', async () => {
  const bomb = gzipSync(Buffer.alloc(20 * CALENDAR_FEED_BYTES_MAX, 0x20));
  assert.deepEqual(await outcomeOf(await server.person('bomb'), '/bomb.ics', packed(bomb)), ['too_large', null]);
  const endless: Answer = (response) => {
    const chunk = Buffer.alloc(256 * 1024, 'X-PAD:x\r\n');
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.writeHead(200).on('drain', write);
    write();
  };
  const who = await server.person('endless');
  assert.deepEqual(await outcomeOf(who, '/endless.ics', endless), ['too_large', null]);
  const line = `X-PAD:${'x'.repeat(1000)}\r\n`;
  const whole = GOOD.replace('BEGIN:VEVENT', `${line.repeat(CALENDAR_FEED_BYTES_MAX / line.length - 2)}BEGIN:VEVENT`);
  const left = CALENDAR_FEED_BYTES_MAX - Buffer.byteLength(whole);
  const exact = whole.replace('X-PAD:', `X-PAD:${'y'.repeat(left)}`);
  assert.equal(Buffer.byteLength(exact), CALENDAR_FEED_BYTES_MAX);
  const { id, state } = await follow(server, who, feeds.serve('/exact.ics', packed(gzipSync(exact))));
  assert.equal(state.outcome, 'changed');
  const beyond = exact.replace('X-PAD:', 'X-PAD:z');
  for (const answer of [beyond, packed(gzipSync(beyond))]) {
    feeds.serve('/exact.ics', answer);
    assert.equal((await refresh(server, who, id)).outcome, 'too_large');
  }
});

test('redirects are followed a few times, to https alone, and not in a circle', async () => {
  const who = await server.person('redirected');
  const to =
    (location: string): Answer =>
    (response) =>
      response.writeHead(302, { location }).end();
  feeds.serve('/end.ics', GOOD);
  for (let hop = 1; hop <= REDIRECTS_MAX; hop += 1) {
    feeds.serve(`/hop-${hop}.ics`, to(hop === REDIRECTS_MAX ? '/end.ics' : `/hop-${hop + 1}.ics`));
  }
  const { id, state } = await follow(server, who, `${feeds.url}/hop-1.ics`);
  assert.equal(state.outcome, 'changed');
  feeds.serve('/hop-0.ics', to('/hop-1.ics'));
  feeds.serve('/circle.ics', to('/circle.ics'));
  feeds.serve('/plain.ics', to(`http://localhost:1/end.ics`));
  feeds.serve('/nowhere.ics', (response) => response.writeHead(302).end());
  for (const path of ['/hop-0.ics', '/circle.ics', '/plain.ics', '/nowhere.ics']) {
    const body = { url: `${feeds.url}${path}` };
    await call(server, who, 'PATCH', `/v1/calendars/${id}/subscription`, body);
    assert.equal((await settled(server, who, id)).outcome, 'redirect_refused', path);
  }
  assert.equal(feeds.askedFor('/circle.ics').length, REDIRECTS_MAX + 1);
  assert.deepEqual((await contents(server, who, id)).titles, ['One', 'Two']);
});

test('no private address is asked, neither at once nor by a redirect, unless the operator allows it', async (t) => {
  const strict = await startServer({ environment: feeds.environment });
  t.after(async () => await strict.stop());
  const alice = await strict.person('alice');
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.1.2.3', '169.254.169.254', '0x7f.1', 'x.localhost']) {
    const source = { url: `https://${host}/feed.ics` };
    const reply = await call(strict, alice, 'POST', '/v1/calendars', { displayname: 'x', source });
    assertRefused(reply, 'target_private', 'source.url');
  }
  const { id } = await makeCalendar(strict, alice);
  assertRefused(
    await call(strict, alice, 'PATCH', `/v1/calendars/${id}/subscription`, { url: 'https://192.168.0.1/x' }),
    'target_private',
    'url',
  );
  // A server of the public internet, which sends on into the network of this one.
  const redirecting: typeof sendOutgoing = async (outgoing) =>
    outgoing.url === 'https://feeds.example/x.ics'
      ? { status: 302, headers: { location: 'https://127.0.0.1:1/x' }, bytes: Buffer.alloc(0), text: '' }
      : await sendOutgoing(outgoing);
  const options = { allowPrivateTargets: false, userAgent: 'Parley/0', send: redirecting };
  assert.equal(await failureOf(fetchFeed('https://feeds.example/x.ics', NEW, options)), 'target_private');
});

const NEW = { etag: null, lastModified: null };

async function failureOf(fetched: Promise<unknown>): Promise<string> {
  const error = await fetched.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof FeedFailed, String(error));
  return error.outcome;
}

test('a feed that drips is given up at the deadline, however steadily it drips', async (t) => {
  const open = new Set<NodeJS.Timeout>();
  t.after(() => open.forEach((timer) => clearInterval(timer)));
  const { url } = await startReceiver(t, (response: ServerResponse) => {
    response.writeHead(200).write('BEGIN:VCALENDAR\r\n');
    open.add(setInterval(() => response.write('X'), 20));
  });
  const options = { allowPrivateTargets: true, userAgent: 'Parley/0', millis: 300 };
  assert.equal(await failureOf(fetchFeed(url, NEW, options)), 'timeout');
});

test('ten thousand entries are taken in while others work, change nothing the next time, and one more is refused', async () => {
  const who = await server.person('large');
  const other = await server.person('other');
  const { id: work } = await makeCalendar(server, other);
  const events = (stamp: string, count: number) =>
    feedOf(Array.from({ length: count }, (_, number) => vevent(`uid-${number}`, `Event ${number}`, [], stamp)));
  const url = feeds.serve('/large.ics', events('20261121T080000Z', CALENDAR_FEED_OBJECTS_MAX));
  const { id } = await makeCalendar(server, who, { source: { url } });
  const isDone = settled(server, who, id);
  for (let number = 0; number < 20; number += 1) {
    await makeEntry(server, other, work, { title: `Work ${number}`, start_at: '2026-11-23T09:00:00Z' });
  }
  const state = await isDone;
  assert.deepEqual([state.outcome, state.failed], ['changed', 0]);
  const before = await contents(server, who, id);
  assert.equal(before.titles.length, CALENDAR_FEED_OBJECTS_MAX);
  feeds.serve('/large.ics', events('20261121T090000Z', CALENDAR_FEED_OBJECTS_MAX));
  assert.equal((await refresh(server, who, id)).outcome, 'unchanged');
  feeds.serve('/large.ics', events('20261121T090000Z', CALENDAR_FEED_OBJECTS_MAX + 1));
  assert.equal((await refresh(server, who, id)).outcome, 'too_many_entries');
  assert.equal((await contents(server, who, id)).seq, before.seq);
});

/** Has the half minute that a feed may be read for be five seconds, as any timer of that length. */
const HASTY = `--import=data:text/javascript,${encodeURIComponent(
  'const later = setTimeout; globalThis.setTimeout = (run, wait, ...with_) => later(run, wait === 30000 ? 5000 : wait, ...with_)',
)}`;

test('a feed that costs too much to read is stopped, keeps the last good copy, and holds up no other', async (t) => {
  const hasty = await startServer({ environment: { ...environment, NODE_OPTIONS: HASTY } });
  t.after(async () => await hasty.stop());
  const { ada, eve } = await hasty.people('ada', 'eve');
  const { id } = await follow(hasty, eve, feeds.serve('/costly.ics', GOOD));
  const before = await contents(hasty, eve, id);
  // Minutes of work: a month of thirty days is looked for in each entry until its own bound is met.
  const rule = 'RRULE:FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30;COUNT=1000';
  const costly = Array.from({ length: CALENDAR_FEED_OBJECTS_MAX }, (_, at) => vevent(`uid-${at}`, 'Costly', [rule]));
  feeds.serve('/costly.ics', feedOf(costly));
  const { failures, line, outcome, state } = await refresh(hasty, eve, id);
  assert.deepEqual([outcome, state, line, failures], ['too_costly', 'failing', null, 1]);
  assert.deepEqual(await contents(hasty, eve, id), before);
  const { state: other } = await follow(hasty, ada, feeds.serve('/behind.ics', GOOD));
  assert.deepEqual([other.outcome, other.state], ['changed', 'fresh']);
  feeds.serve('/costly.ics', GOOD);
  assert.equal((await refresh(hasty, eve, id)).state, 'fresh');
});

test('a few feeds are asked for at once, one of each person, and each has its turn', async () => {
  const names = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];
  const all = await server.people(...names);
  const open: { owner: string; end: () => void }[] = [];
  let most = 0;
  const ids: [Person, string][] = [];
  for (const name of names) {
    for (const number of [1, 2]) {
      const url = feeds.serve(`/${name}-${number}.ics`, (response) => {
        assert.equal(
          open.some(({ owner }) => owner === name),
          false,
          `${name} has one at once`,
        );
        open.push({ owner: name, end: () => response.writeHead(200).end(GOOD) });
        most = Math.max(most, open.length);
      });
      ids.push([all[name] as Person, (await makeCalendar(server, all[name] as Person, { source: { url } })).id]);
    }
  }
  await until(() => open.length === REFRESHES_AT_ONCE_MAX, 'as many as there may be at once');
  for (let ended = 0; ended < ids.length; ended += 1) {
    const next = await until(() => open[0], 'one more');
    open.shift();
    next.end();
  }
  for (const [who, id] of ids) assert.equal((await settled(server, who, id)).outcome, 'changed');
  assert.equal(most, REFRESHES_AT_ONCE_MAX);
});

test('somebody who asks again and again is told to wait; addresses and intervals that are none are refused', async () => {
  const who = await server.person('eager');
  const { id } = await follow(server, who, feeds.serve('/eager.ics', GOOD));
  const path = `/v1/calendars/${id}/subscription`;
  const wrong = [
    'http://feeds.example/x',
    'ftp://feeds.example/x',
    'https://a:b@feeds.example/x',
    'feeds.example',
    `https://feeds.example/${'x'.repeat(2_000)}`,
  ];
  for (const url of wrong) assertRefused(await call(server, who, 'PATCH', path, { url }), 'field_invalid', 'url');
  for (const seconds of [899, 604_801, 900.5]) {
    assertRefused(
      await call(server, who, 'PATCH', path, { refresh_seconds: seconds }),
      'field_invalid',
      'refresh_seconds',
    );
  }
  for (const seconds of [900, 604_800, null]) {
    assert.equal((await call(server, who, 'PATCH', path, { refresh_seconds: seconds })).status, 200);
  }
  // The first of them was the making; on a slow machine some come back meanwhile.
  let asked = 1;
  let refused = await call(server, who, 'POST', `${path}/refresh`);
  for (; refused.status === 202; asked += 1) {
    await settled(server, who, id);
    refused = await call(server, who, 'POST', `${path}/refresh`);
  }
  assertRefused(refused, 'rate_limited');
  assert.ok(asked >= CALENDAR_FETCHES_PER_MINUTE && asked < 2 * CALENDAR_FETCHES_PER_MINUTE, `${asked} were taken`);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  const source = { displayname: 'x', source: { url: feeds.url } };
  for (const [method, at, form] of [
    ['PATCH', path, { url: feeds.url }],
    ['POST', '/v1/calendars', source],
  ] as const) {
    const reply = await until(async () => {
      const answer = await call(server, who, method, at, form);
      return answer.status < 300 ? undefined : answer;
    }, `${method} to be refused`);
    assertRefused(reply, 'rate_limited');
  }
});
