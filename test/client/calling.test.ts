/** Calls of the SDK over a peer connection that the test holds: negotiation, order of steps, who is in, and what ends them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallMedia } from '#src/client/calling/call-media.ts';
import { Call, type CallContext, MESH_PEOPLE_MAX } from '#src/client/calling/call.ts';
import { ANSWER_MILLIS_MAX, EARLY_CANDIDATES_MAX, Negotiation } from '#src/client/calling/negotiation.ts';
import type { PeerConnection } from '#src/client/calling/peer-connection.ts';
import { PeerStatistics } from '#src/client/calling/peer-statistics.ts';
import { StanzaSender, STEP_MILLIS_MAX, STEP_RETRY_MILLIS } from '#src/client/calling/stanza-sender.ts';
import { clientError, ParleyError } from '#src/client/parley-error.ts';
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import { ManualTimers, settle } from './manual-timers.ts';

/** What of a peer connection negotiation sees: descriptions and candidates, and the state between them (W3C WebRTC 1.0, 4.3.1). */
class FakeConnection extends EventTarget {
  signalingState = 'stable';
  connectionState = 'new';
  localDescription: RTCSessionDescriptionInit | null = null;
  remoteDescription: RTCSessionDescriptionInit | null = null;
  readonly added: string[] = [];
  restarts = 0;
  isClosed = false;
  #made = 0;

  setLocalDescription(): Promise<void> {
    const type = this.signalingState === 'have-remote-offer' ? 'answer' : 'offer';
    this.#made += 1;
    this.localDescription = { type, sdp: `${type} ${this.#made}` };
    this.signalingState = type === 'offer' ? 'have-local-offer' : 'stable';
    return Promise.resolve();
  }

  setRemoteDescription(description: RTCSessionDescriptionInit): Promise<void> {
    this.remoteDescription = description;
    this.signalingState = description.type === 'offer' ? 'have-remote-offer' : 'stable';
    return Promise.resolve();
  }

  addIceCandidate({ candidate }: RTCIceCandidateInit): Promise<void> {
    if (this.remoteDescription === null) return Promise.reject(new Error('There is no description.'));
    this.added.push(String(candidate));
    return Promise.resolve();
  }

  addTransceiver(): void {
    queueMicrotask(() => this.dispatchEvent(new Event('negotiationneeded')));
  }

  getTransceivers(): [] {
    return [];
  }

  setConfiguration(): void {}

  restartIce(): void {
    this.restarts += 1;
  }

  become(state: string): void {
    this.connectionState = state;
    this.dispatchEvent(new Event('connectionstatechange'));
  }

  close(): void {
    this.isClosed = true;
  }
}

function negotiate(isPolite: boolean) {
  const [connection, timers] = [new FakeConnection(), new ManualTimers()];
  const sent: string[] = [];
  const send = (step: string) => Promise.resolve(void sent.push(step));
  const options = { isPolite, timers, send, onDescribed: () => undefined };
  const negotiation = new Negotiation({ ...options, connection: connection as unknown as PeerConnection });
  const need = () => connection.dispatchEvent(new Event('negotiationneeded'));
  return { connection, timers, sent, negotiation, need };
}

const OFFER = { description: { type: 'offer', sdp: 'theirs' } };

test('candidates that come before the description they belong to are kept for it, and no more than so many', async () => {
  const { connection, negotiation } = negotiate(true);
  const candidates = Array.from({ length: EARLY_CANDIDATES_MAX + 1 }, (_, at) => ({ candidate: `c${at}` }));
  await negotiation.take('candidate', { candidates });
  await negotiation.take('candidate', { candidate: { candidate: 'single' } });
  assert.deepEqual(connection.added, []);
  await negotiation.take('offer', OFFER);
  assert.equal(connection.added.length, EARLY_CANDIDATES_MAX);
  assert.deepEqual([connection.added[0], connection.added.at(-1)], ['c2', 'single']);
});

test('where two offers meet, the polite side takes the other one and the impolite side stays with its own', async () => {
  for (const isPolite of [true, false]) {
    const { connection, negotiation, need, sent } = negotiate(isPolite);
    need();
    await settle();
    assert.deepEqual(sent, ['offer']);
    await negotiation.take('offer', OFFER);
    assert.deepEqual(sent, isPolite ? ['offer', 'answer'] : ['offer']);
    assert.equal(connection.signalingState, isPolite ? 'stable' : 'have-local-offer');
  }
});

