/** A mail speaks for its sender only when the operator's mail server vouches for them, and then for nobody else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uuidAddress } from '#src/calendar/address-book.ts';
import { call, defaultCalendar, makeEntry } from '../service/calling.ts';
import {
  attendee,
  AUTHSERV,
  calendarMail,
  entriesOf,
  entryOf,
  EVE,
  giveAddresses,
  invitation,
  type MailForm,
  message,
  organizer,
  outcomeOf,
  shareMailServer,
  trustMail,
  VOUCHED,
} from './mailing.ts';

const { server, console, alice, bob } = await shareMailServer();
const RECEIVED = 'Received: from x by y; Sat, 21 Nov 2026 08:00:00 +0000';
const FORGED = `Authentication-Results: ${AUTHSERV}; dmarc=pass header.from=outside.test`;

let last = 0;
const newUid = () => `identity-${(last += 1)}@outside.test`;

const mailWith = (uid: string, form: Omit<MailForm, 'body'>) =>
  calendarMail(message('REQUEST', uid, invitation()), form);

const REFUSED: Readonly<Record<string, readonly [outcome: string, form: Omit<MailForm, 'body'>]>> = {
  'nobody vouches': ['sender_unverified', { top: [] }],
  'dmarc failed': [
    'sender_unverified',
    { top: [`Authentication-Results: ${AUTHSERV}; dmarc=fail header.from=outside.test`] },
  ],
  'dmarc failed, and a signature of the domain is good': [
    'sender_unverified',
    {
      top: [
        `Authentication-Results: ${AUTHSERV}; dmarc=fail header.from=outside.test; dkim=pass header.d=outside.test`,
      ],
    },
  ],
  'dmarc passed for another domain': [
    'sender_unverified',
    { top: [`Authentication-Results: ${AUTHSERV}; dmarc=pass header.from=evil.test`] },
  ],
  'dmarc passed for the parent domain': ['sender_unverified', { from: 'eve@sub.outside.test', top: [VOUCHED] }],
  'only somebody else’s signature is good': [
    'sender_unverified',
    { top: [`Authentication-Results: ${AUTHSERV}; dkim=pass header.d=evil.test header.i=@outside.test`] },
  ],
  'only the envelope’s sender passed': [
    'sender_unverified',
    { top: [`Authentication-Results: ${AUTHSERV}; spf=pass smtp.mailfrom=eve@outside.test`] },
  ],
  'the results are of another server': [
    'sender_unverified',
    { top: ['Authentication-Results: mx.evil.test; dmarc=pass header.from=outside.test'] },
  ],
  'the name of the server is written otherwise': [
    'sender_unverified',
    { top: ['Authentication-Results: MX.example.org; dmarc=pass header.from=outside.test'] },
  ],
  'the name of the server stands in a comment': [
    'sender_unverified',
    { top: [`Authentication-Results: (${AUTHSERV};) mx.evil.test; dmarc=pass header.from=outside.test`] },
  ],
  'the result stands in a comment': [
    'sender_unverified',
    {
      top: [
        `Authentication-Results: ${AUTHSERV}; dmarc=fail (; dmarc=pass header.from=outside.test) header.from=outside.test`,
      ],
    },
  ],
  'the result stands in a quoted string': [
    'sender_unverified',
    {
      top: [
        `Authentication-Results: ${AUTHSERV}; spf=pass smtp.mailfrom="x; dmarc=pass header.from=outside.test"@evil.test`,
      ],
    },
  ],
  'the results break off': [
    'sender_unverified',
    { top: [`Authentication-Results: ${AUTHSERV}; dmarc=pass header.from=outside.test (`] },
  ],
  'the results came with the mail, below what received it': ['sender_unverified', { top: [RECEIVED, FORGED] }],
  'true results say no above forged ones': [
    'sender_unverified',
    { top: [`Authentication-Results: ${AUTHSERV}; dmarc=fail header.from=outside.test`, RECEIVED, FORGED] },
  ],
  'true results say no above forged ones, without a line between': [
    'sender_unverified',
    { top: [`Authentication-Results: ${AUTHSERV}; dmarc=none header.from=outside.test`, FORGED] },
  ],
  'two From fields': ['sender_invalid', { fromFields: [`From: ${EVE}`, 'From: mallory@evil.test'] }],
  'two From fields, one with a blank in front of the colon': [
    'sender_invalid',
    { fromFields: ['From : mallory@evil.test', `From: ${EVE}`] },
  ],
  'no From field': ['sender_invalid', { fromFields: [] }],
  'two addresses': ['sender_invalid', { fromFields: [`From: ${EVE}, mallory@evil.test`] }],
  'a group': ['sender_invalid', { fromFields: [`From: friends: ${EVE};`] }],
  'a name that reads as an address': ['sender_invalid', { fromFields: [`From: ${EVE} <mallory@evil.test>`] }],
  'an address behind an address': ['sender_invalid', { fromFields: [`From: <mallory@evil.test> <${EVE}>`] }],
  'a quoted name that is an address': ['sender_unverified', { fromFields: [`From: "${EVE}" <mallory@evil.test>`] }],
  'an encoded name that is an address': [
    'sender_unverified',
    { fromFields: ['From: =?utf-8?q?eve=40outside.test?= <mallory@evil.test>'] },
  ],
  'an encoded address': ['sender_invalid', { fromFields: ['From: <=?utf-8?q?eve=40outside.test?=>'] }],
  'an address in a comment': ['sender_unverified', { fromFields: [`From: mallory@evil.test (<${EVE}>)`] }],
  'letters that look alike': [
    'sender_invalid',
    { fromFields: [`From: ${Buffer.from('eve@оutside.test').toString('latin1')}`] },
  ],
  'a quoted local part': ['sender_invalid', { fromFields: ['From: "eve"@outside.test'] }],
  'a lone carriage return that hides a From field': [
    'mail_malformed',
    { fromFields: [`X-A: a\rFrom: mallory@evil.test`, `From: ${EVE}`] },
  ],
  'somebody here': [
    'sender_is_local',
    {
      from: 'Alice@Example.org',
      top: [`Authentication-Results: ${AUTHSERV}; dmarc=pass header.from=example.org`],
    },
  ],
};

for (const [what, [outcome, form]] of Object.entries(REFUSED)) {
  test(`GOV-01 a mail is refused where its sender is not known: ${what}`, async () => {
    const uid = newUid();
    assert.equal(await outcomeOf(server, mailWith(uid, form)), outcome);
    assert.equal(await entryOf(server, bob, uid), undefined);
  });
}

const TAKEN: Readonly<Record<string, Omit<MailForm, 'body'>>> = {
  'dmarc passed': {},
  'a signature of the domain, which has no policy': {
    top: [
      `Authentication-Results: ${AUTHSERV};\r\n\tdkim=pass (2048-bit key; unprotected) header.d=outside.test header.i=@outside.test header.a=rsa-sha256 header.s=s1 header.b=aB/+c==;\r\n\tdmarc=none (p=none)`,
    ],
  },
  'many methods, comments, a version and quoted strings': {
    top: [
      `Authentication-Results: "${AUTHSERV}" (our (own) server\\)) 1;\r\n spf=softfail (x; y) smtp.mailfrom="a;b"@outside.test;\r\n dmarc (c) = PASS action=none Header . From=Outside.Test`,
    ],
  },
  'results of others above': {
    top: ['Authentication-Results: spam.example.org; x-spam=no', 'ARC-Seal: i=1', VOUCHED],
  },
  'a name of many words': { fromFields: [`From: "Eve, of (outside)" (home) <EVE@outside.test> (work)`] },
  'a name in another alphabet': { fromFields: [`From: ${Buffer.from('Ева').toString('latin1')} <${EVE}>`] },
  'a folded From': { fromFields: [`From:\r\n =?utf-8?b?RXZl?=\r\n <${EVE}>`] },
};

for (const [what, form] of Object.entries(TAKEN)) {
  test(`a mail is taken where the sender is vouched for: ${what}`, async () => {
    const uid = newUid();
    assert.equal(await outcomeOf(server, mailWith(uid, form)), 'applied');
    assert.equal((await entryOf(server, bob, uid))?.organizer?.address, `mailto:${EVE}`);
  });
}

test('results below lines of the operator’s own hosts count when the operator says so', async (t) => {
  t.after(async () => await trustMail(console, { trusted_hops: null }));
  await trustMail(console, { trusted_hops: 1 });
  assert.equal(await outcomeOf(server, mailWith(newUid(), { top: [RECEIVED, VOUCHED] })), 'applied');
  assert.equal(
    await outcomeOf(server, mailWith(newUid(), { top: [RECEIVED, RECEIVED, VOUCHED] })),
    'sender_unverified',
  );
});

test('without the name of a mail server no mail is taken', async (t) => {
  t.after(async () => await trustMail(console));
  await trustMail(console, { trusted_authserv_id: null });
  const uid = newUid();
  assert.equal(await outcomeOf(server, mailWith(uid, {})), 'mail_off');
  assert.equal(await entryOf(server, bob, uid), undefined);
});

test('GOV-01 who sends an invitation organises it, and nobody else does', async () => {
  const lines = invitation().filter((line) => !line.startsWith('ORGANIZER'));
  for (const wrong of [
    [organizer('mallory@outside.test')],
    [`ORGANIZER;SENT-BY="mailto:${EVE}":mailto:boss@outside.test`],
    [organizer('alice@example.org')],
    [`ORGANIZER:${uuidAddress('alice')}`],
    ['ORGANIZER:/dav/principals/alice/'],
    [organizer(), organizer('mallory@outside.test')],
    [],
  ]) {
    const uid = newUid();
    assert.equal(
      await outcomeOf(server, calendarMail(message('REQUEST', uid, [...lines, ...wrong]))),
      'organizer_mismatch',
    );
    assert.equal(await entryOf(server, bob, uid), undefined);
  }
  // One component of another organiser's among the sender's own.
  const uid = newUid();
  const other = ['RECURRENCE-ID:20270130T090000Z', ...lines, organizer('mallory@outside.test')];
  assert.equal(
    await outcomeOf(
      server,
      calendarMail(message('REQUEST', uid, [...invitation(), 'RRULE:FREQ=WEEKLY;COUNT=3'], other)),
    ),
    'organizer_mismatch',
  );
  const good = calendarMail(
    message('REQUEST', uid, [...lines, 'ORGANIZER;SENT-BY="mailto:sec@outside.test":MAILTO:Eve@Outside.test']),
  );
  assert.equal(await outcomeOf(server, good), 'applied');
});

test('GOV-01 an invitation says nothing of its reader’s answer, and is for its reader', async () => {
  const uid = newUid();
  const accepted = invitation().map((line) => line.replace('PARTSTAT=NEEDS-ACTION', 'PARTSTAT=ACCEPTED'));
  assert.equal(await outcomeOf(server, calendarMail(message('REQUEST', uid, accepted))), 'applied');
  assert.equal((await entryOf(server, bob, uid))?.attendees.find(({ user }) => user === 'bob')?.answer, 'needs_action');
  // It came to Alice, who is not in it.
  const mail = calendarMail(message('REQUEST', newUid(), invitation()));
  assert.equal(await outcomeOf(server, mail, 'alice@example.org'), 'not_invited');
  assert.equal(await outcomeOf(server, mail, 'nobody@example.org'), 'recipient_unknown');
  const before = await entriesOf(server, alice);
  assert.deepEqual(
    before.filter((entry) => entry.uid.startsWith('identity-')),
    [],
  );
});

test('GOV-01 an answer is its sender’s own, to what the recipient organises', async () => {
  const { id } = await defaultCalendar(server, bob);
  const entry = await makeEntry(server, bob, id, {
    ...{ title: 'Tea', start_at: '2027-01-23T09:00:00Z', end_at: '2027-01-23T10:00:00Z' },
    attendees: [`mailto:${EVE}`, 'mailto:mallory@outside.test', 'alice'],
  });
  const reply = (...people: string[]) =>
    calendarMail(
      message('REPLY', entry.uid, ['DTSTAMP:20261122T080000Z', 'DTSTART:20270123T090000Z', 'SEQUENCE:9', ...people]),
    );
  const answers = async () => {
    const { attendees = [] } = (await entryOf(server, bob, entry.uid)) ?? {};
    return attendees.map((one) => `${one.user ?? one.address} ${one.answer}`);
  };
  const before = await answers();
  for (const [outcome, ...people] of [
    ['attendee_mismatch', attendee('mallory@outside.test', 'ACCEPTED')],
    ['attendee_mismatch', attendee('alice@example.org', 'ACCEPTED')],
    ['attendee_mismatch', attendee(EVE, 'ACCEPTED'), attendee('mallory@outside.test', 'DECLINED')],
    ['attendee_mismatch'],
    ['delegation_refused', `ATTENDEE;PARTSTAT=DELEGATED;DELEGATED-TO="mailto:x@y.test":mailto:${EVE}`],
    ['delegation_refused', `ATTENDEE;PARTSTAT=ACCEPTED;DELEGATED-FROM="mailto:x@y.test":mailto:${EVE}`],
    ['calendar_invalid', attendee(EVE, 'X-OWNS')],
  ] as [string, ...string[]][]) {
    assert.equal(await outcomeOf(server, reply(...people)), outcome);
  }
  // To Alice's copy, which Bob organises; from somebody who is not asked.
  assert.equal(await outcomeOf(server, reply(attendee(EVE, 'ACCEPTED')), 'alice@example.org'), 'event_foreign');
  const stranger = reply(attendee('stranger@outside.test', 'ACCEPTED')).replace(`<${EVE}>`, '<stranger@outside.test>');
  assert.equal(await outcomeOf(server, stranger), 'not_invited');
  assert.deepEqual(await answers(), before);
  assert.equal(await outcomeOf(server, reply(attendee(EVE.toUpperCase(), 'ACCEPTED'))), 'applied');
  assert.deepEqual(
    await answers(),
    before.map((line) => (line === `mailto:${EVE} needs_action` ? `mailto:${EVE} accepted` : line)),
  );
});

test('GOV-01 an object of the same UID that somebody else organises stays as it is', async () => {
  const { id } = await defaultCalendar(server, bob);
  const own = await makeEntry(server, bob, id, {
    title: 'Mine',
    start_at: '2027-01-23T09:00:00Z',
    end_at: '2027-01-23T10:00:00Z',
  });
  for (const method of ['REQUEST', 'CANCEL']) {
    for (const sequence of [99, 0]) {
      const mail = calendarMail(message(method, own.uid, invitation({ sequence })));
      assert.equal(await outcomeOf(server, mail), 'event_foreign');
    }
  }
  const uid = newUid();
  await outcomeOf(server, calendarMail(message('REQUEST', uid, invitation())));
  const other = invitation({ sequence: 5 }).map((line) => line.replace(EVE, 'mallory@outside.test'));
  const taken = calendarMail(message('REQUEST', uid, other), { from: 'mallory@outside.test' });
  assert.equal(await outcomeOf(server, taken), 'event_foreign');
  const cancelled = calendarMail(message('CANCEL', uid, other), { from: 'mallory@outside.test' });
  assert.equal(await outcomeOf(server, cancelled), 'event_foreign');
  assert.equal((await entryOf(server, bob, own.uid))?.title, 'Mine');
  assert.equal((await entryOf(server, bob, uid))?.organizer?.address, `mailto:${EVE}`);
  const waiting = await call<{ items: { entry: { uid: string } }[] }>(server, bob, 'GET', '/v1/invitations');
  assert.ok(waiting.body.items.some((one) => one.entry.uid === uid));
});

test('GOV-01 a service that the operator trusts names others, and nobody here', async (t) => {
  t.after(async () => await trustMail(console, { trusted_agents: null }));
  const service = (text: string) => calendarMail(text, { from: 'noreply@outside.test' });
  const uid = newUid();
  const lines = (who: string) => invitation().map((line) => line.replace(EVE, who));
  const foreign = message('REQUEST', uid, lines('zoe@elsewhere.test'));
  assert.equal(await outcomeOf(server, service(foreign)), 'organizer_mismatch');
  await trustMail(console, { trusted_agents: 'x@y.test, NoReply@outside.test' });
  assert.equal(await outcomeOf(server, calendarMail(foreign)), 'organizer_mismatch');
  for (const local of ['alice@example.org', 'BOB@example.org']) {
    assert.equal(await outcomeOf(server, service(message('REQUEST', newUid(), lines(local)))), 'sender_is_local');
  }
  const unnamed = lines(EVE).map((line) => line.replace(/^ORGANIZER.*/, `ORGANIZER:${uuidAddress('alice')}`));
  assert.equal(await outcomeOf(server, service(message('REQUEST', newUid(), unnamed))), 'organizer_mismatch');
  const two = ['RECURRENCE-ID:20270130T090000Z', ...lines('mallory@elsewhere.test')];
  const mixed = message('REQUEST', newUid(), [...lines('zoe@elsewhere.test'), 'RRULE:FREQ=WEEKLY;COUNT=3'], two);
  assert.equal(await outcomeOf(server, service(mixed)), 'organizer_mismatch');
  assert.equal(await outcomeOf(server, service(foreign)), 'applied');
  assert.equal((await entryOf(server, bob, uid))?.organizer?.address, 'mailto:zoe@elsewhere.test');
  // What it says for one is not said for another.
  const taken = message('CANCEL', uid, lines('mallory@elsewhere.test'));
  assert.equal(await outcomeOf(server, service(taken)), 'event_foreign');
  const { id } = await defaultCalendar(server, bob);
  const form = { title: 'Own', start_at: '2027-01-23T09:00:00Z', end_at: '2027-01-23T10:00:00Z' };
  const own = await makeEntry(server, bob, id, { ...form, attendees: ['mailto:zoe@elsewhere.test', 'alice'] });
  const reply = (who: string) =>
    service(
      message('REPLY', own.uid, ['DTSTAMP:20261122T080000Z', 'DTSTART:20270123T090000Z', attendee(who, 'DECLINED')]),
    );
  assert.equal(await outcomeOf(server, reply('alice@example.org')), 'sender_is_local');
  assert.equal(await outcomeOf(server, reply('zoe@elsewhere.test')), 'applied');
  const { attendees = [] } = (await entryOf(server, bob, own.uid)) ?? {};
  assert.deepEqual(
    attendees.map((one) => `${one.user ?? one.address} ${one.answer}`),
    ['bob accepted', 'mailto:zoe@elsewhere.test declined', 'alice needs_action'],
  );
});

test('who left or is blocked gets no mail', async () => {
  const { dan, ed } = await giveAddresses(server, console, 'dan', 'ed');
  for (const [who, verb] of [
    [dan, 'block'],
    [ed, 'leave'],
  ] as const) {
    const to = `${who?.username}@example.org`;
    const mail = () =>
      calendarMail(
        message(
          'REQUEST',
          newUid(),
          invitation().map((line) => line.replace('bob@example.org', to)),
        ),
      );
    assert.equal(await outcomeOf(server, mail(), to), 'applied');
    assert.equal((await console('POST', `/users/${who?.username}/${verb}`)).status, 200);
    assert.equal(await outcomeOf(server, mail(), to), 'recipient_unknown');
  }
});
