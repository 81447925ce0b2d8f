/**
 * What the page of a call does, in the browser: hears its socket, posts stanzas and drives a peer connection by them.
 * Handed to the browser as text, so it uses nothing from outside itself.
 */

export interface PageOrder {
  readonly messaging: string;
  readonly token: string;
  readonly device: string;
  /** Whom to address: the person on the other side. */
  readonly to: string;
  readonly call: string;
  readonly isCaller: boolean;
}

/** What the page saw once the call stood. */
export interface PageReport {
  readonly iceState: string;
  /** What came over the data channel. */
  readonly said: string;
  readonly framesDecoded: number;
  readonly audioPackets: number;
  /** Candidates that were sent as stanzas. */
  readonly candidatesSent: number;
}

/** Plays one side of a call until media and data have arrived. */
export async function playCall(order: PageOrder): Promise<PageReport> {
  const { messaging, token, device, to, call, isCaller } = order;
  const peer = new RTCPeerConnection();
  let seq = 0;
  let candidatesSent = 0;
  let sending: Promise<unknown> = Promise.resolve();
  const send = async (kind: string, step: string, body: object): Promise<void> => {
    seq += 1;
    const stanza = JSON.stringify({ to, kind, step, call, seq, body });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const reply = await fetch(`${messaging}/v1/signal`, { method: 'POST', headers, body: stanza });
    if (reply.status !== 202) throw new Error(`${step} was answered ${reply.status} ${await reply.text()}`);
  };
  const said = Promise.withResolvers<string>();
  const take = (channel: RTCDataChannel): void => {
    channel.addEventListener('open', () => channel.send(`hello from ${isCaller ? 'the caller' : 'the called'}`));
    channel.addEventListener('message', ({ data }) => said.resolve(data as string));
  };
  peer.addEventListener('datachannel', ({ channel }) => take(channel));
  peer.addEventListener('icecandidate', ({ candidate }) => {
    if (candidate === null) return;
    candidatesSent += 1;
    // Not one after the other: stanzas may overtake each other, and the server puts them in order.
    sending = Promise.all([sending, send('webrtc', 'candidate', { candidate: candidate.toJSON() })]);
  });
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true, video: true });
  for (const track of stream.getTracks()) peer.addTrack(track, stream);
  const socket = new WebSocket(`${messaging.replace(/^http/, 'ws')}/v1/ws?token=${token}&device=${device}`);
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  const hear = async ({ kind, step, body }: { kind: string; step: string; body: Record<string, object> }) => {
    if (step === 'invite') return await send('call', 'join', {});
    if (step === 'join') {
      take(peer.createDataChannel('talk'));
      await peer.setLocalDescription();
      return await send('webrtc', 'offer', { description: peer.localDescription?.toJSON() as object });
    }
    if (kind !== 'webrtc') return undefined;
    if (step === 'candidate') return await peer.addIceCandidate(body['candidate']);
    await peer.setRemoteDescription(body['description'] as RTCSessionDescriptionInit);
    if (step === 'answer') return undefined;
    await peer.setLocalDescription();
    return await send('webrtc', 'answer', { description: peer.localDescription?.toJSON() as object });
  };
  let hearing: Promise<unknown> = Promise.resolve();
  socket.addEventListener('message', ({ data }) => {
    const event = JSON.parse(data as string) as { type: string; data: Parameters<typeof hear>[0] & { call: string } };
    if (event.type === 'signal' && event.data.call === call) hearing = hearing.then(() => hear(event.data));
  });
  document.title = 'ready';
  if (isCaller) await send('call', 'invite', { video: true, room: call });
  const text = await said.promise;
  for (;;) {
    // Both fail the call if anything that was heard or sent failed.
    await Promise.all([hearing, sending]);
    const stats = [...((await peer.getStats()) as unknown as Map<string, Record<string, unknown>>).values()];
    const inbound = (kind: string) => stats.find((one) => one['type'] === 'inbound-rtp' && one['kind'] === kind);
    const framesDecoded = Number(inbound('video')?.['framesDecoded'] ?? 0);
    const audioPackets = Number(inbound('audio')?.['packetsReceived'] ?? 0);
    if (framesDecoded > 0 && audioPackets > 0) {
      return { iceState: peer.iceConnectionState, said: text, framesDecoded, audioPackets, candidatesSent };
    }
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}
