/**
 * Postfix and OpenDKIM between Parley and somebody outside: invitations leave, signed answers come back over LMTP, and what
 * is refused, forged, too large, or comes while the server is down, ends as the operator is told.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport, type SendMailOptions } from 'nodemailer';
import type { Email } from 'postal-mime';
import { MAIL_BYTES_MAX } from '#src/mail/inbound/mail-reader.ts';
import { consoleOf, plantOwner, type AskConsole } from '#test/support/console.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { attendee, calendarMail, entryOf, exported, invitation, message } from '../mail/mailing.ts';
import { defaultCalendar, makeEntry } from '../service/calling.ts';
import type { Account } from './account.ts';
import { AUTHSERV, DKIM_SELECTOR, Postfix } from './postfix-instance.ts';

const EVE = 'eve@outside.test';
const BOB = 'bob@example.org';

/** What the checks need: a server that mail goes to and comes from, and Eve, who sends from outside. */
interface Scene {
  readonly postfix: Postfix;
  server: TestServer;
  readonly restart: () => Promise<TestServer>;
  readonly console: AskConsole;
  readonly alice: Person;
  readonly bob: Person;
  readonly carol: Person;
  readonly privateKey: string;
}

/** Sends from outside; signed by outside.test, unless not. What the SMTP server said. */
async function send(
  { postfix, privateKey }: Pick<Scene, 'postfix' | 'privateKey'>,
  mail: SendMailOptions,
  isSigned = true,
): Promise<string> {
  const dkim = { domainName: 'outside.test', keySelector: DKIM_SELECTOR, privateKey };
  const transport = createTransport({
    ...{ host: '127.0.0.1', port: postfix.ports.public, ignoreTLS: true },
    ...(isSigned ? { dkim } : {}),
  });
  try {
    const { response } = await transport.sendMail(mail);
    return response;
  } catch (error) {
    return (error as { response?: string }).response ?? String(error);
  } finally {
    transport.close();
  }
}

/** A mail of Eve's as her own server would send it, for these recipients. */
const fromEve = (text: string, ...to: string[]): SendMailOptions => ({
  envelope: { from: EVE, to },
  raw: calendarMail(text, { top: [] }),
});

const subjectIs = (words: RegExp) => (mail: Email) => words.test(mail.subject ?? '');

/** Gives a person the address that they are invited under. */
async function give(console: AskConsole, name: string): Promise<void> {
  const reply = await console('PATCH', `/users/${name}`, { email: `${name}@example.org` });
  assert.equal(reply.status, 200, reply.text);
}

/** What the sender is told when a mail comes back. */
async function bounced({ postfix }: Scene, words: RegExp): Promise<void> {
  const [found] = await postfix.received(subjectIs(/^Undelivered Mail/), 'the mail that comes back');
  assert.match(found?.source.replaceAll(/\s+/g, ' ') ?? '', words);
}

async function titleOf(server: TestServer, who: Person, uid: string): Promise<string> {
  return await until(async () => (await entryOf(server, who, uid))?.title, `${uid} with ${who.username}`);
}

/** Alice invites Eve, whose answer comes back by mail. */
async function answerAnInvitation(scene: Scene): Promise<void> {
  const { alice, postfix, server } = scene;
  const { id } = await defaultCalendar(server, alice);
  const form = { title: 'Größe', local_start: '2027-03-29T09:00:00', local_end: '2027-03-29T10:00:00' };
  const entry = await makeEntry(server, alice, id, { ...form, tz: 'Europe/Berlin', attendees: [`mailto:${EVE}`] });
  const [found] = await postfix.received(subjectIs(/Größe/), 'the invitation');
  const part = found?.email.attachments.find(({ mimeType }) => mimeType === 'text/calendar');
  assert.equal(part?.method, 'REQUEST');
  const answer = ['DTSTAMP:20261121T090000Z', 'DTSTART;TZID=Europe/Berlin:20270329T090000'];
  answer.push('ORGANIZER:mailto:alice@example.org', attendee(EVE, 'ACCEPTED'));
  assert.match(await send(scene, fromEve(message('REPLY', entry.uid, answer), 'alice@example.org')), /^250 /);
  await until(
    async () => /PARTSTAT=ACCEPTED[^\r\n]*eve@outside\.test/.test(await exported(server, alice)),
    'the answer',
  );
}

/** One mail for several people: each gets it. An address that nobody has is refused at the door until somebody gets it. */
async function inviteSeveral(scene: Scene): Promise<void> {
  const { bob, carol, console, server } = scene;
  const more = [attendee('carol@example.org')];
  const text = message('REQUEST', 'several@x', invitation({ more })).replace('SUMMARY:Tea', 'SUMMARY:Frühstück');
  const toCarol = fromEve(message('REQUEST', 'carol@x', invitation({ more })), 'carol@example.org');
  assert.match(await send(scene, toCarol), /^550 5\.1\.1 .*There is nobody of that address/);
  await give(console, 'carol');
  // Postfix remembers for a while whom nobody knew.
  await until(async () => (await send(scene, toCarol)).startsWith('250 '), 'the address of Carol');
  assert.match(await send(scene, fromEve(text, BOB, 'carol@example.org', 'alice@example.org')), /^250 /);
  for (const who of [bob, carol]) assert.equal(await titleOf(server, who, 'several@x'), 'Frühstück');
  // Alice is not invited: her part of the mail alone comes back.
  await bounced(scene, /<alice@example\.org>: .*550 5\.7\.1 This person is not invited/);
}

