/**
 * Thunderbird as who organises: it finds the calendar by the server's name, invites somebody of the installation and a guest
 * outside, changes the meeting while the server writes into it what became of the mails, hears the answers and calls it off.
 * Nobody may be asked anything on the way: every window that opens is a fault, but for the one that a real conflict brings.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { consoleOf, plantOwner } from '#test/support/console.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { calendarOf, MailServer, mailSettings, trusting, type TakenMail } from '#test/mail/mail-server.ts';
import {
  attendee,
  AUTHSERV,
  calendarMail,
  entryOf,
  EVE,
  MAIL_ENVIRONMENT,
  message,
  outcomeOf,
} from '../mail/mailing.ts';
import { call, defaultCalendar, makeEntry } from '../service/calling.ts';
import { dav, filesOf, type Account } from './account.ts';
import { Thunderbird } from './marionette.ts';

const BOB = 'bob@example.org';

/**
 * What the steps below call, kept on the main window. It notes every window that opens and closes it, as somebody would who
 * cancels; and it passes what its own dialogs pass when they are closed with "Save and send".
 */
const STEPS = `
  const { CalEvent } = ChromeUtils.importESModule("resource:///modules/CalEvent.sys.mjs");
  const opened = [];
  Services.ww.registerNotification({
    observe(opening, topic) {
      if (topic !== "domwindowopened") return;
      opening.addEventListener("load", () => {
        opened.push(opening.location.href);
        opening.setTimeout(() => opening.close(), 0);
      }, { once: true });
    },
  });
  const calendar = () => cal.manager.getCalendars().find((one) => one.type === "caldav");
  const when = async (condition, what) => {
    for (let looks = 0; looks < 1500; looks += 1) {
      const found = await condition();
      if (found) return found;
      await new Promise((resolve) => window.setTimeout(resolve, 20));
    }
    throw new Error("Waited in vain for " + what);
  };
  const send = (action, item, old) =>
    doTransaction(action, item, calendar(), old, null, { responseMode: Ci.calIItipItem.AUTO });
  window.parley = { CalEvent, opened, calendar, when, send };
`;

/** The dialog of new calendars with what it finds at the server's name alone. */
const CONNECT = `
  const [location, user, password] = args;
  const found = await cal.provider.detection.detect(user, password, location, true, [], {});
  const calendars = [...found].flatMap(([provider, all]) => (provider.type === "caldav" ? all : []));
  for (const one of calendars) {
    one.setProperty("cache.enabled", true);
    cal.manager.registerCalendar(one);
  }
  const { calendar, when } = window.parley;
  await when(() => calendar()?.getProperty("capabilities.autoschedule.supported"), "the server that schedules");
  const organizer = await when(() => calendar().getProperty("organizerId"), "the address that one organises by");
  return { names: calendars.map(({ name }) => name), organizer };
`;

const INVITE = `
  const [text] = args;
  const { CalEvent, calendar, send } = window.parley;
  const event = new CalEvent(text);
  event.calendar = calendar().superCalendar ?? calendar();
  await send("add", event, null);
  return event.id;
`;

/** Changes what is known of the item without asking the server first: its copy is that of its last writing. */
const CHANGE = `
  const [uid, lines] = args;
  const { calendar, send } = window.parley;
  const old = await calendar().getItem(uid);
  const item = old.clone();
  for (const [name, value] of Object.entries(lines)) {
    if (name === "hours") {
      const by = cal.createDuration("PT" + value + "H");
      const [start, end] = [item.startDate.clone(), item.endDate.clone()];
      start.addDuration(by);
      end.addDuration(by);
      item.startDate = start;
      item.endDate = end;
    } else item.setProperty(name, value);
  }
  await send("modify", item, old);
`;

const REMOVE = `
  const { calendar, send } = window.parley;
  const item = await calendar().getItem(args[0]);
  await send("delete", item, item);
`;

const ANSWER = `
  const [uid, partstat] = args;
  const { calendar, send } = window.parley;
  const old = await calendar().getItem(uid);
  const item = old.clone();
  const own = cal.itip.getInvitedAttendee(item);
  item.removeAttendee(own);
  const said = own.clone();
  said.participationStatus = partstat;
  item.addAttendee(said);
  await send("modify", item, old);
`;

const REFRESH = `
  const [uid, pattern] = args;
  const { calendar, when } = window.parley;
  calendar().refresh();
  return await when(async () => {
    const item = await calendar().getItem(uid);
    const text = item ? cal.item.serialize(item).replace(/\\r?\\n[ \\t]/g, "") : "gone";
    return new RegExp(pattern).test(text) && text;
  }, pattern);
`;

interface Scene {
  readonly server: TestServer;
  readonly mails: MailServer;
  readonly thunderbird: Thunderbird;
  /** Alice, from another device. */
  readonly account: Account;
  readonly alice: Person;
  readonly bob: Person;
}

/** The windows that opened since it was last asked. */
async function windowsOf({ thunderbird }: Scene): Promise<string[]> {
  return await thunderbird.run(`return window.parley.opened.splice(0)`);
}

