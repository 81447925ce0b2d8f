/** Invitations by mail over the running server: what leaves, for whom, and what comes of it in the entry (CAL-03). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { appPassword, assertRefused, call, eventText, makeEntry, putObject } from '../calendar/service/calling.ts';
import { calendarOf } from './mail-server.ts';
import { change, invite, lineWhen, openMailScene, remove, TALK } from './scene.ts';

test('CAL-03 people outside get what is organised, moved and cancelled as mail', async (t) => {
  const scene = await openMailScene(t);
  const { alice, bob, calendar, console, mails, server } = scene;
  assert.equal((await console('GET', '/mail/dns')).status, 200);
  const entry = await invite(scene, ['bob', 'mailto:Zoe@Example.net']);
  const [mail] = await mails.taken(1);
  assert.ok(mail !== undefined);
  const { email, from, isSecure, source, to, user } = mail;
  assert.deepEqual([from, to, isSecure, user], ['calendar@example.org', ['zoe@example.net'], true, 'parley']);
  assert.deepEqual(email.from, { address: 'calendar@example.org', name: 'Alice Ünal' });
  assert.deepEqual(email.replyTo, [{ address: 'alice@example.org', name: 'Alice Ünal' }]);
  assert.equal(email.subject, 'Invitation: Talk');
  assert.match(source, /^DKIM-Signature: .*d=example\.org.*s=parley/ms);
  assert.match(
    email.text ?? '',
    /When: Monday,? 29 March 2027, 09:00–10:00 \(Europe\/Berlin\)\s+Where: Room 1\s+Bring notes\./,
  );
  assert.match(email.html ?? '', /href="http:\/\/127\.0\.0\.1:\d+\/rsvp\/[0-9a-z]{22}[\w-]{43}"/);
  assert.match(source, /content-type: text\/calendar; charset=utf-8; method=REQUEST/i);
  assert.match(source, /content-type: application\/ics; name="?invite\.ics/i);
  const text = calendarOf(mail);
  const object = readCalendarObject(Buffer.from(text), { isMessage: true });
  assert.deepEqual([object.method, object.uid, [...object.zones.keys()]], ['REQUEST', entry.uid, ['Europe/Berlin']]);
  assert.match(text, /^ORGANIZER;.*SENT-BY="mailto:calendar@example\.org".*:mailto:alice@example\.org$/m);
  assert.doesNotMatch(text, /SCHEDULE-/);
  await lineWhen(scene, entry.uid, 'mailto:zoe@example.net', /SCHEDULE-STATUS=1\.1/);
  await lineWhen(scene, entry.uid, 'mailto:bob@example.org', /SCHEDULE-STATUS=1\.2/);

  await change(scene, entry, {
    local_start: '2027-03-29T11:00:00',
    local_end: '2027-03-29T12:00:00',
    tz: 'Europe/Berlin',
  });
  const moved = (await mails.taken(2))[1];
  assert.ok(moved !== undefined);
  assert.equal(moved.email.subject, 'Updated invitation: Talk');
  assert.match(calendarOf(moved), /\nSEQUENCE:1\n/);
  assert.notEqual(moved.email.messageId, email.messageId);

  await remove(scene, entry);
  const cancelled = (await mails.taken(3))[2];
  assert.ok(cancelled !== undefined);
  assert.equal(cancelled.email.subject, 'Cancelled: Talk');
  assert.match(calendarOf(cancelled), /METHOD:CANCEL\n/);
  assert.doesNotMatch(cancelled.email.text ?? '', /rsvp/);

  // Bob as Alice's delegate: the mail says who writes for whom, and SENT-BY whom it is from (RFC 6047, 2.3).
  await call(server, alice, 'PUT', `/v1/calendars/${calendar}/shares/bob`, { access: 'delegate' });
  const forAlice = await makeEntry(server, bob, calendar, { ...TALK, attendees: ['mailto:zoe@example.net'] });
  const onBehalf = (await mails.taken(4))[3];
  assert.ok(onBehalf !== undefined);
  assert.deepEqual(onBehalf.email.from, { address: 'calendar@example.org', name: 'Bob on behalf of Alice Ünal' });
  assert.deepEqual(onBehalf.email.replyTo, [{ address: 'alice@example.org', name: 'Alice Ünal' }]);
  assert.match(onBehalf.email.text ?? '', /^Bob on behalf of Alice Ünal invites you: Talk/);
  const line = calendarOf(onBehalf).match(/^ORGANIZER.*/m)?.[0] ?? '';
  assert.match(line, /^ORGANIZER;.*SENT-BY="mailto:calendar@example\.org".*:mailto:alice@example\.org$/);
  await lineWhen(scene, forAlice.uid, 'mailto:zoe@example.net', /SCHEDULE-STATUS=1\.1/);
  // And what Zoe asks of Alice is answered by Bob.
  const asked = eventText('asked', ['ORGANIZER:mailto:zoe@example.net', 'ATTENDEE;RSVP=TRUE:mailto:alice@example.org']);
  const put = await putObject(
    server,
    await appPassword(server, alice),
    '/dav/calendars/alice/default/asked.ics',
    asked,
  );
  assert.equal(put.status, 201);
  const { items } = (
    await call<{ items: { id: string; uid: string }[] }>(server, bob, 'GET', `/v1/calendars/${calendar}/changes`)
  ).body;
  const answer = `/v1/invitations/${calendar}/${items.find(({ uid }) => uid === 'asked')?.id}/answer`;
  assert.equal((await call(server, bob, 'PUT', answer, { answer: 'accepted' })).status, 200);
  const reply = (await mails.taken(5))[4];
  assert.ok(reply !== undefined);
  assert.match(reply.email.text ?? '', /^Bob on behalf of Alice Ünal has answered \(accepted\): Talk/);
  assert.match(calendarOf(reply), /^ATTENDEE;.*SENT-BY="mailto:bob@example\.org".*:mailto:alice@example\.org$/m);
});

