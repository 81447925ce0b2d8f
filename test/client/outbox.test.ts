/** The outbox: one id per message, order kept, nothing lost over breaks and reloads. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type MessageForm,
  Outbox,
  OUTBOX_IN_FLIGHT_MAX,
  OUTBOX_LENGTH_MAX,
  type OutboxEntry,
  type OutboxReport,
  type OutboxStore,
} from '#src/client/conversations/outbox.ts';
import { clientError, ParleyError } from '#src/client/parley-error.ts';
import { type ChatMessage, readMessage } from '#src/client/conversations/records.ts';
import { ManualTimers, settle } from './manual-timers.ts';
import { wireMessage } from './samples.ts';

type Outcome = ParleyError | undefined;
const text = (body: string): MessageForm => ({ kind: 'text', body });

/** A store as a browser's would be: what is saved is a copy. */
function memoryStore(saved: unknown[] = []): OutboxStore & { saved: unknown[] } {
  return {
    saved,
    async load() {
      return structuredClone(this.saved);
    },
    async save(entries) {
      this.saved = structuredClone([...entries]);
    },
  };
}

function setUp(options: { store?: OutboxStore; me?: string; isPatient?: boolean } = {}) {
  const timers = new ManualTimers();
  const sent: string[] = [];
  const reports: string[] = [];
  const trouble: unknown[] = [];
  const outcomes: Outcome[] = [];
  const held: (() => void)[] = [];
  let seq = 0;
  const outbox = new Outbox({
    me: options.me ?? 'alice',
    send: async ({ conv, form, clientMsgId }: OutboxEntry): Promise<ChatMessage> => {
      sent.push(`${conv} ${'body' in form ? (form.body as string) : ''} ${clientMsgId}`);
      if (options.isPatient === true) await new Promise<void>((resolve) => held.push(resolve));
      const outcome = outcomes.shift();
      if (outcome !== undefined) throw outcome;
      seq += 1;
      return readMessage(wireMessage(seq, { conversation_id: conv, client_msg_id: clientMsgId }));
    },
    store: options.store,
    timers,
    random: () => 0.5,
    onReport: (report: OutboxReport) => {
      const code = 'error' in report ? ` ${report.error.code}` : '';
      reports.push(`${report.clientMsgId} ${report.state}${code}`);
    },
    onTrouble: (thrown) => trouble.push(thrown),
  });
  return { timers, sent, reports, trouble, outcomes, held, outbox };
}

const busy = (retryAfter?: number) => new ParleyError('busy', 'Busy.', { status: 503, retryAfter });
const refused = (status: number, code: string) => new ParleyError(code, 'No.', { status });

test('MSG-03 an attempt whose answer was lost is repeated under the same id', async () => {
  const { timers, sent, reports, outcomes, outbox } = setUp();
  await outbox.start();
  outcomes.push(clientError('network_failed'), clientError('deadline_exceeded'), busy(), refused(429, 'rate_limited'));
  const posted = outbox.post('c_1', text('one'), 'id-1');
  await timers.pass(60_000);
  assert.equal((await posted).client_msg_id, 'id-1');
  assert.deepEqual(sent, Array(5).fill('c_1 one id-1'));
  assert.deepEqual(reports, [
    'id-1 waiting network_failed',
    'id-1 waiting deadline_exceeded',
    'id-1 waiting busy',
    'id-1 waiting rate_limited',
    'id-1 sent',
  ]);
});

test('an id that nobody named is random and of its own', async () => {
  const { sent, outbox } = setUp();
  await outbox.start();
  await Promise.all([outbox.post('c_1', text('one')), outbox.post('c_1', text('two'))]);
  const ids = sent.map((line) => line.split(' ')[2] ?? '');
  assert.match(ids[0] ?? '', /^[0-9a-z]{26}$/);
  assert.notEqual(ids[0], ids[1]);
});

test('order is kept within a conversation, and another conversation does not wait for it', async () => {
  const { timers, sent, outcomes, outbox } = setUp();
  await outbox.start();
  outcomes.push(clientError('network_failed'));
  void outbox.post('c_1', text('one'), 'id-1');
  void outbox.post('c_1', text('two'), 'id-2');
  void outbox.post('c_2', text('other'), 'id-3');
  await settle();
  assert.deepEqual(sent, ['c_1 one id-1', 'c_2 other id-3']);
  await timers.pass(1_000);
  assert.deepEqual(sent.slice(2), ['c_1 one id-1', 'c_1 two id-2']);
});

test('a refused message is settled with its code, and the next one goes', async () => {
  const { sent, reports, outcomes, outbox } = setUp();
  await outbox.start();
  outcomes.push(refused(403, 'right_missing'));
  const first = outbox.post('c_1', text('one'), 'id-1');
  const second = outbox.post('c_1', text('two'), 'id-2');
  await assert.rejects(first, { code: 'right_missing', status: 403 });
  assert.equal((await second).client_msg_id, 'id-2');
  assert.equal(sent.length, 2);
  assert.deepEqual(reports, ['id-1 refused right_missing', 'id-2 sent']);
  assert.deepEqual(outbox.entries, []);
});

test('a proxy’s refusal is not the server’s: the message stays and is tried again', async () => {
  const { timers, sent, outcomes, outbox } = setUp();
  await outbox.start();
  outcomes.push(clientError('answer_unreadable', { status: 403 }));
  const posted = outbox.post('c_1', text('one'), 'id-1');
  await timers.pass(1_000);
  await posted;
  assert.equal(sent.length, 2);
});

