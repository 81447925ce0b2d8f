/** Calls of the SDK against people who know the id of a call, and people who ring again and again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '#src/client/calling/call.ts';
import { Calls, RINGING_MAX, RINGING_OF_ONE_MAX } from '#src/client/calling/calls.ts';
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import { ManualTimers, settle } from './manual-timers.ts';

type Client = ConstructorParameters<typeof Calls>[0];
type Stanza = Parameters<Calls['observe']>[0];

/** What Ben's device knows: two rooms and the direct conversation with Eve, who is in all of them. */
const KINDS = { c_harbour: 'room', c_office: 'room', c_eve: 'direct' } as const;

function makeCalls() {
  const live: LiveCallView[] = [];
  const answers: Readonly<Record<string, unknown>> = {
    readCalls: { items: live },
    readIceServers: { ice_servers: [] },
  };
  const client = {
    call: (route: string) => Promise.resolve(answers[route]),
    conversations: new Map(Object.entries(KINDS).map(([id, kind]) => [id, { id, conversation: { kind } }])),
    on: () => () => undefined,
    session: { device_id: 'mine' },
    user: 'ben',
  };
  let connections = 0;
  const makeConnection = () => {
    connections += 1;
    return Object.assign(new EventTarget(), {
      getTransceivers: () => [],
      close: () => undefined,
    }) as unknown as RTCPeerConnection;
  };
  const options = { makeConnection, media: undefined, timers: new ManualTimers() };
  return { calls: new Calls(client as unknown as Client, options), count: () => connections, live };
}

function heard(calls: Calls, conv: string | undefined, stanza: Partial<Stanza> & { step: string; call: string }): void {
  calls.observe({ to: conv ?? 'ben', kind: 'call', body: {}, ...stanza }, conv);
}

function liveIn(to: string): LiveCallView {
  return {
    ...{ call: 'known', to, state: 'joined', host: 'ann', video: false, room: 'known' },
    ...{ started_at: '2026-11-23T00:00:00.000Z', you: 'joined', device: 'mine' },
    participants: ['ann', 'ben'].map((user) => ({ user, held: false })),
  };
}

test('SIG-08 an attempt elsewhere with the id of a room’s call neither ends it nor brings anybody in', async () => {
  const { calls, count, live } = makeCalls();
  heard(calls, 'c_harbour', { step: 'invite', call: 'known', sender: 'ann' });
  live.push(liveIn('c_harbour'));
  const [call] = calls.list as [Call];
  await call.answer();
  const [phase, before] = [call.phase, count()];
  assert.deepEqual([phase, calls.inConversation('c_harbour')?.users.has('ann')], ['joined', true]);
  for (const elsewhere of ['c_office', 'c_eve', undefined]) {
    for (const step of ['invite', 'join', 'cancel']) heard(calls, elsewhere, { step, call: 'known', sender: 'eve' });
    const description = { type: 'offer', sdp: '' };
    heard(calls, elsewhere, { kind: 'webrtc', step: 'offer', call: 'known', sender: 'eve', body: { description } });
    heard(calls, elsewhere, { step: 'end', call: 'known', body: { reason: 'completed' } });
    await settle();
    assert.deepEqual([call.phase, count(), call.participants.map(({ user }) => user)], ['joined', before, ['ann']]);
    assert.equal(calls.inConversation('c_harbour')?.call, 'known');
  }
  heard(calls, 'c_harbour', { step: 'end', call: 'known', body: { reason: 'completed' } });
  assert.deepEqual([call.phase, call.ending, calls.list.length], ['over', 'completed', 0]);
});

test('SIG-08 two people address each other by name or by their conversation, and a stanza of a room is none of theirs', () => {
  const { calls } = makeCalls();
  heard(calls, 'c_eve', { step: 'invite', call: 'theirs', sender: 'eve' });
  heard(calls, 'c_office', { step: 'end', call: 'theirs', body: {} });
  assert.equal(calls.list.length, 1);
  heard(calls, undefined, { step: 'end', call: 'theirs', body: { reason: 'cancelled' } });
  assert.equal(calls.list.length, 0);
});

test('SIG-08 who rings again and again leaves the others a place', () => {
  const { calls } = makeCalls();
  for (let at = 0; at <= RINGING_OF_ONE_MAX; at += 1) {
    heard(calls, at % 2 === 0 ? 'c_office' : 'c_eve', { step: 'invite', call: `eve-${at}`, sender: 'eve' });
  }
  for (let at = 0; at < RINGING_MAX; at += 1) {
    heard(calls, 'c_harbour', { step: 'invite', call: `other-${at}`, sender: `other-${at}` });
  }
  const rung = calls.list.map(({ id }) => id);
  assert.deepEqual(rung, ['eve-0', 'eve-1', 'other-0', 'other-1']);
  // One that ends gives its place to the next.
  heard(calls, 'c_office', { step: 'end', call: 'eve-0', body: { reason: 'cancelled' } });
  heard(calls, 'c_eve', { step: 'invite', call: 'eve-9', sender: 'eve' });
  assert.ok(calls.list.some(({ id }) => id === 'eve-9'));
});
