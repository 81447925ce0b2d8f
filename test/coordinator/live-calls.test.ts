/** Live calls as the console lists them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLS_LISTED_MAX } from '#actors/call/call-board.ts';
import type { CallRecord } from '#actors/call/call-record.ts';
import { refused } from '#actors/runtime/actor.ts';
import { liveCalls, makeLiveCalls } from '#src/server/live-calls.ts';

/** 2026-11-21T08:00:00Z, in milliseconds. */
const NOW = 1_795_248_000_000;
const party = (user: string, held = false) => ({
  user,
  device: `d_${user}`,
  session: `s_${user}`,
  held,
  absentSince: null,
});

function record(more: Partial<CallRecord>): CallRecord {
  return {
    scope: 'alice|bob',
    call: 'k',
    isGroup: false,
    conversation: null,
    host: 'alice',
    video: false,
    room: 'r',
    startedAt: NOW,
    parties: [party('alice')],
    declined: [],
    guests: [],
    gone: [],
    transfer: null,
    ringingUntil: 1,
    answeredAt: null,
    rollAt: 1,
    ...more,
  };
}

test('a call is listed with its conversation or its pair, its state and who is in it', () => {
  const joined = { scope: 'c_1', conversation: 'c_1', isGroup: true, ringingUntil: null };
  const calls = liveCalls([
    record({}),
    record({ ...joined, call: 'x|y', parties: [party('alice'), party('bob')], startedAt: NOW - 1000 }),
    record({ call: 'z', conversation: 'c_2', parties: [party('alice'), party('bob', true)], startedAt: NOW + 1 }),
  ]);
  assert.deepEqual(calls, [
    {
      call: 'x|y',
      conversation: 'c_1',
      kind: 'group',
      state: 'joined',
      users: ['alice', 'bob'],
      startedAt: '2026-11-21T07:59:59.000Z',
    },
    {
      call: 'k',
      conversation: 'direct',
      kind: 'pair',
      state: 'ringing',
      users: ['alice'],
      startedAt: '2026-11-21T08:00:00.000Z',
    },
    {
      call: 'z',
      conversation: 'c_2',
      kind: 'pair',
      state: 'held',
      users: ['alice', 'bob'],
      startedAt: '2026-11-21T08:00:00.001Z',
    },
  ]);
});

test('beyond the most that are listed, the youngest calls are left out', () => {
  const many = Array.from({ length: CALLS_LISTED_MAX + 1 }, (_, i) => record({ call: `${i}`, startedAt: NOW - i }));
  const calls = liveCalls(many);
  assert.equal(calls.length, CALLS_LISTED_MAX);
  assert.equal(calls.at(-1)?.call, '1');
});

test('a shard that does not answer has its calls left out', async () => {
  const read = makeLiveCalls(async () => [refused('unavailable'), { ok: true, value: [record({ call: 'x' })] }]);
  assert.deepEqual(
    (await read()).map(({ call }) => call),
    ['x'],
  );
});
