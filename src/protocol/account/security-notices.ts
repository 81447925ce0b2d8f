/** What a person is told of changes to what signs them in: on their devices, and by mail where there is mail. */
import { z } from 'zod';
import { count } from '../names.ts';
import { route, type Route } from '../route.ts';

/** Notices that are kept for a person; the oldest goes for a newer one. */
export const SECURITY_NOTICES_MAX = 20;

export const SECURITY_NOTICE_KINDS = [
  'password_changed',
  'password_link_made',
  'factor_added',
  'factor_removed',
  'recovery_codes_made',
  'passkey_copied',
  'email_confirmed',
  'account_bound',
] as const;
export type SecurityNoticeKind = (typeof SECURITY_NOTICE_KINDS)[number];

/** Who did it: the person, somebody of the console, whoever has the host, the server by itself. */
export const NOTICE_AUTHORS = ['you', 'administrator', 'host', 'server'] as const;

export const securityNotice = z
  .strictObject({
    /** Grows from notice to notice. */
    id: count,
    kind: z.enum(SECURITY_NOTICE_KINDS),
    by: z.enum(NOTICE_AUTHORS),
    /** RFC 3339. */
    at: z.string(),
    /** Where from, where the person did it themselves. */
    address: z.string().optional(),
    /** Whether the session that asks did it. */
    is_here: z.boolean(),
    is_seen: z.boolean(),
  })
  .meta({ id: 'SecurityNotice' });
export type SecurityNotice = z.infer<typeof securityNotice>;

/** The newest first. */
export const securityNoticesReply = z
  .strictObject({ items: z.array(securityNotice), next: z.null() })
  .meta({ id: 'SecurityNotices' });

/** PUT /v1/me/security-notices/seen: notices up to and with that one. */
export const seeSecurityNotices = z.strictObject({ id: count }).meta({ id: 'SeeSecurityNotices' });
export type SeeSecurityNotices = z.infer<typeof seeSecurityNotices>;

export const SECURITY_NOTICE_ROUTES = {
  listSecurityNotices: route.get(
    '/v1/me/security-notices',
    'The last changes to what signs the caller in: passwords, second factors, passkeys, the confirmed address.',
    { replies: { 200: securityNoticesReply } },
  ),
  seeSecurityNotices: route.put(
    '/v1/me/security-notices/seen',
    'Says that the caller has seen them, on every device; but for those of what was done in this very session.',
    {
      body: seeSecurityNotices,
      replies: { 204: null },
    },
  ),
} as const satisfies Record<string, Route>;
