/** Several hosts of which nothing goes over a wire in the clear: TLS to the NATS servers, and between the hosts (CLU-01). */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { FolderError } from '#storage/log/folder-error.ts';
import { connectToStream, untilReached } from '#storage/stream/stream-connection.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { callControl } from '#test/support/control.ts';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import type { TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { CERTIFICATE, HOSTS, KEY, readDeployed, replaceIn } from '../deploy/proxy.ts';
import { RemoteClient } from '../deploy/remote-client.ts';
import { idOf, upload } from '../messaging/attaching.ts';
import { refusal, startHost, TAKEOVER_MILLIS, untilRole as untilRoleOf, type HostHealth } from './hosts.ts';

const skip = unlessInstalled('nats-server', ['--version']);
/** Several times what NATS sends before it asks whether it may go on. */
const CONTENT_BYTES = 24 * 1024 * 1024;
const PASSWORD = `known-to-nats-${randomBytes(8).toString('hex')}`;

describe('several hosts over TLS', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-encrypted-'));
  const client = new RemoteClient('127.0.0.44');
  const hosts: TestServer[] = [];
  let nats: TestNats;
  let secured: string;

  const accounts = replaceIn(readDeployed('nats/accounts.conf'), { $PARLEY_NATS_PASSWORD: `"${PASSWORD}"` });
  const file = (name: string, content: string) => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const credentials = file('credentials', `parley:${PASSWORD}`);
  const authority = makeCertificate(Date.now(), 30, ['localhost']);
  const own = {
    PARLEY_TLS_CERTIFICATE_FILE: file('certificate.pem', CERTIFICATE),
    PARLEY_TLS_KEY_FILE: file('key.pem', KEY),
  };
  const natsFiles = {
    PARLEY_CLUSTER_CREDENTIALS_FILE: credentials,
    PARLEY_CLUSTER_CA_FILE: file('nats.pem', authority.certificate),
  };
  const url = (service: string) => service.replace('127.0.0.1', HOSTS[0] ?? '');

  before(async () => {
    const tls = `tls { cert_file: "${natsFiles.PARLEY_CLUSTER_CA_FILE}", key_file: "${file('nats-key.pem', authority.key)}" }`;
    nats = await TestNats.start(1, `jetstream { store_dir: "STORE" }\n${tls}\n${accounts}`);
    secured = nats.urls.replaceAll('nats://127.0.0.1', 'tls://localhost');
  });

  after(async () => {
    client.close();
    await Promise.all(hosts.map(async (host) => await host.end('SIGKILL')));
    await nats?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(name: string): Promise<TestServer> {
    const environment = { ...own, ...natsFiles, PARLEY_CLUSTER: secured };
    const host = await startHost(nats, name, { environment, shards: 1 });
    hosts.push(host);
    return host;
  }

  async function untilRole(host: TestServer, role: string): Promise<void> {
    const look = async () => {
      const reply = await client.call('GET', `${url(host.messaging)}/healthz`).catch(() => undefined);
      return reply !== undefined && (JSON.parse(reply.text) as HostHealth).cluster.role === role;
    };
    await until(look, `${host.folder} to be one that ${role}`, TAKEOVER_MILLIS);
  }

  it('CLU-01 what comes over TLS to a host that follows goes over TLS to the one that leads, and a large file is there when that is lost', async () => {
    const leads = await start('one');
    await untilRole(leads, 'leads');
    const follows = await start('two');
    await untilRole(follows, 'follows');
    await callControl(leads.folder, 'user.add', { username: 'alice', password: 'password of alice', role: 'person' });
    const body = { username: 'alice', password: 'password of alice' };
    const signedIn = await until(
      async () => {
        const reply = await client.call('POST', `${url(follows.coordinator)}/v1/auth/login`, { body });
        return reply.status !== 503 && reply;
      },
      'the host that leads to be found',
      TAKEOVER_MILLIS,
    );
    assert.equal(signedIn.status, 200, signedIn.text);
    const { device_id: device, token } = JSON.parse(signedIn.text) as Session;
    const room = { kind: 'room', title: 'Encrypted', participants: [] };
    const made = await client.call('POST', `${url(follows.messaging)}/v1/conversations`, { token, body: room });
    assert.equal(made.status, 201, made.text);
    const socket = await client.socket(`${url(follows.messaging)}/v1/ws?token=${token}&device=${device}`);
    const { id } = JSON.parse(made.text) as { id: string };
    const form = { kind: 'text', body: 'over two hosts', client_msg_id: randomUUID() };
    const path = `/v1/conversations/${id}/messages`;
    const posted = await client.call('POST', `${url(follows.messaging)}${path}`, { token, body: form });
    assert.equal(posted.status, 201, posted.text);
    await socket.eventsOf('message.new', 1);
    await socket.close();
    const seen = await client.call('GET', `${url(leads.messaging)}${path}?after_seq=0`, { token });
    assert.deepEqual(
      (JSON.parse(seen.text) as { items: { body: string }[] }).items.map(({ body: text }) => text),
      ['over two hosts'],
    );
    const content = randomBytes(CONTENT_BYTES);
    const begun = await client.call('POST', `${url(follows.messaging)}/v1/attachments`, {
      token,
      headers: {
        ...{ 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' },
        'upload-length': String(content.length),
      },
      body: content,
    });
    assert.equal(begun.status, 201, begun.text);
    const attachment = idOf(begun.headers.location ?? '');
    const media = { attachment, name: 'plan.bin', type: 'application/octet-stream', size: content.length };
    const sent = { kind: 'media', body: media, client_msg_id: randomUUID() };
    const attached = await client.call('POST', `${url(follows.messaging)}${path}`, { token, body: sent });
    assert.equal(attached.status, 201, attached.text);
    await leads.end('SIGKILL');
    await untilRole(follows, 'leads');
    const served = await client.call(
      'GET',
      `${url(follows.messaging)}/v1/attachments/${attachment}?conversation=${id}`,
      {
        token,
      },
    );
    assert.equal(served.status, 200, served.text.slice(0, 200));
    assert.ok(served.bytes.equals(content), 'the file is what was uploaded');
  });

  it('CLU-01 a file that NATS does not go on with keeps no host from leading, and is refused with a code', async () => {
    // Without that subject NATS sends some of a file, and waits for a word that it does not take.
    const lame = replaceIn(accounts, { ', "$JS.FC.>"': '' });
    const slow = await TestNats.start(1, `jetstream { store_dir: "STORE" }\n${lame}`);
    const environment = { PARLEY_CLUSTER_CREDENTIALS_FILE: credentials };
    const [leads, follows] = [
      await startHost(slow, 'one', { environment, shards: 1 }),
      await startHost(slow, 'two', { environment, shards: 1 }),
    ];
    try {
      await untilRoleOf(follows, 'follows');
      const { alice } = await leads.people('alice');
      const room = { kind: 'room', title: 'Slow', participants: [] };
      const made = await leads.api<{ id: string }>(alice, 'POST', '/v1/conversations', room);
      const attachment = await upload(leads, alice, randomBytes(CONTENT_BYTES), 'plan.bin');
      const media = { attachment, name: 'plan.bin', type: 'application/octet-stream', size: CONTENT_BYTES };
      const sent = { kind: 'media', body: media, client_msg_id: randomUUID() };
      const attached = await leads.api(alice, 'POST', `/v1/conversations/${made.body.id}/messages`, sent);
      assert.equal(attached.status, 201, attached.text);
      await leads.end('SIGKILL');
      await untilRoleOf(follows, 'leads');
      const refused = await follows.api(alice, 'GET', `/v1/attachments/${attachment}?conversation=${made.body.id}`);
      assert.deepEqual([refused.status, refused.body['code']], [503, 'object_store_unavailable']);
    } finally {
      for (const host of [leads, follows]) await host.end('SIGKILL');
      await slow.stop();
    }
  });

  it('CLU-01 a NATS server that speaks no TLS is told nothing where the settings say tls://', async () => {
    const heard: Buffer[] = [];
    const server = createServer((socket) => {
      socket.on('data', (chunk: Buffer) => heard.push(chunk)).on('error', () => undefined);
      socket.write('INFO {"server_id":"s","version":"2.10.27","proto":1,"max_payload":1048576,"headers":true}\r\n');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const said = await refusal({ ...natsFiles, PARLEY_CLUSTER: `tls://localhost:${port}` });
    server.close();
    assert.match(said, /The NATS server at tls:\/\/localhost:\d+ speaks no TLS: set nats:\/\/ in PARLEY_CLUSTER/);
    assert.equal(Buffer.concat(heard).toString(), '');
  });

  it('CLU-01 a certificate that nobody vouches for, and credentials that NATS does not take, are refused in words', async () => {
    const wrong = file('wrong', 'parley:another-password');
    const refused = await refusal({
      ...natsFiles,
      PARLEY_CLUSTER: secured,
      PARLEY_CLUSTER_CREDENTIALS_FILE: wrong,
    });
    assert.match(refused, /does not take what PARLEY_CLUSTER_CREDENTIALS_FILE says/);
    assert.ok(!refused.includes('another-password'));
    // The start of a host says what it is told here, as it does of the credentials.
    const told = async (authoritiesFile: string | undefined, said: RegExp) =>
      await assert.rejects(
        untilReached({ urls: [secured], credentialsFile: credentials, authoritiesFile }),
        (error) => error instanceof FolderError && said.test(error.message),
      );
    await told(undefined, /certificate of the NATS server .+ PARLEY_CLUSTER_CA_FILE/);
    const elsewhere = file('elsewhere.pem', makeCertificate(Date.now(), 30, ['nats.example.org']).certificate);
    await told(elsewhere, /certificate of the NATS server/);
    const address = await refusal({ ...natsFiles, PARLEY_CLUSTER: secured.replace('localhost', '127.0.0.1') });
    assert.match(address, /tls:\/\/ with a name that stands in their certificates/);
    await told(join(folder, 'nowhere.pem'), /nowhere\.pem, the certificates for NATS, cannot be read/);
  });

  it('CLU-01 a server that other servers name is not asked: credentials go to those that the settings name', async () => {
    const strangers: string[] = [];
    const stranger = createServer((socket) => {
      strangers.push(socket.remoteAddress ?? '');
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(stranger, 'listening');
    const { port: elsewhere } = stranger.address() as AddressInfo;
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      const info = { server_id: 's', version: '2.10.27', proto: 1, max_payload: 1_048_576, headers: true };
      socket.write(`INFO ${JSON.stringify({ ...info, connect_urls: [`127.0.0.1:${elsewhere}`] })}\r\n`);
      // It takes the connection and ends it, so that the host looks for another server.
      socket.on('data', (chunk: Buffer) => {
        if (chunk.includes('PING')) socket.write('PONG\r\n', () => setImmediate(() => socket.destroy()));
      });
      socket.on('error', () => undefined);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const urls = [`nats://127.0.0.1:${port}`];
    const { nats: connection } = await connectToStream({
      urls,
      authoritiesFile: undefined,
      credentialsFile: undefined,
    });
    await until(() => connections >= 6, 'the host to connect again and again');
    await connection.close();
    server.close();
    stranger.close();
    assert.deepEqual(strangers, []);
  });
});
