/** Subscriptions over restarts and crashes, as they lie in the store. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALENDAR_SUBSCRIPTIONS_MAX } from '#src/protocol/limits.ts';
import { checkCalendars } from '#storage/check/calendar-check.ts';
import { checkFolder } from '#storage/check/check.ts';
import { Findings } from '#storage/engine/findings.ts';
import { CalendarReader } from '#storage/calendars/calendar-reader.ts';
import { openCalendars } from '#storage/calendars/calendar-records.ts';
import {
  dueSubscriptions,
  putSource,
  putSubscription,
  subscribe,
  subscriptionOf,
  type SubscriptionRecord,
} from '#storage/calendars/calendar-subscriptions.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { numberedThen } from '#storage/engine/keys.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { startServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, call, makeCalendar } from '../service/calling.ts';
import { contents, feedsOver, FeedServer, feedOf, follow, refresh, settled, vevent } from './feed-server.ts';

const DAY = 86_400_000;
const GOOD = feedOf([vevent('a', 'One')]);

/** Changes subscriptions in the folder of a server that does not run. */
async function change(folder: string, decide: (record: SubscriptionRecord) => Partial<SubscriptionRecord>, id: string) {
  const calendars = Calendars.open(folder, { now: Date.now });
  await calendars.change((draft) => {
    const record = subscriptionOf(draft, id) as SubscriptionRecord;
    putSubscription(draft, id, { ...record, ...decide(record) });
  });
  await calendars.close();
}

test('what fell due while the server was down is asked for after the start; what is missing for long is given up', async (t) => {
  const { feeds, folder, start } = await feedsOver(t);
  let server = await start();
  const alice = await server.person('alice');
  const { id } = await follow(server, alice, feeds.serve('/feed.ics', GOOD));
  await server.stop();
  await change(folder, () => ({ nextAt: Date.now() - 1, digest: null }), id);
  feeds.serve('/feed.ics', feedOf([vevent('a', 'One'), vevent('b', 'Two')]));
  server = await start();
  assert.equal((await settled(server, alice, id)).outcome, 'changed');
  await server.stop();
  feeds.serve('/feed.ics', (response) => response.writeHead(410).end());
  await change(folder, () => ({ nextAt: 0, missingSince: Date.now() - 15 * DAY, outcome: 'gone', failures: 20 }), id);
  server = await start();
  const dead = await settled(server, alice, id);
  assert.deepEqual([dead.state, dead.outcome, dead.next_attempt_at], ['dead', 'gone', null]);
  assert.deepEqual((await contents(server, alice, id)).titles, ['One', 'Two']);
  feeds.serve('/feed.ics', GOOD);
  assert.deepEqual((await refresh(server, alice, id)).state, 'fresh');
});

test('a kill while a feed is taken in leaves a sound calendar, and the next start finishes it', async (t) => {
  const { feeds, folder, start } = await feedsOver(t);
  let server = await start();
  const alice = await server.person('alice');
  const events = Array.from({ length: 3_000 }, (_, number) => vevent(`uid-${number}`, `Event ${number}`));
  const url = feeds.serve('/large.ics', feedOf(events));
  const { id } = await makeCalendar(server, alice, { source: { url } });
  await until(async () => {
    const { body } = await call<{ sync_seq: number }>(server, alice, 'GET', `/v1/calendars/${id}`);
    return body.sync_seq > 100;
  }, 'some of the feed');
  await server.end('SIGKILL');
  assert.deepEqual((await checkFolder(folder)).problems, []);
  const calendars = Calendars.open(folder, { now: Date.now });
  const { objects = 0 } = calendars.calendar(id) ?? {};
  await calendars.close();
  assert.ok(objects > 0 && objects < 3_000, `${objects} of 3,000 were taken in`);
  server = await start();
  assert.equal((await settled(server, alice, id)).outcome, 'changed');
  assert.equal((await contents(server, alice, id)).titles.length, 3_000);
  // Removed while it is asked for: nothing comes back.
  const held = feeds.serve('/held.ics', () => undefined);
  const { id: gone } = await makeCalendar(server, alice, { source: { url: held } });
  await until(() => feeds.askedFor('/held.ics').length === 1, 'the fetch');
  assert.equal((await call(server, alice, 'DELETE', `/v1/calendars/${gone}`)).status, 204);
  assert.equal((await call(server, alice, 'DELETE', `/v1/calendars/${id}`)).status, 204);
  await server.stop();
  assert.deepEqual((await checkFolder(folder)).problems, []);
});

