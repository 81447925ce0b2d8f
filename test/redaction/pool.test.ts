/** RED-13: a pool that fails, waits too long or is full answers with an error and never with the input. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { RedactionPool, TASK_BYTES_MAX } from '#src/redaction/pool.ts';

const key = Buffer.alloc(32, 7);
const refused = { name: 'Refusal', code: 'redaction_unavailable' };

/** A thread's program of one function, in a folder of its own. */
function program(t: TestContext, body: string): URL {
  const folder = mkdtempSync(join(tmpdir(), 'redaction-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'worker.mjs');
  writeFileSync(path, `export function redact(task) { ${body} }\n`);
  return pathToFileURL(path);
}

test('RED-13 the pool answers texts, bytes and values as the engine does', async (t) => {
  const pool = new RedactionPool({ key, secrets: ['weakpass'], threads: 1 });
  t.after(async () => await pool.close());
  assert.equal(await pool.text('user=alice weakpass'), 'user=u-6a8851c5 [REDACTED:secret]');
  assert.deepEqual(await pool.value({ user: 'alice', n: 1 }), { user: 'u-6a8851c5', n: 1 });
});

/** How willing each thread of this process is to wait: the 17th field behind the name in its `stat` (proc(5)). */
function niceValues(): number[] {
  return readdirSync('/proc/self/task').map((thread) => {
    const fields = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return Number(fields[16]);
  });
}

/** Why the niceness of a thread cannot be seen here; false where it can. */
const nicenessHidden =
  (process.platform !== 'linux' && 'Linux only') || (getPriority() >= 10 && 'the tests themselves are as nice');

test('a thread of the pool lets the others go first', { skip: nicenessHidden }, async (t) => {
  const ours = getPriority();
  assert.ok(!niceValues().includes(10));
  const pool = new RedactionPool({ key, secrets: [], threads: 1 });
  t.after(async () => await pool.close());
  await pool.text('user=alice');
  assert.deepEqual(
    niceValues().filter((nice) => nice !== ours),
    [10],
  );
});

test('RED-13 a closed pool and a task beyond its bytes are refused', async () => {
  const pool = new RedactionPool({ key, secrets: [], threads: 1 });
  await assert.rejects(pool.bytes(Buffer.alloc(TASK_BYTES_MAX + 1)), refused);
  await pool.close();
  await assert.rejects(pool.text('user=alice'), refused);
});

test('RED-13 a thread that throws, one that ends, and one that answers something else', async (t) => {
  for (const body of ["throw new Error('user=alice')", 'process.exit(1)', "return 'user=alice'"]) {
    const pool = new RedactionPool({ key, secrets: [], threads: 1, worker: program(t, body) });
    await assert.rejects(pool.text('user=alice'), refused);
    await pool.close();
  }
});

test('RED-13 a thread that takes longer to begin than a task may take answers all the same', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'redaction-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'slow.mjs');
  const begin = 'const end = Date.now() + 400; while (Date.now() < end);';
  writeFileSync(path, `${begin}\nexport function redact(task) { return task.bytes; }\n`);
  const pool = new RedactionPool({ key, secrets: [], threads: 1, deadlineMs: 50, worker: pathToFileURL(path) });
  t.after(async () => await pool.close());
  assert.equal((await pool.bytes(Buffer.from('first'))).toString(), 'first');
});

test('RED-13 a task beyond its deadline is refused', async (t) => {
  const worker = program(t, "if (task.kind === 'bytes') return task.bytes; for (;;);");
  const pool = new RedactionPool({ key, secrets: [], threads: 1, deadlineMs: 50, worker });
  // The thread begins with this one, which is given longer.
  await pool.bytes(Buffer.from('first'));
  await assert.rejects(pool.value({ user: 'alice' }), refused);
  await pool.close();
});

test('RED-13 a task beyond the queue is refused at once, the one within it waits', async (t) => {
  const worker = program(t, 'return new Promise((done) => setTimeout(() => done(task.bytes), 300));');
  const pool = new RedactionPool({ key, secrets: [], threads: 1, queueMax: 1, worker });
  // The thread runs from here on: only what comes now can wait.
  await pool.bytes(Buffer.from('first'));
  const under = [pool.bytes(Buffer.from('a')), pool.bytes(Buffer.from('b')), pool.bytes(Buffer.from('c'))];
  const outcomes = await Promise.allSettled(under);
  assert.deepEqual(
    outcomes.filter(({ status }) => status === 'rejected').map((one) => (one as PromiseRejectedResult).reason.code),
    ['redaction_unavailable'],
  );
  await pool.close();
});
