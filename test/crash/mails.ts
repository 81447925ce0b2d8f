/** Calendar mail under kills, both ways: what people here send to others outside, and what comes in from there. */
import { setTimeout as pause } from 'node:timers/promises';
import { AUTHSERV } from '#test/calendar/mail/mailing.ts';
import { mailSettings, MailServer, smtpError } from '#test/mail/mail-server.ts';
import { consoleOf } from '#test/support/console.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { TestServer } from '#test/support/server.ts';
import { MailsIn } from './mails-in.ts';
import { MailsOut } from './mails-out.ts';
import type { Part, PartOptions } from './part.ts';

/** How often the mail server turns a mail away for now, which it takes the next time, and how often it takes its time. */
const TURNED_AWAY_SHARE = 0.03;
const SLOW_SHARE = 0.2;
const SLOW_MILLIS_MAX = 150;

export class MailPart implements Part {
  readonly environment = { PARLEY_ALLOW_PRIVATE_TARGETS: 'true', PARLEY_LMTP_PORT: '0' };
  readonly #options: PartOptions;
  readonly #server: MailServer;
  readonly #moods: Moods;
  readonly #out: MailsOut;
  readonly #in: MailsIn;

  private constructor(options: PartOptions, server: MailServer, moods: Moods) {
    this.#options = options;
    this.#server = server;
    this.#moods = moods;
    this.#out = new MailsOut(options, server);
    this.#in = new MailsIn(options);
  }

  /** Starts the mail server that the installation is to send by. */
  static async open(options: PartOptions): Promise<MailPart> {
    const moods = new Moods(options.random.fork());
    const onMail = async (number: number) => await moods.meet(server.sources[number - 1] ?? '');
    const server: MailServer = await MailServer.open({ after: () => undefined }, { isOpen: true, onMail });
    return new MailPart(options, server, moods);
  }

  get figures(): Record<string, number> {
    return { ...this.#out.figures, turnedAway: this.#moods.turnedAway, ...this.#in.figures };
  }

  async settle(server: TestServer): Promise<void> {
    const console = consoleOf(server, this.#options.ownerToken);
    const { domain, smtp_host: host, smtp_port: port } = mailSettings(this.#server.port);
    const settings = { domain, smtp_host: host, smtp_port: port, smtp_security: 'none', trusted_authserv_id: AUTHSERV };
    const set = await console('PUT', '/settings/mail', settings);
    if (set.status !== 200) throw new Error(`The settings of mail were refused: ${set.text}`);
    await this.#out.settle(server, console);
    await this.#in.settle(server, console);
  }

  async traffic(server: TestServer): Promise<void> {
    await Promise.all([this.#out.traffic(server), this.#in.traffic(server)]);
  }

  async verify(server: TestServer): Promise<void> {
    await Promise.all([this.#out.verify(server), this.#in.verify(server)]);
  }

  async close(): Promise<void> {
    await this.#server.close();
  }
}

/** What the mail server does with each mail. */
class Moods {
  turnedAway = 0;
  readonly #random: SeededRandom;
  readonly #met = new Set<string>();

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  async meet(source: string): Promise<Error | undefined> {
    const [, id = ''] = /^Message-ID: *(\S+)/im.exec(source) ?? [];
    const isNew = !this.#met.has(id);
    this.#met.add(id);
    if (this.#random.chance(SLOW_SHARE)) await pause(this.#random.whole(1, SLOW_MILLIS_MAX));
    if (!isNew || !this.#random.chance(TURNED_AWAY_SHARE)) return undefined;
    this.turnedAway += 1;
    return smtpError(451, '4.7.1 Come back later');
  }
}
