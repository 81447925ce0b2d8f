/** The form by which the operator's mail system hands calendar messages over, where it does not speak LMTP. */
import { z } from 'zod';
import { route, type Route } from '../route.ts';

/** The envelope's recipients, separated by commas: in a header, since queries end up in the logs of proxies. */
export const RECIPIENTS_HEADER = 'x-recipients';

/** What became of the mail for each recipient, in their order. */
export const mailReport = z
  .strictObject({
    items: z.array(
      z.strictObject({
        recipient: z.string(),
        /** Which outcome it is, to branch on: `applied`, `stale`, `sender_unverified` … */
        outcome: z.string(),
        /** Done with; worth sending again later; or refused for good. */
        standing: z.enum(['accepted', 'later', 'refused']),
        say: z.string(),
      }),
    ),
    next: z.null(),
  })
  .meta({ id: 'MailReport' });
export type MailReport = z.infer<typeof mailReport>;

export const CALENDAR_MAIL_ROUTES = {
  receiveMail: route.post(
    '/v1/mail',
    'Takes a mail with a calendar message (`message/rfc822`, up to 2 MiB) for the recipients in `X-Recipients`; ' +
      'with the service token named `mail`. The same mail once more changes nothing.',
    {
      auth: 'service',
      replies: { 200: mailReport },
      errors: ['body_not_mail', 'body_too_large', 'header_invalid', 'right_missing'],
    },
  ),
} as const satisfies Record<string, Route>;
