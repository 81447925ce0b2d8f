/**
 * The compose file of several hosts, as true as it can be tried without Docker: what `docker-compose config` makes of it is started in
 * namespaces (containers.ts) with its commands, environment, files, networks, users and rights, and serves while parts of it are killed.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import { SETTINGS, variableOf } from '#src/config.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { request } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { TAKEOVER_MILLIS, type HostHealth } from '../cluster/hosts.ts';
import { Composition, readCompose, type ComposeFile, type ComposeService } from './containers.ts';
import { insideFolder, passInside, prepareDeploy, publish, unlessStartable } from './namespaces.ts';
import { readDeployed } from './proxy.ts';
import { RemoteClient } from './remote-client.ts';

const HOSTS = ['one', 'two'] as const;
const NATS = ['nats-1', 'nats-2', 'nats-3'] as const;

const noCompose = unlessInstalled('docker-compose', ['--version']);
const skip = noCompose || unlessStartable();
const folder = insideFolder ?? mkdtempSync(join(tmpdir(), 'parley-several-'));

/** The folder of the compose file, with what its owner puts there. */
function prepare(): string {
  const page = readFileSync(new URL('../../docs/operations/cluster.md', import.meta.url), 'utf8');
  prepareDeploy(folder, { page, until: 'docker compose up', where: '.' });
  return join(folder, 'docs/deploy/compose/several-hosts');
}

if (insideFolder === undefined) {
  // Out here nothing is mounted in it.
  after(() => rmSync(folder, { recursive: true, force: true }));
  addTestsOfTheFile();
  test(
    'CLU-01 what the compose file of several hosts says serves people while its parts are killed',
    { skip },
    async () => await passInside(folder, 3),
  );
} else addTestsInside();

/** What can be said of the file by reading it. */
function addTestsOfTheFile(): void {
  let file: ComposeFile;
  const serviceOf = (name: string) => file.services[name] as ComposeService;
  describe('the compose file of several hosts', { skip: noCompose }, () => {
    before(() => {
      file = readCompose(prepare());
    });

    it('tells the hosts settings that there are, each a name and a folder of its own, and where the proxy stands', () => {
      const known = Object.keys(SETTINGS).map(variableOf);
      for (const name of HOSTS) {
        const told = serviceOf(name).environment ?? {};
        assert.deepEqual(
          Object.keys(told).filter((one) => !known.includes(one)),
          [],
        );
        assert.equal(told['PARLEY_HOST_ID'], name);
        assert.equal(told['PARLEY_CLUSTER'], NATS.map((nats) => `nats://${nats}:4222`).join(','));
        assert.equal(told['PARLEY_TRUSTED_PROXIES'], serviceOf('haproxy').networks['front']?.ipv4_address);
        assert.ok(serviceOf(name).volumes?.includes(`${name}:/data:rw`));
        assert.ok(Number.parseInt(serviceOf(name).stop_grace_period ?? '', 10) > 2 * SETTINGS.drainSeconds.default);
      }
    });

    it('lets nobody but the hosts reach NATS, and nobody but the proxy be reached', () => {
      const inNetwork = (network: string) =>
        Object.keys(file.services).filter((name) => network in serviceOf(name).networks);
      assert.deepEqual(inNetwork('back').toSorted(), [...NATS, ...HOSTS].toSorted());
      assert.equal(file.networks['back']?.internal, true);
      const published = Object.entries(file.services).filter(([, service]) => 'ports' in service);
      assert.deepEqual(
        published.map(([name]) => name),
        ['haproxy'],
      );
    });

    it('gives each container no right that it does not need, and the proxy as many files as its connections take', () => {
      for (const [name, { cap_drop, read_only, security_opt }] of Object.entries(file.services)) {
        assert.deepEqual([cap_drop, read_only, security_opt], [['ALL'], true, ['no-new-privileges:true']], name);
      }
      const connections = Number(/maxconn (\d+)/.exec(readDeployed('haproxy/haproxy.cfg'))?.[1]);
      assert.ok((serviceOf('haproxy').ulimits?.nofile ?? 0) > 2 * connections);
    });

    it('has secrets that nobody but their readers may read', () => {
      const own = join(folder, 'docs/deploy/compose/several-hosts');
      const modes = readdirSync(own)
        .filter((name) => name !== 'compose.yaml')
        .map((name) => [name, (statSync(join(own, name)).mode & 0o777).toString(8)]);
      assert.deepEqual(Object.fromEntries(modes), { '.env': '600', 'nats-credentials': '400', 'parley.pem': '400' });
    });
  });
}

