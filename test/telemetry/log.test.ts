/** The log: what a line holds, what never gets into one, and an output that is slow or gone. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  LineBuffer,
  type WriteLines,
  writeWhole,
  WAITING_BYTES_MAX,
  WRITE_BYTES_MAX,
} from '#src/telemetry/line-buffer.ts';
import { Log, type LogLevel } from '#src/telemetry/log.ts';

const clock = { now: () => Date.UTC(2026, 10, 21, 8, 15, 0, 250) };

/** A log whose lines are kept, parsed. */
function keptLog(level: LogLevel = 'debug') {
  const raw: string[] = [];
  const write: WriteLines = (lines, done) => {
    raw.push(...lines.toString().split('\n').slice(0, -1));
    done(null);
  };
  const log = new Log({ level, thread: 'shard-0', clock, write });
  return { log, raw, lines: () => raw.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

/** An output that takes nothing until it is told to. */
function stuckOutput() {
  const taken: string[] = [];
  let waiting: (() => void) | undefined;
  const write: WriteLines = (lines, done) => {
    waiting = () => {
      taken.push(lines.toString());
      done(null);
    };
  };
  const release = () => {
    for (let next = waiting; next !== undefined; next = waiting) {
      waiting = undefined;
      next();
    }
  };
  return { write, taken, release };
}

test('a line is JSON with level, time, thread, msg and the fields', () => {
  const { log, raw } = keptLog();
  log.info('listening', { service: 'messaging', port: 8081 });
  assert.deepEqual(raw, [
    '{"level":"info","time":"2026-11-21T08:15:00.250Z","thread":"shard-0","msg":"listening","service":"messaging","port":8081}',
  ]);
});

test('lines below the level are not written', () => {
  for (const [level, written] of [
    ['silent', []],
    ['error', ['error']],
    ['warn', ['error', 'warn']],
    ['info', ['error', 'warn', 'info']],
    ['debug', ['error', 'warn', 'info', 'debug']],
  ] as const) {
    const { log, lines } = keptLog(level);
    log.error('x');
    log.warn('x');
    log.info('x');
    log.debug('x');
    assert.deepEqual(
      lines().map((line) => line['level']),
      written,
    );
  }
});

test('an error is its message and stack, with its code and cause', () => {
  const { log, lines } = keptLog();
  const cause = Object.assign(new Error('disk full'), { code: 'ENOSPC' });
  log.error('commit failed', { error: new TypeError('no commit', { cause }) });
  const error = lines()[0]?.['error'] as { message: string; stack: string; cause: { code: string; message: string } };
  assert.equal(error.message, 'no commit');
  assert.match(error.stack, /^TypeError: no commit\n\s+at /);
  assert.equal(error.cause.code, 'ENOSPC');
  assert.equal(error.cause.message, 'disk full');
});

test("a caller's field does not replace one of the log's own", () => {
  const { log, lines } = keptLog();
  log.warn('true', { msg: 'false', level: 'info', time: 0, thread: 'x' });
  assert.equal(lines()[0]?.['msg'], 'true');
  assert.equal(lines()[0]?.['msg_'], 'false');
  assert.equal(lines()[0]?.['level'], 'warn');
});

test('CRD-09 values under secret names are not written, at any depth, in any spelling', () => {
  const { log, raw } = keptLog();
  const names = [
    'token',
    'password',
    'Authorization',
    'cookie',
    'secret',
    'new_password',
    'Set-Cookie',
    'X-Node-Token',
    'clientSecret',
    'TOKEN',
    'query',
  ];
  for (const name of names) {
    log.info('x', { [name]: 'hunter2' });
    log.info('x', { headers: [{ [name]: ['hunter2'] }] });
    log.info('x', { headers: new Map([[name, { value: 'hunter2' }]]) });
    log.error('x', { error: new Error('x', { cause: { [name]: 'hunter2' } }) });
  }
  assert.equal(raw.length, 4 * names.length);
  assert.doesNotMatch(raw.join('\n'), /hunter2/);
});

test('CRD-09 texts lose what looks like a credential, in messages, fields, keys and errors', () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.hunter2';
  const texts = [
    'GET /v1/ws?device=hunter2&token=hunter2 failed',
    'https://chat.example.org/v1/ws?hunter2',
    'Authorization: Bearer hunter2hunter2',
    'sent Basic hunter2hunter2==',
    'password=hunter2 refused',
    '{"new_password":"hunter2"}',
    "token: 'hunter2'",
    'Cookie: a=hunter2; b=hunter2',
    `got ${jwt} from the peer`,
    'svc_vst_1_hunter2hunter2',
    'bot_hunter2hunter2',
    'hook_0123456789abcdefghjkmn_hunter2hunter2',
  ];
  for (const text of texts) {
    const { log, raw } = keptLog();
    log.info(text);
    log.info('x', { detail: text });
    log.info('x', { [text]: 1 });
    log.info('x', { error: new Error(text) });
    assert.equal(raw.length, 4);
    assert.doesNotMatch(raw.join('\n'), /hunter2/, text);
  }
});

test('texts without credentials stay as they are', () => {
  const { log, lines } = keptLog();
  for (const text of ['The username or the password is wrong.', 'GET /v1/conversations?limit=5', 'token expired']) {
    log.info(text);
    assert.equal(lines().at(-1)?.['msg'], text);
  }
});

test('values of every type give valid JSON, cycles and depth included', () => {
  const { log, lines } = keptLog();
  const cycle: Record<string, unknown> = { name: 'cycle' };
  cycle['self'] = cycle;
  log.info('x', {
    cycle,
    big: 10n,
    none: undefined,
    nothing: null,
    nan: NaN,
    at: new Date(0),
    never: new Date(NaN),
    bytes: new Uint8Array(3),
    set: new Set([1]),
    call: () => 1,
    list: Array.from({ length: 33 }, (_, i) => i),
  });
  const { level: _level, time: _time, thread: _thread, msg: _msg, list, cycle: written, ...rest } = lines()[0]!;
  assert.deepEqual(rest, {
    big: '10',
    nothing: null,
    nan: 'NaN',
    at: '1970-01-01T00:00:00.000Z',
    never: 'Invalid Date',
    bytes: '[3 bytes]',
    set: [1],
    call: '[function]',
  });
  assert.deepEqual((list as unknown[]).slice(-2), [31, '[1 more]']);
  assert.match(JSON.stringify(written), /\[deeper\]/);
});

test('a line is never longer than one write: first its texts are cut, then its fields left out', () => {
  const { log, raw, lines } = keptLog();
  log.error('x', { a: 'a'.repeat(5_000), b: 'b'.repeat(5_000) });
  log.error(
    'x'.repeat(5_000),
    Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`f${i}`, '\u0001'.repeat(5_000)])),
  );
  assert.deepEqual(lines()[0]?.['a'], `${'a'.repeat(200)}…`);
  assert.equal(lines()[1]?.['cut'], true);
  assert.equal(lines()[1]?.['msg'], `${'x'.repeat(200)}…`);
  log.error('\u{1F600}'.repeat(5_000));
  for (const line of raw) {
    assert.ok(Buffer.byteLength(line) + 1 <= WRITE_BYTES_MAX);
    assert.ok(line.isWellFormed());
  }
});

