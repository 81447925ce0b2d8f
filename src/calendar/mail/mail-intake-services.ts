/** The two doors for calendar mail, LMTP and HTTP, with the one intake behind both. */
import type { FastifyInstance } from 'fastify';
import type { Config } from '#src/config.ts';
import { ServiceTokens } from '#src/identity/service-tokens.ts';
import { openLmtpServer, type LmtpServer, type LmtpServerOptions } from '#src/mail/inbound/lmtp-server.ts';
import { MailPool } from '#src/mail/inbound/mail-pool.ts';
import { MailIntake, type MailIntakeOptions } from './mail-intake.ts';
import { addMailRoutes } from './mail-routes.ts';

export interface MailIntakeServicesOptions extends Omit<MailIntakeOptions, 'mails' | 'log'> {
  readonly config: Pick<Config, 'drainSeconds' | 'host' | 'lmtpPort' | 'serviceTokens'>;
  readonly log: MailIntakeOptions['log'] & LmtpServerOptions['log'];
}

export class MailIntakeServices {
  readonly #options: MailIntakeServicesOptions;
  readonly #mails = new MailPool();
  readonly #intake: MailIntake;
  #lmtp: LmtpServer | undefined;

  constructor(options: MailIntakeServicesOptions) {
    this.#options = options;
    this.#intake = new MailIntake({ ...options, mails: this.#mails });
  }

  /** For the metrics. */
  get metrics(): MailIntake['metrics'] {
    return this.#intake.metrics;
  }

  /** Adds the HTTP door to the calendar's app. Both doors close with it, before what stands behind them. */
  async addTo(app: FastifyInstance): Promise<void> {
    const { config } = this.#options;
    await addMailRoutes(app, this.#intake, new ServiceTokens(config.serviceTokens ?? {}));
    app.addHook('preClose', async () => await this.#lmtp?.close(config.drainSeconds * 1000));
    app.addHook('onClose', async () => await this.#mails.close());
  }

  /** Opens the LMTP door where the configuration has a port for it; the port. */
  async openLmtp(): Promise<number | undefined> {
    const { config, log } = this.#options;
    if (config.lmtpPort === undefined) return undefined;
    this.#lmtp = await openLmtpServer({
      ...{ host: config.host, port: config.lmtpPort, log },
      isRecipient: (address) => this.#intake.recipientOf(address) !== undefined,
      receive: async (mail, recipients) => await this.#intake.receive(mail, recipients),
    });
    return this.#lmtp.port;
  }
}