/** The file as it runs; to be called within namespaces of its own. */
function addTestsInside(): void {
  describe('several hosts as their compose file has them', () => {
    const client = new RemoteClient('127.0.0.1');
    const site = 'https://chat.example.org';
    let composition: Composition;
    let session: Session;
    let path: string;
    const expected: string[] = [];

    before(async () => {
      const own = prepare();
      mkdirSync(join(folder, 'machine'));
      composition = await Composition.up(readCompose(own), join(folder, 'machine'));
      for (const port of [80, 443]) await publish(port, composition.addressOf('haproxy', 'front'));
    });

    after(async () => {
      client.close();
      await composition?.down();
    });

    const messagingOf = (name: string) => `http://${composition.addressOf(name, 'front')}:8081`;
    const healthOf = async (name: string) =>
      await request<HostHealth>('GET', `${messagingOf(name)}/healthz`).then(
        ({ body }) => body.cluster,
        () => undefined,
      );
    const untilRole = async (name: string, role: string) => {
      const isIt = async () => {
        const health = await healthOf(name);
        return health?.role === role && health.leader !== null && health.lag_ms === 0;
      };
      await until(isIt, `${name} to be one that ${role}`, TAKEOVER_MILLIS);
    };
    const textsOf = (text: string) => (JSON.parse(text) as { items: { body: string }[] }).items.map(({ body }) => body);

    /** Posts over the proxy until it is acknowledged, under one id. */
    async function post(body: string): Promise<void> {
      const form = { kind: 'text', body, client_msg_id: randomUUID() };
      const isAcknowledged = async () => {
        const call = { token: session.token, body: form };
        // HAProxy closes what was under way to a host that is gone, where it cannot know whether it was done: clients try again.
        const reply = await client.call('POST', `${site}${path}`, call).catch(() => undefined);
        assert.ok(reply === undefined || [200, 201, 502, 503, 504].includes(reply.status), reply?.text);
        return reply !== undefined && reply.status < 300;
      };
      await until(isAcknowledged, `${body} to be acknowledged`, TAKEOVER_MILLIS);
      expected.push(body);
    }

    it('somebody signs in over the balancer, from their own address, posts at one host and reads at the other', async () => {
      await untilRole('one', 'leads');
      await untilRole('two', 'follows');
      composition.exec('one', ['node', 'src/cli/parley.ts', 'user', 'add', 'ann'], 'a long password of ann\n');
      const body = { username: 'ann', password: 'a long password of ann' };
      const isBalanced = async () => (await client.call('GET', `${site}/healthz`)).status === 200;
      await until(isBalanced, 'the proxy to see a host', TAKEOVER_MILLIS);
      const signedIn = await client.call('POST', `${site}/v1/auth/login`, { body });
      assert.equal(signedIn.status, 200, signedIn.text);
      session = JSON.parse(signedIn.text) as Session;
      const sessions = await client.call('GET', `${site}/v1/me/sessions`, { token: session.token });
      const { items } = JSON.parse(sessions.text) as { items: { address: string }[] };
      // Where the network's own end is: neither the proxy nor the host that hands on.
      assert.deepEqual(
        items.map(({ address }) => address),
        ['172.30.78.1'],
      );
      const room = { kind: 'room', title: 'Several', participants: [] };
      const made = await client.call('POST', `${site}/v1/conversations`, { token: session.token, body: room });
      assert.equal(made.status, 201, made.text);
      path = `/v1/conversations/${(JSON.parse(made.text) as { id: string }).id}/messages`;
      const form = { kind: 'text', body: 'at the host that follows', client_msg_id: randomUUID() };
      const posted = await request('POST', `${messagingOf('two')}${path}`, { token: session.token, body: form });
      assert.equal(posted.status, 201, posted.text);
      expected.push(form.body);
      const read = await request('GET', `${messagingOf('one')}${path}?after_seq=0`, { token: session.token });
      assert.deepEqual(textsOf(read.text), expected);
    });

    it('with the host that leads killed people post and listen over the same address, and it comes back as one that follows', async () => {
      const socket = await client.socket(`${site}/v1/ws?token=${session.token}&device=${session.device_id}`);
      await post('heard before');
      await socket.eventsOf('message.new', 1);
      await composition.kill('one');
      await post('after a kill');
      await untilRole('two', 'leads');
      const again = await client.socket(`${site}/v1/ws?token=${session.token}&device=${session.device_id}`);
      await post('heard after');
      await again.eventsOf('message.new', 1);
      await again.close();
      composition.start('one');
      await untilRole('one', 'follows');
      const read = await request('GET', `${messagingOf('one')}${path}?after_seq=0`, { token: session.token });
      assert.deepEqual(textsOf(read.text), expected);
    });

    it('with one NATS server killed and then another nothing is lost', async () => {
      await composition.kill('nats-2');
      await post('over two NATS servers');
      composition.start('nats-2');
      await composition.untilHealthy('nats-2');
      await composition.kill('nats-3');
      await post('over two others');
      // The host that follows may be about to take its stream up again at another server, and says so meanwhile.
      const read = await until(async () => {
        const reply = await request('GET', `${messagingOf('one')}${path}?after_seq=0`, { token: session.token });
        assert.ok([200, 503].includes(reply.status), reply.text);
        return reply.status === 200 && reply;
      }, 'the host that follows to answer');
      assert.deepEqual(textsOf(read.text), expected);
      composition.start('nats-3');
      await composition.untilHealthy('nats-3');
    });
  });
}