test('while the output stands still a bounded amount waits, the rest is dropped, counted and told', () => {
  const { write, taken, release } = stuckOutput();
  const lines = new LineBuffer(write, (count) => `lost ${count}\n`);
  const line = `${'x'.repeat(1023)}\n`;
  for (let i = 0; i < WAITING_BYTES_MAX / 1024; i += 1) lines.add(line);
  assert.equal(lines.dropped, 0);
  lines.add('one too many\n');
  lines.add('two too many\n');
  assert.equal(lines.dropped, 2);
  release();
  lines.add('again\n');
  release();
  const text = taken.join('');
  assert.equal(text.length, WAITING_BYTES_MAX + 'lost 2\nagain\n'.length);
  assert.ok(text.endsWith('x\nlost 2\nagain\n'));
  assert.equal(lines.dropped, 2);
});

test('one write is under way at a time, of whole lines, in order, no longer than a pipe takes in one piece', () => {
  const { write, taken, release } = stuckOutput();
  const lines = new LineBuffer(write, (count) => `lost ${count}\n`);
  const all = Array.from({ length: 200 }, (_, i) => `${String(i).padStart(99, '.')}\n`);
  for (const line of all) lines.add(line);
  assert.equal(taken.length, 0);
  release();
  assert.equal(taken.join(''), all.join(''));
  for (const piece of taken) assert.ok(piece.length <= WRITE_BYTES_MAX && piece.endsWith('\n'));
  assert.deepEqual(
    taken.slice(0, 2).map(({ length }) => length),
    [100, 4_000],
  );
});

