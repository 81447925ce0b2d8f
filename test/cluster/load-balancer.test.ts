/**
 * nginx in front of two hosts, as the documents have it: no client notices which one it has, or that one of them is lost, but by
 * what it repeats (CLU-01).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { startNginx, type Proxy } from '../deploy/proxy.ts';
import { RemoteClient } from '../deploy/remote-client.ts';
import { healthOf, startHost, TAKEOVER_MILLIS, untilRole } from './hosts.ts';

const skip = unlessInstalled('nats-server', ['--version']) || unlessInstalled('nginx', ['-v']);
/** As many as that no host is asked by chance alone. */
const REQUESTS = 12;

describe('a load balancer in front of two hosts', { skip }, () => {
  const client = new RemoteClient('127.0.0.40');
  const folder = mkdtempSync(join(tmpdir(), 'parley-balanced-'));
  let nats: TestNats;
  let proxy: Proxy;
  let alice: Person;
  let room: string;
  const hosts: TestServer[] = [];

  before(async () => {
    nats = await TestNats.start(1);
    const environment = { PARLEY_TRUSTED_PROXIES: '127.0.0.1' };
    hosts.push(await startHost(nats, 'one', { environment }));
    await untilRole(hosts[0] as TestServer, 'leads');
    hosts.push(await startHost(nats, 'two', { environment }));
    await untilRole(hosts[1] as TestServer, 'follows');
    const isKnown = async () => (await healthOf(hosts[0] as TestServer))?.hosts.length === 2;
    await until(isKnown, 'the host that leads to know the other');
    proxy = await startNginx(hosts, 'one-name', folder);
    alice = await (hosts[0] as TestServer).person('alice');
    const form = { kind: 'room', title: 'Balanced', participants: [] };
    const made = await (hosts[0] as TestServer).api<{ id: string }>(alice, 'POST', '/v1/conversations', form);
    room = made.body.id;
  });

  after(async () => {
    client.close();
    await proxy?.stop();
    for (const host of hosts) await host.end('SIGKILL');
    await nats?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const path = () => `${proxy.messaging}/v1/conversations/${room}/messages`;

  /** Posts through the proxy until it is acknowledged, under one id. */
  async function post(token: string, body: string): Promise<void> {
    const form = { kind: 'text', body, client_msg_id: randomUUID() };
    const isAcknowledged = async () => {
      const { status, text } = await client.call('POST', path(), { token, body: form });
      // Lost with a host, or not to be had for a while; nothing else.
      assert.ok([200, 201, 502, 503, 504].includes(status), text);
      return status < 300;
    };
    await until(isAcknowledged, `${body} to be acknowledged`, TAKEOVER_MILLIS);
  }

  it('CLU-01 whichever host is asked, sign-in, posts, sockets and the address of the client are as at one', async () => {
    const { password, username } = alice;
    const tokens: string[] = [];
    for (let count = 0; count < REQUESTS; count += 1) {
      const body = { username, password };
      const reply = await client.call('POST', `${proxy.coordinator}/v1/auth/login`, { body });
      assert.equal(reply.status, 200, reply.text);
      tokens.push((JSON.parse(reply.text) as Session).token);
    }
    const [token = ''] = tokens;
    const listed = await client.call('GET', `${proxy.coordinator}/v1/me/sessions`, { token });
    const { items } = JSON.parse(listed.text) as { items: { address?: string }[] };
    assert.equal(items.filter(({ address }) => address === client.address).length, REQUESTS, listed.text);
  });

  it('CLU-01 with one of the hosts killed everything goes on through the same address, and nothing is lost or doubled', async () => {
    const { token } = alice.session;
    const socket = await client.socket(`${proxy.messaging}/v1/ws?token=${token}&device=${alice.session.device_id}`);
    for (let count = 0; count < REQUESTS; count += 1) await post(token, `before ${count}`);
    await socket.eventsOf('message.new', REQUESTS);
    await hosts[0]?.end('SIGKILL');
    for (let count = 0; count < REQUESTS; count += 1) await post(token, `after ${count}`);
    const again = await client.socket(`${proxy.messaging}/v1/ws?token=${token}&device=${alice.session.device_id}`);
    await post(token, 'heard');
    await again.eventsOf('message.new', 1);
    await again.close();
    const reply = await client.call('GET', `${path()}?after_seq=0&limit=100`, { token });
    assert.equal(reply.status, 200, reply.text);
    const texts = (JSON.parse(reply.text) as { items: { body: string }[] }).items.map(({ body }) => body);
    const counted = (word: string) => Array.from({ length: REQUESTS }, (_, count) => `${word} ${count}`);
    assert.deepEqual(texts, [...counted('before'), ...counted('after'), 'heard']);
  });
});
