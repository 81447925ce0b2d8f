/** Quotas: how much of each a person, and all people together, have used. What each one is, is a setting. */
import type { People } from '#src/directory/people.ts';
import type { QuotaReport } from '#src/monitoring/quota-report.ts';
import { EVERYBODY, quotasReply } from '#src/protocol/quotas.ts';
import { known } from '../people/users.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

export const quotasRoutes = {
  readQuotas: consoleRoute.get('/quotas', 'The quotas of all people together, and how much of each is used.', {
    access: 'settings:read',
    vendor: 'closed',
    replies: { 200: quotasReply },
  }),
  readUserQuotas: consoleRoute.get('/users/:username/quotas', 'The quotas of a person, and how much of each is used.', {
    access: 'users:read',
    vendor: 'closed',
    replies: { 200: quotasReply },
    errors: ['person_not_found'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export interface QuotasPageOptions {
  readonly people: Pick<People, 'read'>;
  readonly quotaReport: QuotaReport;
}

export function makeQuotasPage({ people, quotaReport }: QuotasPageOptions): ConsolePage {
  return page(quotasRoutes, {
    readQuotas: () => ({ status: 200, body: { items: quotaReport.of(EVERYBODY), next: null } }),
    readUserQuotas: async ({ parameters: { username } }) =>
      await known(async () => {
        people.read(username);
        return { status: 200, body: { items: quotaReport.of(username), next: null } };
      }),
  });
}
