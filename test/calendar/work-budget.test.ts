/** What one person's questions may cost the others: the bucket, and that a slice waits for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readXmlBody, XML_PAID_BYTES } from '#src/calendar/dav/request-body.ts';
import { SLICE_MILLIS, TimeSlicer } from '#src/calendar/time-slicer.ts';
import { WORK_BURST_MILLIS, WORK_MILLIS_PER_SECOND, WorkBudgets, WORKERS_MAX } from '#src/calendar/work-budget.ts';

test('a person takes 300 ms of work at once, and a tenth of a core from then on', () => {
  let now = 0;
  const budgets = new WorkBudgets({ now: () => now });
  assert.deepEqual([WORK_BURST_MILLIS, WORK_MILLIS_PER_SECOND], [300, 100]);
  assert.equal(budgets.charge('eve', WORK_BURST_MILLIS), 0);
  assert.equal(budgets.charge('eve', 5), 50);
  assert.equal(budgets.charge('bob', 5), 0, 'somebody else is not held up');
  now = 50;
  assert.equal(budgets.charge('eve', 0), 0, 'what was rested is paid');
  now = 1_000_000;
  assert.equal(budgets.charge('eve', WORK_BURST_MILLIS), 0, 'the bucket fills again, and no further than it goes');
  assert.equal(budgets.charge('eve', 1), 10);
});

test('questions of one person share one bucket, however many they are', () => {
  const budgets = new WorkBudgets({ now: () => 0 });
  const rests = Array.from({ length: 400 }, () => budgets.charge('eve', SLICE_MILLIS));
  assert.equal(rests.filter((rest) => rest === 0).length, WORK_BURST_MILLIS / SLICE_MILLIS);
  assert.equal(rests.at(-1), 17_000);
});

test('so many people are remembered; of more, who asked longest ago starts afresh', () => {
  const budgets = new WorkBudgets({ now: () => 0 });
  budgets.charge('eve', 1_300);
  for (let at = 1; at < WORKERS_MAX; at += 1) budgets.charge(`p${at}`, 0);
  assert.equal(budgets.charge('eve', 0), 10_000);
  budgets.charge('one-more', 0);
  assert.equal(budgets.charge('p1', 1_300), 10_000, 'forgotten, and full again');
  assert.equal(budgets.charge('eve', 0), 10_000);
});

test('a slice of work is charged to who asked, and the work rests while they have nothing left', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const charged: [string, number][] = [];
  const budgets = new (class extends WorkBudgets {
    override charge(user: string, millis: number): number {
      charged.push([user, millis]);
      return 1;
    }
  })();
  const slicer = new TimeSlicer({ budgets, user: 'eve' });
  now = SLICE_MILLIS - 1;
  await slicer.pass();
  assert.deepEqual(charged, [], 'a slice that is not used up is not charged yet');
  now = SLICE_MILLIS;
  assert.ok(slicer.isOver);
  await slicer.pass();
  assert.deepEqual(charged, [['eve', SLICE_MILLIS]]);
  assert.ok(!slicer.isOver, 'the next one begins');
});

test('a long body of XML is read at the cost of who sent it, one that is refused too, and a short one for nothing', async () => {
  const charged: number[] = [];
  const budgets = new (class extends WorkBudgets {
    override charge(_user: string, millis: number): number {
      charged.push(millis);
      return 0;
    }
  })();
  const payer = { budgets, user: 'eve' };
  const body = (length: number, end = '</a>') => Buffer.from(`<a>${'x'.repeat(length - 3 - end.length)}${end}`);
  assert.equal(XML_PAID_BYTES, 8_192);
  await readXmlBody(body(XML_PAID_BYTES - 1), payer);
  assert.deepEqual(charged, []);
  await readXmlBody(body(XML_PAID_BYTES), payer);
  await assert.rejects(readXmlBody(body(XML_PAID_BYTES, '</b>'), payer));
  const [first, read, second, refused] = charged;
  assert.deepEqual([charged.length, first, second], [4, 0, 0]);
  assert.ok((read ?? 0) > 0 && (refused ?? 0) > 0, String(charged));
});
