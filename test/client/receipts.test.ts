/** Receipts of the client: coalesced and monotone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientError, ParleyError } from '#src/client/parley-error.ts';
import { RECEIPT_GATHER_MILLIS, Receipts } from '#src/client/conversations/receipts.ts';
import { ManualTimers, settle } from './manual-timers.ts';

function setUp() {
  const timers = new ManualTimers();
  const sent: string[] = [];
  const trouble: string[] = [];
  const failures: ParleyError[] = [];
  const answers: number[] = [];
  const receipts = new Receipts({
    send: async (conv, state, seq) => {
      sent.push(`${conv} ${state} ${seq}`);
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const told = answers.shift() ?? seq;
      return { delivered: told, read: state === 'read' ? told : 0 };
    },
    timers,
    random: () => 0.5,
    onTrouble: ({ code }) => trouble.push(code),
  });
  return { timers, sent, trouble, failures, answers, receipts };
}

test('RCP-01 of many receipts the highest is sent, once, and read stands for delivered', async () => {
  const { timers, sent, receipts } = setUp();
  for (const seq of [3, 5, 4]) receipts.mark('c_1', 'delivered', seq);
  receipts.mark('c_1', 'read', 6);
  receipts.mark('c_2', 'delivered', 1);
  assert.deepEqual(sent, []);
  await timers.pass(RECEIPT_GATHER_MILLIS);
  assert.deepEqual(sent, ['c_1 read 6', 'c_2 delivered 1']);
  receipts.mark('c_1', 'delivered', 6);
  receipts.mark('c_1', 'read', 6);
  await timers.pass(60_000);
  assert.equal(sent.length, 2);
});

test('RCP-01 a delivered beyond the read is sent after it', async () => {
  const { timers, sent, receipts } = setUp();
  receipts.mark('c_1', 'read', 3);
  receipts.mark('c_1', 'delivered', 9);
  await timers.pass(60_000);
  assert.deepEqual(sent, ['c_1 read 3', 'c_1 delivered 9']);
});

test('RCP-01 a receipt that was taken is not sent again, whatever the answer says', async () => {
  const { timers, sent, answers, receipts } = setUp();
  answers.push(2);
  receipts.mark('c_1', 'read', 5);
  await timers.pass(60_000);
  assert.deepEqual(sent, ['c_1 read 5']);
});

test('RCP-01 what another device confirmed is not sent again', async () => {
  const { timers, sent, receipts } = setUp();
  receipts.observe('c_1', { read: 7 });
  receipts.mark('c_1', 'read', 7);
  receipts.mark('c_1', 'delivered', 7);
  await timers.pass(60_000);
  assert.deepEqual(sent, []);
});

test('a receipt that did not get through is sent again, at the height it has by then', async () => {
  const { timers, sent, trouble, failures, receipts } = setUp();
  failures.push(clientError('network_failed'), new ParleyError('busy', 'Busy.', { status: 503, retryAfter: 2 }));
  receipts.mark('c_1', 'read', 3);
  await timers.pass(RECEIPT_GATHER_MILLIS);
  receipts.mark('c_1', 'read', 4);
  assert.deepEqual(timers.waits, [1_000]);
  await timers.pass(1_000);
  assert.deepEqual(timers.waits, [4_000]);
  await timers.pass(4_000);
  assert.deepEqual(sent, ['c_1 read 3', 'c_1 read 4', 'c_1 read 4']);
  assert.deepEqual(trouble, ['network_failed', 'busy']);
});

test('a refused receipt is an answer: it is not sent again, a later one is', async () => {
  const { timers, sent, trouble, failures, receipts } = setUp();
  failures.push(new ParleyError('receipt_beyond_head', 'No.', { status: 409 }));
  receipts.mark('c_1', 'read', 9);
  await timers.pass(60_000);
  assert.deepEqual(sent, ['c_1 read 9']);
  assert.deepEqual(trouble, ['receipt_beyond_head']);
  receipts.mark('c_1', 'read', 8);
  await timers.pass(60_000);
  assert.deepEqual(sent, ['c_1 read 9', 'c_1 read 8']);
});

test('nothing is sent for a conversation that is gone, or after closing', async () => {
  const { timers, sent, receipts } = setUp();
  receipts.mark('c_1', 'read', 1);
  receipts.forget('c_1');
  receipts.mark('c_2', 'read', 1);
  receipts.close();
  await timers.pass(60_000);
  await settle();
  assert.deepEqual(sent, []);
  assert.deepEqual(timers.waits, []);
});