test('an offer that nobody answers is sent again, and one that was answered is not', async () => {
  const { negotiation, need, sent, timers } = negotiate(false);
  need();
  await timers.pass(ANSWER_MILLIS_MAX - 1);
  assert.deepEqual(sent, ['offer']);
  await timers.pass(1);
  assert.deepEqual(sent, ['offer', 'offer']);
  await negotiation.take('answer', { description: { type: 'answer', sdp: 'theirs' } });
  // The second answer, to the offer that was sent twice, changes nothing.
  await negotiation.take('answer', { description: { type: 'answer', sdp: 'late' } });
  await timers.pass(ANSWER_MILLIS_MAX);
  assert.deepEqual(sent, ['offer', 'offer']);
});

test('what is no description and no candidate changes nothing', async () => {
  const { connection, negotiation, sent } = negotiate(true);
  for (const body of [
    {},
    { description: null },
    { description: { type: 'answer', sdp: 'x' } },
    { description: { type: 'offer' } },
  ]) {
    await negotiation.take('offer', body);
  }
  await negotiation.take('candidate', { candidates: [null, 'text', 7] });
  assert.deepEqual([connection.remoteDescription, sent], [null, []]);
});

test('SIG-07 steps go one after the other under growing numbers; a lost answer is no refusal, and a step is given up in the end', async () => {
  const timers = new ManualTimers();
  const posted: [string, number][] = [];
  const refusals: (ParleyError | undefined)[] = [
    clientError('network_failed'),
    new ParleyError('signal_out_of_order', 'Late.', { status: 409 }),
  ];
  const post = ({ step, seq }: { step: string; seq: number }) => {
    posted.push([step, seq]);
    const refused = refusals.shift();
    return refused === undefined ? Promise.resolve() : Promise.reject(refused);
  };
  const sender = new StanzaSender({ post, timers });
  const both = Promise.all([sender.send('call', 'invite'), sender.send('webrtc', 'offer')]);
  await timers.pass(STEP_RETRY_MILLIS);
  await both;
  const [first, again, next] = posted;
  assert.deepEqual([first, posted.length], [again, 3]);
  assert.deepEqual(next, ['offer', (first?.[1] ?? 0) + 1]);
  refusals.push(...Array.from({ length: 100 }, () => clientError('network_failed')));
  const lost = assert.rejects(sender.send('call', 'end'), { code: 'network_failed' });
  await timers.pass(STEP_MILLIS_MAX + STEP_RETRY_MILLIS);
  await lost;
});

/** A call of `me` with a server that the test plays. */
function ring(me: string, phase: 'ringing' | 'joined' = 'ringing', users: readonly string[] = ['ann']) {
  const timers = new ManualTimers();
  const steps: string[] = [];
  const connections: FakeConnection[] = [];
  /** What is live, and what is live once this device joined. */
  const answers = {
    live: [] as LiveCallView[],
    joined: undefined as LiveCallView[] | undefined,
    refused: undefined as ParleyError | undefined,
  };
  const context: CallContext = {
    me,
    device: 'mine',
    timers,
    media: (onChanged) => new CallMedia(undefined, onChanged),
    makeConnection: () => {
      const made = new FakeConnection();
      connections.push(made);
      return made as unknown as PeerConnection;
    },
    post: ({ step }) => {
      steps.push(step);
      if (step === 'join') answers.live = answers.joined ?? answers.live;
      return answers.refused === undefined ? Promise.resolve() : Promise.reject(answers.refused);
    },
    readCalls: () => Promise.resolve(answers.live),
    readIceServers: () => Promise.resolve([]),
    onChanged: () => undefined,
  };
  const call = new Call({ id: 'one', to: 'c_room', video: false, host: 'ann', phase, users }, context);
  return { answers, call, connections, steps, timers };
}

function live(people: readonly string[], device: string | null = 'mine'): LiveCallView {
  const participants = people.map((user) => ({ user, held: false }));
  const started_at = '2026-11-23T00:00:00.000Z';
  return {
    call: 'one',
    to: 'c_room',
    state: 'joined',
    host: 'ann',
    video: false,
    room: 'one',
    started_at,
    participants,
    you: 'joined',
    device,
  };
}

