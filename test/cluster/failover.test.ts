/**
 * Two hosts and three NATS servers, all real: any host serves any client, and the loss of one loses nothing that was acknowledged
 * (CLU-01); a host that was shut out acknowledges nothing more (CLU-02).
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { JetStreamManager } from '@nats-io/jetstream';
import { headers as natsHeaders } from '@nats-io/transport-node';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { connectToStream } from '#storage/stream/stream-connection.ts';
import { openBucket } from '#storage/stream/stream-buckets.ts';
import { allLogs, presenceBucket, streamName } from '#storage/stream/stream-names.ts';
import { upload } from '#test/messaging/attaching.ts';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { request, type Person, type Reply, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { healthOf, startHost, TAKEOVER_MILLIS, untilRole } from './hosts.ts';

const skip = unlessInstalled('nats-server', ['--version']);

interface Posted {
  readonly seq: number;
  readonly text: string;
}

describe('several hosts', { skip }, () => {
  let nats: TestNats;
  let leading: TestServer;
  let following: TestServer;
  let alice: Person;
  let bob: Person;
  let room: string;
  /** All that was acknowledged, by everybody. */
  const acknowledged: Posted[] = [];

  before(async () => {
    nats = await TestNats.start(3);
    leading = await startHost(nats, 'one');
    await untilRole(leading, 'leads');
    following = await startHost(nats, 'two');
    await untilRole(following, 'follows');
    ({ alice, bob } = await leading.people('alice', 'bob'));
    const made = await following.api<{ id: string }>(alice, 'POST', '/v1/conversations', {
      kind: 'room',
      title: 'Cluster',
      participants: ['bob'],
    });
    assert.equal(made.status, 201, made.text);
    room = made.body.id;
  });

  after(async () => {
    await leading?.stop();
    await following?.stop();
    await nats?.stop();
  });

  const formOf = (text: string) => ({ kind: 'text', body: text, client_msg_id: randomUUID() });

  /** Signs Bob in from an address of loopback. */
  async function signInFrom(localAddress: string, host: TestServer, headers: Record<string, string>): Promise<Session> {
    const { hostname, port } = new URL(host.coordinator);
    const asked = httpRequest({
      ...{ hostname, port, localAddress, method: 'POST', path: '/v1/auth/login' },
      headers: { 'content-type': 'application/json', ...headers },
    });
    asked.end(JSON.stringify({ username: 'bob', password: bob.password }));
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const text = (await answer.setEncoding('utf8').toArray()).join('');
    assert.equal(answer.statusCode, 200, text);
    return JSON.parse(text) as Session;
  }

  /** The subjects of all logs. */
  async function subjectsOf(manager: JetStreamManager): Promise<string[]> {
    const info = await manager.streams.info(streamName('parley'), { subjects_filter: allLogs('parley') });
    return Object.keys(info.state.subjects ?? {});
  }

  /** Waits until one leads and the other follows, whichever. */
  async function untilOneLeads(): Promise<void> {
    await until(
      async () => {
        const roles = [(await healthOf(leading))?.role, (await healthOf(following))?.role];
        if (roles[0] === 'follows' && roles[1] === 'leads') [leading, following] = [following, leading];
        return roles.includes('leads') && roles.includes('follows');
      },
      'one host to lead and one to follow',
      TAKEOVER_MILLIS,
    );
  }

  /** The term in which a host leads, once it does. */
  async function termOf(host: TestServer): Promise<number> {
    return await until(async () => (await healthOf(host))?.term ?? undefined, 'a host to lead', TAKEOVER_MILLIS);
  }

  /** Posts at a host until it is acknowledged there, as a client does: under the same id. */
  async function post(hosts: readonly TestServer[], text: string): Promise<void> {
    const body = formOf(text);
    let host = 0;
    const reply = await until(
      async () => {
        const answer = await tried(hosts[host++ % hosts.length] as TestServer, body);
        return answer !== undefined && answer.status < 300 && answer;
      },
      `${text} to be acknowledged`,
      TAKEOVER_MILLIS,
    );
    acknowledged.push({ seq: reply.body.seq, text });
  }

  async function tried(host: TestServer, body: object): Promise<Reply<{ seq: number }> | undefined> {
    try {
      const reply = await host.api<{ seq: number; code?: string }>(
        alice,
        'POST',
        `/v1/conversations/${room}/messages`,
        body,
      );
      if (reply.status >= 300) assert.equal(reply.body.code, 'unavailable', reply.text);
      return reply;
    } catch (error) {
      // A connection that ended with the host; the answer to be told apart from that is one with a status.
      if (error instanceof assert.AssertionError) throw error;
      return undefined;
    }
  }

  /** Everything in the room, as a host has it. */
  async function read(host: TestServer): Promise<Posted[]> {
    const messages: Posted[] = [];
    for (;;) {
      const path = `/v1/conversations/${room}/messages?limit=200&after_seq=${messages.at(-1)?.seq ?? 0}`;
      // Between two hosts that lead there may be a moment in which none does, and connections end with the one before.
      const page = await until(
        async () => {
          const answer = await host
            .api<{ items: { seq: number; body: string }[] }>(bob, 'GET', path)
            .catch(() => undefined);
          return answer !== undefined && answer.status !== 503 && answer;
        },
        'a host that leads',
        TAKEOVER_MILLIS,
      );
      assert.equal(page.status, 200, page.text);
      messages.push(...page.body.items.map(({ body, seq }) => ({ seq, text: body })));
      if (page.body.items.length === 0) return messages;
    }
  }

  /** Whether all that was acknowledged is there, once and in its place, and nothing else. */
  async function assertAll(host: TestServer): Promise<void> {
    const messages = await read(host);
    assert.deepEqual(
      messages.map(({ seq }) => seq),
      messages.map((_, at) => at + 1),
      'no seq is missing or doubled',
    );
    const texts = new Map(messages.map(({ seq, text }) => [seq, text]));
    for (const { seq, text } of acknowledged) assert.equal(texts.get(seq), text);
    assert.equal(new Set(messages.map(({ text }) => text)).size, messages.length, 'nothing is there twice');
  }

  it('CLU-01 any host serves any client: what is written over one is read, and heard, over the other', async () => {
    const socket = await connect(following, bob);
    await post([following], 'over the one that follows');
    await post([leading], 'over the one that leads');
    await socket.eventsOf('message.new', 2);
    await socket.close();
    await assertAll(following);
    await assertAll(leading);
    const person = await request('GET', `${following.coordinator}/v1/me`, { token: alice.session.token });
    assert.equal(person.status, 200, person.text);
  });

  it('CLU-01 what is handed on has the address that it came from, whatever the client says of that', async () => {
    const isKnown = async () => (await healthOf(leading))?.hosts.some(({ host }) => host === 'two') === true;
    await until(isKnown, 'the host that leads to know the other');
    const session = await signInFrom('127.0.0.9', following, { 'x-forwarded-for': '203.0.113.7' });
    const listed = await until(async () => {
      const reply = await request<{ items: { is_current: boolean; address?: string }[] }>(
        'GET',
        `${following.coordinator}/v1/me/sessions`,
        { token: session.token },
      );
      return reply.body.items.find(({ is_current: isCurrent }) => isCurrent);
    }, 'the session in the list');
    assert.equal(listed.address, '127.0.0.9');
  });

  it('CLU-02 what stands in the stream twice is passed over by the host that writes and by those that follow', async () => {
    const {
      manager,
      nats: connection,
      stream,
    } = await connectToStream({
      urls: nats.urls.split(','),
      authoritiesFile: undefined,
      credentialsFile: undefined,
    });
    try {
      // A message that was tried again while NATS was away came twice from nats-server 2.9.10, for each of the logs.
      for (const name of await subjectsOf(manager)) {
        const last = await manager.streams.getMessage(streamName('parley'), { last_by_subj: name });
        assert.ok(last !== null);
        const told = natsHeaders();
        for (const [header, [value = '']] of last.header) if (header.startsWith('Parley-')) told.set(header, value);
        await stream.publish(name, last.data, { headers: told });
      }
    } finally {
      await connection.close();
    }
    for (let count = 0; count < 8; count += 1) await post([leading, following], `behind what came twice ${count}`);
    await untilRole(following, 'follows');
    await assertAll(following);
    const said = [...leading.output, ...following.output].filter((line) => line.includes('begins again'));
    assert.deepEqual(said, []);
  });

  it('CLU-01 a host whose word that it leads was stored and never answered goes on leading', async () => {
    await untilOneLeads();
    const term = await termOf(leading);
    const connection = await connectToStream({
      urls: nats.urls.split(','),
      authoritiesFile: undefined,
      credentialsFile: undefined,
    });
    try {
      const bucket = await openBucket(connection, presenceBucket('parley'), {});
      const said = async () => {
        const entry = await bucket.get('leader');
        return entry?.operation === 'PUT' && entry;
      };
      const known = await until(said, 'the word of the host that leads');
      // Its own word at a revision that it does not know is what a lost answer leaves.
      const unknown = await bucket.put('leader', known.value);
      await until(async () => {
        const entry = await said();
        return entry !== false && entry.revision > unknown && entry.string() === known.string();
      }, 'the host to say it again');
    } finally {
      await connection.nats.close();
    }
    await post([leading], 'in the same term');
    assert.equal(await termOf(leading), term);
  });

  it('CLU-01 a host that is killed loses nothing that was acknowledged, and the other one serves', async () => {
    const turn = { isOver: false };
    const posting = [leading, following].map(async (host, number) => {
      for (let count = 0; !turn.isOver; count += 1) await post([host, leading, following], `${number}: ${count}`);
    });
    await until(() => acknowledged.length > 40, 'posts before the kill');
    const file = randomBytes(300_000);
    const attachment = await upload(following, alice, file, 'plan.bin');
    const body = { attachment, name: 'plan.bin', type: 'application/octet-stream', size: file.length };
    const media = { kind: 'media', body, client_msg_id: randomUUID() };
    const sent = await leading.api(alice, 'POST', `/v1/conversations/${room}/messages`, media);
    assert.equal(sent.status, 201, sent.text);
    await leading.end('SIGKILL');
    const behind = acknowledged.length + 40;
    await until(() => acknowledged.length > behind, 'posts behind the kill', TAKEOVER_MILLIS);
    turn.isOver = true;
    await Promise.all(posting);
    await untilRole(following, 'leads');
    await assertAll(following);
    const content = await fetch(`${following.messaging}/v1/attachments/${attachment}?conversation=${room}`, {
      headers: { authorization: `Bearer ${alice.session.token}` },
    });
    assert.equal(content.status, 200);
    assert.ok(Buffer.from(await content.arrayBuffer()).equals(file), 'the file is what was uploaded');
    const { folder } = leading;
    [leading, following] = [following, await startHost(nats, 'one', { folder })];
    await untilRole(following, 'follows');
    await assertAll(following);
  });

  it('CLU-02 a host that was paused acknowledges nothing more once another one leads, and follows it', async () => {
    await untilOneLeads();
    const termBefore = await termOf(leading);
    await leading.pause();
    let late: Promise<{ text: string; reply: Awaited<ReturnType<typeof tried>> }>[];
    try {
      // It is in the paused host's hands before anybody else leads: the kernel takes it, and the host finds it when it goes on.
      late = ['late', 'later'].map(async (text) => ({ text, reply: await tried(leading, formOf(text)) }));
      await post([following], 'while the other is paused');
      assert.ok((await termOf(following)) > termBefore);
    } finally {
      leading.resume();
    }
    [leading, following] = [following, leading];
    for (const { reply, text } of await Promise.all(late)) {
      assert.ok(reply === undefined || reply.status === 503, `${text} was answered ${reply?.status}`);
    }
    await untilRole(following, 'follows');
    await post([following], 'over the one that was paused');
    await assertAll(leading);
    const texts = (await read(leading)).map(({ text }) => text);
    assert.deepEqual(
      ['late', 'later'].filter((text) => texts.includes(text)),
      [],
    );
  });

  it('CLU-01 a host that stops in order hands over at once', async () => {
    const { folder } = leading;
    const stopped = leading.end('SIGTERM');
    await post([following], 'while the other one stops');
    assert.equal(await stopped, 0);
    await untilRole(following, 'leads');
    [leading, following] = [following, await startHost(nats, 'one', { folder })];
    await untilRole(following, 'follows');
    await assertAll(following);
  });

  it('CLU-01 without a majority of the NATS servers reads go on, writes are refused, and nothing is lost or doubled', async () => {
    await nats.kill(0);
    await post([leading, following], 'with two of three');
    await untilOneLeads();
    await nats.kill(1);
    const body = formOf('with one of three');
    const refused = await until(
      async () => await tried(leading, body),
      'an answer without a majority',
      TAKEOVER_MILLIS,
    );
    assert.equal(refused.status, 503, refused.text);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.ok((await read(leading)).length > 0);
    for (const server of [0, 1]) nats.run(server);
    await nats.settled();
    await post([leading, following], 'with three again');
    // Whether it is there was open when it was refused; under its id it is told, and there once.
    const again = await until(
      async () => {
        const answer = (await tried(leading, body)) ?? (await tried(following, body));
        return answer !== undefined && answer.status < 300 && answer;
      },
      'the message that was refused',
      TAKEOVER_MILLIS,
    );
    acknowledged.push({ seq: again.body.seq, text: body.body });
    await untilOneLeads();
    await assertAll(leading);
    await assertAll(following);
  });
});
