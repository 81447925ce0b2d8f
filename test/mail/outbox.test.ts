/** Mail on its way: what a mail server refuses, delays and loses, and what is never sent (CAL-03). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAIL_RECIPIENTS_MAX, RSVP_LINK_DAYS_MAX } from '#src/protocol/limits.ts';
import { MAIL_AGE_MILLIS_MAX } from '#src/calendar/mail/mail-outbox.ts';
import { Transport } from '#src/mail/transport.ts';
import { BREAKER_FAILURES, BREAKER_MILLIS_MAX } from '#src/delivery/circuit-breaker.ts';
import { until } from '#test/support/waiting.ts';
import { calendarOf, MailServer, smtpError } from './mail-server.ts';
import { openOutbox } from './outbox-scene.ts';

const messageIdIn = (source = '') => /^Message-ID: (<[\w.@-]+>)/im.exec(source)?.[1];

test('CAL-03 what a mail server puts off or drops is sent again under the same Message-ID, and in order', async (t) => {
  const faults = [smtpError(451, '4.7.1 Greylisted'), 'break'] as const;
  const mails = await MailServer.open(t, { isOpen: true, onMail: (number) => faults[number - 1] });
  const { counts, settled, statusOf, write } = await openOutbox(t, { port: mails.port });
  await write('talk', ['zoe']);
  assert.equal(statusOf('talk', 'zoe'), '1.0');
  await write('talk', ['zoe'], { title: 'Moved' });
  await settled();
  const ids = mails.sources.map(messageIdIn);
  assert.equal(ids.length, 4);
  assert.ok(ids[0] !== undefined && ids[0] === ids[1] && ids[1] === ids[2]);
  assert.notEqual(ids[3], ids[0]);
  assert.deepEqual(
    mails.mails.map(({ email }) => email.subject),
    ['Invitation: Talk', 'Updated invitation: Moved'],
  );
  assert.equal(statusOf('talk', 'zoe'), '1.1');
  assert.deepEqual(counts(), { sent: 2 });
});

test('CAL-03 the status is that of what was sent last', async (t) => {
  const gates = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()] as const;
  t.after(() => gates.forEach(({ resolve }) => resolve(undefined)));
  const mails = await MailServer.open(t, {
    isOpen: true,
    onMail: async (number) => await gates[number === 1 ? 0 : 1].promise,
  });
  const { counts, settled, statusOf, write } = await openOutbox(t, { port: mails.port });
  await write('talk', ['zoe']);
  await write('talk', ['zoe'], { title: 'Moved' });
  gates[0].resolve(undefined);
  await until(() => counts()['sent'] === 1, 'the first mail to be done with');
  assert.equal(statusOf('talk', 'zoe'), '1.0');
  gates[1].resolve(undefined);
  await settled();
  assert.equal(statusOf('talk', 'zoe'), '1.1');
});

test('CAL-03 a recipient refused for good has its status, and the others get theirs', async (t) => {
  const refusals: Record<string, Error> = {
    'gone@example.net': smtpError(550, '5.1.1 No such user'),
    'closed@example.net': smtpError(550, '5.7.1 Not wanted'),
  };
  const mails = await MailServer.open(t, { isOpen: true, onRecipient: (address) => refusals[address] });
  const { counts, settled, statusOf, write } = await openOutbox(t, { port: mails.port });
  await write('talk', ['gone', 'closed', 'zoe']);
  await settled();
  const names = ['gone', 'closed', 'zoe'];
  assert.deepEqual(
    names.map((name) => statusOf('talk', name)),
    ['5.2', '5.3', '1.1'],
  );
  assert.deepEqual(
    mails.mails.map(({ to }) => to),
    [['zoe@example.net']],
  );
  assert.deepEqual(counts(), { failed: 2, sent: 1 });
});

test('CAL-03 a recipient who is put off holds up nobody else', async (t) => {
  let isOpen = false;
  const mails = await MailServer.open(t, {
    isOpen: true,
    onRecipient: (address) => (address.startsWith('slow') && !isOpen ? smtpError(450, '4.2.1 Later') : undefined),
  });
  const { settled, write } = await openOutbox(t, { port: mails.port });
  await write('talk', ['slow', 'zoe', 'yan']);
  await mails.taken(2);
  isOpen = true;
  await settled();
  const [last] = mails.mails.at(-1)?.to ?? [];
  assert.equal(last, 'slow@example.net');
});

test('CAL-03 mails wait while there is no server, over a restart too, and a server that fails is left alone', async (t) => {
  const mails = await MailServer.open(t, { isOpen: true });
  let failures = 0;
  let isUp = false;
  const real = new Transport({ allowPrivateTargets: true });
  const transport: Pick<Transport, 'send' | 'close'> = {
    send: async (...sent) => {
      if (isUp) return await real.send(...sent);
      failures += 1;
      throw Object.assign(new Error('Gone'), { code: 'ECONNECTION', command: 'CONN' });
    },
    close: () => real.close(),
  };
  const { later, outbox, restart, settled, statusOf, warnings, write } = await openOutbox(t, {
    port: mails.port,
    transport,
  });
  await write('talk', ['zoe']);
  await until(() => failures === BREAKER_FAILURES, 'the failures');
  await write('one-more', ['yan']);
  await write('and-one', ['xan']);
  assert.equal(failures, BREAKER_FAILURES);
  assert.deepEqual(warnings, [{ message: 'a mail is tried again', why: 'connection closed', kind: 'server' }]);
  assert.deepEqual([statusOf('talk', 'zoe'), statusOf('one-more', 'yan')], ['1.0', '1.0']);
  isUp = true;
  later(BREAKER_MILLIS_MAX);
  await restart();
  await settled();
  assert.deepEqual(outbox().metrics.parley_calendar_outgoing_mails_waiting[0]?.value, 0);
  assert.deepEqual(
    mails.mails.flatMap(({ to }) => to).toSorted(),
    ['xan', 'yan', 'zoe'].map((name) => `${name}@example.net`),
  );
  assert.equal(statusOf('talk', 'zoe'), '1.1');
});

test('CAL-03 a server that does not come to an end is given up, and the mail goes later', async (t) => {
  const stall = Promise.withResolvers<undefined>();
  t.after(() => stall.resolve(undefined));
  const mails = await MailServer.open(t, {
    isOpen: true,
    onMail: async (number) => (number === 1 ? await stall.promise : undefined),
  });
  const { settled, warnings, write } = await openOutbox(t, { port: mails.port, bounds: { mailMillis: 200 } });
  await write('talk', ['zoe']);
  await settled();
  // A machine under load may have it given up once more.
  assert.ok(mails.sources.length >= 2, `${mails.sources.length} mails`);
  assert.equal(new Set(mails.sources.map(messageIdIn)).size, 1);
  assert.ok(warnings.length >= 1);
});

test('CAL-03 a mail that is too old is given up, and the organiser reads 5.1', async (t) => {
  const { counts, later, settled, statusOf, write } = await openOutbox(t, {});
  await write('talk', ['zoe']);
  later(MAIL_AGE_MILLIS_MAX);
  assert.equal(statusOf('talk', 'zoe'), '1.0');
  later(60_000);
  await settled();
  assert.equal(statusOf('talk', 'zoe'), '5.1');
  assert.deepEqual(counts(), { failed: 1 });
});

test('CAL-03 one mail more than may wait is told busy, and nothing of that change is stored', async (t) => {
  const { outbox, textOf, write } = await openOutbox(t, { waitingMax: 2 });
  await write('talk', ['zoe']);
  await assert.rejects(write('beyond', ['zoe', 'yan']), { code: 'busy' });
  assert.equal(textOf('beyond'), '');
  await write('last', ['zoe']);
  assert.equal(outbox().metrics.parley_calendar_outgoing_mails_waiting[0]?.value, 2);
  await assert.rejects(write('beyond', ['zoe']), { code: 'busy' });
});

test('CAL-03 nobody spams through the calendar: an hour’s mails and a change’s recipients end somewhere', async (t) => {
  const { later, outbox, statusOf, write } = await openOutbox(t, { perHour: 3 });
  await write('talk', ['zoe', 'yan']);
  await write('next', ['xan', 'wim']);
  assert.deepEqual([statusOf('next', 'xan'), statusOf('next', 'wim')], ['1.0', '5.1']);
  await write('none', ['vic']);
  assert.equal(statusOf('none', 'vic'), '5.1');
  later(3_600_000);
  await write('again', ['vic']);
  assert.equal(statusOf('again', 'vic'), '1.0');
  assert.equal(outbox().metrics.parley_calendar_outgoing_mails_waiting[0]?.value, 4);
  const large = await openOutbox(t, {});
  const many = Array.from({ length: MAIL_RECIPIENTS_MAX + 1 }, (_, at) => `guest-${at}`);
  await large.write('large', many);
  const statuses = many.map((name) => large.statusOf('large', name));
  assert.equal(statuses.filter((status) => status === '1.0').length, MAIL_RECIPIENTS_MAX);
  assert.equal(statuses.at(-1), '5.1');
  assert.equal(large.outbox().metrics.parley_calendar_outgoing_mails_waiting[0]?.value, MAIL_RECIPIENTS_MAX);
});

test('CAL-03 what somebody else organises sends no invitations; its organiser hears an answer', async (t) => {
  const mails = await MailServer.open(t, { isOpen: true });
  const { outbox, settled, textOf, write } = await openOutbox(t, { port: mails.port });
  await write('theirs', ['zoe', 'yan'], { organizer: 'boss@example.com' });
  assert.equal(outbox().metrics.parley_calendar_outgoing_mails_waiting[0]?.value, 0);
  const own = (partstat: string) => [`ATTENDEE;PARTSTAT=${partstat}:mailto:alice@example.org`];
  await write('asked', ['zoe'], { organizer: 'boss@example.com', lines: own('NEEDS-ACTION') });
  await write('asked', ['zoe'], { organizer: 'boss@example.com', lines: own('TENTATIVE') });
  await settled();
  assert.equal(mails.mails.length, 1);
  const [mail] = await mails.taken(1);
  assert.ok(mail !== undefined);
  assert.deepEqual([mail.to, mail.email.subject], [['boss@example.com'], 'Tentative: Talk']);
  assert.match(calendarOf(mail), /METHOD:REPLY\n[^]*ATTENDEE;PARTSTAT=TENTATIVE:mailto:alice@example\.org\n/);
  assert.doesNotMatch(calendarOf(mail), /zoe/);
  assert.match(textOf('asked'), /ORGANIZER;SCHEDULE-STATUS=1\.1:mailto:boss@example\.com/);
});

test('CAL-03 addresses that are more than one mailbox are nobody’s', async (t) => {
  const { outbox, textOf, write } = await openOutbox(t, {});
  const bad = ['zoe@example.net?cc=yan@example.net', 'a@b@example.net', 'zoe', 'zoe@localhost', 'calendar@example.org'];
  await write('talk', [], { lines: bad.map((address) => `ATTENDEE:mailto:${address}`) });
  assert.equal(outbox().metrics.parley_calendar_outgoing_mails_waiting[0]?.value, 0);
  assert.equal(textOf('talk').match(/SCHEDULE-STATUS=3\.7/g)?.length, bad.length);
});

test('CAL-03 what people write adds nothing to the headers of a mail', async (t) => {
  const mails = await MailServer.open(t, { isOpen: true });
  const name = 'Eve" <boss@example.com>\r\nBcc: spy@example.com\r\n\u202Egro';
  const { write } = await openOutbox(t, { port: mails.port, name });
  const title = String.raw`Talk\nBcc: spy@example.com\n\nHello ‮<b>x</b> Встреча`;
  await write('talk', ['zoe'], { title });
  const [mail] = await mails.taken(1);
  assert.ok(mail !== undefined);
  assert.deepEqual(mail.to, ['zoe@example.net']);
  assert.equal(mail.email.bcc, undefined);
  assert.deepEqual(mail.email.from, {
    name: 'Eve boss example.com Bcc spy example.com gro',
    address: 'calendar@example.org',
  });
  assert.equal(mail.email.subject, 'Invitation: Talk Bcc: spy@example.com Hello <b>x</b> Встреча');
  assert.match(mail.email.html ?? '', /&#60;b&#62;x&#60;\/b&#62;/);
  assert.doesNotMatch(mail.email.text ?? '', /\u202E/);
});

test('CAL-03 of somebody who left no mail leaves any more', async (t) => {
  const mails = await MailServer.open(t, { isOpen: true });
  const { counts, settled, write } = await openOutbox(t, { port: mails.port, isPerson: () => false });
  await write('talk', ['zoe']);
  await settled();
  assert.deepEqual([counts(), mails.sources], [{ dropped: 1 }, []]);
});

test('CAL-03 with its calendar a mail that waits is gone, and what a client tells by itself is not mailed', async (t) => {
  const { calendar, calendars, counts, later, outbox, settled, textOf, write } = await openOutbox(t, {});
  const lines = [
    'ATTENDEE;SCHEDULE-AGENT=CLIENT:mailto:own@example.net',
    'ATTENDEE;SCHEDULE-AGENT=NONE:mailto:no@example.net',
  ];
  await write('talk', ['zoe'], { lines });
  assert.equal(outbox().metrics.parley_calendar_outgoing_mails_waiting[0]?.value, 1);
  assert.equal(textOf('talk').match(/SCHEDULE-STATUS/g)?.length, 1);
  await calendars.removeCalendar(calendar);
  later(60_000);
  await settled();
  assert.deepEqual(counts(), { dropped: 1 });
});

test('CAL-03 a link takes answers for its days and not a moment longer', async (t) => {
  const mails = await MailServer.open(t, { isOpen: true });
  const { calendars, later, links, write } = await openOutbox(t, { port: mails.port });
  await write('talk', ['zoe'], { lines: ['RRULE:FREQ=WEEKLY'] });
  const [mail] = await mails.taken(1);
  const [, token = ''] = /\/rsvp\/([\w-]+)/.exec(mail?.email.text ?? '') ?? [];
  assert.equal((await links.open(token))?.attendee, 'mailto:zoe@example.net');
  const stored = [...calendars.environment.tables.rsvps.getRange()];
  assert.equal(stored.length, 1);
  assert.ok(
    stored.every(({ key, value }) => !Buffer.concat([key, value]).includes(token.slice(22))),
    'the secret is not stored',
  );
  later(RSVP_LINK_DAYS_MAX * 86_400_000 - 60_000);
  const isOpen = async () => (await links.open(token)) !== undefined;
  assert.equal(await isOpen(), true);
  later(60_000);
  assert.equal(await isOpen(), false);
});
