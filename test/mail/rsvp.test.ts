/** Links by which people outside answer: what they show, what they take, and when they are over (CAL-03). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STATED_POLICIES } from '#src/limits/policies.ts';
import { RSVP_COMMENT_LENGTH_MAX } from '#src/protocol/limits.ts';
import { readMetric } from '#test/support/metrics.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { defaultCalendar } from '../calendar/service/calling.ts';
import { bytesOf, change, invite, lineWhen, openMailScene, remove, type MailScene } from './scene.ts';

/** The link in the first mail to somebody. */
async function linkTo({ mails }: MailScene, address: string): Promise<string> {
  const mail = await until(() => mails.mails.find(({ to }) => to[0] === address), `a mail to ${address}`);
  const [link] = /http:\S+\/rsvp\/[\w-]+/.exec(mail.email.text ?? '') ?? [];
  assert.ok(link !== undefined, mail.email.text);
  return link;
}

async function answer(link: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(link, { method: 'POST', body: new URLSearchParams(form), headers });
  return { status: response.status, text: await response.text() };
}

async function look(link: string) {
  const response = await fetch(link);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('CAL-03 a link shows the invitation, takes the one person’s answer, and is over with the invitation', async (t) => {
  const scene = await openMailScene(t);
  const { alice, calendar, server } = scene;
  const socket = await connect(server, alice);
  const title = '<script>alert(1)</script> & "Talk"';
  const entry = await invite(scene, ['mailto:zoe@example.net', 'mailto:yan@example.net'], { title });
  const zoe = await linkTo(scene, 'zoe@example.net');
  await lineWhen(scene, entry.uid, 'mailto:yan@', /SCHEDULE-STATUS=1\.1/);
  await lineWhen(scene, entry.uid, 'mailto:zoe@', /SCHEDULE-STATUS=1\.1/);

  const before = await bytesOf(scene, alice, calendar, entry.uid);
  const page = await look(zoe);
  assert.equal(page.status, 200);
  assert.match(page.text, /<title>&#60;script&#62;alert\(1\)&#60;\/script&#62; &#38; &#34;Talk&#34;<\/title>/);
  assert.doesNotMatch(page.text, /<script/);
  assert.match(page.text, /Monday,? 29 March 2027, 09:00–10:00 \(Europe\/Berlin\)/);
  assert.match(page.text, /Alice Ünal/);
  assert.doesNotMatch(page.text, /yan@|alice@/);
  const policy = page.headers.get('content-security-policy') ?? '';
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  );
  assert.deepEqual(
    ['referrer-policy', 'x-robots-tag', 'cache-control'].map((name) => page.headers.get(name)),
    ['no-referrer', 'noindex, nofollow, noarchive', 'no-store'],
  );
  await fetch(zoe, { method: 'HEAD' });
  assert.equal(await bytesOf(scene, alice, calendar, entry.uid), before, 'looking changes nothing');

  // A browser that hides where it comes from says so of its form.
  const accepted = await answer(zoe, { answer: 'accepted', comment: 'With "cake"\nEND:VEVENT' }, { origin: 'null' });
  assert.equal(accepted.status, 200, accepted.text);
  assert.match(accepted.text, /You have accepted\./);
  const line = await lineWhen(scene, entry.uid, 'mailto:zoe@', /PARTSTAT=ACCEPTED/);
  assert.match(line, /X-RESPONSE-COMMENT="?With \^'cake\^'\^nEND:VEVENT"?[;:]/);
  assert.match(await lineWhen(scene, entry.uid, 'mailto:yan@', /./), /PARTSTAT=NEEDS-ACTION/);
  await socket.event(({ type, data }) => type === 'calendar.changed' && data['calendar_id'] === calendar, 'the change');
  assert.match((await look(zoe)).text, /You have accepted\./);
  await answer(zoe, { answer: 'accepted' });
  await answer(zoe, { answer: 'declined' });
  await lineWhen(scene, entry.uid, 'mailto:zoe@', /PARTSTAT=DECLINED/);

  const long = 'x'.repeat(RSVP_COMMENT_LENGTH_MAX + 1);
  assert.equal((await answer(zoe, { answer: 'accepted', comment: long })).status, 400);
  assert.equal((await answer(zoe, { answer: 'delegated' })).status, 400);
  assert.equal((await answer(zoe, {})).status, 400);
  const json = await fetch(zoe, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
  assert.equal(json.status, 400);

  const yan = await linkTo(scene, 'yan@example.net');
  await change(scene, entry, { attendees: ['mailto:zoe@example.net'] });
  const over = await answer(yan, { answer: 'accepted' });
  const wrong = await look(`${zoe.slice(0, -1)}${zoe.endsWith('A') ? 'B' : 'A'}`);
  assert.deepEqual([over.status, wrong.status, over.text], [404, 404, wrong.text]);
  assert.doesNotMatch(await bytesOf(scene, alice, calendar, entry.uid), /yan@/);
  assert.equal((await look(zoe)).status, 200, 'the other link goes on');
  await change(scene, entry, { status: 'cancelled' });
  assert.deepEqual((await answer(zoe, { answer: 'accepted' })).text, wrong.text);
  await remove(scene, entry);
  assert.equal((await look(zoe)).status, 404);

  const past = { local_start: '2026-01-05T09:00:00', local_end: '2026-01-05T10:00:00' };
  await invite(scene, ['mailto:vic@example.net'], past);
  assert.equal((await look(await linkTo(scene, 'vic@example.net'))).status, 404, 'what is over takes no answer');
  await socket.close();
});

test('CAL-03 guessing links is throttled, and so is changing one’s mind', async (t) => {
  const scene = await openMailScene(t);
  await invite(scene, ['mailto:zoe@example.net']);
  const link = await linkTo(scene, 'zoe@example.net');
  /** How many had that status before one was refused. */
  const passed = async (status: number, ask: (count: number) => Promise<{ readonly status: number }>) => {
    for (let count = 0; ; count += 1) {
      const reply = await ask(count);
      if (reply.status === 429) return count;
      assert.equal(reply.status, status);
    }
  };
  const { rsvp_answer: answers, rsvp_guess: guesses } = STATED_POLICIES;
  const answered = await passed(200, (count) => answer(link, { answer: count % 2 === 0 ? 'accepted' : 'declined' }));
  assert.ok(answered >= answers.burst && answered < 2 * answers.burst, `${answered} answers passed`);
  const wrong = `${scene.server.calendar}/rsvp/${'0'.repeat(22)}${'a'.repeat(43)}`;
  const guessed = await passed(404, () => look(wrong));
  assert.ok(guessed >= guesses.burst && guessed < 2 * guesses.burst, `${guessed} guesses passed`);
  // A guess takes what came back meanwhile.
  const isShut = async () => (await look(wrong)).status === 429 && (await look(link)).status === 429;
  await until(isShut, 'the right link to be refused with the guesses');
});

test('CAL-03 an answer by a link is shown to the others of the installation, and no mail goes out for it', async (t) => {
  const scene = await openMailScene(t);
  const { bob, mails, server } = scene;
  const entry = await invite(scene, ['mailto:zoe@example.net', 'mailto:yan@example.net', 'bob']);
  const zoe = await linkTo(scene, 'zoe@example.net');
  for (const guest of ['zoe', 'yan']) await lineWhen(scene, entry.uid, `mailto:${guest}@`, /SCHEDULE-STATUS=1\.1/);
  const { id } = await defaultCalendar(server, bob);
  assert.equal((await answer(zoe, { answer: 'accepted', comment: 'With cake' })).status, 200);
  await lineWhen(scene, entry.uid, 'mailto:zoe@', /PARTSTAT=ACCEPTED/);
  const own = await bytesOf(scene, scene.alice, scene.calendar, entry.uid);
  const copy = await until(
    async () => {
      const text = await bytesOf(scene, bob, id, entry.uid);
      return /^ATTENDEE.*PARTSTAT=ACCEPTED.*:mailto:zoe@/m.test(text) && text;
    },
    'the answer at Bob’s',
    40_000,
  );
  assert.doesNotMatch(copy, /cake|X-PARLEY|SCHEDULE-STATUS/);
  assert.equal(await bytesOf(scene, scene.alice, scene.calendar, entry.uid), own);
  assert.equal(mails.mails.length, 2, 'the invitations alone');
  assert.deepEqual(await readMetric(server, 'parley_calendar_answer_updates_total'), { sent: 1 });
});
