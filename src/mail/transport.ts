/** Sends one mail after the other through the mail server of the settings: pooled, bounded, signed. */
import type { createTransport, SendMailOptions } from 'nodemailer';
import type { DkimKey } from '#src/settings/mail-dns.ts';
import { smtpOptions, type SmtpServer } from '#src/outgoing/smtp.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';

/** Connections at a time: what the most modest mail servers let one client have. Beyond it mails wait for one. */
export const MAIL_CONNECTIONS_MAX = 2;
/** Mails over one connection, after which a new one is made: servers end those that live for ever. */
export const MAILS_PER_CONNECTION_MAX = 100;
/** How long connecting, the greeting and each silence of the server may take. [the mail is tried again] */
export const SMTP_SILENCE_MILLIS = 30_000;
/** How long one mail may take in all, so that a server that trickles holds nobody up for ever. [it is tried again] */
export const SMTP_MAIL_MILLIS = 120_000;

/** What mail leaves by. */
export interface MailSetup {
  readonly server: SmtpServer;
  /** The installation's address. */
  readonly from: string;
  readonly dkim: DkimKey | undefined;
}

export interface TransportOptions {
  readonly allowPrivateTargets: PrivateTargets;
  /** SMTP_SILENCE_MILLIS. */
  readonly silenceMillis?: number;
  /** SMTP_MAIL_MILLIS. */
  readonly mailMillis?: number;
}

type Pool = ReturnType<typeof makePool>;

export class Transport {
  readonly #options: TransportOptions;
  /** The pool, and the settings that it was made by. */
  #open: { readonly pool: Pool; readonly by: string } | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** Resolves when the server has taken it; `ending` breaks it off. @throws what `smtpFailureOf` tells apart. */
  async send({ dkim, server }: MailSetup, mail: SendMailOptions, ending: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([AbortSignal.timeout(this.#options.mailMillis ?? SMTP_MAIL_MILLIS), ending]);
    const signed =
      dkim === undefined
        ? {}
        : { dkim: { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.privateKey } };
    // Not imported at the start, as in `smtp.ts` of `outgoing`.
    const { createTransport: create } = await import('nodemailer');
    signal.throwIfAborted();
    await this.#poolFor(server, create).sendMail({
      ...mail,
      ...signed,
      signal,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  /** Ends every connection; a mail that is under way fails. */
  close(): void {
    this.#open?.pool.close({ force: true });
    this.#open = undefined;
  }

  #poolFor(server: SmtpServer, create: typeof createTransport): Pool {
    const by = JSON.stringify(server);
    if (this.#open?.by === by) return this.#open.pool;
    // What is under way on the old settings ends by them.
    this.#open?.pool.close();
    this.#open = { pool: makePool(server, this.#options, create), by };
    return this.#open.pool;
  }
}

function makePool(
  server: SmtpServer,
  { allowPrivateTargets, silenceMillis }: TransportOptions,
  create: typeof createTransport,
) {
  return create({
    ...smtpOptions(server, { allowPrivateTargets, millis: silenceMillis ?? SMTP_SILENCE_MILLIS }),
    pool: true,
    maxConnections: MAIL_CONNECTIONS_MAX,
    maxMessages: MAILS_PER_CONNECTION_MAX,
    // The outbox decides what is tried again, and when.
    maxRequeues: 0,
  });
}
