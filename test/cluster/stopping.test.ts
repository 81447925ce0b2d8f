/** A host that is told to stop stops, whatever it is about to become (CLU-01). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import type { TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { startHost, TAKEOVER_MILLIS, untilRole } from './hosts.ts';

const skip = unlessInstalled('nats-server', ['--version']);

describe('a host of several that stops', { skip }, () => {
  let nats: TestNats;
  let one: TestServer;

  before(async () => {
    nats = await TestNats.start(1);
    one = await startHost(nats, 'one');
    await untilRole(one, 'leads');
  });

  after(async () => {
    await one?.stop();
    await nats?.stop();
  });

  it('CLU-01 a host that is told to stop while it comes to lead stops in order, and the next one leads', async () => {
    const two = await startHost(nats, 'two', { environment: { PARLEY_LOG_LEVEL: 'info' } });
    await untilRole(two, 'follows');
    const { folder } = one;
    const stopped = one.end('SIGTERM');
    // It leads from here on by what it says to the others, and serves nobody before it has opened its folder.
    await until(() => two.output.some((line) => line.includes('this host leads')), 'two to lead', TAKEOVER_MILLIS);
    assert.equal(await two.stop(), 0);
    assert.equal(await stopped, 0);
    const last = two.output.filter((line) => line.includes('the server')).at(-1);
    assert.match(last ?? '', /the server has stopped/);
    one = await startHost(nats, 'one', { folder });
    await untilRole(one, 'leads');
  });
});
