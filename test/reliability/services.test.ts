/** Three services that stand apart: each serves its own, and the communication goes on without the management. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import type { MadeWebhook } from '#src/protocol/bots/webhooks.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { deadline, PATIENCE_MILLIS, until } from '#test/support/waiting.ts';
import { append, attach, begin, download, idOf } from '#test/messaging/attaching.ts';
import { assertRefused, say, start } from '#test/messaging/conversing.ts';

/** The main thread from inside, by Node's own inspector: where the management plane can be held or closed. */
class MainThread {
  readonly #inspector: WebSocket;
  readonly #answers = new Map<number, (answer: { result?: unknown; error?: unknown }) => void>();
  #calls = 0;

  private constructor(inspector: WebSocket) {
    this.#inspector = inspector;
    inspector.on('message', (data) => {
      const answer = JSON.parse((data as Buffer).toString()) as { id?: number; result?: unknown };
      if (answer.id !== undefined) this.#answers.get(answer.id)?.(answer);
    });
  }

  /** Attaches to a server that was started with `--inspect`. */
  static async of(server: TestServer): Promise<MainThread> {
    const address = await until(
      () =>
        server.output
          .map((line) => /^Debugger listening on (ws:\S+)$/.exec(line)?.[1])
          .find((url) => url !== undefined),
      'the inspector',
    );
    const inspector = new WebSocket(address);
    await new Promise((resolve, reject) => inspector.once('open', resolve).once('error', reject));
    const main = new MainThread(inspector);
    await main.call('Debugger.enable');
    return main;
  }

  async call(method: string, params: object = {}): Promise<unknown> {
    this.#calls += 1;
    const id = this.#calls;
    const answered = new Promise<{ result?: unknown; error?: unknown }>((resolve) => this.#answers.set(id, resolve));
    this.#inspector.send(JSON.stringify({ id, method, params }));
    const { result, error } = await deadline(answered, PATIENCE_MILLIS, method);
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  /** Holds the thread where it is; it does nothing more until it is let go. */
  async hold(): Promise<void> {
    this.#inspector.send(JSON.stringify({ id: 0, method: 'Runtime.evaluate', params: { expression: 'debugger' } }));
    const paused = new Promise<void>((resolve) => {
      this.#inspector.on('message', (data) => {
        if ((data as Buffer).includes('"Debugger.paused"')) resolve();
      });
    });
    await deadline(paused, PATIENCE_MILLIS, 'the main thread to be held');
  }

  async letGo(): Promise<void> {
    await this.call('Debugger.resume');
  }

  /** Closes everything that listens on these ports, with its connections. */
  async closeListeners(ports: readonly string[]): Promise<void> {
    const expression = `for (const handle of process._getActiveHandles()) {
      if (${JSON.stringify(ports)}.includes(String(handle.address?.()?.port)) && handle.listening) {
        handle.close();
        handle.closeAllConnections();
      }
    }`;
    await this.call('Runtime.evaluate', { expression });
  }

  detach(): void {
    this.#inspector.terminate();
  }
}

const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

interface Talk {
  readonly server: TestServer;
  readonly ann: Person;
  readonly ben: Person;
  readonly rooms: readonly string[];
  readonly sockets: readonly TestSocket[];
  /** Where a webhook of the first room posts. */
  readonly webhook: string;
  /** Uploads that were begun, half of whose bytes are there. */
  readonly begun: string[];
}

/** Two people with sockets, and rooms enough that each shard has some. */
async function openTalk(server: TestServer): Promise<Talk> {
  const { ann, ben } = await server.people('ann', 'ben');
  const rooms: string[] = [];
  for (let count = 0; count < 6; count += 1) rooms.push((await start(server, ann, 'room', ['ben'])).id);
  const begun: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const path = await begin(server, ann, 10);
    assert.equal((await append(server, ann, path, 0, Buffer.from('first'))).status, 204);
    begun.push(path);
  }
  const webhook = await server.api<MadeWebhook>(ann, 'POST', `/v1/conversations/${rooms[0]}/webhooks`, {
    name: 'Hook',
  });
  assert.equal(webhook.status, 201, webhook.text);
  const { path: webhookPath } = webhook.body;
  return {
    webhook: webhookPath,
    server,
    ann,
    ben,
    rooms,
    sockets: [await connect(server, ann), await connect(server, ben)],
    begun,
  };
}

