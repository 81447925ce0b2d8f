/** The snapshot of a cluster over a real NATS server: one file at a time, by the host that has the say, and taken by those that lack it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, it } from 'node:test';
import { untilFounded } from '#src/cluster/joining.ts';
import { InstallationRecord, type Snapshot } from '#storage/cluster/installation.ts';
import { cutStream, objectName, type SnapshotPlace } from '#storage/cluster/snapshot-making.ts';
import { takeSnapshot } from '#storage/cluster/snapshot-taking.ts';
import { storesOf } from '#storage/engine/stores.ts';
import { OBJECTS_PREFIX, openObjects } from '#storage/stream/stream-buckets.ts';
import { connectToStream, type StreamConnection } from '#storage/stream/stream-connection.ts';
import { snapshotBucket, streamName } from '#storage/stream/stream-names.ts';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { healthOf, startHost, TAKEOVER_MILLIS, untilRole } from './hosts.ts';

const skip = unlessInstalled('nats-server', ['--version']);
/** As many as servers of tests have. */
const LANES = 4;
/** The least that the stream may be cut at. */
const STREAM_BYTES = 1_048_576;
const CHUNKS = `$O.${snapshotBucket('parley')}.C.`;

describe('the snapshot of a cluster', { skip }, () => {
  let nats: TestNats;
  let one: TestServer;
  let two: TestServer;
  let alice: Person;
  let room: string;
  let connection: StreamConnection;
  let place: SnapshotPlace;

  before(async () => {
    nats = await TestNats.start(1);
    one = await start('one');
    await untilRole(one, 'leads');
    two = await start('two');
    await untilRole(two, 'follows');
    alice = await one.person('alice');
    const form = { kind: 'room', title: 'Written to', participants: [] };
    const made = await one.api<{ id: string }>(alice, 'POST', '/v1/conversations', form);
    room = made.body.id;
    const reach = { urls: [nats.urls], authoritiesFile: undefined, credentialsFile: undefined };
    connection = await connectToStream(reach);
    place = { connection, name: 'parley', record: await InstallationRecord.open(connection, 'parley', 1), replicas: 1 };
  });

  after(async () => {
    await connection?.nats.close();
    await two?.end('SIGKILL');
    await one?.end('SIGKILL');
    await nats?.stop();
  });

  async function start(name: string, folder?: string): Promise<TestServer> {
    const environment = { PARLEY_CLUSTER_STREAM_BYTES: String(STREAM_BYTES) };
    return await startHost(nats, name, { ...(folder !== undefined && { folder }), environment, shards: 1 });
  }

  /** Posts more than the stream may hold into the one room, and waits until it is cut. */
  async function writeBeyond(host: TestServer): Promise<void> {
    for (let count = 0; count < 130; count += 1) {
      const form = { kind: 'text', body: 'x'.repeat(10_000), client_msg_id: randomUUID() };
      const reply = await host.api(alice, 'POST', `/v1/conversations/${room}/messages`, form);
      assert.equal(reply.status, 201, reply.text);
    }
    const isCut = async () => (await connection.manager.streams.info(streamName('parley'))).state.bytes < STREAM_BYTES;
    await until(isCut, 'the stream to be cut', TAKEOVER_MILLIS);
  }

  async function snapshot(): Promise<Snapshot> {
    const found = await place.record.snapshot();
    assert.ok(found !== undefined);
    return found;
  }

  /** Which files differ between two snapshots. */
  const changed = (earlier: Snapshot, later: Snapshot): string[] =>
    later.files
      .filter(({ generation, path }) => earlier.files.find((file) => file.path === path)?.generation !== generation)
      .map(({ path }) => path);

  it('CLU-01 of the files that one is copied which was written to, and what nothing names any more is gone', async () => {
    await two.end('SIGKILL');
    const store = await openObjects(connection, snapshotBucket('parley'), 1);
    // What a host leaves that dies over a copy: one that no record names, and pieces of one that was not whole.
    await store.putBlob({ name: '2026-01-01T00-00-00-000Z/lanes/00.mdb' }, Buffer.alloc(1_000));
    await connection.stream.publish(`${CHUNKS}left`, Buffer.alloc(1_000));
    const earlier = await snapshot();
    await writeBeyond(one);
    const swept = async () => (await store.list()).length === LANES + 5;
    await until(swept, 'what nothing names to be gone', TAKEOVER_MILLIS);
    const later = await snapshot();
    const stores = changed(earlier, later).filter((path) => path.endsWith('.mdb'));
    assert.equal(stores.length, 1, stores.join());
    assert.match(stores[0] as string, /^lanes\//);
    const objects = await store.list();
    assert.deepEqual(objects.map(({ name }) => name).toSorted(), later.files.map(objectName).toSorted());
    const { state } = await connection.manager.streams.info(`${OBJECTS_PREFIX}${snapshotBucket('parley')}`, {
      subjects_filter: `${CHUNKS}*`,
    });
    assert.deepEqual(
      Object.keys(state.subjects ?? {}).toSorted(),
      objects.map(({ nuid }) => `${CHUNKS}${nuid}`).toSorted(),
    );
  });

  it('CLU-01 a host that was away for longer than the stream reaches back takes the file that it lacks, and no other', async () => {
    const inodes = () => storesOf(LANES).map((path) => statSync(join(two.folder, path)).ino);
    const earlier = inodes();
    two = await start('two', two.folder);
    await untilRole(two, 'follows');
    assert.equal(inodes().filter((inode, at) => inode !== earlier[at]).length, 1);
    await one.end('SIGTERM');
    await untilRole(two, 'leads');
    const path = `/v1/conversations/${room}/messages?after_seq=0&limit=200`;
    const page = await two.api<{ items: object[] }>(alice, 'GET', path);
    assert.equal(page.body.items.length, 130);
    one = await start('one', one.folder);
    await untilRole(one, 'follows');
  });

  it('CLU-02 a host of an earlier term has no say over the snapshot, and removes nothing of it', async () => {
    await writeBeyond(two);
    const { term } = await snapshot();
    assert.equal(term, (await healthOf(two))?.term);
    const stale = { cluster: '0000000000000000', folder: one.folder, lanes: LANES, term: term - 1 };
    const earlier = await snapshot();
    assert.equal(await place.record.changeSnapshot(term - 1, () => []), undefined);
    // Anything would be too long, and still this host has no say.
    assert.deepEqual(await cutStream(place, stale, 0, new AbortController().signal), []);
    assert.deepEqual(await snapshot(), earlier);
  });

  it('CLU-01 two that change the record at once both do', async () => {
    const { files, term } = await snapshot();
    const renamed = (path: string) => (known: Snapshot) =>
      known.files.map((file) => (file.path === path ? { ...file, made_at: 1 } : file));
    const paths = ['manifest.json', 'stores.json', 'accounts.mdb'];
    await Promise.all(paths.map(async (path) => await place.record.changeSnapshot(term, renamed(path))));
    const later = await snapshot();
    assert.deepEqual(
      later.files.filter((file) => file.made_at === 1).map(({ path }) => path),
      files.map(({ path }) => path).filter((path) => paths.includes(path)),
    );
  });

  it('CLU-01 a file that is copied anew while a host takes the snapshot is taken anew', async () => {
    const known = await snapshot();
    const gone = known.files.map((file) =>
      file.path === 'calendar.mdb' ? { ...file, generation: '2026-01-01T00-00-00-000Z' } : file,
    );
    const answers: Snapshot[] = [{ ...known, files: gone }];
    const stale = { snapshot: async () => answers.pop() ?? known } as unknown as InstallationRecord;
    const folder = await mkdtemp(join(tmpdir(), 'parley-taking-'));
    try {
      const taken = await takeSnapshot({ ...place, record: stale }, folder);
      assert.deepEqual(taken.toSorted(), known.files.map(objectName).toSorted());
      assert.equal(
        readFileSync(join(folder, 'manifest.json'), 'utf8'),
        readFileSync(join(two.folder, 'manifest.json'), 'utf8'),
      );
      // It never comes: the record goes on naming what is not there.
      const never = { snapshot: async () => ({ ...known, files: gone }) } as unknown as InstallationRecord;
      await assert.rejects(takeSnapshot({ ...place, record: never }, folder), {
        message: /lacks 2026-01-01T00-00-00-000Z\/calendar\.mdb/,
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('CLU-01 a host that stops finishes no copy, and leaves the record and the store as they were', async () => {
    const store = await openObjects(connection, snapshotBucket('parley'), 1);
    const [earlier, objects] = [await snapshot(), (await store.list()).length];
    const folder = await mkdtemp(join(tmpdir(), 'parley-stopping-'));
    try {
      await takeSnapshot(place, folder);
      const stopping = new AbortController();
      // Told so once it knows what it is to copy.
      const record = Object.create(place.record, {
        snapshot: {
          value: async () => {
            const { files, ...rest } = await snapshot();
            setImmediate(() => stopping.abort(new Error('The host stops.')));
            return { ...rest, files: files.filter(({ path }) => path !== 'calendar.mdb') };
          },
        },
      }) as InstallationRecord;
      const source = { cluster: '0000000000000000', folder, lanes: LANES, term: earlier.term };
      await assert.rejects(cutStream({ ...place, record }, source, 0, stopping.signal));
      assert.deepEqual([await snapshot(), (await store.list()).length], [earlier, objects]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('CLU-01 who waits for the first snapshot waits while somebody says that they make it, and is told when nobody does', async () => {
    const record = await InstallationRecord.open(connection, 'founding', 1);
    const PATIENCE = 1_500;
    const waiting = untilFounded(record, 'founding', PATIENCE);
    const began = Date.now();
    while (Date.now() - began < 2 * PATIENCE) {
      await record.sayFounding();
      await sleep(100);
    }
    await record.changeSnapshot(0, () => []);
    await waiting;
    const silent = await InstallationRecord.open(connection, 'silent', 1);
    await silent.sayFounding();
    const asked = Date.now();
    await assert.rejects(untilFounded(silent, 'silent', PATIENCE), { message: /The cluster silent has no snapshot/ });
    assert.ok(Date.now() - asked > PATIENCE);
  });
});
