/**
 * The largest attachment that the default setting lets through, 2 GiB, up and down in constant memory (ATT-01): plain and
 * sealed. It writes 6 GiB to the temporary folder and takes minutes, so it runs when it is asked for:
 *
 *     PARLEY_BIG=1 node --test test/messaging/attachment-streams.test.ts
 *
 * `attachment-uploads.test.ts` holds the same for 256 MiB at every run.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes, type Hash } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { residentBytes } from '#test/support/process.ts';
import { startServer } from '#test/support/server.ts';
import { attach, begin, idOf } from './attaching.ts';
import { assertRefused, start } from './conversing.ts';

const MIB = 1024 * 1024;
const TOTAL = 2048 * MIB;
/** Between two looks that are told. */
const TOLD_EVERY = 256 * MIB;
/** A sixteenth of what passes; a server that kept the content in memory would need it twice. */
const GROWTH_MAX = 128 * MIB;
/** Not handed on to the server, which refuses settings that it does not know. */
const isAsked = process.env['PARLEY_BIG'] === '1';
const skip = !isAsked && 'two times 2 GiB: set PARLEY_BIG=1';

/** Watches the server's resident memory while bytes pass, and tells of it now and then. */
class Watch {
  readonly #context: TestContext;
  readonly #pid: number;
  readonly before: number;
  peak: number;

  constructor(context: TestContext, pid: number) {
    this.#context = context;
    this.#pid = pid;
    this.before = residentBytes(pid);
    this.peak = this.before;
  }

  look(way: string, passed: number): void {
    const resident = residentBytes(this.#pid);
    this.peak = Math.max(this.peak, resident);
    if (passed % TOLD_EVERY !== 0) return;
    this.#context.diagnostic(`${way} ${passed / MIB} MiB: ${Math.round(resident / MIB)} MiB resident`);
  }
}

/** A stream of so many bytes in pieces of 1 MiB, each one different. */
function blocks(sum: Hash, look: (sent: number) => void): ReadableStream<Uint8Array> {
  const noise = randomBytes(MIB);
  let sent = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent === TOTAL) return controller.close();
      const block = Buffer.from(noise);
      block.writeDoubleBE(sent, 0);
      sum.update(block);
      sent += block.length;
      look(sent);
      return controller.enqueue(block);
    },
  });
}

for (const [name, environment] of [
  ['plain', {}],
  ['sealed', { PARLEY_MASTER_KEY: randomBytes(32).toString('hex') }],
] as const) {
  test(`ATT-01 2 GiB go up and down in constant memory, ${name}`, { skip }, async (context) => {
    const server = await startServer({ shards: 2, environment: { ...environment, PARLEY_BIG: undefined } });
    context.after(() => server.stop());
    const { ada } = await server.people('ada');
    const { id: room } = await start(server, ada, 'room', [], 'Mine');
    const authorization = `Bearer ${ada.session.token}`;
    const create = await server.api(ada, 'POST', '/v1/attachments', undefined, {
      'tus-resumable': '1.0.0',
      'upload-length': String(TOTAL + 1),
    });
    assertRefused(create, 400, 'attachment_too_large');
    const path = await begin(server, ada, TOTAL);
    const watch = new Watch(context, server.pid);
    const sum = createHash('sha256');
    const response = await fetch(`${server.messaging}${path}`, {
      method: 'PATCH',
      headers: {
        authorization,
        'tus-resumable': '1.0.0',
        'content-type': 'application/offset+octet-stream',
        'upload-offset': '0',
      },
      body: blocks(sum, (sent) => watch.look('up', sent)),
      duplex: 'half',
    } as RequestInit);
    assert.equal(response.status, 204, await response.text());
    assert.equal((await attach(server, ada, room, idOf(path))).status, 201);
    ada.session = await server.signIn(ada.username, ada.password);
    const read = await fetch(`${server.messaging}/v1/attachments/${idOf(path)}?conversation=${room}`, {
      headers: { authorization: `Bearer ${ada.session.token}` },
    });
    assert.equal(read.status, 200);
    const hash = createHash('sha256');
    let [received, looked] = [0, 0];
    for await (const chunk of read.body as unknown as AsyncIterable<Uint8Array>) {
      received += chunk.length;
      hash.update(chunk);
      for (; looked + MIB <= received; looked += MIB) watch.look('down', looked + MIB);
    }
    assert.equal(received, TOTAL);
    assert.equal(hash.digest('hex'), sum.digest('hex'));
    context.diagnostic(`before ${Math.round(watch.before / MIB)} MiB, at most ${Math.round(watch.peak / MIB)} MiB`);
    assert.ok(watch.peak - watch.before < GROWTH_MAX, `the server grew from ${watch.before} to ${watch.peak} bytes`);
  });
}