/** A file that was begun before is sent on, a new one is sent, and both are posted and read. */
async function assertSends({ server, ann, ben, rooms, begun }: Talk): Promise<void> {
  const path = begun.pop() as string;
  assert.equal((await append(server, ann, path, 5, Buffer.from('later'))).status, 204);
  const another = await begin(server, ann, 10);
  assert.equal((await append(server, ann, another, 0, Buffer.from('firstlater'))).status, 204);
  for (const id of [idOf(path), idOf(another)]) {
    for (const room of rooms) {
      const posted = await attach(server, ann, room, id);
      assert.equal(posted.status, 201, posted.text);
      assert.equal((await download(server, ben, id, room)).bytes.toString(), 'firstlater');
    }
  }
}

/** Everything of the communication plane in every room: posts, events, typing, signals, reads, and a new socket. */
async function assertTalks(talk: Talk, round: string): Promise<void> {
  const { server, ann, ben, rooms, sockets } = talk;
  const [hers, his] = sockets as [TestSocket, TestSocket];
  for (const room of rooms) {
    const { seq } = await say(server, ann, room, round);
    for (const socket of sockets) {
      await socket.event(({ type, conv, data }) => type === 'message.new' && conv === room && data['body'] === round);
    }
    const call = `${round}-${rooms.indexOf(room)}`;
    const stanza = { to: room, kind: 'call', step: 'invite', call, seq: 1, body: { video: false, room: 'r' } };
    assert.equal((await server.api(ann, 'POST', '/v1/signal', stanza)).status, 202);
    await his.event(({ type, conv, data }) => type === 'signal' && conv === room && data['call'] === call);
    const read = await server.api<{ items: object[] }>(
      ben,
      'GET',
      `/v1/conversations/${room}/messages?after_seq=${seq - 1}`,
    );
    assert.equal(read.body.items.length, 1);
  }
  const hooked = await server.api(undefined, 'POST', talk.webhook, { text: `hook ${round}` });
  assert.equal(hooked.status, 201, hooked.text);
  await his.event(({ data }) => data['body'] === `hook ${round}`, 'the post of the webhook');
  const newcomer = await connect(server, { ...ann, session: { ...ann.session } });
  await hers.closing();
  await say(server, ben, rooms[0] as string, `to the newcomer of ${round}`);
  await newcomer.event(({ data }) => data['body'] === `to the newcomer of ${round}`);
  (sockets as TestSocket[])[0] = newcomer;
  assert.equal(his.closed, undefined);
  await assertSends(talk);
}

test('SVC-02 sockets, posts, files and signals go on while the coordinator is saturated with sign-ins', async (t) => {
  const server = await startServer({
    shards: 2,
    // Hashes as heavy as in an installation, and nobody is turned away for having failed before.
    environment: { PARLEY_PASSWORD_MEMORY_KIB: undefined, PARLEY_LOGIN_ATTEMPTS_PER_MINUTE: '1000000' },
  });
  t.after(() => server.stop());
  const talk = await openTalk(server);
  const codes = new Map<string, number>();
  const over = new AbortController();
  const flood = Array.from({ length: 200 }, async (_, at) => {
    while (!over.signal.aborted) {
      const body = { username: `nobody${at}`, password: 'a guess' };
      const reply = await request<{ code: string }>('POST', `${server.coordinator}/v1/auth/login`, { body });
      codes.set(reply.body.code, (codes.get(reply.body.code) ?? 0) + 1);
    }
  });
  // Saturated: more sign-ins than may wait, so that some are turned away.
  await until(() => (codes.get('busy') ?? 0) > 100, 'the coordinator to be saturated');
  const turnedAway = codes.get('busy') ?? 0;
  for (const round of ['one', 'two', 'three']) await assertTalks(talk, round);
  assert.ok((codes.get('busy') ?? 0) > turnedAway, 'the coordinator had time to spare');
  over.abort();
  await Promise.all(flood);
  assert.deepEqual([...codes.keys()].toSorted(), ['busy', 'login_failed']);
  assert.ok((await server.signIn('ann', talk.ann.password)).token !== '');
});

