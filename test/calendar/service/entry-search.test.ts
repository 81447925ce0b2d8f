/** Search over entries: what is found, by whom, in which bounds, and that nobody finds what is hidden from them. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { AddressBook } from '#src/calendar/address-book.ts';
import { indexOf } from '#src/calendar/recurrence/object-index.ts';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { CalendarContents } from '#src/calendar/objects/calendar-contents.ts';
import { searchEntries, type SearchPlace } from '#src/calendar/objects/entry-search.ts';
import { storedIndex } from '#src/calendar/objects/stored-index.ts';
import { TimeSlicer } from '#src/calendar/time-slicer.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { SEARCH_PAGE_MAX, SEARCH_TERMS_MAX } from '#src/protocol/conversations/search.ts';
import { SEARCH_LENGTH_MAX } from '#src/protocol/limits.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { startConsoleServer } from '#test/support/console.ts';
import type { Person } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { giveAddresses } from '../mail/mailing.ts';
import {
  appPassword,
  assertRefused,
  call,
  defaultCalendar,
  eventText,
  makeCalendar,
  makeEntry,
  putObject,
} from './calling.ts';

const { console, server, stop } = await startConsoleServer();
after(stop);
const { alice, bob } = (await giveAddresses(server, console, 'alice', 'bob')) as Record<'alice' | 'bob', Person>;
assert.equal((await console('PATCH', '/users/bob', { display_name: 'Róbert Kowalski' })).status, 200);
const { id: alices } = await defaultCalendar(server, alice);
const AT = { start_at: '2027-02-01T09:00:00Z', end_at: '2027-02-01T10:00:00Z' };

interface Found {
  readonly items: { calendar_id: string; entry: EntryView }[];
  readonly next: string | null;
}

async function page(who: Person, q: string, more: Record<string, string> = {}): Promise<Found> {
  const reply = await call<Found>(server, who, 'GET', `/v1/entries?${new URLSearchParams({ q, ...more })}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

const titles = async (who: Person, q: string, more: Record<string, string> = {}) =>
  (await page(who, q, more)).items.map(({ entry }) => entry.title).toSorted();

test('CAL-01 entries are found by words of title, place, description, categories and people, folded', async () => {
  const entry = async (form: object) => await makeEntry(server, alice, alices, { ...AT, ...form });
  await entry({ title: 'Crème brûlée', location: 'Кухня, второй этаж', description: 'Line one\nцветок; ёлка' });
  await entry({ title: 'Budget talk', attendees: ['bob', 'mailto:zoe@outside.test'], categories: ['Quarterly'] });
  await entry({ title: 'Budget of the other talk' });
  assert.deepEqual(await titles(alice, 'creme BRULEE'), ['Crème brûlée']);
  assert.deepEqual(await titles(alice, 'елка'), ['Crème brûlée']);
  assert.deepEqual(await titles(alice, '"one цветок"'), ['Crème brûlée']);
  assert.deepEqual(await titles(alice, 'кухня brulee'), ['Crème brûlée']);
  assert.deepEqual(await titles(alice, 'budget'), ['Budget of the other talk', 'Budget talk']);
  assert.deepEqual(await titles(alice, '"budget talk"'), ['Budget talk']);
  assert.deepEqual(await titles(alice, 'quarterly'), ['Budget talk']);
  // By what the directory calls who takes part, which stands nowhere in the object, and by an address.
  assert.deepEqual(await titles(alice, 'kowalski'), ['Budget talk']);
  assert.deepEqual(await titles(alice, 'robert budget'), ['Budget talk']);
  assert.deepEqual(await titles(alice, 'zoe@outside'), ['Budget talk']);
  assert.deepEqual(await titles(alice, 'kowalski brulee'), []);
  // Names of properties, and what else stands in the bytes, are no words of it.
  for (const q of ['BEGIN', 'VEVENT', 'DTSTART', 'parley//calendar', '20270201T090000Z'])
    assert.deepEqual(await titles(alice, q), [], q);
  const folded = eventText('folded', [
    `DESCRIPTION:${'x'.repeat(60)} fo\r\n lded\\, and\\; esc`,
    'ATTENDEE;CN="O^\'Neil^\'":mailto:one@outside.test',
  ]);
  const headers = await appPassword(server, alice);
  assert.equal((await putObject(server, headers, '/dav/calendars/alice/default/folded.ics', folded)).status, 201);
  assert.deepEqual(await titles(alice, '"folded, and; esc"'), ['Talk']);
  assert.deepEqual(await titles(alice, 'neil'), ['Talk']);
});

test('CAL-05 nobody finds what is hidden from them, and what shows its time alone has no words', async () => {
  const { id } = await makeCalendar(server, alice, { displayname: 'Shared' });
  const entry = async (visibility: string) =>
    await makeEntry(server, alice, id, {
      ...AT,
      title: `Walnut ${visibility}`,
      description: 'in the pantry',
      visibility,
    });
  for (const visibility of ['public', 'confidential', 'private']) await entry(visibility);
  const all = ['Walnut confidential', 'Walnut private', 'Walnut public'];
  assert.deepEqual(await titles(alice, 'walnut'), all);
  assert.deepEqual(await titles(bob, 'walnut'), []);
  assertRefused(await call(server, bob, 'GET', `/v1/entries?q=walnut&calendar=${id}`), 'calendar_not_found');
  const shown: Record<string, string[]> = {
    free_busy: [],
    read: ['Walnut public'],
    write: ['Walnut public'],
    delegate: all,
  };
  for (const [access, expected] of Object.entries(shown)) {
    assert.equal((await call(server, alice, 'PUT', `/v1/calendars/${id}/shares/bob`, { access })).status, 200);
    assert.deepEqual(await titles(bob, 'walnut'), expected, access);
    assert.deepEqual(await titles(bob, '"the pantry"'), expected, access);
    if (access === 'free_busy')
      assertRefused(await call(server, bob, 'GET', `/v1/entries?q=walnut&calendar=${id}`), 'right_missing');
    else assert.deepEqual(await titles(bob, 'walnut', { calendar: id }), expected, access);
    for (const word of ['busy', 'confidential']) {
      const found = (await titles(bob, word)).filter((title) => title !== 'Walnut confidential');
      assert.deepEqual(found, [], `${access} ${word}`);
    }
  }
  assert.equal((await call(server, alice, 'DELETE', `/v1/calendars/${id}/shares/bob`)).status, 204);
  assert.deepEqual(await titles(bob, 'walnut'), []);
});

test('CAL-04 messages in the inbox are not searched: an invitation is found once', async () => {
  await makeEntry(server, alice, alices, { ...AT, title: 'Persimmon', attendees: ['bob'] });
  await until(async () => (await titles(bob, 'persimmon')).length > 0, 'the invitation');
  assert.deepEqual(await titles(bob, 'persimmon'), ['Persimmon']);
});

test('CAL-01 a search is read page by page, each entry once, and what cannot be asked is refused', async () => {
  const { id } = await makeCalendar(server, alice, { displayname: 'Many' });
  for (let at = 0; at < 5; at += 1) await makeEntry(server, alice, id, { ...AT, title: `Quince ${at}` });
  const seen: string[] = [];
  for (let next: string | null = ''; next !== null;) {
    const more: Record<string, string> = next === '' ? { limit: '2' } : { limit: '2', after: next };
    const found = await page(alice, 'quince', more);
    assert.ok(found.items.length <= 2);
    seen.push(...found.items.map(({ entry }) => entry.title));
    ({ next } = found);
  }
  assert.deepEqual(
    seen.toSorted(),
    [0, 1, 2, 3, 4].map((at) => `Quince ${at}`),
  );
  const ask = async (query: string) => await call(server, alice, 'GET', `/v1/entries${query}`);
  assertRefused(await ask('?q=x'), 'search_too_short', 'q');
  assertRefused(await ask(''), 'query_invalid', 'q');
  const words = (count: number) => Array.from({ length: count }, (_, at) => `${at}a`).join('+');
  assert.equal((await ask(`?q=${words(SEARCH_TERMS_MAX)}`)).status, 200);
  assertRefused(await ask(`?q=${words(SEARCH_TERMS_MAX + 1)}`), 'query_invalid', 'q');
  assert.equal((await ask(`?q=${'y'.repeat(SEARCH_LENGTH_MAX)}`)).status, 200);
  assertRefused(await ask(`?q=${'y'.repeat(SEARCH_LENGTH_MAX + 1)}`), 'query_invalid', 'q');
  assert.equal((await ask(`?q=quince&limit=${SEARCH_PAGE_MAX}`)).status, 200);
  assertRefused(await ask(`?q=quince&limit=${SEARCH_PAGE_MAX + 1}`), 'query_invalid', 'limit');
  assertRefused(await ask('?q=quince&after=junk'), 'cursor_invalid', 'after');
});

test('CAL-01 one answer looks through so many entries and no more, and the next goes on behind them', async (t) => {
  const calendars = Calendars.open(temporaryFolder(t), { now: () => Date.UTC(2026, 10, 23) });
  t.after(async () => await calendars.close());
  const words = { displayname: 'x', description: '', color: '', order: 0, zone: 'UTC' };
  const calendar = await calendars.createCalendar({
    ...words,
    owner: 'ann',
    name: 'c',
    kinds: ['event'],
    transparency: 'opaque',
  });
  for (let at = 0; at < 10; at += 1) {
    const bytes = Buffer.from(eventText(`uid-${at}`).replace('Talk', at === 6 ? 'Needle' : 'Hay'));
    await calendars.putObject(
      calendar.id,
      `${at}.ics`,
      bytes,
      storedIndex(indexOf(readCalendarObject(bytes), 'UTC'), false, false),
    );
  }
  const book = new AddressBook({
    entry: () => undefined,
    changedSince: () => ({ entries: [], rev: 0, more: false }),
    holdersOf: () => [],
  });
  const by = {
    book,
    contentsOf: (accessible: ConstructorParameters<typeof CalendarContents>[1]) =>
      new CalendarContents(calendars, accessible),
  };
  const own = [{ calendar, access: 'owner' as const }];
  const steps: (readonly [number, string | undefined])[] = [];
  for (let place: SearchPlace | undefined, isFirst = true; isFirst || place !== undefined; isFirst = false) {
    const search = { terms: ['needle'], after: place, limit: 10, most: 4 };
    const { found, next } = await searchEntries(by, own, search, new TimeSlicer());
    steps.push([found.length, next?.name]);
    place = next;
  }
  assert.deepEqual(steps, [
    [0, '3.ics'],
    [1, '7.ics'],
    [0, undefined],
  ]);
});
