/** The form by which people take their own data with them: its answer is lines, so it is a table of its own. */
import { route, type Route } from '../route.ts';

export const OWN_DATA_ROUTES = {
  exportOwnData: route.get(
    '/v1/me/export',
    "The caller's own data as application/x-ndjson, part by part. Without its last line, `end`, an export is not whole.",
    { replies: { 200: null }, errors: ['encryption_locked', 'busy', 'rate_limited'] },
  ),
} as const satisfies Record<string, Route>;
