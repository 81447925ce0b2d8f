/** The last lines of the log as the console reads them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Log } from '#src/telemetry/log.ts';
import { RECENT_LINES_MAX, RecentLines } from '#src/telemetry/recent-lines.ts';

/** 2026-11-21T08:00:00Z, in milliseconds. */
const START = 1_795_248_000_000;

function linesOf(max?: number) {
  const recent = new RecentLines(max);
  let now = START;
  const log = new Log({
    level: 'info',
    thread: 'main',
    clock: { now: () => now },
    write: (_lines, done) => done(null),
    keep: (line) => recent.add(line),
  });
  return { log, recent, pass: (millis: number) => (now += millis) };
}

test('lines are read from the newest back, with their fields', () => {
  const { log, recent, pass } = linesOf();
  log.info('started', { port: 8080 });
  pass(1_000);
  log.warn('slow', { password: 'canary' });
  log.debug('never written');
  assert.deepEqual(recent.read({ limit: 10 }), {
    items: [
      {
        number: 2,
        level: 'warn',
        time: '2026-11-21T08:00:01.000Z',
        thread: 'main',
        msg: 'slow',
        fields: { password: '[redacted]' },
      },
      {
        number: 1,
        level: 'info',
        time: '2026-11-21T08:00:00.000Z',
        thread: 'main',
        msg: 'started',
        fields: { port: 8080 },
      },
    ],
    next: null,
  });
});

test('lines are filtered by level, text and time', () => {
  const { log, recent, pass } = linesOf();
  log.error('disk full');
  pass(60_000);
  log.info('Disk checked');
  const messages = (filter: object) => recent.read({ limit: 10, ...filter }).items.map(({ msg }) => msg);
  assert.deepEqual(messages({ levels: ['error', 'warn'] }), ['disk full']);
  assert.deepEqual(messages({ text: 'DISK' }), ['Disk checked', 'disk full']);
  assert.deepEqual(messages({ text: 'nowhere' }), []);
  assert.deepEqual(messages({ since: '2026-11-21T08:01:00.000Z' }), ['Disk checked']);
});

test('pages meet without a gap, and a filter does not lose the place', () => {
  const { log, recent } = linesOf();
  for (let i = 1; i <= 7; i += 1) {
    if (i % 2 === 0) log.warn(`line ${i}`);
    else log.info(`line ${i}`);
  }
  const first = recent.read({ limit: 2, levels: ['info'] });
  assert.deepEqual([first.items.map(({ number }) => number), first.next], [[7, 5], 4]);
  const second = recent.read({ limit: 2, levels: ['info'], before: first.next as number });
  assert.deepEqual([second.items.map(({ number }) => number), second.next], [[3, 1], null]);
});

test('one line beyond the most that is kept, and the oldest is gone', () => {
  const recent = new RecentLines();
  const line = (i: number) =>
    `${JSON.stringify({ level: 'info', time: '2026-11-21T08:00:00.000Z', thread: 'main', msg: String(i) })}\n`;
  for (let i = 1; i <= RECENT_LINES_MAX; i += 1) recent.add(line(i));
  assert.equal(recent.forgotten, 0);
  assert.equal(recent.read({ limit: 10, before: 2 }).items[0]?.msg, '1');
  recent.add(line(RECENT_LINES_MAX + 1));
  assert.equal(recent.forgotten, 1);
  assert.deepEqual(recent.read({ limit: 10, before: 2 }), { items: [], next: null });
  assert.equal(recent.read({ limit: 1 }).items[0]?.msg, String(RECENT_LINES_MAX + 1));
  assert.equal(recent.read({ limit: RECENT_LINES_MAX + 10 }).items.length, RECENT_LINES_MAX);
});
