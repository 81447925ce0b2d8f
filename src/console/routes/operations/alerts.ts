/** Alerts that the server raised about itself and its nodes. */
import { z } from 'zod';
import { isId } from '#src/base/ids.ts';
import { ALERT_KINDS, type AlertKind, type Alerts } from '#src/monitoring/alerts.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const ALERTS_PAGE_MAX = 200;
const ALERTS_PAGE_DEFAULT = 50;

const alert = z
  .strictObject({
    id: z.string(),
    kind: z.enum(Object.keys(ALERT_KINDS) as [AlertKind, ...AlertKind[]]),
    /** What the kind means, in a sentence. */
    say: z.string(),
    /** `node:<id>`, `server`. Not called `subject`: a field of that name is a mail's, and hidden from vendors. */
    about: z.string(),
    details: z.string(),
    state: z.enum(['open', 'closed']),
    since: z.string(),
    last_seen: z.string(),
    closed_at: z.string().nullable(),
  })
  .meta({ id: 'Alert' });

export const alertsRoutes = {
  listAlerts: consoleRoute.get('/alerts', 'Alerts, the newest first. They open and close by themselves.', {
    access: 'audit:read',
    vendor: 'depersonalised',
    query: z.strictObject({
      state: z.enum(['open', 'closed']).optional(),
      after: z.string().optional(),
      limit: z.coerce.number().int().min(1).max(ALERTS_PAGE_MAX).default(ALERTS_PAGE_DEFAULT),
    }),
    replies: { 200: z.strictObject({ items: z.array(alert), next: z.string().nullable() }) },
    errors: ['cursor_invalid'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export function makeAlertsPage({ alerts }: { readonly alerts: Alerts }): ConsolePage {
  return page(alertsRoutes, {
    listAlerts: ({ query: { state, after, limit } }) => {
      if (after !== undefined && !isId('alrt', after)) throw new Refusal('cursor_invalid');
      const found = alerts.page(state, after, limit + 1);
      const items = found.slice(0, limit).map(({ id, document }) => ({
        id,
        kind: document.kind,
        say: ALERT_KINDS[document.kind].say,
        about: document.subject,
        details: document.details,
        state: document.state,
        since: document.since,
        last_seen: document.lastSeen,
        closed_at: document.closedAt ?? null,
      }));
      return { status: 200, body: { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null } };
    },
  });
}