test('a call is answered, connected to by whoever is in it, and over when the server says so', async () => {
  const { answers, call, connections, steps } = ring('ben');
  answers.live = [live(['ann'], null)];
  answers.joined = [live(['ann', 'ben'])];
  await call.answer();
  assert.deepEqual([call.phase, steps.includes('join')], ['joined', true]);
  call.hear({ kind: 'webrtc', step: 'offer', sender: 'ann', body: { peer: 'cay', ...OFFER } });
  await settle();
  assert.equal(connections.length, 0, 'an offer to somebody else');
  call.hear({ kind: 'webrtc', step: 'offer', sender: 'ann', body: { peer: 'ben', ...OFFER } });
  await settle();
  assert.ok(steps.includes('answer'));
  call.hear({ kind: 'webrtc', step: 'camera', sender: 'ann', body: { audio: false, video: true, screen: false } });
  assert.deepEqual(call.participants[0]?.media, { audio: false, video: true, screen: false });
  call.hear({ kind: 'call', step: 'end', body: { reason: 'completed' } });
  assert.deepEqual([call.phase, call.ending, connections[0]?.isClosed], ['over', 'completed', true]);
  // For ever: whatever comes late.
  call.hear({ kind: 'call', step: 'join', sender: 'ann', body: {} });
  await call.answer();
  assert.deepEqual([call.phase, connections.length], ['over', 1]);
});

test('the sixth person of a mesh comes in, the seventh is refused, and so is who came as the seventh at the same moment', async () => {
  const six = ['ann', 'b', 'c', 'd', 'e', 'f'];
  assert.equal(six.length, MESH_PEOPLE_MAX);
  const full = ring('zoe');
  full.answers.live = [live(six, null)];
  await full.call.answer();
  assert.deepEqual([full.call.phase, full.call.error?.code, full.steps], ['over', 'call_mesh_full', []]);
  const sixth = ring('f');
  sixth.answers.live = [live(six.slice(0, 5), null)];
  sixth.answers.joined = [live(six)];
  await sixth.call.answer();
  assert.equal(sixth.call.phase, 'joined');
  sixth.call.resume([live(['zoe', ...six])]);
  await settle();
  assert.deepEqual([sixth.call.error?.code, sixth.steps.at(-1)], ['call_mesh_full', 'end']);
});

test('SIG-08 another device that was faster settles it, and so does the server’s word', async () => {
  const { answers, call } = ring('ben');
  answers.refused = new ParleyError('call_already_joined', 'Joined.', { status: 409 });
  await call.answer();
  assert.deepEqual([call.phase, call.ending, call.error], ['over', 'answered_elsewhere', undefined]);
  for (const [reason, ending] of [
    ['answered_elsewhere', 'answered_elsewhere'],
    ['declined_elsewhere', 'declined_elsewhere'],
    ['unanswered', 'unanswered'],
    ['something new', 'answered_elsewhere'],
  ] as const) {
    const rung = ring('ben').call;
    rung.hear({ kind: 'call', step: 'cancel', body: { reason } });
    assert.equal(rung.ending, ending);
  }
});

test('a call that the server does not know any more goes on while media runs, and no longer', async () => {
  const { answers, call, connections, timers } = ring('ben');
  answers.live = [live(['ann', 'ben'])];
  await call.answer();
  call.hear({ kind: 'webrtc', step: 'offer', sender: 'ann', body: OFFER });
  await settle();
  connections[0]?.become('connected');
  call.resume([]);
  assert.equal(call.phase, 'joined');
  connections[0]?.become('disconnected');
  await timers.pass(14_999);
  assert.deepEqual([call.phase, (connections[0]?.restarts ?? 0) > 0], ['joined', true]);
  await timers.pass(1);
  assert.deepEqual([call.phase, call.ending], ['over', 'completed']);
  // Without media it is over at once.
  const silent = ring('ben');
  silent.answers.live = [live(['ann', 'ben'])];
  await silent.call.answer();
  silent.call.resume([]);
  assert.equal(silent.call.ending, 'failed');
});

test('rates, loss and round trip come from two looks', () => {
  const statistics = new PeerStatistics();
  const look = (timestamp: number, bytes: number, packets: number, packetsLost: number) =>
    statistics.take([
      [
        'in',
        {
          type: 'inbound-rtp',
          timestamp,
          bytesReceived: bytes,
          packetsReceived: packets,
          packetsLost,
          framesDecoded: 9,
        },
      ],
      ['out', { type: 'outbound-rtp', timestamp, bytesSent: bytes / 2 }],
      ['pair', { type: 'candidate-pair', nominated: true, currentRoundTripTime: 0.025 }],
    ]);
  const first = look(1_000, 500, 90, 10);
  assert.deepEqual([first.bitsReceived, first.roundTrip, first.framesDecoded, first.loss], [0, 25, 9, 0.1]);
  const second = look(3_000, 2_500, 180, 20);
  assert.deepEqual([second.bitsReceived, second.bitsSent, second.loss], [8_000, 4_000, 0.1]);
});
