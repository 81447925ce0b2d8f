/**
 * The LMTP door (RFC 2033): the operator's mail server hands mails over, and hears of each recipient what became of it.
 * Whoever may connect is believed as far as the mail server's results in the mail are: it belongs on loopback, or
 * behind a firewall.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { SMTPServerDataStream } from 'smtp-server';
import { MAIL_BYTES_MAX } from './mail-reader.ts';
import { MAIL_OUTCOMES, type MailOutcome } from './outcomes.ts';

/** Recipients of one mail; the sending server sends the rest in another one. [452] */
export const MAIL_RECIPIENTS_MAX = 100;
/** Connections at a time: a mail server keeps a handful open. [421] */
export const LMTP_CONNECTIONS_MAX = 20;
/** How long a connection may be silent. Then it ends; what was not acknowledged is sent again. */
const IDLE_MILLIS = 60_000;
/** How long a connection may last: a mail a second for five minutes. Then it ends, in the same way. */
const CONNECTION_MILLIS = 300_000;

export interface LmtpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly idleMillis?: number;
  readonly connectionMillis?: number;
  /** Whether somebody is there whose address it is. */
  readonly isRecipient: (address: string) => boolean;
  /** What became of a mail for each recipient, in their order, once it is on disk. */
  readonly receive: (mail: Uint8Array, recipients: readonly string[]) => Promise<readonly MailOutcome[]>;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

export interface LmtpServer {
  readonly port: number;
  readonly close: (millis: number) => Promise<void>;
}

/** A reply of a code; the enhanced code stands in front of its text (RFC 2034). */
function replyOf(outcome: MailOutcome): string | Error {
  const { reply, enhanced, say, standing } = MAIL_OUTCOMES[outcome];
  const text = `${enhanced} ${say} [${outcome}]`;
  return standing === 'accepted' ? text : Object.assign(new Error(text), { responseCode: reply });
}

/** Opens the door. @throws what listening fails with, such as EADDRINUSE. */
export async function openLmtpServer(options: LmtpServerOptions): Promise<LmtpServer> {
  const { host, isRecipient, log, port } = options;
  // Not imported, as in `smtp.ts` of `outgoing`: most installations have no such door.
  const { SMTPServer } = await import('smtp-server');
  const server = new SMTPServer({
    lmtp: true,
    name: 'parley',
    banner: 'Parley calendar',
    disabledCommands: ['AUTH', 'STARTTLS'],
    // Nobody signs in here, so the bound on commands before it would end every long mail.
    maxAllowedUnauthenticatedCommands: false,
    disableReverseLookup: true,
    logger: false,
    size: MAIL_BYTES_MAX,
    rejectOversized: true,
    maxRecipients: MAIL_RECIPIENTS_MAX,
    maxClients: LMTP_CONNECTIONS_MAX,
    socketTimeout: options.idleMillis ?? IDLE_MILLIS,
    closeTimeout: 0,
    onRcptTo: ({ address }, _session, done) => {
      if (isRecipient(address)) return done();
      const reply = replyOf('recipient_unknown');
      return done(reply instanceof Error ? reply : null);
    },
    onData: (stream, { envelope }, done) => {
      const recipients = envelope.rcptTo.map(({ address }) => address);
      void answer(stream, recipients, options, (replies) => done(null, replies));
    },
  });
  // A connection that breaks is the other side's affair.
  server.on('error', (error) => log.warn('a connection of the LMTP door failed', { error }));
  server.server.on('connection', (socket) => {
    const timer = setTimeout(() => socket.destroy(), options.connectionMillis ?? CONNECTION_MILLIS);
    socket.once('close', () => clearTimeout(timer));
  });
  server.listen(port, host);
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    close: async (millis) => {
      server.options.closeTimeout = millis;
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      await promise;
    },
  };
}

/** Takes a mail in and answers for each recipient; a fault of the server is told to the log, and the mail is sent again later. */
async function answer(
  stream: SMTPServerDataStream,
  recipients: readonly string[],
  { log, receive }: Pick<LmtpServerOptions, 'log' | 'receive'>,
  reply: (replies: (string | Error)[]) => void,
): Promise<void> {
  try {
    const mail = await take(stream);
    const outcomes = mail === undefined ? recipients.map(() => 'too_large' as const) : await receive(mail, recipients);
    reply(outcomes.map(replyOf));
  } catch (error) {
    log.warn('a mail could not be taken', { error });
    reply(recipients.map(() => replyOf('failed')));
  }
}

/** The mail; undefined where it is larger than one may be. It is read to its end all the same. */
async function take(stream: SMTPServerDataStream): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (stream.byteLength <= MAIL_BYTES_MAX) chunks.push(chunk);
  }
  return stream.sizeExceeded ? undefined : Buffer.concat(chunks);
}
