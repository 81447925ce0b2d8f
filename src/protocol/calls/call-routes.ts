/** The forms of signalling and of calls beside it. */
import { callsReply, iceReply } from './calls.ts';
import { SIGNAL_BODY_BYTES_MAX } from '../limits.ts';
import { route, type Route } from '../route.ts';
import { signal } from './signals.ts';

export const CALL_ROUTES = {
  postSignal: route.post('/v1/signal', 'Sends a signalling stanza to those connected now. Not stored.', {
    rate: 'signal',
    body: signal,
    bodyBytesMax: SIGNAL_BODY_BYTES_MAX,
    replies: { 202: null },
    errors: [
      'recipient_forbidden',
      'conversation_archived',
      'signal_kind_unknown',
      'signal_step_unknown',
      'call_already_joined',
      'call_already_started',
      'call_id_taken',
      'call_full',
      'call_not_found',
      'call_not_joined',
      'call_over',
      'call_transfer_pending',
      'calls_full',
      'signal_out_of_order',
    ],
  }),
  readCalls: route.get('/v1/calls', "The caller's live calls: those they are in, are rung for, or may join.", {
    replies: { 200: callsReply },
  }),
  readIceServers: route.get(
    '/v1/calls/ice',
    'STUN and TURN servers for a peer connection, with credentials of limited life. Empty where none is set up.',
    { replies: { 200: iceReply } },
  ),
} as const satisfies Record<string, Route>;
