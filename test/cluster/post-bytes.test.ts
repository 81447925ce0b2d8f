/** What a post takes of the network between hosts, which docs/scaling.md reckons with. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import type { TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { startHost, untilRole } from './hosts.ts';

const page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
const POSTS = 200;
/** As long as the messages that the disk's figure was measured over are on average. */
const TEXT =
  'The train leaves at ten past nine from the other side of the station, so be there a little earlier. '.slice(0, 100);
/** How far off a figure may be: what a batch shares with its neighbours differs with the pace. */
const TOLERANCE = 0.1;

describe('the bytes of a post', { skip: unlessInstalled('nats-server', ['--version']) }, () => {
  let nats: TestNats;
  let host: TestServer;

  before(async () => {
    nats = await TestNats.start(1);
    host = await startHost(nats, 'one');
    await untilRole(host, 'leads');
  });

  after(async () => {
    await host?.end('SIGKILL');
    await nats?.stop();
  });

  it('CLU-01 a post takes as many bytes of the stream, and its frame as many of a socket, as docs/scaling.md says', async () => {
    assert.equal(TEXT.length, 100);
    const { ann, bob } = await host.people('ann', 'bob');
    const form = { kind: 'room', title: 'Bytes', participants: ['bob'] };
    const { body: room } = await host.api<{ id: string }>(ann, 'POST', '/v1/conversations', form);
    const socket = await connect(host, bob);
    const empty = await nats.streamBytes();
    for (let post = 0; post < POSTS; post += 1) {
      const sent = { kind: 'text', body: TEXT, client_msg_id: `post-${post}` };
      const { status, text } = await host.api(ann, 'POST', `/v1/conversations/${room.id}/messages`, sent);
      assert.equal(status, 201, text);
    }
    const events = await socket.eventsOf('message.new', POSTS);
    const measured = {
      stream_bytes: ((await nats.streamBytes()) - empty) / POSTS,
      // Two bytes in front of a frame of up to 125 bytes, and four of a longer one.
      frame_bytes: events.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)) + 4, 0) / POSTS,
    };
    for (const [name, bytes] of Object.entries(measured)) {
      const stated = Number(
        new RegExp(`^\\| \`${name}\` \\| ([\\d,.]+) \\|`, 'm').exec(page)?.[1]?.replaceAll(',', ''),
      );
      assert.ok(Math.abs(bytes / stated - 1) < TOLERANCE, `${name}: ${bytes}, and the page says ${stated}`);
    }
    await socket.close();
  });
});
