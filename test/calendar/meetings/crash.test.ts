/** Meetings of entries over a crash between the two stores: at worst one is left that nobody uses, and the next start ends it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MeetingView } from '#src/protocol/meetings/meetings.ts';
import { checkCalendars } from '#storage/check/calendar-check.ts';
import { checkFolder } from '#storage/check/check.ts';
import { bindingOf, bindMeeting } from '#storage/calendars/calendar-meetings.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { Findings } from '#storage/engine/findings.ts';
import { key } from '#storage/engine/keys.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { call, makeCalendar, makeEntry } from '../service/calling.ts';

const TALK = { title: 'Talk', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z' };

async function meetingsOf(server: TestServer, { session: { token } }: Person): Promise<Map<string, MeetingView>> {
  const found = new Map<string, MeetingView>();
  for (let after = ''; ;) {
    const url = `${server.coordinator}/v1/meetings?limit=200${after}`;
    const reply = await request<{ items: MeetingView[]; next: string | null }>('GET', url, { token });
    assert.equal(reply.status, 200, reply.text);
    for (const meeting of reply.body.items) found.set(meeting.id, meeting);
    if (reply.body.next === null) return found;
    after = `&after=${reply.body.next}`;
  }
}

test('MTG-01 after a kill every open meeting of an entry has its entry, at the time of the entry', async (t) => {
  const folder = temporaryFolder(t);
  let server = await startServer({ shards: 2, folder });
  t.after(async () => await server.stop());
  const alice = await server.person('alice');
  const { id: calendar } = await makeCalendar(server, alice);
  const path = `/v1/calendars/${calendar}/entries`;
  let done = 0;
  // Makers, movers and removers until the process is gone under them.
  const killed = { is: false };
  const work = Array.from({ length: 6 }, async (_, worker) => {
    while (!killed.is) {
      try {
        const entry = await makeEntry(server, alice, calendar, { ...TALK, meeting: true });
        await call(server, alice, 'PATCH', `${path}/${entry.id}`, { start_at: '2026-12-01T09:00:00Z' });
        if (worker % 2 === 0) await call(server, alice, 'DELETE', `${path}/${entry.id}`);
        done += 1;
      } catch {
        killed.is = true;
      }
    }
  });
  await until(() => done >= 20, 'some of each');
  await server.end('SIGKILL');
  await Promise.all(work);
  assert.deepEqual((await checkFolder(folder)).problems, []);
  server = await startServer({ shards: 2, folder });
  const entries = new Map<string, string>();
  for (let after = '', more = true; more;) {
    const { body } = await call<{
      items: { id: string; start_at: string; meeting?: { id: string } }[];
      next: string;
      more: boolean;
    }>(server, alice, 'GET', `/v1/calendars/${calendar}/changes?limit=200${after}`);
    for (const { meeting, start_at: start } of body.items) entries.set(meeting?.id ?? '', start);
    ({ more } = body);
    after = `&after=${body.next}`;
  }
  await until(async () => {
    const open = [...(await meetingsOf(server, alice)).values()].filter(({ state }) => state === 'open');
    return (
      open.length === entries.size && open.every(({ id, starts_at: starts }) => entries.get(id) === starts) && open
    );
  }, 'one meeting of each entry');
});

test('a meeting whose entry was never written ends at the next start; one that somebody made by hand does not', async (t) => {
  const folder = temporaryFolder(t);
  let server = await startServer({ shards: 2, folder });
  t.after(async () => await server.stop());
  const alice = await server.person('alice');
  const { id: calendar } = await makeCalendar(server, alice);
  const ids: string[] = [];
  for (let made = 0; made < 60; made += 1) {
    ids.push((await makeEntry(server, alice, calendar, { ...TALK, meeting: true })).meeting?.id ?? '');
  }
  const byHand = await request<MeetingView>('POST', `${server.coordinator}/v1/meetings`, {
    token: alice.session.token,
    body: { title: 'By hand' },
  });
  await server.stop();
  // As a crash leaves it that came before the commit of the entries: more of them than one step of the sweep.
  const calendars = Calendars.open(folder, { now: Date.now });
  const [kept = '', ...orphans] = ids;
  await calendars.change((draft) => {
    for (const id of orphans) {
      for (const { calendar: one, entry } of bindingOf(draft, id)?.entries ?? [])
        draft.put('bound', key(one, entry), null);
      draft.put('meetings', key(id), null);
    }
  });
  await calendars.close();
  server = await startServer({ shards: 2, folder });
  const found = await until(async () => {
    const meetings = await meetingsOf(server, alice);
    return orphans.every((id) => meetings.get(id)?.state === 'cancelled') && meetings;
  }, 'the end of the unused ones');
  assert.deepEqual([found.get(kept)?.state, found.get(byHand.body.id)?.state], ['open', 'open']);
});

test('a check finds an entry bound to a meeting that does not know of it', async (t) => {
  const folder = temporaryFolder(t);
  const calendars = Calendars.open(folder, { now: Date.now });
  await calendars.change((draft) => {
    bindMeeting(draft, 'mtg_1', 'alice', { calendar: 'cal_1', entry: 'one' });
    draft.put('bound', key('cal_1', 'two'), Buffer.from('mtg_1'));
  });
  await calendars.close();
  const problems: string[] = [];
  await checkCalendars(folder, new Findings('', problems));
  assert.deepEqual(problems, ['meetings [mtg_1] does not know of an entry that it is bound to.']);
});