test('a person follows so many feeds and no more; the trail says so without addresses', async (t) => {
  const feeds = await FeedServer.open();
  t.after(async () => await feeds.close());
  const environment = { ...feeds.environment, PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
  const { server, console, stop } = await startConsoleServer({ environment });
  t.after(stop);
  const alice = await server.person('alice');
  const url = feeds.serve('/secret-path.ics', GOOD);
  const { id } = await follow(server, alice, url);
  await call(server, alice, 'PATCH', `/v1/calendars/${id}/subscription`, { url, refresh_seconds: 900 });
  const trail = await console<{ items: Record<string, unknown>[] }>('GET', '/calendar/audit');
  const { name } = (await call<{ name: string }>(server, alice, 'GET', `/v1/calendars/${id}`)).body;
  assert.deepEqual(
    trail.body.items.map(({ actor, details, event }) => [event, actor, details]),
    [
      ['calendar.subscription_changed', 'user:alice', { address: true, refresh_seconds: 900 }],
      ['calendar.subscribed', 'user:alice', { name }],
      ['calendar.created', 'user:alice', { name }],
      ['calendar.created', 'user:alice', { name: 'default' }],
    ],
  );
  assert.equal(trail.text.includes('secret-path'), false);
  await settled(server, alice, id);
  await server.stop();
  const calendars = Calendars.open(server.folder, { now: Date.now });
  const form = { owner: 'alice', displayname: 'x', description: '', color: '', order: 0, zone: 'UTC' } as const;
  const plant = async (number: number) =>
    await calendars.change((draft) => {
      const kinds = { kinds: ['event'], transparency: 'opaque', subscribed: true } as const;
      const made = draft.createCalendar({ ...form, ...kinds, name: `feed-${number}` });
      const record = { ...(subscriptionOf(draft, id) as SubscriptionRecord), nextAt: null };
      subscribe(draft, made, record, { actor: 'user:alice', address: null });
      return made;
    });
  for (let number = 1; number < CALENDAR_SUBSCRIPTIONS_MAX; number += 1) await plant(number);
  await assert.rejects(plant(0), { code: 'calendar_subscriptions_full' });
  await calendars.close();
  const full = await startServer({ folder: server.folder, environment });
  t.after(async () => await full.stop());
  const another = { displayname: 'x', source: { url } };
  assertRefused(await call(full, alice, 'POST', '/v1/calendars', another), 'calendar_subscriptions_full');
  assert.equal((await call(full, alice, 'DELETE', `/v1/calendars/${id}`)).status, 204);
  assert.equal((await call(full, alice, 'POST', '/v1/calendars', another)).status, 201);
});

test('nothing is asked for on behalf of somebody who may not come', async (t) => {
  const feeds = await FeedServer.open();
  t.after(async () => await feeds.close());
  const environment = { ...feeds.environment, PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
  const { server, console, stop } = await startConsoleServer({ environment });
  t.after(stop);
  const alice = await server.person('alice');
  const { id } = await follow(server, alice, feeds.serve('/feed.ics', GOOD));
  const blocked = await console('POST', '/users/alice/block');
  assert.equal(blocked.status, 200, blocked.text);
  await server.stop();
  await change(server.folder, () => ({ nextAt: 1 }), id);
  const again = await startServer({ folder: server.folder, environment });
  t.after(async () => await again.stop());
  const calendars = new CalendarReader(openCalendars(server.folder));
  t.after(async () => await calendars.close());
  const next = await until(() => {
    calendars.refresh();
    const at = subscriptionOf(calendars, id)?.nextAt ?? 0;
    return at > 1 && at;
  }, 'the next look');
  assert.ok(next > Date.now() + DAY / 2, 'in a day');
  assert.equal(feeds.asked.length, 1);
});

test('a check finds a refresh that nobody waits for and a digest of nothing', async (t) => {
  const folder = temporaryFolder(t);
  const calendars = Calendars.open(folder, { now: () => DAY });
  const { id } = await calendars.createCalendar({
    ...{ owner: 'alice', name: 'feed', displayname: '', description: '', color: '', order: 0, zone: 'UTC' },
    ...{ kinds: ['event'], transparency: 'opaque' },
  });
  await calendars.change((draft) => {
    draft.put('refreshes', numberedThen(DAY, 'r', id), Buffer.of(1));
    putSource(draft, id, 'nothing', Buffer.alloc(16));
  });
  assert.deepEqual(dueSubscriptions(calendars, DAY, 10), [id]);
  await calendars.close();
  const problems: string[] = [];
  await checkCalendars(folder, new Findings('', problems));
  assert.deepEqual(problems, [
    `sources [${id}, nothing] is of no object.`,
    `subscriptions [${id}] stands on one side of its index alone, or is of no calendar.`,
  ]);
});