test('SVC-02 sockets, posts, files and signals go on while the main thread hangs, and after its listeners are gone', async (t) => {
  const server = await startServer({ shards: 2, environment: INSPECTED });
  const attached: MainThread[] = [];
  t.after(() => {
    // A process that is looked into does not end.
    for (const main of attached) main.detach();
    return server.stop();
  });
  const talk = await openTalk(server);
  const main = await MainThread.of(server);
  attached.push(main);
  await main.hold();
  // The communication's health is told without main, which is named as missing.
  const health = () => server.api<{ status: string; threads: { missing: string[] } }>(undefined, 'GET', '/healthz');
  const held = (await health()).body;
  assert.deepEqual([held.status, held.threads.missing], ['degraded', ['main']]);
  await assertTalks(talk, 'held');
  await main.letGo();
  await until(async () => (await health()).body.status === 'ok', 'main to answer again');
  await main.closeListeners([server.coordinator, server.calendar].map((base) => new URL(base).port));
  for (const base of [server.coordinator, server.calendar]) {
    await assert.rejects(
      fetch(`${base}/healthz`),
      (error: Error) => (error.cause as NodeJS.ErrnoException).code === 'ECONNREFUSED',
    );
  }
  await assertTalks(talk, 'alone');
  assert.equal((await health()).body.status, 'ok');
});

test('SVC-01 the services have separate addresses, and a token’s lifetime is the one of the service that gave it', async (t) => {
  const server = await startServer({
    shards: 2,
    environment: { PARLEY_SESSION_SECONDS: '1800', PARLEY_RENEW_SECONDS: '7200' },
  });
  t.after(() => server.stop());
  const ports = [server.coordinator, server.messaging, server.calendar].map((base) => new URL(base).port);
  assert.equal(new Set(ports).size, 3);
  const { session } = await server.person('ann');
  assert.equal(session.exp - session.iat, 1800);
  assert.equal(session.rnw - session.iat, 7200);
});

test('SVC-03 SVC-04 each service answers its own paths and knows nothing of the others’', async (t) => {
  const server = await startServer({ shards: 2 });
  t.after(() => server.stop());
  const { ann } = await server.people('ann');
  const body = { username: 'ann', password: ann.password };
  const login = await request<Session>('POST', `${server.coordinator}/v1/auth/login`, { body });
  assert.equal(login.status, 200);
  ann.session = login.body;
  const { token } = ann.session;
  for (const path of ['/v1/auth/login', '/v1/auth/renew', '/v1/auth/logout']) {
    assertRefused(await server.api(ann, 'POST', path, body), 404, 'path_not_found');
  }
  assert.equal((await server.api(ann, 'GET', '/v1/me/capabilities')).status, 200);
  assert.equal((await server.api(ann, 'GET', '/v1/inbox')).status, 200);
  for (const base of [server.coordinator, server.calendar]) {
    for (const path of ['/v1/inbox', '/v1/ws', '/v1/signal', '/v1/conversations']) {
      assertRefused(await request('GET', `${base}${path}`, { token }), 404, 'path_not_found');
    }
    assert.equal((await request('GET', `${base}/healthz`, { headers: { accept: 'application/json' } })).status, 200);
  }
});
