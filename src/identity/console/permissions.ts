/**
 * The permission catalogue of the console and the built-in roles over it (CON-03, VND-07). A permission is `area:read`
 * or `area:write`; the five reads of the roles that only look on are the contract's.
 */
export const PERMISSIONS = [
  'gateways:read',
  'gateways:write',
  'routing:read',
  'routing:write',
  'users:read',
  'users:write',
  'settings:read',
  'settings:write',
  'audit:read',
  /** Which conversations there are, with the titles of rooms, and who is in them; never what is said. */
  'conversations:read',
  'conversations:write',
  /** Who may do what, and the keys: roles, second factors of others, break-glass, vendor tokens, encryption. */
  'access:write',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** The contract's five. Titles of rooms are people's own words: whoever merely looks on is not shown them. */
const READS = PERMISSIONS.filter(
  (permission) => permission.endsWith(':read') && !permission.startsWith('conversations:'),
);

/** Roles of the console. `vendor_support` is that of vendor tokens and of nobody else. */
export const CONSOLE_ROLES = {
  owner: PERMISSIONS,
  administrator: PERMISSIONS.filter((permission) => permission !== 'access:write'),
  viewer: READS,
  vendor_support: READS,
} as const satisfies Record<string, readonly Permission[]>;
export type ConsoleRole = keyof typeof CONSOLE_ROLES;

/** Roles that a person may have. A person without one has no way into the console. */
export const PERSON_CONSOLE_ROLES = ['owner', 'administrator', 'viewer'] as const satisfies readonly ConsoleRole[];
export type PersonConsoleRole = (typeof PERSON_CONSOLE_ROLES)[number];

/** Whether a role has a permission. */
export function permits(role: ConsoleRole, permission: Permission): boolean {
  return (CONSOLE_ROLES[role] as readonly Permission[]).includes(permission);
}