/** What a sender writes under the operator's name never counts, and what nobody signed is refused. */
async function forge(scene: Scene): Promise<void> {
  const { bob, server } = scene;
  const text = message('REQUEST', 'forged@x', invitation());
  // A blank in front of the colon, and a letter behind a backslash: other ways to write the same.
  const heads = [`Authentication-Results: ${AUTHSERV}`, 'Authentication-Results : "\\mx.example.org"'];
  const top = heads.map((head) => `${head}; dmarc=pass header.from=outside.test`);
  const forged = { envelope: { from: EVE, to: BOB }, raw: calendarMail(text, { top }) };
  assert.match(await send(scene, forged, false), /^250 /);
  const [found] = await scene.postfix.received(subjectIs(/^Undelivered Mail/), 'the forged mail');
  const source = found?.source ?? '';
  assert.match(source.replaceAll(/\s+/g, ' '), /550 5\.7\.1 Nobody that is trusted here vouches for the sender/);
  assert.ok(!source.includes('dmarc=pass'), 'the forged field is gone');
  assert.equal(await entryOf(server, bob, 'forged@x'), undefined);
}

/** Too large for Parley, small enough for Postfix: it comes back. An address beyond ASCII is refused, and comes back, too. */
async function refuse(scene: Scene): Promise<void> {
  const large = message('REQUEST', 'large@x', invitation({ more: [`X-PAD:${'x\r\n '.repeat(MAIL_BYTES_MAX / 4)}x`] }));
  assert.match(await send(scene, fromEve(large, BOB)), /^250 /);
  await bounced(scene, /message size \d+ exceeds size limit 2097152 of server/);
  const raw = calendarMail(message('REQUEST', 'utf8@x', invitation()), { top: [], from: 'ève@outside.test' });
  const said = await send(scene, { envelope: { from: 'ève@outside.test', to: BOB }, raw });
  assert.match(said, /^250 /);
  await bounced(scene, /550 5\.7\.1 The mail has not exactly one From address/);
}

/** A mail without a sender to tell, which nobody can use: it is gone, and nothing goes round. */
async function bounceNoBounce(scene: Scene): Promise<void> {
  const { postfix } = scene;
  const raw = ['From: <mailer-daemon@outside.test>', `To: ${BOB}`, 'Subject: Returned', '', 'It came back.', ''];
  assert.match(await send(scene, { envelope: { from: '', to: BOB }, raw: raw.join('\r\n') }), /^250 /);
  await until(() => /from=<>, .*[^]*554 5\.6\.1 The mail has no calendar part/.test(postfix.log), 'the refusal');
  await until(() => postfix.queue().length === 0, 'an empty queue');
}

/** While the server is down mail waits in the queue, and is delivered when it is back. */
async function wait(scene: Scene): Promise<void> {
  const { postfix } = scene;
  const text = message('REQUEST', 'waited@x', invitation());
  await scene.server.stop();
  assert.match(await send(scene, fromEve(text, BOB)), /^250 /);
  await until(() => postfix.queue().some((line) => line.includes('Connection refused')), 'a mail that waits');
  scene.server = await scene.restart();
  assert.equal(await titleOf(scene.server, scene.bob, 'waited@x'), 'Tea');
  await until(() => postfix.queue().length === 0, 'an empty queue');
}

/** Runs a Postfix in the account's folder, and mail through it in both directions. */
export async function mailThroughPostfix({ folder }: Account): Promise<string> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  // Postfix has users of its own, who have to get through.
  await chmod(folder, 0o755);
  const running = await Postfix.start(join(folder, 'postfix'), publicKey.toString('base64'));
  const data = join(folder, 'data');
  const token = await plantOwner(data);
  const environment = { PARLEY_LMTP_PORT: String(running.ports.lmtp), PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
  const restart = async () => await startServer({ folder: data, environment });
  let scene: Scene | undefined;
  try {
    const server = await restart();
    const people = await server.people('alice', 'bob', 'carol');
    const console = consoleOf(server, token);
    scene = { ...people, console, postfix: running, server, restart, privateKey };
    for (const name of ['alice', 'bob']) await give(console, name);
    const settings = { domain: 'example.org', trusted_authserv_id: AUTHSERV, smtp_host: 'localhost' };
    const form = { ...settings, smtp_port: running.ports.submission, smtp_security: 'none' };
    const set = await console('PUT', '/settings/mail', form);
    assert.equal(set.status, 200, set.text);
    for (const step of [answerAnInvitation, inviteSeveral, forge, refuse, bounceNoBounce, wait]) await step(scene);
    return 'out, in, for several, forged, too large, beyond ASCII, no bounce of a bounce, and while the server was down';
  } catch (error) {
    const tail = running.log.split('\n').filter((line) => !line.includes('postfix-script'));
    throw new Error(`${String(error)}\n${tail.slice(-40).join('\n')}`, { cause: error });
  } finally {
    await scene?.server.stop();
    await running.stop();
  }
}
