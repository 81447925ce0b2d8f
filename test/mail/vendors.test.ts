/** What a vendor sees of mail: nothing of whom it is to, from whom, and by which account (VND-09, VND-10). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '#test/support/waiting.ts';
import { startConsoleServer } from '../console/console-server.ts';
import { defaultCalendar, makeEntry } from '../calendar/service/calling.ts';
import { MailServer, mailSettings, smtpError, trusting } from './mail-server.ts';
import { TALK } from './scene.ts';

test('VND-09 VND-10 a vendor reads nobody’s address of mail: not in the trail, the log, or the settings', async (t) => {
  const refuse = (address: string) => (address.startsWith('gone') ? smtpError(550, 'No such user') : undefined);
  const mails = await MailServer.open(t, { isOpen: true, onRecipient: refuse });
  const host = await startConsoleServer({ ...trusting(t), PARLEY_LOG_LEVEL: 'debug' });
  t.after(async () => await host.stop());
  const form = { ...mailSettings(mails.port), smtp_username: null, from: 'ivan.petrov@example.org' };
  for (const username of ['ivan.petrov', null]) {
    const body = { ...form, smtp_username: username };
    assert.equal((await host.call('administrator', 'PUT', '/settings/mail', { body })).status, 200);
  }
  await host.call('administrator', 'POST', '/settings/mail/test');
  const closed = await host.call<{ code: string }>('vendor_active', 'GET', '/settings/mail');
  assert.deepEqual([closed.status, closed.body.code], [403, 'vendor_token_forbidden']);
  const alice = await host.server.person('alice');
  const { id } = await defaultCalendar(host.server, alice);
  const attendees = ['mailto:zoe.stranger@example.net', 'mailto:gone.stranger@example.net'];
  await makeEntry(host.server, alice, id, { ...TALK, title: 'Merger', attendees });
  await mails.taken(1);
  const metrics = async () =>
    await (await fetch(`${host.server.coordinator}/healthz`, { headers: { accept: 'text/plain' } })).text();
  await until(
    async () => /parley_calendar_outgoing_mails_total\{result="failed"\} 1\n/.test(await metrics()),
    'the failure',
  );
  assert.match(await metrics(), /parley_calendar_outgoing_mails_total\{result="sent"\} 1\n/);
  for (const path of ['/audit?limit=200', '/calendar/audit?limit=200', '/logs', '/overview']) {
    const seen = await host.call('vendor_active', 'GET', path);
    assert.equal(seen.status, 200, seen.text);
    assert.doesNotMatch(seen.text, /ivan\.petrov|stranger|Merger/, path);
  }
  assert.doesNotMatch(host.server.output.join('\n'), /stranger|Merger|rsvp\/[\w-]{20}/);
});
