/** The HTTP door for calendar messages: a mail as it arrived, from whoever the operator's mail comes through. */
import type { FastifyInstance } from 'fastify';
import { bearerOf } from '#src/http/client-routes.ts';
import { MAIL_SERVICE, type ServiceTokens } from '#src/identity/service-tokens.ts';
import { envelopeAddress } from '#src/mail/inbound/from-address.ts';
import { MAIL_RECIPIENTS_MAX } from '#src/mail/inbound/lmtp-server.ts';
import { MAIL_BYTES_MAX } from '#src/mail/inbound/mail-reader.ts';
import { MAIL_OUTCOMES } from '#src/mail/inbound/outcomes.ts';
import {
  CALENDAR_MAIL_ROUTES,
  RECIPIENTS_HEADER,
  type MailReport,
} from '#src/protocol/calendars/calendar-mail-routes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { MailIntake } from './mail-intake.ts';

/** Adds the door to the listener of the calendar. */
export async function addMailRoutes(
  app: FastifyInstance,
  intake: MailIntake,
  services: Pick<ServiceTokens, 'authenticate'>,
): Promise<void> {
  await app.register(async (door) => {
    door.removeAllContentTypeParsers();
    door.addContentTypeParser('message/rfc822', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
    door.addContentTypeParser('*', (_request, _payload, done) => done(new Refusal('body_not_mail')));
    door.route({
      method: 'POST',
      url: CALENDAR_MAIL_ROUTES.receiveMail.path,
      bodyLimit: MAIL_BYTES_MAX,
      onRequest: async (request) => {
        // Whoever hands mails over also says whom a mail is from.
        if (services.authenticate(bearerOf(request)) !== MAIL_SERVICE) throw new Refusal('right_missing');
      },
      handler: async (request): Promise<MailReport> => {
        const recipients = readRecipients(request.headers[RECIPIENTS_HEADER]);
        if (!(request.body instanceof Buffer)) throw new Refusal('body_not_mail');
        const outcomes = await intake.receive(request.body, recipients);
        const items = outcomes.map((outcome, at) => {
          const { say, standing } = MAIL_OUTCOMES[outcome];
          return { recipient: recipients[at] ?? '', outcome, standing, say };
        });
        return { items, next: null };
      },
    });
  });
}

/** The addresses of the envelope, separated by commas. @throws Refusal `header_invalid`. */
function readRecipients(header: string | string[] | undefined): string[] {
  const parts = [header ?? []].flat().flatMap((line) => line.split(','));
  const recipients = parts.map((part) => envelopeAddress(part));
  const known = recipients.filter((address) => address !== undefined);
  if (known.length === 0 || known.length < parts.length || known.length > MAIL_RECIPIENTS_MAX) {
    throw new Refusal('header_invalid', { field: RECIPIENTS_HEADER });
  }
  return known;
}