for (const [status, code] of [
  [401, 'session_over'],
  [410, 'client_too_old'],
] as const) {
  test(`${code} says nothing about a message: it waits, without being tried, until resumed`, async () => {
    const { timers, sent, reports, outcomes, outbox } = setUp();
    await outbox.start();
    outcomes.push(refused(status, code));
    const posted = outbox.post('c_1', text('one'), 'id-1');
    await timers.pass(600_000);
    assert.equal(sent.length, 1);
    assert.deepEqual(reports, [`id-1 waiting ${code}`]);
    outbox.resume();
    await posted;
    assert.equal(sent.length, 2);
  });
}

test('resuming cuts a wait short, except one that the server asked for', async () => {
  const { timers, sent, outcomes, outbox } = setUp();
  await outbox.start();
  outcomes.push(clientError('network_failed'), busy(30));
  void outbox.post('c_1', text('one'), 'id-1');
  void outbox.post('c_2', text('two'), 'id-2');
  await settle();
  assert.deepEqual(timers.waits, [1_000, 31_000]);
  outbox.resume();
  await settle();
  assert.deepEqual(sent, ['c_1 one id-1', 'c_2 two id-2', 'c_1 one id-1']);
  assert.deepEqual(timers.waits, [31_000]);
});

test('a reload loses nothing: what waits is sent by the next client, in order, under the same ids', async () => {
  const store = memoryStore();
  const before = setUp({ store });
  await before.outbox.start();
  before.outcomes.push(clientError('network_failed'));
  const first = before.outbox.post('c_1', text('one'), 'id-1');
  const second = before.outbox.post('c_1', text('two'), 'id-2');
  await settle();
  before.outbox.close();
  await assert.rejects(first, { code: 'client_closed' });
  await assert.rejects(second, { code: 'client_closed' });
  assert.equal(store.saved.length, 2);

  const after = setUp({ store });
  const posted = after.outbox.post('c_1', text('three'), 'id-3');
  await settle();
  assert.deepEqual(after.sent, []);
  await after.outbox.start();
  await posted;
  assert.deepEqual(after.sent, ['c_1 one id-1', 'c_1 two id-2', 'c_1 three id-3']);
  assert.deepEqual(after.reports, ['id-1 sent', 'id-2 sent', 'id-3 sent']);
  await settle();
  assert.deepEqual(store.saved, []);
});

test('a message is in the store before it is on the wire', async () => {
  const store = memoryStore();
  let release = () => {};
  const saving = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { sent, outbox } = setUp({
    store: { load: () => [], save: (entries) => saving.then(() => store.save(entries)) },
  });
  await outbox.start();
  const posted = outbox.post('c_1', text('one'), 'id-1');
  await settle();
  assert.deepEqual(sent, []);
  release();
  await posted;
  assert.deepEqual(sent, ['c_1 one id-1']);
});

test('a store that fails is told of and keeps no message from being sent', async () => {
  const broken = new Error('quota');
  const fail = () => Promise.reject(broken);
  const { sent, trouble, outbox } = setUp({ store: { load: fail, save: fail } });
  await outbox.start();
  await outbox.post('c_1', text('one'), 'id-1');
  assert.equal(sent.length, 1);
  assert.equal(trouble[0], broken);
});

test('another person’s messages in the same store are kept and not sent', async () => {
  const store = memoryStore([
    { user: 'bob', conv: 'c_1', clientMsgId: 'bob-1', form: text('bob’s'), postedAt: 1 },
    { user: 'alice', conv: 'c_1' },
    'nonsense',
  ]);
  const { sent, outbox } = setUp({ store });
  await outbox.start();
  await outbox.post('c_1', text('one'), 'id-1');
  await settle();
  assert.deepEqual(sent, ['c_1 one id-1']);
  assert.deepEqual(
    store.saved.map((entry) => (entry as OutboxEntry).clientMsgId),
    ['bob-1'],
  );
});

test('one message more than may wait is refused with its code, and everything that waits stays', async () => {
  const { outbox } = setUp();
  for (let count = 0; count < OUTBOX_LENGTH_MAX; count += 1) void outbox.post('c_1', text('x'), `id-${count}`);
  await assert.rejects(outbox.post('c_1', text('x'), 'one-more'), { code: 'outbox_full' });
  assert.equal(outbox.entries.length, OUTBOX_LENGTH_MAX);
});

test('the same id posted again while it waits is the same message', async () => {
  const { sent, outbox } = setUp();
  await outbox.start();
  const [first, again] = await Promise.all([
    outbox.post('c_1', text('one'), 'id-1'),
    outbox.post('c_1', text('other'), 'id-1'),
  ]);
  assert.equal(first, again);
  assert.deepEqual(sent, ['c_1 one id-1']);
});

test('no more conversations send at once than may', async () => {
  const { sent, held, outbox } = setUp({ isPatient: true });
  await outbox.start();
  for (let count = 0; count <= OUTBOX_IN_FLIGHT_MAX; count += 1)
    void outbox.post(`c_${count}`, text('x'), `id-${count}`);
  await settle();
  assert.equal(sent.length, OUTBOX_IN_FLIGHT_MAX);
  held.shift()?.();
  await settle();
  assert.equal(sent.length, OUTBOX_IN_FLIGHT_MAX + 1);
});

test('after closing nothing is taken', async () => {
  const { outbox } = setUp();
  outbox.close();
  await assert.rejects(outbox.post('c_1', text('x')), { code: 'client_closed' });
});
