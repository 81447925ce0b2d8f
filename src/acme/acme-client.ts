/**
 * A client of ACME (RFC 8555): signs what it asks with the account's key, and has an authority vouch for names over
 * HTTP-01. Every request goes through the guard of `src/outgoing`.
 */
import { createHash, createPublicKey, sign, type KeyObject } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { readRetryAfter } from '#src/outgoing/retry-after.ts';
import { sendOutgoing, type OutgoingReply, type OutgoingRequest } from '#src/outgoing/request.ts';

/** One request to the authority, from the lookup on; the largest answer is a chain of certificates, some 10 KB. */
const REQUEST_MILLIS = 15_000;
const REPLY_BYTES_MAX = 256 * 1024;
/** All of an order. An authority looks at names within seconds. */
export const ORDER_MILLIS = 120_000;
const POLL_MILLIS = 1_000;
const POLL_MILLIS_MAX = 10_000;
/** Nonces that are refused in a row: each refusal brings the next one along (RFC 8555, 6.5). */
const NONCES_MAX = 8;

/** What an authority says no with, or that it could not be asked; the sentence is for operators. */
export class AcmeError extends Error {
  /** The last part of the problem's type (RFC 8555, 6.7), `unreachable`, `unreadable` or `late`. */
  readonly problem: string;
  /** How long the authority asks to be left alone, in milliseconds. */
  readonly retryMillis: number | undefined;

  constructor(problem: string, sentence: string, retryMillis?: number) {
    super(sentence);
    this.problem = problem;
    this.retryMillis = retryMillis;
  }
}

/** Shows the answers to challenges at `http://<name>/.well-known/acme-challenge/<token>`. */
export interface ChallengeAnswers {
  show(token: string, answer: string): void;
}

export interface AcmeClientOptions {
  /** URL of the authority's directory. */
  readonly directory: string;
  /** The account's key, P-256. */
  readonly accountKey: KeyObject;
  readonly allowPrivateTargets: OutgoingRequest['allowPrivateTargets'];
  readonly signal: AbortSignal;
}

const url = z.url({ protocol: /^https?$/ });
const problem = z.object({ type: z.string().optional(), detail: z.string().optional() });
const directory = z.object({ newNonce: url, newAccount: url, newOrder: url });
const order = z.object({
  status: z.string(),
  authorizations: z.array(url),
  finalize: url,
  certificate: url.optional(),
  error: problem.optional(),
});
const authorization = z.object({
  status: z.string(),
  identifier: z.object({ value: z.string() }),
  challenges: z.array(z.object({ type: z.string(), url, token: z.string().default(''), error: problem.optional() })),
});
type Directory = z.infer<typeof directory>;
type Problem = z.infer<typeof problem>;

export class AcmeClient {
  readonly #options: AcmeClientOptions;
  readonly #jwk: Readonly<Record<'crv' | 'kty' | 'x' | 'y', string>>;
  #directory: Directory | undefined;
  #nonce: string | undefined;
  #account: string | undefined;
  #due = 0;

  constructor(options: AcmeClientOptions) {
    this.#options = options;
    const { crv = '', kty = '', x = '', y = '' } = createPublicKey(options.accountKey).export({ format: 'jwk' });
    this.#jwk = { crv, kty, x, y };
  }

