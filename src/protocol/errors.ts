/**
 * The catalogue of error codes (ERR-01, ERR-02): the one place where a code, its HTTP status and its sentence meet.
 *
 * A code is an identifier that installed clients branch on, and the sentence is what a client without a translation
 * shows. Both stay for ever: never rename a code, never reuse one, never reword a shipped sentence. A code that is no
 * longer sent moves to `RETIRED_CODES`. `docs/errors.json` is the frozen copy; a test compares the two.
 */

interface ErrorEntry {
  readonly status: 400 | 401 | 403 | 404 | 409 | 410 | 429 | 500 | 503;
  readonly error: string;
}

export const ERRORS = {
  // 400: the request is wrong, or names something unknown. A defect of the client: report it, do not retry.
  body_invalid_json: { status: 400, error: 'The body is not valid JSON.' },
  body_invalid_utf8: { status: 400, error: 'The body is not valid UTF-8.' },
  body_not_json: { status: 400, error: 'The body must be sent as application/json.' },
  body_too_large: { status: 400, error: 'The body is larger than this request allows.' },
  cursor_invalid: { status: 400, error: 'The cursor is not one that this server gave.' },
  device_required: { status: 400, error: 'The query parameter device is missing.' },
  field_invalid: { status: 400, error: 'A field is missing or has a value that is not allowed.' },
  field_unknown: { status: 400, error: 'The request carries a field that this form does not have.' },
  frame_invalid: { status: 400, error: 'The frame is not one that a client may send.' },
  frame_too_large: { status: 400, error: 'The frame is larger than a frame may be.' },
  message_kind_unknown: { status: 400, error: 'The message kind is not known.' },
  participant_unknown: { status: 400, error: 'A person named in the request cannot be added.' },
  query_invalid: { status: 400, error: 'A query parameter is unknown or has a value that is not allowed.' },
  request_malformed: { status: 400, error: 'The request could not be read as HTTP.' },
  signal_kind_unknown: { status: 400, error: 'The signalling family is not known.' },
  signal_step_unknown: { status: 400, error: 'The step is not one of its signalling family.' },
  socket_upgrade_required: { status: 400, error: 'This path is for WebSocket connections only.' },

  // 401: who is asking is not settled. Renew once, retry once.
  login_failed: { status: 401, error: 'The username or the password is wrong.' },
  session_over: { status: 401, error: 'The session has ended; sign in again.' },
  session_revoked: { status: 401, error: 'The session was revoked; sign in again.' },
  token_expired: { status: 401, error: 'The token has expired; renew it.' },
  token_invalid: { status: 401, error: 'The token is not valid here.' },
  token_missing: { status: 401, error: 'The request carries no token.' },

  // 403: known, and without the right. An answer, not a failure. One code for not-there and not-yours (ERR-05).
  conversation_forbidden: { status: 403, error: 'There is no such conversation for you.' },
  device_forbidden: { status: 403, error: 'The device is not the one this session belongs to.' },
  origin_forbidden: { status: 403, error: 'Pages of this origin may not connect here.' },
  recipient_forbidden: { status: 403, error: 'There is no such recipient for you.' },
  right_missing: { status: 403, error: 'You do not have the right to do this here.' },
  system_kind_forbidden: { status: 403, error: 'System messages are written by the server only.' },

  // 404: no such thing, or none for this caller.
  draft_not_found: { status: 404, error: 'There is no draft here.' },
  message_not_found: { status: 404, error: 'There is no such message.' },
  method_not_found: { status: 404, error: 'This path does not have that method.' },
  participant_not_found: { status: 404, error: 'There is no such participant.' },
  path_not_found: { status: 404, error: 'There is no such path.' },

  // 409: the state of things forbids it. Resolve and retry.
  call_already_joined: { status: 409, error: 'This call attempt was already joined.' },
  conversation_full: { status: 409, error: 'The conversation has as many participants as it may have.' },
  message_deleted: { status: 409, error: 'The message was deleted.' },
  owner_required: { status: 409, error: 'A conversation cannot be left without an owner.' },
  participants_fixed: { status: 409, error: 'The participants of this conversation do not change.' },
  pins_full: { status: 409, error: 'The conversation has as many pins as it may have.' },
  reactions_full: { status: 409, error: 'The message has as many different reactions as it may have.' },
  receipt_beyond_head: { status: 409, error: 'The receipt names a message that does not exist yet.' },
  signal_out_of_order: { status: 409, error: 'A later step of this call attempt was already delivered.' },
  username_taken: { status: 409, error: 'The username is taken.' },

  // 410: this form is gone. The sentence names what to use.
  call_step_is_signalling: {
    status: 410,
    error: 'Call steps are not messages: send them to POST /v1/signal.',
  },
  client_too_old: { status: 410, error: 'This version of the app is no longer served; install the current one.' },
  invitation_used: { status: 410, error: 'This invitation was used or has expired; ask for a new one.' },

  // 429: slow down; the socket is unaffected (ERR-06).
  rate_limited: { status: 429, error: 'Too many requests; wait and try again.' },

  // 500 and 503: faults of the server. 503 carries Retry-After.
  busy: { status: 503, error: 'The server is busy; try again shortly.' },
  internal: { status: 500, error: 'Something failed inside the server.' },
  storage_full: { status: 503, error: 'The server cannot store anything right now.' },
  unavailable: { status: 503, error: 'This part of the server is restarting; try again shortly.' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** Codes that were sent once and never will be again. They stay listed so that nobody takes the name. */
export const RETIRED_CODES = [] as const satisfies readonly string[];

/** What a caller reads: `{code, error}`, and `field` where one field of the request is to blame. */
export interface ErrorBody {
  readonly code: string;
  readonly error: string;
  readonly field?: string;
}

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

export function statusOf(code: ErrorCode): ErrorEntry['status'] {
  return ERRORS[code].status;
}

/** The error body of a code, as it goes on the wire. */
export function errorBody(code: ErrorCode, field?: string): ErrorBody {
  return field === undefined ? { code, error: ERRORS[code].error } : { code, error: ERRORS[code].error, field };
}

/**
 * An expected "no": thrown at the edges, a value inside the actors. It carries what the caller may read and nothing
 * else; a fault of the server is an ordinary Error and reads as `internal`.
 */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  /** Whole seconds after which a retry makes sense; sent as Retry-After. */
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, options: { field?: string | undefined; retryAfter?: number | undefined } = {}) {
    super(code);
    this.name = 'Refusal';
    this.code = code;
    this.field = options.field;
    this.retryAfter = options.retryAfter ?? (ERRORS[code].status === 503 ? 1 : undefined);
  }
}