/** The meeting as Thunderbird writes it: with If-Match alone, and without what the server says of deliveries. */
const meetingText = (uid: string, { hour = '09', lines = [] as readonly string[] } = {}) =>
  eventText(uid, [
    ...['ORGANIZER:mailto:alice@example.org', 'ATTENDEE;PARTSTAT=ACCEPTED:mailto:alice@example.org'],
    ...['ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:zoe@example.net', ...lines],
  ]).replaceAll('20261123T09', `20261123T${hour}`);

test('CAL-04 what the server alone writes of deliveries is no conflict for who organises; what others write is one', async (t) => {
  let release: () => void = () => undefined;
  let held: Promise<void> | undefined;
  const hold = () => {
    held = new Promise((resolve) => (release = resolve));
  };
  const scene = await openMailScene(t, { onMail: async () => (await held) ?? undefined });
  const { alice, bob, calendar, mails, server } = scene;
  const path = '/dav/calendars/alice/default/meeting.ics';
  const headers = await appPassword(server, alice);
  const send = async (method: string, match?: string, text?: string) => {
    const conditions = match === undefined ? {} : match === '*' ? { 'if-none-match': '*' } : { 'if-match': match };
    const type = { 'content-type': 'text/calendar' };
    const body = text === undefined ? {} : { body: text };
    const response = await fetch(`${server.calendar}${path}`, {
      ...{ method, ...body },
      headers: { ...headers, ...type, ...conditions },
    });
    return { status: response.status, etag: response.headers.get('etag') ?? '', text: await response.text() };
  };
  const statusIs = async (status: string) => await lineWhen(scene, 'meeting', 'zoe@example.net', new RegExp(status));

  // Its client reads what it has just written, while the mail is still on its way.
  hold();
  assert.equal((await send('PUT', '*', meetingText('meeting'))).status, 201);
  const first = await send('GET');
  assert.match(first.text.replaceAll(/\r\n /g, ''), /SCHEDULE-STATUS="?1\.0/);
  release();
  await statusIs('SCHEDULE-STATUS=1\\.1');
  const written = await send('GET');
  assert.notEqual(written.etag, first.etag, 'other bytes have another etag, by which clients find the news');
  assert.equal((await send('GET', undefined)).text, written.text);

  hold();
  assert.equal((await send('PUT', first.etag, meetingText('meeting', { hour: '11' }))).status, 204);
  const second = await send('GET');
  release();
  await statusIs('SCHEDULE-STATUS=1\\.1');
  // A change that tells nobody anything keeps what is known of the deliveries, which is the server's to say.
  const quiet = meetingText('meeting', { hour: '11', lines: ['X-MOZ-LASTACK:20261123T080000Z'] });
  assert.equal((await send('PUT', second.etag, quiet)).status, 204);
  await statusIs('SCHEDULE-STATUS=1\\.1');
  assert.equal((await mails.taken(2)).length, 2);

  // Somebody else changed it, before or behind what the server wrote: that is a conflict.
  const known = (await send('GET')).etag;
  await call(server, alice, 'PUT', `/v1/calendars/${calendar}/shares/bob`, { access: 'write' });
  const { items } = (
    await call<{ items: { id: string; uid: string }[] }>(server, alice, 'GET', `/v1/calendars/${calendar}/changes`)
  ).body;
  const entry = `/v1/calendars/${calendar}/entries/${items.find(({ uid }) => uid === 'meeting')?.id}`;
  const others = meetingText('meeting', { hour: '11', lines: ['LOCATION:Pier'] });
  const foreign = await putObject(
    server,
    await appPassword(server, bob),
    `/dav/calendars/bob/${calendar}/meeting.ics`,
    others,
  );
  assert.equal(foreign.status, 204);
  await mails.taken(3);
  await statusIs('SCHEDULE-STATUS=1\\.1');
  for (const stale of [first.etag, second.etag, known]) {
    assert.equal((await send('PUT', stale, meetingText('meeting', { hour: '12' }))).status, 412, stale);
    assert.equal((await send('DELETE', stale)).status, 412, stale);
    assertRefused(
      await call(server, alice, 'PATCH', entry, { scope: 'all', title: 'x', etag: stale.replaceAll('"', '') }),
      'entry_changed',
    );
  }

  hold();
  assert.equal((await send('PUT', (await send('GET')).etag, meetingText('meeting', { hour: '13' }))).status, 204);
  const last = (await send('GET')).etag;
  release();
  await statusIs('SCHEDULE-STATUS=1\\.1');
  assert.equal((await send('DELETE', last)).status, 204);
  const cancelled = (await mails.taken(5))[4];
  assert.match(cancelled === undefined ? '' : calendarOf(cancelled), /METHOD:CANCEL/);
});
