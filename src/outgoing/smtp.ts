/** A mail server that an administrator names: how it is connected to, and what its failures mean. */
import { connect } from 'node:net';
import type { SMTPTransportGetSocket, SMTPTransportOptions } from 'nodemailer/lib/smtp-transport';
import { Refusal } from '#src/protocol/errors.ts';
import { OutgoingTimeout } from './request.ts';
import { checkedHost, makeLookup, type PrivateTargets } from './targets.ts';

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** `starttls` and `tls` take no server whose certificate nobody vouches for; `none` is in the clear. */
  readonly security: 'starttls' | 'tls' | 'none';
  /** Without one nobody signs in. */
  readonly username?: string;
  readonly password?: string;
}

export interface SmtpBounds {
  readonly allowPrivateTargets: PrivateTargets;
  /** How long connecting, the greeting and each silence of the server may take. */
  readonly millis: number;
}

/** Octets of one answer of a server: far beyond any that means well. */
const RESPONSE_BYTES_MAX = 64 * 1024;

/** What the library takes. Connections go where `targets.ts` lets them. @throws Refusal `target_private`. */
export function smtpOptions(server: SmtpServer, { allowPrivateTargets, millis }: SmtpBounds): SMTPTransportOptions {
  const { host: named, password = '', port, security, username } = server;
  const isIpv6 = named.includes(':');
  const host = checkedHost(new URL(`smtp://${isIpv6 ? `[${named}]` : named}`), allowPrivateTargets);
  const getSocket: SMTPTransportGetSocket = (_options, done) => {
    const socket = connect({ host, port, lookup: makeLookup(allowPrivateTargets) });
    const timer = setTimeout(() => socket.destroy(new OutgoingTimeout(`No connection within ${millis} ms.`)), millis);
    const failed = (error: Error) => {
      clearTimeout(timer);
      done(error);
    };
    socket.once('error', failed);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', failed);
      done(null, { connection: socket });
    });
  };
  return {
    ...{ host, port, getSocket },
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    ...{ connectionTimeout: millis, greetingTimeout: millis, socketTimeout: millis, dnsTimeout: millis },
    maxResponseSize: RESPONSE_BYTES_MAX,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(username === undefined ? {} : { auth: { user: username, pass: password }, forceAuth: true }),
  };
}

/** Connects, greets, begins TLS and signs in as the settings say, and takes leave. @throws as `smtpOptions`; what failed. */
export async function trySmtp(server: SmtpServer, bounds: SmtpBounds): Promise<void> {
  // Not imported at the start: with it come Node's own fetch and all that sends mail in other ways, and most starts send none.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport(smtpOptions(server, bounds));
  const { promise, reject } = Promise.withResolvers<never>();
  // A server that trickles keeps within every timeout of a silence.
  const timer = setTimeout(() => reject(new OutgoingTimeout('No end in sight.')), bounds.millis);
  try {
    await Promise.race([transport.verify(), promise]);
  } finally {
    clearTimeout(timer);
    transport.close();
  }
}

/** What a failure means for a mail that was to go. */
export interface SmtpFailure {
  /** `server`: none would go now. `later`: this one may go later. `refused`: this one will not go. */
  readonly kind: 'server' | 'later' | 'refused';
  /** Whether the other side says that this recipient may not be written to (RFC 3463, X.7). */
  readonly isByPolicy: boolean;
}

/** Commands whose refusal is about the recipient or about what is sent. */
const OF_THE_MAIL = new Set(['RCPT TO', 'DATA', 'BDAT']);

export function smtpFailureOf(error: unknown): SmtpFailure {
  const { code, command = '', response = '', responseCode: status = 0 } = error as LibraryError;
  const isByPolicy = /^\d{3}[ -]5\.7\.\d/.test(response);
  // What the library itself finds wrong: an address that is none, more bytes than the server takes.
  if (status === 0 && (code === 'EENVELOPE' || code === 'EMESSAGE')) return { kind: 'refused', isByPolicy };
  if (!OF_THE_MAIL.has(command)) return { kind: 'server', isByPolicy: false };
  if (status >= 500 && status !== 503) return { kind: 'refused', isByPolicy };
  if (status >= 400 && status !== 421) return { kind: 'later', isByPolicy: false };
  return { kind: 'server', isByPolicy: false };
}

/** Library's code → what is said of it. */
const WORDS: Readonly<Record<string, string>> = {
  EAUTH: 'sign-in refused',
  ENOAUTH: 'sign-in refused',
  ECONNECTION: 'connection closed',
  EDNS: 'name not found',
  ENOTFOUND: 'name not found',
  ECONNREFUSED: 'connection refused',
  ETIMEDOUT: 'timeout',
  ETLS: 'no TLS',
  EPROTOCOL: 'not understood',
};

/** Why a mail server could not be used, in a few words with nothing of what was sent. */
export function smtpWordOf(error: unknown): string {
  if (error instanceof OutgoingTimeout) return 'timeout';
  if (error instanceof Refusal) return error.code;
  const { code = '', library, message = '', responseCode } = error as LibraryError;
  if (/certificate|altnames/i.test(message)) return 'certificate not trusted';
  // What answers in another manner than TLS does.
  const word = WORDS[library === 'SSL routines' ? 'ETLS' : code] ?? 'failed';
  return responseCode === undefined ? word : `${word} (${responseCode})`;
}

/** What the library's errors carry. */
interface LibraryError {
  readonly code?: string;
  readonly command?: string;
  /** Of an error of OpenSSL. */
  readonly library?: string;
  readonly message?: string;
  readonly response?: string;
  readonly responseCode?: number;
}
