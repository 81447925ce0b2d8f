/** A host that is told to stop stops, whatever it is about to become (CLU-01). */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { callControl } from '#test/support/control.ts';
import type { TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { connectToStream } from '#storage/stream/stream-connection.ts';
import { openBucket } from '#storage/stream/stream-buckets.ts';
import { presenceBucket } from '#storage/stream/stream-names.ts';
import { startHost, TAKEOVER_MILLIS, untilRole } from './hosts.ts';

const skip = unlessInstalled('nats-server', ['--version']);

describe('a host of several that stops', { skip }, () => {
  let nats: TestNats;
  let one: TestServer;
  /** Every host that was started: what a failed case leaves running is stopped, too. */
  const started: TestServer[] = [];

  before(async () => {
    nats = await TestNats.start(1);
    one = await start('one');
    await untilRole(one, 'leads');
  });

  after(async () => {
    await Promise.all(started.map(async (host) => await host.stop()));
    await nats?.stop();
  });

  async function start(name: string, options: Parameters<typeof startHost>[2] = {}): Promise<TestServer> {
    const host = await startHost(nats, name, options);
    started.push(host);
    return host;
  }

  it('CLU-01 a host that is told to stop while it comes to lead stops in order, and the next one leads', async () => {
    const two = await start('two');
    await untilRole(two, 'follows');
    const { folder } = one;
    const stopped = one.end('SIGTERM');
    // It leads from here on by what it says to the others, and serves nobody before it has opened its folder.
    await until(() => two.output.some((line) => line.includes('this host leads')), 'two to lead', TAKEOVER_MILLIS);
    assert.equal(await two.stop(), 0);
    assert.equal(await stopped, 0);
    const last = two.output.filter((line) => line.includes('the server')).at(-1);
    assert.match(last ?? '', /the server has stopped/);
    one = await start('one', { folder });
    await untilRole(one, 'leads');
  });

  it('CLU-01 a host that came to lead and waits for NATS before it serves ends when it is told to', async () => {
    const two = await start('two');
    await untilRole(two, 'follows');
    const { folder } = one;
    await one.end('SIGKILL');
    await until(() => two.output.some((line) => line.includes('this host leads')), 'two to lead', TAKEOVER_MILLIS);
    await nats.kill(0);
    assert.equal(await two.end('SIGTERM'), 0);
    nats.run(0);
    await nats.settled();
    one = await start('one', { folder });
    await untilRole(one, 'leads');
  });

  it('CLU-01 a host that is told to stop as it begins again ends: the signal is not lost with the process that heard it', async () => {
    const connection = await connectToStream({
      urls: nats.urls.split(','),
      authoritiesFile: undefined,
      credentialsFile: undefined,
    });
    try {
      const bucket = await openBucket(connection, presenceBucket('parley'), {});
      const { folder } = one;
      const lines = one.output.length;
      const said = (await bucket.get('leader'))?.json<object>();
      // Another host says that it leads, so that this one begins again; nobody says it twice, and that is forgotten.
      await bucket.put('leader', JSON.stringify({ ...said, host: 'another' }));
      const isAt = () => one.output.slice(lines).some((line) => line.includes('the process begins again'));
      await until(isAt, 'the host to begin again');
      // By itself, or by the signal where the new process has nobody yet who hears it.
      await one.end('SIGTERM');
      one = await start('one', { folder, shards: 1 });
      await untilRole(one, 'leads');
    } finally {
      await connection.nats.close();
    }
  });

  it('CLU-01 a host that is drained leaves the lead to others that are not, beyond a restart, and leads where nobody else does', async () => {
    await assert.rejects(callControl(one.folder, 'cluster.drain', {}), /Nobody else could lead/);
    const [two, three] = [await start('two', { shards: 1 }), await start('three', { shards: 1 })];
    for (const host of [two, three]) await untilRole(host, 'follows');
    const { alice } = await one.people('alice');
    const room = { kind: 'room', title: 'Maintenance', participants: [] };
    const made = await one.api<{ id: string }>(alice, 'POST', '/v1/conversations', room);
    await callControl(two.folder, 'cluster.drain', {});
    const drainedOf = async (host: TestServer) => {
      const { hosts } = await callControl(host.folder, 'cluster.status', {});
      return hosts.filter(({ drained }) => drained).map(({ host: name }) => name);
    };
    await until(async () => (await drainedOf(one)).join() === 'two', 'the one that leads to hear of it');
    const { pid } = one;
    assert.deepEqual(await callControl(one.folder, 'cluster.drain', {}), { host: 'one' });
    await untilRole(three, 'leads');
    await untilRole(one, 'follows');
    assert.ok(one.isRunning && one.pid === pid, 'it goes on serving');
    const form = { kind: 'text', body: 'meanwhile', client_msg_id: randomUUID() };
    const posted = await one.api(alice, 'POST', `/v1/conversations/${made.body.id}/messages`, form);
    assert.equal(posted.status, 201, posted.text);
    assert.equal(await two.end('SIGTERM'), 0);
    const again = await start('two', { folder: two.folder, shards: 1 });
    await untilRole(again, 'follows');
    await until(async () => (await drainedOf(again)).join() === 'one,two', 'both to be drained beyond a restart');
    await assert.rejects(callControl(three.folder, 'cluster.drain', {}), /Nobody else could lead/);
    await callControl(one.folder, 'cluster.resume', {});
    assert.equal(await three.stop(), 0);
    await untilRole(one, 'leads');
    assert.equal(await one.stop(), 0);
    // Nobody is left that is not drained.
    await untilRole(again, 'leads');
    one = again;
    await callControl(one.folder, 'cluster.resume', {});
    await until(async () => (await drainedOf(one)).length === 0, 'nobody to be drained');
  });

  it('CLU-01 a host that leads ends when it is told to, whether NATS is there or not', async () => {
    const { folder } = one;
    await nats.kill(0);
    assert.equal(await one.end('SIGTERM'), 0);
    nats.run(0);
    await nats.settled();
    one = await start('one', { folder, shards: 1 });
    await untilRole(one, 'leads');
    assert.equal(await one.end('SIGTERM'), 0);
  });
});
