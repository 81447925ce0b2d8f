/** The settings of a mail server, tried: what is seen of it is said in words, and nothing secret is in them (CON-02). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { trySmtp, smtpWordOf, type SmtpServer } from '#src/outgoing/smtp.ts';
import { ACCOUNT, MailServer, mailSettings } from './mail-server.ts';
import { openMailScene } from './scene.ts';

interface Tried {
  readonly ok: boolean;
  readonly detail: string;
}

test('CON-02 the settings of mail are tried: connection, TLS, account', async (t) => {
  const { console, mails, server } = await openMailScene(t);
  const plain = await MailServer.open(t, { isOpen: true });
  const secure = await MailServer.open(t, { secure: true });
  const tried = async (form: Record<string, unknown>) => {
    const set = await console('PUT', '/settings/mail', {
      ...mailSettings(mails.port),
      smtp_security: 'starttls',
      ...form,
    });
    assert.equal(set.status, 200, set.text);
    const { body, status } = await console<Tried>('POST', '/settings/mail/test');
    return [status, body.ok, body.detail];
  };
  assert.deepEqual(await tried({}), [200, true, 'signed in']);
  assert.deepEqual(await tried({ smtp_port: secure.port, smtp_security: 'tls' }), [200, true, 'signed in']);
  assert.deepEqual(await tried({ smtp_password: 'wrong heron' }), [200, false, 'sign-in refused (535)']);
  assert.deepEqual(await tried({ smtp_host: '127.0.0.1' }), [200, false, 'certificate not trusted']);
  assert.deepEqual(await tried({ smtp_port: plain.port, smtp_username: null }), [200, true, 'connected']);
  assert.deepEqual(await tried({ smtp_port: 1 }), [200, false, 'connection refused']);
  const none = await console('PUT', '/settings/mail', { smtp_host: null });
  assert.equal(none.status, 200);
  const incomplete = await console('POST', '/settings/mail/test');
  assert.deepEqual([incomplete.status, incomplete.body['code']], [409, 'setting_incomplete']);
  const { body } = await console<{ values: Record<string, unknown> }>('GET', '/settings/mail');
  // A secret belongs to the server it was given for.
  assert.deepEqual(body.values['smtp_password'], { set: false });
  const trail = await console('GET', '/audit?limit=200');
  for (const text of [trail.text, ...server.output]) assert.doesNotMatch(text, /heron/);
});

test('a mail server that does not speak TLS, does not end, or lies inside gets no password', async (t) => {
  const heard: string[] = [];
  const fake = (...lines: string[]) =>
    createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write(lines[0] ?? '');
      socket.on('data', (bytes) => {
        heard.push(bytes.toString());
        if (lines[1] !== undefined) socket.write(lines[1]);
      });
      t.after(() => void socket.destroy());
    });
  const portOf = async (server: ReturnType<typeof createServer>) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => void server.close());
    return (server.address() as AddressInfo).port;
  };
  // Only what is to run out of time has little of it: a loaded machine takes long to shake hands.
  const wordOf = async (server: Partial<SmtpServer>, { allowPrivateTargets = true, millis = 10_000 } = {}) => {
    const whole: SmtpServer = { host: 'localhost', port: 25, security: 'starttls', ...ACCOUNT, ...server };
    const bounds = { allowPrivateTargets, millis };
    return await trySmtp(whole, bounds).then(
      () => 'fine',
      (error: unknown) => smtpWordOf(error),
    );
  };
  const bare = await portOf(fake('220 hello\r\n', '250-hello\r\n250 AUTH PLAIN LOGIN\r\n'));
  assert.match(await wordOf({ port: bare }), /^no TLS/);
  assert.equal(await wordOf({ port: await portOf(fake('')) }, { millis: 300 }), 'timeout');
  assert.equal(await wordOf({ port: await portOf(fake('220 hello\r\n', '250-more\r\n')) }, { millis: 300 }), 'timeout');
  assert.doesNotMatch(heard.join(''), /AUTH/);
  const open = await MailServer.open(t);
  for (const host of ['localhost', '127.0.0.1', '::1']) {
    assert.equal(await wordOf({ host, port: open.port }, { allowPrivateTargets: false }), 'target_private');
  }
  assert.equal(await wordOf({ port: open.port }), 'certificate not trusted');
});
