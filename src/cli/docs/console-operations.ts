/** What the OpenAPI document says of the console's routes: who may call them, and how a vendor token meets them. */
import { CONSOLE_COMMON_ERRORS } from '#src/console/route-table.ts';
import type { Access, ConsoleRoute, VendorExposure } from '#src/console/route.ts';
import { isOpenToVendors } from '#src/console/vendor-gate.ts';
import type { Route } from '#src/protocol/route.ts';
import type { JsonObject } from './schemas.ts';

/** How a caller of the console proves who it is: one token, in either of two headers. */
export const CONSOLE_SECURITY_SCHEMES = {
  console: { type: 'http', scheme: 'bearer', description: 'The token of a console session.' },
  consoleHeader: { type: 'apiKey', in: 'header', name: 'X-Admin-Token', description: 'The same token.' },
  vendor: { type: 'http', scheme: 'bearer', description: 'A vendor token, `svc_vst_…`; also as `X-Admin-Token`.' },
};

/** The route in the form of the others, for what all have in common. */
export function consoleForm(route: ConsoleRoute): Route {
  const isPublic = route.access === 'public';
  return {
    method: route.method,
    path: route.path,
    summary: route.summary,
    auth: isPublic ? 'none' : 'session',
    ...(route.body === undefined ? {} : { body: route.body }),
    ...(route.query === undefined ? {} : { query: route.query }),
    replies: route.replies,
    errors: isPublic ? route.errors : [...new Set([...route.errors, ...CONSOLE_COMMON_ERRORS])].toSorted(),
  };
}

const ACCESS: Readonly<Record<Exclude<Access, `${string}:${string}`>, string>> = {
  public: 'Anybody may call it.',
  second_factor_setup: 'For console sessions, also before their second factor.',
  signed_in: 'For everybody who is signed in to the console.',
};

const EXPOSURE: Readonly<Record<VendorExposure, string>> = {
  open: 'A vendor token reads it as it is.',
  depersonalised: 'A vendor token reads it de-personalised.',
  closed: 'Closed to vendor tokens.',
};

/** Access, exposure and audit event in words, and the tokens that open it. */
export function consoleStatements({ access, audit, vendor, ...route }: ConsoleRoute): JsonObject {
  const who = access in ACCESS ? ACCESS[access as keyof typeof ACCESS] : `Needs \`${access}\`.`;
  const trail = audit === null ? [] : [`Audited as \`${audit}\`.`];
  const tokens = isOpenToVendors({ access, audit, vendor, ...route }) ? [{ vendor: [] }] : [];
  return {
    description: [who, EXPOSURE[vendor], ...trail].join(' '),
    security: access === 'public' ? [] : [{ console: [] }, { consoleHeader: [] }, ...tokens],
  };
}

/** Names in the path are ids as lists and earlier answers give them. */
export function consolePathParameters({ path }: ConsoleRoute): JsonObject[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: 'As a list of the console gives it.',
    schema: { type: 'string', minLength: 1 },
  }));
}
