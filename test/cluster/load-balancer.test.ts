/**
 * nginx and HAProxy in front of two hosts, as the documents have them: no client notices which one it has, or that one of them is lost, but by
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
import { startHaproxy, startNginx, type Proxy } from '../deploy/proxy.ts';
import { RemoteClient } from '../deploy/remote-client.ts';
import { healthOf, startHost, TAKEOVER_MILLIS, untilRole } from './hosts.ts';

const skip = unlessInstalled('nats-server', ['--version']);
const BALANCERS = [
  { name: 'nginx', startProxy: startNginx, absent: unlessInstalled('nginx', ['-v']) },
  { name: 'HAProxy', startProxy: startHaproxy, absent: unlessInstalled('haproxy', ['-v']) },
];
/** As many as that no host is asked by chance alone. */
const REQUESTS = 12;

describe('a load balancer in front of two hosts', { skip }, () => {
  const client = new RemoteClient('127.0.0.40');
  const folder = mkdtempSync(join(tmpdir(), 'parley-balanced-'));
  let nats: TestNats;
  /** Of those that are installed, by name. */
  const proxies = new Map<string, Proxy>();
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
    for (const { absent, name, startProxy } of BALANCERS) {
      if (absent !== false) continue;
      proxies.set(name, await startProxy(hosts, 'one-name', mkdtempSync(join(folder, `${name}-`))));
    }
    alice = await (hosts[0] as TestServer).person('alice');
    const form = { kind: 'room', title: 'Balanced', participants: [] };
    const made = await (hosts[0] as TestServer).api<{ id: string }>(alice, 'POST', '/v1/conversations', form);
    room = made.body.id;
  });

  after(async () => {
    client.close();
    for (const proxy of proxies.values()) await proxy.stop();
    for (const host of hosts) await host.end('SIGKILL');
    await nats?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const pathOf = ({ messaging }: Proxy) => `${messaging}/v1/conversations/${room}/messages`;

  /** Posts through a proxy until it is acknowledged, under one id. */
  async function post(proxy: Proxy, token: string, body: string): Promise<void> {
    const form = { kind: 'text', body, client_msg_id: randomUUID() };
    const isAcknowledged = async () => {
      const { status, text } = await client.call('POST', pathOf(proxy), { token, body: form });
      // Lost with a host, or not to be had for a while; nothing else.
      assert.ok([200, 201, 502, 503, 504].includes(status), text);
      return status < 300;
    };
    await until(isAcknowledged, `${body} to be acknowledged`, TAKEOVER_MILLIS);
  }

  for (const { absent, name } of BALANCERS) {
    it(
      `CLU-01 whichever host ${name} asks, sign-in and the address of the client are as at one`,
      { skip: absent },
      async () => {
        const { coordinator } = proxies.get(name) as Proxy;
        const { password, username } = alice;
        const device = await client.call('POST', `${coordinator}/v1/auth/login`, { body: { username, password } });
        const { token } = JSON.parse(device.text) as Session;
        const listed = async () => {
          const reply = await client.call('GET', `${coordinator}/v1/me/sessions`, { token });
          const { items } = JSON.parse(reply.text) as { items: { address?: string }[] };
          return items.filter(({ address }) => address === client.address).length;
        };
        const known = await listed();
        for (let count = 0; count < REQUESTS; count += 1) {
          const body = { username, password };
          const reply = await client.call('POST', `${coordinator}/v1/auth/login`, { body });
          assert.equal(reply.status, 200, reply.text);
        }
        assert.equal(await listed(), known + REQUESTS);
      },
    );
  }

  it('CLU-01 with one of the hosts killed everything goes on through the same addresses, and nothing is lost or doubled', async () => {
    const { device_id: device, token } = alice.session;
    const each = [...proxies];
    const listen = async ({ messaging }: Proxy) =>
      await client.socket(`${messaging}/v1/ws?token=${token}&device=${device}`);
    const expected: string[] = [];
    const postAll = async (word: string) => {
      for (let count = 0; count < REQUESTS; count += 1) {
        for (const [name, proxy] of each) {
          expected.push(`${word} ${count} over ${name}`);
          await post(proxy, token, expected.at(-1) ?? '');
        }
      }
    };
    const [[, first]] = each as [[string, Proxy]];
    const socket = await listen(first);
    await postAll('before');
    await socket.eventsOf('message.new', expected.length);
    await hosts[0]?.end('SIGKILL');
    await postAll('after');
    for (const [name, proxy] of each) {
      const again = await listen(proxy);
      expected.push(`heard over ${name}`);
      await post(proxy, token, expected.at(-1) ?? '');
      await again.eventsOf('message.new', 1);
      await again.close();
    }
    const reply = await client.call('GET', `${pathOf(first)}?after_seq=0&limit=200`, { token });
    assert.equal(reply.status, 200, reply.text);
    const texts = (JSON.parse(reply.text) as { items: { body: string }[] }).items.map(({ body }) => body);
    assert.deepEqual(texts, expected);
  });
});