async function mailToEve({ mails }: Scene, count: number, subject: RegExp, method: string): Promise<TakenMail> {
  const toEve = await until(() => {
    const found = mails.mails.filter(({ to }) => to[0] === EVE);
    return found.length >= count && found;
  }, `the mail ${count} to Eve`);
  assert.equal(toEve.length, count, toEve.map(({ email }) => email.subject).join('\n'));
  const last = toEve.at(-1) as TakenMail;
  assert.match(last.email.subject ?? '', subject);
  assert.match(calendarOf(last), new RegExp(`^METHOD:${method}$`, 'm'));
  return last;
}

async function entryWhen({ server }: Scene, who: Person, uid: string, isRight: (entry: EntryView) => boolean) {
  return await until(async () => {
    const entry = await entryOf(server, who, uid);
    return entry !== undefined && isRight(entry) && entry;
  }, `${uid} of ${who.username}`);
}

/** What the server has of the meeting, once it says how the mail to Eve went. */
async function storedWhen({ account }: Scene, uid: string, isRight: (text: string) => boolean): Promise<string> {
  return await until(async () => {
    for (const name of await filesOf(account, 'default')) {
      const text = (await (await dav(account, 'GET', `default/${name}`)).text()).replaceAll(/\r\n[ \t]/g, '');
      if (text.includes(`UID:${uid}`) && isRight(text)) return text;
    }
    return false;
  }, `${uid} on the server`);
}

const isMailed = (text: string) => /^ATTENDEE[^\r]*SCHEDULE-STATUS=[^\r]*eve@outside\.test/m.test(text);

/** An event as the dialog writes it: its organiser is who the calendar says that one is. */
function meeting(uid: string, organizer: string): string {
  return [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Mozilla.org/NONSGML Mozilla Calendar V1.1//EN', 'BEGIN:VEVENT'],
    ...[`UID:${uid}`, 'SUMMARY:Planning', 'DTSTAMP:20261124T080000Z', 'DTSTART:20270330T090000Z'],
    ...['DTEND:20270330T100000Z', `ORGANIZER;PARTSTAT=ACCEPTED;ROLE=CHAIR:${organizer}`],
    ...[`ATTENDEE;PARTSTAT=ACCEPTED;ROLE=CHAIR:${organizer}`],
    ...[BOB, EVE].map((who) => `ATTENDEE;CN=X;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;ROLE=REQ-PARTICIPANT:mailto:${who}`),
    ...['END:VEVENT', 'END:VCALENDAR', ''],
  ].join('\r\n');
}

/** A meeting from its invitation to its end; answers are heard, and nothing is asked. */
async function organise(scene: Scene, organizer: string): Promise<void> {
  const { alice, bob, server, thunderbird } = scene;
  const uid = 'from-thunderbird';
  await thunderbird.run(INVITE, meeting(uid, organizer));
  const [invited] = [await mailToEve(scene, 1, /^Invitation: Planning/, 'REQUEST')];
  assert.match(calendarOf(invited), /^ORGANIZER[^\n]*mailto:alice@example\.org$/m);
  assert.equal((await entryWhen(scene, bob, uid, () => true)).organizer?.user, 'alice');
  // The server writes on its own how the mail went; Thunderbird has not heard of it and changes the meeting.
  await storedWhen(scene, uid, isMailed);
  await thunderbird.run(CHANGE, uid, { hours: 2, LOCATION: 'Room 3' });
  assert.deepEqual(await windowsOf(scene), [], 'a change while the server wrote how the mail went');
  const moved = await mailToEve(scene, 2, /^Updated invitation: Planning/, 'REQUEST');
  assert.match(calendarOf(moved), /^DTSTART:20270330T110000Z$/m);
  assert.match(calendarOf(moved), /^LOCATION:Room 3$/m);
  await entryWhen(
    scene,
    bob,
    uid,
    ({ location, start_at: start }) => location === 'Room 3' && /T11:/.test(start ?? ''),
  );
  // Answers, one by mail and one from the app, come with the next refresh, and a change on top of them keeps both.
  const answer = ['DTSTAMP:20261124T090000Z', 'DTSTART:20270330T110000Z', 'DTEND:20270330T120000Z', 'SEQUENCE:1'];
  answer.push('ORGANIZER:mailto:alice@example.org', attendee(EVE, 'ACCEPTED'));
  assert.equal(await outcomeOf(server, calendarMail(message('REPLY', uid, answer)), 'alice@example.org'), 'applied');
  const { id: bobs } = await defaultCalendar(server, bob);
  const copy = await entryWhen(scene, bob, uid, () => true);
  const said = await call(server, bob, 'PUT', `/v1/invitations/${bobs}/${copy.id}/answer`, { answer: 'tentative' });
  assert.equal(said.status, 200, said.text);
  await entryWhen(scene, alice, uid, ({ attendees }) =>
    attendees.every(({ answer: given, user }) => given === (user === 'bob' ? 'tentative' : 'accepted')),
  );
  await thunderbird.run(REFRESH, uid, 'PARTSTAT=TENTATIVE[^\\r\\n]*bob@example\\.org');
  await thunderbird.run(REFRESH, uid, 'PARTSTAT=ACCEPTED[^\\r\\n]*eve@outside\\.test');
  await thunderbird.run(CHANGE, uid, { DESCRIPTION: 'Bring the plan.' });
  const described = await entryWhen(scene, bob, uid, ({ description }) => description === 'Bring the plan.');
  assert.equal(described.attendees.find(({ user }) => user === 'bob')?.answer, 'tentative');
  await mailToEve(scene, 3, /^Updated invitation: Planning/, 'REQUEST');
  await storedWhen(scene, uid, (text) => isMailed(text) && text.includes('DESCRIPTION:Bring'));
  await thunderbird.run(REMOVE, uid);
  await mailToEve(scene, 4, /^Cancell?ed: Planning/, 'CANCEL');
  await entryWhen(scene, bob, uid, ({ status }) => status === 'cancelled');
  assert.equal(await entryOf(server, alice, uid), undefined);
  assert.deepEqual(await windowsOf(scene), [], 'from the invitation to the end');
}