test('lines that the output refuses are counted as dropped, and logging goes on', () => {
  let isBroken = true;
  const taken: string[] = [];
  const write: WriteLines = (bytes, done) => {
    if (!isBroken) taken.push(bytes.toString());
    done(isBroken ? new Error('EPIPE') : null);
  };
  const lines = new LineBuffer(write, (count) => `lost ${count}\n`);
  lines.add('a\n');
  assert.equal(lines.dropped, 1);
  isBroken = false;
  lines.add('b\n');
  assert.equal(taken.join(''), 'lost 1\nb\n');
});

test('waiting for the log to drain ends when all is out, or when the time is over', async () => {
  const { write, release } = stuckOutput();
  const lines = new LineBuffer(write, () => '\n');
  assert.equal(await lines.drained(0), true);
  lines.add('a\n');
  assert.equal(await lines.drained(1), false);
  const drained = lines.drained(60_000);
  release();
  assert.equal(await drained, true);
});

test('a full pipe is asked again, a part that was taken is not sent twice, and any other error is told', async () => {
  const taken: string[] = [];
  const answers = [{ written: 2 }, { code: 'EAGAIN' }, { code: 'EAGAIN' }, { written: 3 }, { code: 'EPIPE' }];
  const output = writeWhole((bytes, offset, done) => {
    const { written = 0, code } = answers.shift() ?? {};
    taken.push(bytes.toString('utf8', offset, offset + written));
    setImmediate(() => done(code === undefined ? null : Object.assign(new Error(code), { code }), written));
  });
  const send = (text: string) => new Promise<Error | null>((resolve) => output(Buffer.from(text), resolve));
  assert.equal(await send('abcde'), null);
  assert.deepEqual(taken, ['ab', '', '', 'cde']);
  assert.equal((await send('f'))?.message, 'EPIPE');
  assert.deepEqual(answers, []);
});

/** A module as an import of the child writes it. */
const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

test('a reader of standard output that stops costs lines and neither time nor memory', async () => {
  const code = `
    const { Log } = await import(${module('../../src/telemetry/log.ts')});
    const { systemClock } = await import(${module('../../src/base/clock.ts')});
    const log = new Log({ level: 'info', thread: 'main', clock: systemClock });
    for (let i = 0; i < 20_000; i += 1) {
      log.info('line ' + i, { text: 'x'.repeat(100) });
      if (i % 1_000 === 0) await new Promise(setImmediate);
    }
    const isStuck = !(await log.drained(1));
    process.send({ dropped: log.droppedLines, isStuck });
    process.once('message', async () => {
      const isOut = await log.drained(10_000);
      log.info('last');
      process.send({ isOut: isOut && (await log.drained(10_000)), dropped: log.droppedLines });
      process.disconnect();
    });
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  try {
    // Nobody reads the pipe yet, and still the child gets to the end of its lines and says so.
    const [stuck] = (await once(child, 'message')) as [{ dropped: number; isStuck: boolean }];
    assert.equal(stuck.isStuck, true);
    assert.ok(stuck.dropped > 0 && stuck.dropped < 20_000);
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    child.send('go on');
    const [after] = (await once(child, 'message')) as [{ dropped: number; isOut: boolean }];
    assert.deepEqual(after, { isOut: true, dropped: stuck.dropped });
    await once(child, 'close');
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.equal(lines.at(-1)?.['msg'], 'last');
    const notices = lines.filter((line) => line['msg'] === 'log lines were dropped');
    assert.equal(
      notices.reduce((sum, line) => sum + Number(line['dropped']), 0),
      stuck.dropped,
    );
    assert.equal(lines.length, 20_000 - stuck.dropped + notices.length + 1);
    assert.deepEqual(
      lines.slice(0, 3).map((line) => line['msg']),
      ['line 0', 'line 1', 'line 2'],
    );
  } finally {
    child.kill('SIGKILL');
  }
});
