/** A mail server on loopback that keeps what it takes, and can be told to refuse, to be slow or to break off. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callbackify } from 'node:util';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { makeCertificate } from '#test/support/certificate.ts';
import { until } from '#test/support/waiting.ts';

/** A certificate that signs itself: a server trusts it where NODE_EXTRA_CA_CERTS names its file. */
export const { certificate: CERTIFICATE, key: KEY } = makeCertificate(Date.now(), 30);

export const ACCOUNT = { username: 'parley', password: 'heron of the mail' };

export interface TakenMail {
  /** Addresses of the envelope. */
  readonly from: string;
  readonly to: readonly string[];
  readonly source: string;
  readonly email: Email;
  readonly isSecure: boolean;
  /** Whom the connection signed in as. */
  readonly user: string | undefined;
}

export interface MailServerOptions {
  readonly port?: number;
  readonly secure?: boolean;
  /** Whether nobody may send without signing in. */
  readonly isOpen?: boolean;
  /** Refuses a recipient where it answers an error with `responseCode`. */
  readonly onRecipient?: (address: string) => Error | undefined;
  /** Refuses what is sent; `break` ends the connection in the middle of it. */
  readonly onMail?: (number: number) => Error | 'break' | undefined | Promise<Error | 'break' | undefined>;
}

/** An error that the server answers with that status and text. */
export function smtpError(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

/** What it ends with: a test, usually. */
export interface Ending {
  after(end: () => Promise<void>): void;
}

export class MailServer {
  readonly mails: TakenMail[];
  /** What was sent, taken or not. */
  readonly sources: string[];
  readonly port: number;
  readonly close: () => Promise<void>;

  private constructor(server: SMTPServer, mails: TakenMail[], sources: string[]) {
    this.mails = mails;
    this.sources = sources;
    this.port = (server.server.address() as AddressInfo).port;
    let closing: Promise<void> | undefined;
    this.close = async () =>
      await (closing ??= new Promise((resolve) => {
        for (const connection of server.connections) connection.close();
        server.close(() => resolve());
      }));
  }

  static async open(t: Ending, options: MailServerOptions = {}): Promise<MailServer> {
    const { isOpen = false, onMail, onRecipient, port = 0, secure = false } = options;
    const mails: TakenMail[] = [];
    const sources: string[] = [];
    const settings: SMTPServerOptions = {
      ...{ secure, key: KEY, cert: CERTIFICATE, authOptional: isOpen, closeTimeout: 100 },
      disableReverseLookup: true,
      logger: false,
      onAuth: ({ password, username }, _session, done) => {
        const isRight = username === ACCOUNT.username && password === ACCOUNT.password;
        if (isRight) done(null, { user: username });
        else done(smtpError(535, 'Wrong'));
      },
      onRcptTo: ({ address }, _session, done) => done(onRecipient?.(address)),
      onData: (stream, session, done) => {
        const take = async (): Promise<Error | undefined> => {
          const chunks: Buffer[] = [];
          for await (const chunk of stream) chunks.push(chunk as Buffer);
          const source = Buffer.concat(chunks);
          const fault = await onMail?.(sources.push(source.toString()));
          if (fault === 'break') server.connections.forEach((connection) => connection.close());
          if (fault !== undefined) return fault === 'break' ? smtpError(421, 'Gone') : fault;
          mails.push({
            from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
            to: session.envelope.rcptTo.map(({ address }) => address),
            source: source.toString(),
            email: await PostalMime.parse(source),
            isSecure: session.secure,
            user: session.user,
          });
          return undefined;
        };
        callbackify(take)((error, fault) => done(error ?? fault));
      },
    };
    const server = new SMTPServer(settings);
    // Clients that break off are what some tests are about.
    server.on('error', () => undefined);
    server.listen(port, '127.0.0.1');
    await once(server.server, 'listening');
    const opened = new MailServer(server, mails, sources);
    t.after(async () => await opened.close());
    return opened;
  }

  /** Waits for so many mails in all. */
  async taken(count: number): Promise<readonly TakenMail[]> {
    await until(() => this.mails.length >= count, `${count} mails, of which ${this.mails.length} came`);
    return this.mails;
  }
}

/** The environment of a server that may write to this machine and trusts its certificate. */
export function trusting(t: { after(end: () => void): void }): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'certificate.pem');
  writeFileSync(file, CERTIFICATE);
  return { NODE_EXTRA_CA_CERTS: file, PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
}

/** What the settings screen says of such a server. */
export function mailSettings(port: number): Record<string, unknown> {
  return {
    ...{ domain: 'example.org', smtp_host: 'localhost', smtp_port: port },
    ...{ smtp_username: ACCOUNT.username, smtp_password: ACCOUNT.password },
  };
}

/** The text of the calendar in a mail, unfolded, with bare line ends. */
export function calendarOf({ email }: TakenMail): string {
  const part = email.attachments.find(({ mimeType }) => mimeType === 'text/calendar');
  const content = part?.content ?? '';
  const text = typeof content === 'string' ? content : Buffer.from(content as ArrayBuffer).toString();
  return text.replaceAll(/\r?\n /g, '').replaceAll('\r\n', '\n');
}
