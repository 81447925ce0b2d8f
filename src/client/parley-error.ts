/** What a call of the client fails with: a code to branch on, wherever the failure arose. */
import { ERRORS } from '#src/protocol/errors.ts';
import type { SecondFactorAsk } from '#src/protocol/sessions/second-factors.ts';

/**
 * Failures that no server sent, so that an application has one kind of code for everything. They share a namespace
 * with the catalogue and never a name: a test compares the two.
 */
export const CLIENT_ERRORS = {
  /** What came back is not Parley's: a proxy's page, a captive portal, JSON cut short. */
  answer_unreadable: 'The answer could not be read.',
  /** Six people are in the call, each connected to every other one: no more fit. */
  call_mesh_full: 'This call is full: six people can be in one.',
  /** The client was closed while the call was under way. */
  client_closed: 'The app has closed its connection.',
  /** The server closed the socket with a code that says not to come back. */
  connection_refused: 'The server has ended the connection for good.',
  /** No answer within the deadline of a request. Whether the server acted is unknown. */
  deadline_exceeded: 'The server did not answer in time.',
  /** No answer at all: no network, no such host, connection cut. Whether the server acted is unknown. */
  network_failed: 'The server could not be reached.',
  /** The outbox holds as many unsent messages as it may. */
  outbox_full: 'Too many messages are waiting to be sent.',
  /** The application aborted the upload or download. */
  transfer_aborted: 'The transfer was cancelled.',
} as const;

export type ClientErrorCode = keyof typeof CLIENT_ERRORS;

export interface ParleyErrorOptions {
  /** The HTTP status, or 0 where there was none. */
  readonly status?: number;
  readonly field?: string | undefined;
  /** Seconds that the server asked to wait. */
  readonly retryAfter?: number | undefined;
  /** Of `second_factor_required` to a sign-in: how it goes on. */
  readonly secondFactor?: SecondFactorAsk | undefined;
  readonly cause?: unknown;
}

/** Match on `code`, never on the message: that is the fallback sentence for codes without a translation. */
export class ParleyError extends Error {
  readonly code: string;
  /** The HTTP status of the answer, 0 when there was none. */
  readonly status: number;
  /** Which field of the request is to blame, where one is. */
  readonly field: string | undefined;
  /** Seconds after which a retry makes sense, where the server said so. */
  readonly retryAfter: number | undefined;
  /** Of `second_factor_required` to a sign-in: what `finishSignIn` goes on with. */
  readonly secondFactor: SecondFactorAsk | undefined;

  constructor(code: string, sentence: string, options: ParleyErrorOptions = {}) {
    super(sentence, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'ParleyError';
    this.code = code;
    this.status = options.status ?? 0;
    this.field = options.field;
    this.retryAfter = options.retryAfter;
    this.secondFactor = options.secondFactor;
  }
}

/** An error of the catalogue that came as a close code and not as an answer. */
export function refusal(code: 'client_too_old' | 'session_revoked'): ParleyError {
  return new ParleyError(code, ERRORS[code].error, { status: ERRORS[code].status });
}

/** A failure that arose in the client. */
export function clientError(code: ClientErrorCode, options: ParleyErrorOptions = {}): ParleyError {
  return new ParleyError(code, CLIENT_ERRORS[code], options);
}

/** Whatever was thrown, as a ParleyError: what is not one already is taken for a failure of the network. */
export function toParleyError(thrown: unknown): ParleyError {
  return thrown instanceof ParleyError ? thrown : clientError('network_failed', { cause: thrown });
}

/**
 * Whether the same request may succeed later without anybody changing anything: no answer, an answer that is not
 * Parley's, 429, or a fault of the server (5xx).
 */
export function isTransient(error: ParleyError): boolean {
  if (error.code === 'client_closed') return false;
  return error.status === 0 || error.status === 429 || error.status >= 500 || error.code === 'answer_unreadable';
}

/** Whether Parley itself answered 401: a proxy's 401 says nothing about the session. */
export function isUnauthorized(error: ParleyError): boolean {
  return error.status === 401 && error.code !== 'answer_unreadable';
}
