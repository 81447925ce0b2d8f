/** The doors for calendar mail: who may come, what each recipient is told, and what is done once it is told. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { test } from 'node:test';
import { STATED_POLICIES } from '#src/limits/policies.ts';
import { INVITATIONS_WAITING_MAX } from '#src/calendar/mail/mail-intake.ts';
import { LMTP_CONNECTIONS_MAX, MAIL_RECIPIENTS_MAX, openLmtpServer } from '#src/mail/inbound/lmtp-server.ts';
import { MAIL_BYTES_MAX } from '#src/mail/inbound/mail-reader.ts';
import { checkFolder } from '#storage/check/check.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { request, startServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, call } from '../service/calling.ts';
import {
  AUTHSERV,
  calendarMail,
  deliverMail,
  entryOf,
  giveAddresses,
  invitation,
  lmtpPort,
  mailOf,
  message,
  OTHER_TOKEN,
  outcomeOf,
  postMail,
  shareMailServer,
  trustMail,
} from './mailing.ts';

const { server, console, bob, carol } = await shareMailServer({ environment: { PARLEY_LOG_LEVEL: 'info' } });
const invite = (uid: string, ...more: string[]) => message('REQUEST', uid, invitation({ more }));

test('LMTP answers for each recipient, with a code that says whether to try again', async () => {
  const text = invite('lmtp-1@x', 'ATTENDEE:mailto:carol@example.org');
  const replies = await deliverMail(server, calendarMail(text), [
    ...['bob@example.org', 'alice@example.org', 'nobody@example.org', 'Carol@example.org'],
  ]);
  assert.deepEqual(replies, {
    'bob@example.org': '250',
    'Carol@example.org': '250',
    'nobody@example.org': '550 5.1.1 There is nobody of that address here. [recipient_unknown]',
    'alice@example.org': '550 5.7.1 This person is not invited to the event. [not_invited]',
  });
  for (const who of [bob, carol]) assert.equal((await entryOf(server, who, 'lmtp-1@x'))?.title, 'Tea');
  const forged = await deliverMail(server, mailOf({ top: [], body: text }), ['bob@example.org']);
  assert.match(forged['bob@example.org'] ?? '', /^550 5\.7\.1 .*\[sender_unverified\]$/);
});

test('LMTP sends a mail back later while no mail server is trusted', async (t) => {
  t.after(async () => await trustMail(console));
  await trustMail(console, { trusted_authserv_id: null });
  const replies = await deliverMail(server, calendarMail(invite('lmtp-2@x')), ['bob@example.org']);
  assert.match(replies['bob@example.org'] ?? '', /^451 4\.3\.5 .*\[mail_off\]$/);
});

test('both doors take a mail of the largest size and no larger one', async () => {
  const sized = (uid: string, bytes: number) => {
    const mail = calendarMail(invite(uid)).replace('MIME-Version', 'X-Pad: \r\nMIME-Version');
    const body = mail.indexOf('\r\n\r\n');
    const wrapped = (pad: number) =>
      mailOf({
        content: ['Content-Type: multipart/mixed; boundary=b'],
        body: [
          '--b',
          'Content-Type: text/calendar; method=REQUEST',
          '',
          mail.slice(body + 4),
          '--b',
          '',
          `${'x'.repeat(900)}\r\n`.repeat(Math.floor(pad / 902)) + 'y'.repeat(pad % 902),
          '--b--',
          '',
        ].join('\r\n'),
      });
    const padded = wrapped(bytes - wrapped(0).length);
    assert.equal(Buffer.byteLength(padded), bytes);
    return padded;
  };
  assert.equal(await outcomeOf(server, sized('size-1@x', MAIL_BYTES_MAX)), 'applied');
  assertRefused(await postMail(server, sized('size-2@x', MAIL_BYTES_MAX + 1), 'bob@example.org'), 'body_too_large');
  assert.deepEqual(await deliverMail(server, sized('size-3@x', MAIL_BYTES_MAX), ['bob@example.org']), {
    'bob@example.org': '250',
  });
  const large = await deliverMail(server, sized('size-4@x', MAIL_BYTES_MAX + 1), ['bob@example.org']);
  assert.match(Object.values(large)[0] ?? '', /^552 /);
  for (const [uid, title] of [
    ['size-1@x', 'Tea'],
    ['size-2@x', undefined],
    ['size-3@x', 'Tea'],
    ['size-4@x', undefined],
  ] as const) {
    assert.equal((await entryOf(server, bob, uid))?.title, title);
  }
});

test('the HTTP door opens to the service token of mail alone, and takes mails alone', async () => {
  const mail = calendarMail(invite('http-1@x'));
  const to = 'bob@example.org';
  assertRefused(await postMail(server, mail, to, { token: '' }), 'token_missing');
  assertRefused(await postMail(server, mail, to, { token: bob.session.token }), 'token_invalid');
  assertRefused(await postMail(server, mail, to, { token: OTHER_TOKEN }), 'right_missing');
  for (const type of ['text/calendar', 'application/json', 'text/plain']) {
    assertRefused(await postMail(server, mail, to, { type }), 'body_not_mail');
  }
  for (const recipients of ['', 'bob', 'bob@example.org,', 'bob@example.org, x', '"bob"@example.org']) {
    assertRefused(await postMail(server, mail, recipients), 'header_invalid', 'x-recipients');
  }
  assert.equal(await entryOf(server, bob, 'http-1@x'), undefined);
  const reply = await postMail(server, mail, 'bob@example.org, nobody@example.org');
  assert.deepEqual(reply.body, {
    items: [
      { recipient: 'bob@example.org', outcome: 'applied', standing: 'accepted', say: 'The calendar has it.' },
      ...[{ recipient: 'nobody@example.org', outcome: 'recipient_unknown', standing: 'refused' }].map((one) => ({
        ...one,
        say: 'There is nobody of that address here.',
      })),
    ],
    next: null,
  });
});

test('a mail has a hundred recipients at most', async () => {
  const mail = calendarMail(invite('many@x'));
  const people = (count: number) => Array.from({ length: count }, (_, at) => `p${at}@example.org`);
  const most = await postMail(server, mail, people(MAIL_RECIPIENTS_MAX).join(','));
  assert.equal(most.body.items.length, MAIL_RECIPIENTS_MAX);
  assertRefused(
    await postMail(server, mail, people(MAIL_RECIPIENTS_MAX + 1).join(',')),
    'header_invalid',
    'x-recipients',
  );
  // The door itself: whoever is there gets a place, until there is none left.
  const taken: (readonly string[])[] = [];
  const context = await openLmtpServer({
    ...{ host: '127.0.0.1', port: 0, log: { warn: () => undefined }, isRecipient: () => true },
    receive: async (_, recipients) => {
      taken.push(recipients);
      return recipients.map(() => 'applied' as const);
    },
  });
  const socket = createConnection(context.port, '127.0.0.1');
  let heard = '';
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
  const rcpt = people(MAIL_RECIPIENTS_MAX + 1)
    .map((address) => `RCPT TO:<${address}>\r\n`)
    .join('');
  await once(socket, 'data');
  socket.write(`LHLO x\r\nMAIL FROM:<>\r\n${rcpt}DATA\r\n`);
  while (!heard.includes('354 ')) await once(socket, 'data');
  assert.equal(heard.match(/^452 /gm)?.length, 1);
  socket.write('hello\r\n.\r\nQUIT\r\n');
  await once(socket, 'close');
  assert.equal(heard.match(/^250 2\.1\.5 /gm)?.length, MAIL_RECIPIENTS_MAX);
  assert.deepEqual(taken, [people(MAIL_RECIPIENTS_MAX)]);
  await context.close(1);
});

test('a connection that is silent, or lasts too long, ends; there are no more than a handful', async () => {
  const base = {
    ...{ host: '127.0.0.1', port: 0, log: { warn: () => undefined }, isRecipient: () => true },
    receive: async () => [],
  };
  for (const limit of [{ idleMillis: 50 }, { connectionMillis: 50 }]) {
    const context = await openLmtpServer({ ...base, ...limit });
    const socket = createConnection(context.port, '127.0.0.1');
    socket.resume();
    await once(socket, 'close');
    await context.close(1);
  }
  const sockets = Array.from({ length: LMTP_CONNECTIONS_MAX }, () => createConnection(lmtpPort(server), '127.0.0.1'));
  const hear = async (socket: ReturnType<typeof createConnection>) => String((await once(socket, 'data'))[0]);
  for (const greeting of await Promise.all(sockets.map(hear))) assert.match(greeting, /^220 /);
  const extra = createConnection(lmtpPort(server), '127.0.0.1');
  assert.match(await hear(extra), /^421 /);
  for (const socket of [...sockets, extra]) socket.destroy();
});

test('one domain has so many messages a minute, and a forged one takes none of them', async () => {
  const top = (domain: string) => [`Authentication-Results: ${AUTHSERV}; dmarc=pass header.from=${domain}`];
  const send = async (domain: string, uid: string) => {
    const text = message(
      'CANCEL',
      uid,
      invitation().map((line) => line.replaceAll('outside.test', domain)),
    );
    return await outcomeOf(server, calendarMail(text, { from: `eve@${domain}`, top: top(domain) }));
  };
  const forged = calendarMail(message('CANCEL', 'x', invitation()), { from: 'eve@busy.test', top: [] });
  assert.equal(await outcomeOf(server, forged), 'sender_unverified');
  const { burst } = STATED_POLICIES.mail_domain;
  let passed = 0;
  let outcome = await send('busy.test', 'busy');
  for (; outcome === 'event_unknown'; passed += 1) outcome = await send('busy.test', `busy-${passed}`);
  // Two a second come on top of what passes at once.
  assert.ok(passed >= burst && passed < 3 * burst, `${passed} mails passed`);
  assert.equal(outcome, 'rate_limited');
  assert.equal(await send('other.test', 'other'), 'event_unknown');
});

test('whoever has hundreds of invitations to answer gets no more from outside until they answer', async () => {
  const send = async (at: number, year = '2037', sequence = 0) => {
    const domain = `d${Math.floor(at / 100)}.test`;
    const lines = invitation({ sequence }).map((line) =>
      line.replaceAll('outside.test', domain).replaceAll('bob@', 'carol@').replaceAll('2027', year),
    );
    const top = [`Authentication-Results: ${AUTHSERV}; dmarc=pass header.from=${domain}`];
    const mail = calendarMail(message('REQUEST', `full-${at}`, lines), { from: `eve@${domain}`, top });
    return await outcomeOf(server, mail, 'carol@example.org');
  };
  const waiting = async () =>
    (
      await call<{ items: { calendar_id: string; entry: { id: string; uid: string } }[] }>(
        server,
        carol,
        'GET',
        '/v1/invitations?limit=200',
      )
    ).body.items;
  // What is over waits for nothing.
  assert.equal(await send(9_999, '2017'), 'applied');
  const before = (await waiting()).length - 1;
  for (let at = before; at < INVITATIONS_WAITING_MAX; at += 1) assert.equal(await send(at), 'applied', String(at));
  assert.equal(await send(INVITATIONS_WAITING_MAX + 600), 'invitations_full');
  // What is there already may change.
  assert.equal(await send(INVITATIONS_WAITING_MAX - 1, '2038', 1), 'applied');
  const [one] = (await waiting()).filter(({ entry }) => entry.uid !== 'full-9999');
  await call(server, carol, 'PUT', `/v1/invitations/${one?.calendar_id}/${one?.entry.id}/answer`, {
    answer: 'declined',
  });
  assert.equal(await send(INVITATIONS_WAITING_MAX + 600), 'applied');
});

test('CON-04 mail of known senders is audited, and a vendor reads pseudonyms', async () => {
  await outcomeOf(server, calendarMail(invite('audit@x'), { from: 'Audited.Person@outside.test' }));
  const text = message(
    'REQUEST',
    'audit@x',
    invitation().map((line) => line.replace('eve@', 'audited.person@')),
  );
  await outcomeOf(server, calendarMail(text, { from: 'audited.person@outside.test' }));
  interface Entry {
    readonly actor: string;
    readonly about: string;
    readonly details: Record<string, string>;
  }
  const path = '/calendar/audit?event=calendar.mail&limit=2';
  const trail = await console<{ items: Entry[] }>('GET', path);
  const told = trail.body.items.map(({ actor, about, details }) => [
    actor,
    about,
    details['from'],
    details['method'],
    details['outcome'],
  ]);
  assert.deepEqual(told, [
    ['server', 'user:bob', 'audited.person@outside.test', 'REQUEST', 'applied'],
    ['server', 'user:bob', 'audited.person@outside.test', 'REQUEST', 'organizer_mismatch'],
  ]);
  const issued = await console<{ token: string }>('POST', '/vendor-tokens', {
    name: 'v',
    purpose: 'help',
    term_days: 365,
  });
  const vendor = await request<{ items: Entry[] }>('GET', `${server.coordinator}/admin/api${path}`, {
    token: issued.body.token,
  });
  assert.equal(vendor.status, 200, vendor.text);
  assert.doesNotMatch(vendor.text, /audited\.person|user:bob/i);
  for (const { about, details } of vendor.body.items) {
    assert.match(about, /^user:u-[0-9a-f]{8}$/);
    assert.match(details['from'] ?? '', /^u-[0-9a-f]{8}@outside\.test$/);
  }
  // The log says that there were mails, and of nobody from whom or for whom.
  const lines = server.output.filter((line) => line.includes('a calendar mail came'));
  assert.ok(lines.some((line) => line.includes('organizer_mismatch')));
  assert.equal(
    lines.some((line) => /audited\.person|bob/i.test(line)),
    false,
  );
});

test('mails are counted by what became of them', async () => {
  const metrics = await (await fetch(`${server.coordinator}/healthz`, { headers: { accept: 'text/plain' } })).text();
  assert.match(metrics, /^parley_calendar_mails_total\{outcome="applied"\} [1-9]/m);
  assert.match(metrics, /^parley_calendar_mails_total\{outcome="sender_unverified"\} [1-9]/m);
});

test('a server without a port and a token has neither door', async (t) => {
  const { server: closed, console: ask, stop } = await startConsoleServer();
  t.after(stop);
  await trustMail(ask);
  assert.equal(lmtpPort(closed), undefined);
  assertRefused(await postMail(closed, calendarMail(invite('closed@x')), 'bob@example.org'), 'token_invalid');
});

// The last one: it ends the server of all.
test('what was acknowledged is there after kill -9', async (t) => {
  const { dora } = await giveAddresses(server, console, 'dora');
  const acknowledged: string[] = [];
  const killed = { is: false };
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let count = 0; !killed.is && count < 25; count += 1) {
      const uid = `kill-${writer}-${count}@x`;
      const text = message(
        'REQUEST',
        uid,
        invitation().map((line) => line.replace('bob@', 'dora@')),
      );
      const replies = await deliverMail(server, calendarMail(text), ['dora@example.org']);
      if (replies['dora@example.org'] === '250') acknowledged.push(uid);
    }
  });
  await until(() => acknowledged.length >= 20, 'twenty acknowledged mails');
  await server.end('SIGKILL');
  killed.is = true;
  await Promise.all(writers);
  assert.deepEqual((await checkFolder(server.folder)).problems, []);
  const again = await startServer({ folder: server.folder });
  t.after(async () => await again.stop());
  assert.ok(acknowledged.length >= 20);
  for (const uid of acknowledged)
    assert.equal((await entryOf(again, dora as NonNullable<typeof dora>, uid))?.title, 'Tea');
});
