/** One HTTP request to one service: version header, credential, deadline, and the answer or a ParleyError. */
import type { SecondFactorAsk } from '#src/protocol/sessions/second-factors.ts';
import { PROTOCOL_VERSION, VERSION_HEADERS } from '#src/protocol/version.ts';
import { clientError, ParleyError } from '../parley-error.ts';
import { isRecord } from '../conversations/records.ts';
import type { StandingWatch } from './standing.ts';
import type { Timers } from './timers.ts';

/**
 * How long a request may take, body included: the server's own deadline of ten seconds and a slow phone network.
 * Beyond it the call fails with `deadline_exceeded`.
 */
export const REQUEST_MILLIS_MAX = 15_000;

export type Fetch = typeof globalThis.fetch;

export interface HttpOptions {
  /** The service's base address, without `/v1`. */
  readonly url: string;
  readonly fetch: Fetch;
  readonly timers: Timers;
  readonly standing: StandingWatch;
}

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
  readonly body?: unknown;
  readonly token?: string | undefined;
  /** Sends the cookies of this very origin along, and takes what the answer sets. */
  readonly withCookies?: boolean;
  /** Goes on when the client is closed and when the page that asked goes away (Fetch, `keepalive`). */
  readonly outlivesPage?: boolean | undefined;
}

/** A request whose body or answer is bytes. */
export interface ByteRequest extends Omit<HttpRequest, 'body'> {
  readonly headers?: Readonly<Record<string, string>>;
  readonly bytes?: Blob | undefined;
  /** Given up when it is aborted: with its reason, or `transfer_aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** How long until the answer begins; its body may take as long as it takes. */
  readonly millisMax: number;
}

export class Http {
  readonly #url: string;
  readonly #options: HttpOptions;
  readonly #underWay = new Set<AbortController>();
  #isClosed = false;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#url = options.url.replace(/\/+$/, '');
  }

  /**
   * Sends a request and reads its answer: the JSON of a success, undefined where it has no body.
   * @throws ParleyError with the server's code, or `network_failed`, `deadline_exceeded`, `answer_unreadable`,
   * `client_closed`.
   */
  async request(request: HttpRequest): Promise<unknown> {
    if (this.#isClosed) throw clientError('client_closed');
    const controller = new AbortController();
    if (request.outlivesPage !== true) this.#underWay.add(controller);
    const cancelDeadline = this.#options.timers.after(REQUEST_MILLIS_MAX, () =>
      controller.abort(clientError('deadline_exceeded')),
    );
    try {
      const response = await this.#options.fetch(this.#address(request), {
        method: request.method.toUpperCase(),
        headers: headersOf(request),
        signal: controller.signal,
        // The credential is in a header. Cookies would only make requests that another page can forge, but where the
        // server looks whose page it is.
        credentials: request.withCookies === true ? 'same-origin' : 'omit',
        ...(request.outlivesPage === true ? { keepalive: true } : {}),
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      });
      this.#options.standing.observe(response.headers);
      const text = await response.text();
      return response.ok ? readSuccess(response, text) : this.#refuse(response, text);
    } catch (thrown) {
      if (thrown instanceof ParleyError) throw thrown;
      const reason: unknown = controller.signal.reason;
      throw reason instanceof ParleyError ? reason : clientError('network_failed', { cause: thrown });
    } finally {
      cancelDeadline();
      this.#underWay.delete(controller);
    }
  }

  /**
   * Sends bytes, or asks for some: the answer once it begins. Its body is the caller's to read.
   * @throws ParleyError as `request`, and `transfer_aborted`.
   */
  async exchange(request: ByteRequest): Promise<Response> {
    if (this.#isClosed) throw clientError('client_closed');
    const { bytes, headers, method, millisMax, signal } = request;
    const isAborted = () => signal?.aborted === true;
    if (isAborted()) throw clientError('transfer_aborted');
    const controller = new AbortController();
    this.#underWay.add(controller);
    const cancelDeadline = this.#options.timers.after(millisMax, () =>
      controller.abort(clientError('deadline_exceeded')),
    );
    try {
      const response = await this.#options.fetch(this.#address(request), {
        method: method.toUpperCase(),
        headers: { ...headersOf({ method, path: request.path, token: request.token }), accept: '*/*', ...headers },
        signal: signal === undefined ? controller.signal : AbortSignal.any([controller.signal, signal]),
        credentials: 'omit',
        ...(bytes === undefined ? {} : { body: bytes }),
      });
      this.#options.standing.observe(response.headers);
      return response.ok ? response : this.#refuse(response, await response.text());
    } catch (thrown) {
      if (thrown instanceof ParleyError) throw thrown;
      if (isAborted()) throw clientError('transfer_aborted');
      const reason: unknown = controller.signal.reason;
      throw reason instanceof ParleyError ? reason : clientError('network_failed', { cause: thrown });
    } finally {
      cancelDeadline();
      this.#underWay.delete(controller);
    }
  }

  /** Ends what is under way with `client_closed`, but what outlives the page, and refuses what comes later. */
  close(): void {
    this.#isClosed = true;
    for (const controller of this.#underWay) controller.abort(clientError('client_closed'));
  }

  #address(request: HttpRequest): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) query.set(name, String(value));
    }
    return `${this.#url}${request.path}${query.size === 0 ? '' : `?${query}`}`;
  }

  #refuse(response: Response, text: string): never {
    const error = readRefusal(response, text, this.#options.timers.now());
    if (error.code === 'client_too_old') this.#options.standing.observeTooOld();
    throw error;
  }
}

function headersOf(request: HttpRequest): Record<string, string> {
  return {
    [VERSION_HEADERS.client]: String(PROTOCOL_VERSION),
    accept: 'application/json',
    ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(request.token === undefined || request.token === '' ? {} : { authorization: `Bearer ${request.token}` }),
  };
}

function readSuccess(response: Response, text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw clientError('answer_unreadable', { status: response.status, cause });
  }
}

/** The error of a refused request: the server's `{code, error, field}`, or `answer_unreadable` when it is not that. */
function readRefusal(response: Response, text: string, now: number): ParleyError {
  const status = response.status;
  const retryAfter = readRetryAfter(response.headers.get('retry-after'), now);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  if (!isRecord(body) || typeof body['code'] !== 'string') {
    return clientError('answer_unreadable', { status, retryAfter });
  }
  const { code, error, field, second_factor: ask } = body;
  return new ParleyError(code, typeof error === 'string' ? error : code, {
    status,
    field: typeof field === 'string' ? field : undefined,
    retryAfter,
    secondFactor: isAsk(ask) ? ask : undefined,
  });
}

/** Whether an answer says how a sign-in goes on. */
function isAsk(value: unknown): value is SecondFactorAsk {
  return isRecord(value) && typeof value['challenge'] === 'string' && Array.isArray(value['ways']);
}

/** Retry-After in seconds, from either of its forms (RFC 9110, 10.2.3): seconds, or a date. */
function readRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now) / 1000));
}
