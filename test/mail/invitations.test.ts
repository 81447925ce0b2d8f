/** Invitations by mail over the running server: what leaves, for whom, and what comes of it in the entry (CAL-03). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { calendarOf } from './mail-server.ts';
import { change, invite, lineWhen, openMailScene, remove } from './scene.ts';

test('CAL-03 people outside get what is organised, moved and cancelled as mail', async (t) => {
  const scene = await openMailScene(t);
  const { console, mails } = scene;
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
});
