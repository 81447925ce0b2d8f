/** How hosts come into a cluster, over one real NATS server: what they take, and what is refused. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { formatInstant } from '#src/base/time.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { connectToStream } from '#storage/stream/stream-connection.ts';
import { isNatsSound } from '#storage/stream/nats-version.ts';
import { allLogs, streamName } from '#storage/stream/stream-names.ts';
import { programOf } from '#test/support/program.ts';
import { callControl } from '#test/support/control.ts';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { refusal, startHost, TAKEOVER_MILLIS, untilRole } from './hosts.ts';

const skip = unlessInstalled('nats-server', ['--version']);
const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));
/** A folder of an installation that no server has run on yet. */
async function installation(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-new-'));
  openFolder(folder, LANES, formatInstant(Date.now()));
  await (await Accounts.open(folder)).close();
  return folder;
}

/** As many as servers of tests have. */
const LANES = 4;
/** The least that the stream may be cut at. */
const STREAM_BYTES = 1_048_576;

describe('coming into a cluster', { skip }, () => {
  let nats: TestNats;
  let first: TestServer;
  let alice: Person;
  let room: string;
  const hosts: TestServer[] = [];
  /** What was a host and is none any more. */
  let alone: TestServer | undefined;

  before(async () => {
    nats = await TestNats.start(1);
    // A folder that was one host's alone, with what was written there.
    const earlier = await startServer({ folder: await mkdtemp(join(tmpdir(), 'parley-alone-')) });
    alice = await earlier.person('alice');
    const made = await earlier.api<{ id: string }>(alice, 'POST', '/v1/conversations', {
      kind: 'room',
      title: 'Before',
      participants: [],
    });
    room = made.body.id;
    await say(earlier, 'while it was alone');
    await earlier.end('SIGTERM');
    first = await host('first', earlier.folder);
    await untilRole(first, 'leads');
  });

  after(async () => {
    for (const one of hosts) await one.end('SIGKILL');
    await alone?.stop();
    await nats?.stop();
  });

  async function host(name: string, folder?: string): Promise<TestServer> {
    const environment = { PARLEY_CLUSTER_STREAM_BYTES: String(STREAM_BYTES) };
    const started = await startHost(nats, name, { ...(folder !== undefined && { folder }), environment, shards: 1 });
    hosts.push(started);
    return started;
  }

  async function say(at: TestServer, body: string): Promise<void> {
    const form = { kind: 'text', body, client_msg_id: randomUUID() };
    const reply = await at.api(alice, 'POST', `/v1/conversations/${room}/messages`, form);
    assert.equal(reply.status, 201, reply.text);
  }

  async function bodies(at: TestServer): Promise<string[]> {
    const reply = await at.api<{ items: { body: string }[] }>(
      alice,
      'GET',
      `/v1/conversations/${room}/messages?after_seq=0&limit=200`,
    );
    assert.equal(reply.status, 200, reply.text);
    return reply.body.items.map(({ body }) => body);
  }

  it('CLU-01 the folder of one host becomes the cluster’s, and an empty host takes all of it and serves it when it leads', async () => {
    const second = await host('second');
    await untilRole(second, 'follows');
    await say(second, 'over the second');
    assert.deepEqual(await bodies(second), ['while it was alone', 'over the second']);
    await first.end('SIGKILL');
    await untilRole(second, 'leads');
    assert.deepEqual(await bodies(second), ['while it was alone', 'over the second']);
  });

  it('CLU-01 a host that was away for longer than the stream reaches back takes a snapshot', async () => {
    // Away since it was killed.
    const [leads, away] = [hosts[1] as TestServer, first];
    const text = 'x'.repeat(10_000);
    for (let count = 0; count < 130; count += 1) await say(leads, text);
    const { manager, nats: connection } = await connectToStream({
      urls: [nats.urls],
      authoritiesFile: undefined,
      credentialsFile: undefined,
    });
    const cut = async () => (await manager.streams.info('parley_parley')).state.bytes < STREAM_BYTES;
    await until(cut, 'the stream to be cut', TAKEOVER_MILLIS);
    await connection.close();
    first = await host('first', away.folder);
    await untilRole(first, 'follows');
    assert.ok(
      first.output.some((line) => line.includes('which takes a snapshot')),
      first.output.join('\n'),
    );
    await leads.end('SIGKILL');
    await untilRole(first, 'leads');
    assert.equal((await bodies(first)).length, 132);
  });

  it('CLU-01 a folder with another installation, and one of a cluster without its cluster, are refused in words', async () => {
    const cluster = { PARLEY_CLUSTER: nats.urls, PARLEY_HOST_ID: 'other' };
    assert.match(await refusal(cluster, await installation()), /holds another installation than the cluster parley/);
    await hosts[1]?.end('SIGKILL');
    const { folder } = hosts[1] as TestServer;
    assert.match(await refusal({}, folder), /is of the cluster parley: set PARLEY_CLUSTER, or have it leave for good/);
    assert.match(
      await refusal({ ...cluster, PARLEY_CLUSTER_NAME: 'other' }, folder),
      /is of the cluster parley, which NATS knows nothing of/,
    );
  });

  it('CLU-01 a host that was ended while it founded its cluster goes on with it, whatever NATS knows of it', async () => {
    const name = 'founding';
    const begun = async (cluster: string, founding: 'alone' | 'empty') => {
      const folder = await installation();
      beginFounding(folder, cluster, founding);
      return folder;
    };
    const beginFounding = (folder: string, cluster: string, founding: 'alone' | 'empty') => {
      const place = { name, urls: [nats.urls], cluster, replicas: 1, term: 0, founding };
      writeFileSync(join(folder, 'cluster.json'), JSON.stringify(place));
    };
    const environment = (called: string) => ({ PARLEY_CLUSTER_NAME: name, PARLEY_HOST_ID: called });
    const leadsOn = async (folder: string) => {
      const server = await startHost(nats, 'founder', { folder, environment: environment('founder'), shards: 1 });
      hosts.push(server);
      await untilRole(server, 'leads');
      return server;
    };
    // NATS never heard of it, and then has, without the folder's knowing.
    const lone = await startServer({ folder: await mkdtemp(join(tmpdir(), 'parley-founding-')) });
    await lone.end('SIGTERM');
    const { folder } = lone;
    beginFounding(folder, '00000000000000aa', 'alone');
    const founder = await leadsOn(folder);
    const { epoch } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as { epoch: string };
    await founder.end('SIGTERM');
    assert.equal(JSON.parse(readFileSync(join(folder, 'cluster.json'), 'utf8')).founding, undefined);
    beginFounding(folder, '00000000000000aa', 'alone');
    await leadsOn(folder);
    // Another host was faster.
    const late = { PARLEY_CLUSTER: nats.urls, ...environment('late') };
    assert.match(await refusal(late, await begun('00000000000000bb', 'alone')), /holds another installation/);
    const empty = await begun('00000000000000bb', 'empty');
    const follower = await startHost(nats, 'late', { folder: empty, environment: environment('late'), shards: 1 });
    hosts.push(follower);
    await untilRole(follower, 'follows');
    assert.equal(JSON.parse(readFileSync(join(empty, 'manifest.json'), 'utf8')).epoch, epoch);
  });

  it('CLU-02 a second host of one name is refused while the first is there', async () => {
    const cluster = { PARLEY_CLUSTER: nats.urls, PARLEY_HOST_ID: 'first' };
    assert.match(await refusal(cluster), /Another host of the cluster is called first, too/);
  });

  it('a NATS server without JetStream, and one that takes too little at once, are refused in words', async () => {
    for (const [more, sentence] of [
      ['', /The NATS server has no JetStream/],
      ['jetstream { store_dir: "STORE" }\nmax_payload: 65536', /set max_payload to 528384 at least/],
      ['jetstream { store_dir: "STORE", max_file: 1024 }', /NATS cannot keep/],
    ] as const) {
      const poor = await TestNats.start(1, more);
      assert.match(await refusal({ PARLEY_CLUSTER: poor.urls }), sentence);
      await poor.stop();
    }
  });

  describe('over three NATS servers', () => {
    let three: TestNats;
    /** What the first host says. */
    const said: string[] = [];

    before(async () => {
      three = await TestNats.start(3, undefined, 2);
    });

    after(async () => await three?.stop());

    it('CLU-02 a host that is started before NATS has room for three replicas waits for it, and says so', async () => {
      const starting = startHost(three, 'early', { output: said, shards: 1 });
      const waits = () => said.some((line) => line.includes('NATS has no place for the stream yet'));
      await until(waits, 'the host to say what it waits for', TAKEOVER_MILLIS);
      three.run(2);
      const started = await starting;
      await untilRole(started, 'leads');
      await started.stop();
    });

    it('CLU-02 NATS servers that count late votes are named at the start, from the version that they say', () => {
      for (const version of ['2.10.12', '2.10.27', '2.11.0-RC.1', '2.15.1', '3.0.0']) assert.ok(isNatsSound(version));
      for (const version of ['2.10.11', '2.9.25', '1.99.99', '', 'unknown']) assert.ok(!isNatsSound(version), version);
      const named = said.filter((line) => line.includes('two may lead at once'));
      const installed =
        spawnSync('nats-server', ['--version'], { encoding: 'utf8' }).stdout.split(' v')[1]?.trim() ?? '';
      assert.equal(named.length, isNatsSound(installed) ? 0 : 1, installed);
      for (const line of named) assert.ok(line.includes(installed), line);
    });

    it('a stream that fewer servers keep than there are is refused in words', async () => {
      const urls = three.urls.split(',');
      const { manager, nats: connection } = await connectToStream({
        urls,
        authoritiesFile: undefined,
        credentialsFile: undefined,
      });
      const made = async () =>
        await manager.streams
          .add({ name: streamName('few'), subjects: [allLogs('few')], num_replicas: 1 })
          .catch(() => undefined);
      await until(made, 'NATS to make a stream', TAKEOVER_MILLIS);
      await connection.close();
      const refused = await refusal({ PARLEY_CLUSTER: three.urls, PARLEY_CLUSTER_NAME: 'few' });
      assert.match(refused, /The stream parley_few has 1 replicas: give it 3/);
    });
  });

  it('a folder leaves its cluster for good, and is an installation of its own with all that it had', async () => {
    const { folder } = hosts[1] as TestServer;
    const left = spawnSync(process.execPath, [...PARLEY, 'cluster', 'leave', '--data', folder], { encoding: 'utf8' });
    assert.equal(left.status, 0, left.stderr);
    assert.match(left.stdout, /left the cluster parley/);
    assert.equal(existsSync(join(folder, 'cluster.json')), false);
    assert.match(await refusal({ PARLEY_CLUSTER: nats.urls }, folder), /holds another installation/);
    alone = await startServer({ folder });
    const again = await alone.signIn('alice', 'password of alice');
    const reply = await alone.api<{ items: object[] }>(
      { ...alice, session: again },
      'GET',
      `/v1/conversations/${room}/messages?after_seq=0&limit=200`,
    );
    assert.equal(reply.body.items.length, 132);
  });

  it('CLU-01 the commands of a cluster are refused in words where there is none', async () => {
    for (const command of ['cluster.status', 'cluster.drain', 'cluster.resume'] as const)
      await assert.rejects(
        callControl((alone as TestServer).folder, command, {}),
        /No host of a cluster runs on this folder/,
      );
  });
});
