/** The forms of signalling and of calls beside it. */
import { callsReply, iceReply } from './calls.ts';
import { SIGNAL_BODY_BYTES_MAX } from '../limits.ts';
import type { Route } from '../route.ts';
import { signal } from './signals.ts';

export const CALL_ROUTES = {
  postSignal: {
    method: 'post',
    path: '/v1/signal',
    summary: 'Sends a signalling stanza to those connected now. Not stored.',
    auth: 'session',
    rate: 'signal',
    body: signal,
    bodyBytesMax: SIGNAL_BODY_BYTES_MAX,
    replies: { 202: null },
    errors: [
      'recipient_forbidden',
      'signal_kind_unknown',
      'signal_step_unknown',
      'call_already_joined',
      'call_already_started',
      'call_full',
      'call_not_found',
      'call_not_joined',
      'call_over',
      'call_transfer_pending',
      'calls_full',
      'signal_out_of_order',
    ],
  },
  readCalls: {
    method: 'get',
    path: '/v1/calls',
    summary: "The caller's live calls: those they are in, are rung for, or may join.",
    auth: 'session',
    replies: { 200: callsReply },
    errors: [],
  },
  readIceServers: {
    method: 'get',
    path: '/v1/calls/ice',
    summary:
      'STUN and TURN servers for a peer connection, with credentials of limited life. Empty where none is set up.',
    auth: 'session',
    replies: { 200: iceReply },
    errors: [],
  },
} as const satisfies Record<string, Route>;