/** An invitation comes in and is accepted: whoever sent it hears it. */
async function answerAnInvitation(scene: Scene): Promise<void> {
  const { bob, server, thunderbird } = scene;
  const { id } = await defaultCalendar(server, bob);
  const when = { start_at: '2027-04-01T09:00:00Z', end_at: '2027-04-01T10:00:00Z' };
  const { uid } = await makeEntry(server, bob, id, { title: 'Lunch', ...when, attendees: ['alice'] });
  await thunderbird.run(REFRESH, uid, 'SUMMARY:Lunch');
  await thunderbird.run(ANSWER, uid, 'ACCEPTED');
  await entryWhen(scene, bob, uid, ({ attendees }) => attendees[0]?.answer === 'accepted');
  assert.deepEqual(await windowsOf(scene), [], 'an invitation that is accepted');
}

/** Somebody else's change is a conflict: the window that asks is seen, so that none of the others was overlooked. */
async function conflict(scene: Scene, organizer: string): Promise<void> {
  const { account, thunderbird } = scene;
  const uid = 'contested';
  await thunderbird.run(INVITE, meeting(uid, organizer));
  const stored = await storedWhen(scene, uid, isMailed);
  const name = (await filesOf(account, 'default')).find((one) => one.startsWith(uid)) as string;
  const elsewhere = stored.replace('SUMMARY:Planning', 'SUMMARY:Elsewhere');
  assert.equal((await dav(account, 'PUT', `default/${name}`, elsewhere)).status, 204);
  await thunderbird.run(CHANGE, uid, { SUMMARY: 'Here' });
  const [asked, ...others] = await until(async () => {
    const windows = await windowsOf(scene);
    return windows.length > 0 && windows;
  }, 'the window that a conflict brings');
  assert.match(asked ?? '', /calendar-conflicts-dialog/);
  assert.deepEqual(others, []);
  assert.match(await storedWhen(scene, uid, () => true), /SUMMARY:Elsewhere/);
}

export async function thunderbirdOrganises({ folder }: Account): Promise<string> {
  const endings: (() => void | Promise<void>)[] = [];
  const ending = { after: (end: () => void | Promise<void>) => void endings.unshift(end) };
  try {
    const mails = await MailServer.open(ending);
    const data = join(folder, 'data');
    const token = await plantOwner(data);
    const server = await startServer({ folder: data, environment: { ...trusting(ending), ...MAIL_ENVIRONMENT } });
    ending.after(async () => void (await server.stop()));
    const { alice, bob } = await server.people('alice', 'bob');
    const console = consoleOf(server, token);
    for (const name of ['alice', 'bob']) await console('PATCH', `/users/${name}`, { email: `${name}@example.org` });
    const form = { ...mailSettings(mails.port), trusted_authserv_id: AUTHSERV };
    assert.equal((await console('PUT', '/settings/mail', form)).status, 200);
    const made = await request<{ password: string }>('POST', `${server.coordinator}/v1/app-passwords`, {
      body: { name: 'Thunderbird' },
      token: alice.session.token,
    });
    const profile = join(folder, 'profile');
    await mkdir(profile);
    const thunderbird = await Thunderbird.start(profile);
    ending.after(async () => await thunderbird.stop());
    const { password } = made.body;
    const account = { server, user: 'alice', password, folder };
    const scene: Scene = { server, mails, thunderbird, account, alice, bob };
    await thunderbird.run(STEPS);
    const found = await thunderbird.run<{ names: string[]; organizer: string }>(
      CONNECT,
      `${server.calendar}/`,
      'alice',
      password,
    );
    assert.equal(found.names.length, 1, found.names.join());
    await organise(scene, found.organizer);
    await answerAnInvitation(scene);
    await conflict(scene, found.organizer);
    return `version ${await thunderbird.run<string>('return Services.appinfo.version')}, as ${found.organizer}`;
  } finally {
    for (const end of endings) await end();
  }
}