  /**
   * A certificate with its chain, in PEM, for these names and a request of them (PKCS #10, DER).
   * @throws AcmeError.
   */
  async order(names: readonly string[], request: Uint8Array, answers: ChallengeAnswers): Promise<string> {
    this.#due = performance.now() + ORDER_MILLIS;
    const { newAccount, newOrder } = await this.#readDirectory();
    const account = await this.#post(newAccount, { termsOfServiceAgreed: true });
    this.#account = locationOf(account);
    const identifiers = names.map((value) => ({ type: 'dns', value }));
    const made = await this.#post(newOrder, { identifiers });
    const at = locationOf(made);
    const { authorizations, finalize } = readAs(order, made);
    for (const one of authorizations) await this.#prove(one, answers);
    await this.#until(order, at, ({ status }) => status !== 'pending');
    await this.#post(finalize, { csr: Buffer.from(request).toString('base64url') });
    const ended = await this.#until(order, at, ({ status }) => status !== 'processing' && status !== 'ready');
    if (ended.status !== 'valid' || ended.certificate === undefined)
      throw refused(ended.error, 'The order was refused');
    return (await this.#post(ended.certificate, undefined)).text;
  }

  /** Has the authority look at one name. */
  async #prove(at: string, answers: ChallengeAnswers): Promise<void> {
    const { challenges, identifier, status } = readAs(authorization, await this.#post(at, undefined));
    if (status === 'valid') return;
    const challenge = challenges.find(({ type }) => type === 'http-01');
    if (challenge === undefined) {
      throw new AcmeError('unreadable', `The authority offers no HTTP-01 challenge for ${identifier.value}.`);
    }
    const thumbprint = createHash('sha256').update(JSON.stringify(this.#jwk)).digest('base64url');
    answers.show(challenge.token, `${challenge.token}.${thumbprint}`);
    await this.#post(challenge.url, {});
    const ended = await this.#until(authorization, at, (one) => one.status !== 'pending');
    if (ended.status === 'valid') return;
    const fault = ended.challenges.find(({ error }) => error !== undefined)?.error;
    throw refused(fault, `The authority could not see that ${identifier.value} is this server`);
  }

  async #readDirectory(): Promise<Directory> {
    if (this.#directory !== undefined) return this.#directory;
    const reply = await this.#send({ method: 'GET', url: this.#options.directory });
    this.#directory = readAs(directory, reply);
    return this.#directory;
  }

  /** Asks until it is so; the authority may say how long to wait. */
  async #until<T>(form: z.ZodType<T>, at: string, isSo: (state: T) => boolean): Promise<T> {
    for (let wait = POLL_MILLIS; ; wait = Math.min(POLL_MILLIS_MAX, wait * 2)) {
      const reply = await this.#post(at, undefined);
      const state = readAs(form, reply);
      if (isSo(state)) return state;
      if (performance.now() + wait > this.#due) throw new AcmeError('late', 'The authority did not decide in time.');
      const asked = Math.min(POLL_MILLIS_MAX, readRetryAfter(reply.headers['retry-after'], Date.now()) ?? wait);
      await pause(asked, undefined, { signal: this.#options.signal });
    }
  }

  /** Without a payload it reads (RFC 8555, 6.3). @throws AcmeError. */
  async #post(at: string, payload: object | undefined): Promise<OutgoingReply> {
    for (let attempt = 1; ; attempt += 1) {
      const nonce = await this.#takeNonce();
      const who = this.#account === undefined ? { jwk: this.#jwk } : { kid: this.#account };
      const head = encode({ alg: 'ES256', ...who, nonce, url: at });
      const said = payload === undefined ? '' : encode(payload);
      // Its two numbers, as JOSE has them, and not in DER (RFC 7518, 3.4).
      const how = { key: this.#options.accountKey, dsaEncoding: 'ieee-p1363' } as const;
      const signature = sign('sha256', Buffer.from(`${head}.${said}`), how).toString('base64url');
      const body = JSON.stringify({ protected: head, payload: said, signature });
      const headers = { 'content-type': 'application/jose+json' };
      const reply = await this.#send({ method: 'POST', url: at, headers, body });
      this.#noteNonce(reply);
      if (reply.status < 400) return reply;
      const fault = readProblem(reply);
      if (problemOf(fault) === 'badNonce' && attempt < NONCES_MAX) continue;
      throw refused(fault, `The authority answered ${reply.status}`, reply);
    }
  }

  async #takeNonce(): Promise<string> {
    if (this.#nonce === undefined) {
      const { newNonce } = await this.#readDirectory();
      this.#noteNonce(await this.#send({ method: 'HEAD', url: newNonce }));
    }
    const nonce = this.#nonce;
    this.#nonce = undefined;
    if (nonce === undefined) throw new AcmeError('unreadable', 'The authority gave no nonce.');
    return nonce;
  }

  #noteNonce({ headers }: OutgoingReply): void {
    const nonce = headers['replay-nonce'];
    if (typeof nonce === 'string') this.#nonce = nonce;
  }

  async #send(request: Pick<OutgoingRequest, 'body' | 'headers' | 'method' | 'url'>): Promise<OutgoingReply> {
    const { allowPrivateTargets, signal } = this.#options;
    const headers = { 'user-agent': 'parley', ...request.headers };
    const bounds = { millis: REQUEST_MILLIS, bytesMax: REPLY_BYTES_MAX };
    try {
      return await sendOutgoing({ ...request, ...bounds, headers, allowPrivateTargets, signal });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new AcmeError('unreachable', `${new URL(request.url).origin} cannot be reached (${code ?? message}).`);
    }
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Where what was made is (RFC 8555, 7.3 and 7.4). @throws AcmeError. */
function locationOf({ headers: { location } }: OutgoingReply): string {
  if (location !== undefined && url.safeParse(location).success) return location;
  throw new AcmeError('unreadable', 'The authority did not say where to go on.');
}

/** @throws AcmeError for an answer that is none of this protocol. */
function readAs<T>(form: z.ZodType<T>, { status, text }: OutgoingReply): T {
  const read = form.safeParse(readJson(text));
  if (read.success) return read.data;
  throw new AcmeError('unreadable', `The authority answered ${status} with what is not of ACME.`);
}

function readProblem({ text }: OutgoingReply): Problem {
  return problem.safeParse(readJson(text)).data ?? {};
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function problemOf({ type = '' }: Problem): string {
  return type.slice(type.lastIndexOf(':') + 1);
}

function refused(fault: Problem | undefined, what: string, reply?: OutgoingReply): AcmeError {
  const kind = fault === undefined ? 'unreadable' : problemOf(fault);
  // It says what the authority saw; the log is not a place for much of somebody else's words.
  const detail = (fault?.detail ?? '').replaceAll(/\s+/g, ' ').slice(0, 300);
  const why = [kind, detail].filter((part) => part !== '').join(': ');
  return new AcmeError(kind, `${what} (${why}).`, readRetryAfter(reply?.headers['retry-after'], Date.now()));
}
