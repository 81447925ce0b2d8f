/** A client of a host that follows, who writes more into a request than one: what the host that leads takes of it (CLU-01). */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { consoleOf, plantOwner } from '#test/support/console.ts';
import { callControl } from '#test/support/control.ts';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { request, type Person, type TestServer } from '#test/support/server.ts';
import { connect as connectSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { healthOf, startHost, untilRole } from './hosts.ts';

const skip = unlessInstalled('nats-server', ['--version']);
/** Where the attacker is, whom no host takes for another host. */
const OWN = '127.0.0.9';
const FORGED = '192.0.2.66';
const HOST = 'host: parley.test';

describe('what a host that follows hands on', { skip }, () => {
  let nats: TestNats;
  let leads: TestServer;
  let follows: TestServer;
  let alice: Person;
  /** Of the owner's session at the console. */
  let token: string;

  before(async () => {
    nats = await TestNats.start(1);
    const folder = mkdtempSync(join(tmpdir(), 'parley-host-'));
    token = await plantOwner(folder);
    leads = await startHost(nats, 'leads', { folder });
    alice = await leads.person('alice');
    follows = await startHost(nats, 'follows');
    await untilRole(follows, 'follows');
    // From then on the host that leads believes what the other one says of where a request comes from.
    const isKnown = async () => (await healthOf(leads))?.hosts.some(({ host }) => host === 'follows') === true;
    await until(isKnown, 'the one to know the other');
  });

  after(async () => {
    await follows?.end('SIGKILL');
    await leads?.end('SIGKILL');
    await nats?.stop();
  });

  it('CON-01 the console shows the hosts of the installation, at whichever of them it is opened', async () => {
    interface Overview {
      readonly cluster: {
        host: string;
        term: number;
        reached: boolean;
        hosts: { host: string; role: string }[];
      } | null;
    }
    for (const host of [leads, follows]) {
      const seen = await until(async () => {
        const { body } = await consoleOf(host, token)<Overview>('GET', '/overview');
        return body.cluster?.hosts.length === 2 && body.cluster;
      }, 'both hosts');
      assert.deepEqual([seen.host, seen.reached, seen.term > 0], ['leads', true, true]);
      const roles = seen.hosts.map(({ host: name, role }) => [name, role]);
      assert.deepEqual(roles, [
        ['follows', 'follows'],
        ['leads', 'leads'],
      ]);
    }
  });

  /** Writes bytes to the host that follows, and what is answered up to so many answers or the end. */
  async function exchange(to: string, bytes: string, answers: number): Promise<string> {
    const { port } = new URL(to);
    const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: OWN });
    let text = '';
    let ended = false;
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      ended = true;
    });
    socket.write(bytes);
    await until(() => ended || text.split('HTTP/1.1 ').length > answers, 'an answer');
    socket.destroy();
    return text;
  }

  /** From where a session of alice's was ended, as the audit trail says. */
  async function endedFrom(session: string): Promise<string[]> {
    const path = join(leads.folder, `trail-${randomBytes(6).toString('hex')}`);
    await callControl(leads.folder, 'audit.export', { out: path });
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const ended = lines.filter((line) => line.includes('user.session_ended') && line.includes(session));
    return ended.map((line) => /"address":"([^"]*)"/.exec(line)?.[1] ?? line);
  }

  /** The end of a session, as a request that says that it comes from somewhere else. */
  async function ending(): Promise<{ id: string; bytes: string }> {
    const { device_id: device } = await leads.signIn('alice', alice.password);
    const url = `${leads.coordinator}/v1/me/sessions`;
    const list = await request<{ items: { id: string; device_id: string }[] }>('GET', url, {
      token: alice.session.token,
    });
    const { id } = list.body.items.find((one) => one.device_id === device) ?? assert.fail(list.text);
    const bytes = [
      `DELETE /v1/me/sessions/${id} HTTP/1.1`,
      HOST,
      `authorization: Bearer ${alice.session.token}`,
      `x-forwarded-for: ${FORGED}`,
    ];
    return { id, bytes: [...bytes, '', ''].join('\r\n') };
  }

  it('CLU-01 what is written within a body is no request, and the next request is the client’s own', async () => {
    for (const method of ['GET', 'DELETE', 'OPTIONS']) {
      const { bytes, id } = await ending();
      const lines = [`${method} /v1/nothing HTTP/1.1`, HOST, 'connection: content-length'];
      const outer = [...lines, `content-length: ${bytes.length}`, '', bytes].join('\r\n');
      await exchange(follows.coordinator, `${outer}GET /healthz HTTP/1.1\r\n${HOST}\r\n\r\n`, 2);
      // What the leader took for a request would come before this one, over the same connection.
      await exchange(follows.coordinator, `GET /v1/nothing HTTP/1.1\r\n${HOST}\r\n\r\n`, 1);
      const other = await ending();
      assert.match(await exchange(follows.coordinator, other.bytes, 1), /^HTTP\/1\.1 204 /);
      assert.deepEqual(await endedFrom(other.id), [OWN]);
      assert.deepEqual(await endedFrom(id), [], method);
    }
  });

  it('CLU-01 of the requests of one connection none comes from where the client writes', async () => {
    const ends = [await ending(), await ending(), await ending()];
    const text = await exchange(follows.coordinator, ends.map(({ bytes }) => bytes).join(''), 3);
    assert.equal(text.split('HTTP/1.1 204 ').length, 4, text);
    for (const { id } of ends) assert.deepEqual(await endedFrom(id), [OWN]);
  });

  it('CLU-01 requests that ask for a socket and bring a body leave everybody’s next request whole', async () => {
    for (const service of ['coordinator', 'messaging', 'calendar'] as const) {
      for (let count = 0; count < 20; count += 1) {
        const lines = ['GET /v1/nothing HTTP/1.1', HOST, 'connection: Upgrade', 'upgrade: websocket'];
        await exchange(follows[service], [...lines, 'content-length: 4', '', 'four'].join('\r\n'), 1);
      }
      for (let count = 0; count < 20; count += 1) {
        const text = await exchange(follows[service], `GET /v1/nothing HTTP/1.1\r\n${HOST}\r\n\r\n`, 1);
        assert.match(text, /^HTTP\/1\.1 40[14] [^]*"code":"(?:path_not_found|token_missing)/, service);
      }
    }
    const socket = await connectSocket(follows, alice);
    socket.raw.close();
  });
});
