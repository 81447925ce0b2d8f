/** The HTTP forms of quotas on the coordinator, as data: see `routes.ts`. */
import { quotasReply } from './quotas.ts';
import { route, type Route } from './route.ts';

export const QUOTA_ROUTES = {
  readQuotas: route.get('/v1/me/quotas', 'How much of each quota the caller has used, and how much it is.', {
    replies: { 200: quotasReply },
  }),
} as const satisfies Record<string, Route>;
