/**
 * What sign-in at an identity provider needs to know, and the console role that follows from what the provider says of
 * somebody: from the roles of the account and those of its groups (VND-14).
 */
import { z } from 'zod';
import { PERSON_CONSOLE_ROLES, type PersonConsoleRole } from '../console/permissions.ts';
import { USERNAME } from '#src/protocol/names.ts';
import { highestRole } from '../console/console-role-record.ts';

const roleMap = z.record(z.string().min(1).max(200), z.enum(PERSON_CONSOLE_ROLES));
export const claimName = z.string().min(1).max(200);

/** Whether a host is this machine by its number, which no name server can say otherwise of (RFC 8252, section 8.3). */
export function isLoopbackLiteral(host: string): boolean {
  return host === '127.0.0.1' || host === '[::1]';
}

/** Plain HTTP carries codes and keys in the clear, so it is for a provider on this machine only. */
export function isSecureUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:') return true;
  return url?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
}

export const secureUrl = z.string().max(2000).refine(isSecureUrl, 'An https URL, or http on loopback.');

/** The settings without the client's secret, which is kept apart. */
export const ssoSettings = z.strictObject({
  issuer: secureUrl,
  client_id: z.string().min(1).max(200),
  /** The page of the console that the provider sends people back to; it calls the callback. */
  redirect_uri: secureUrl,
  scope: z.string().min(1).max(500).default('openid profile'),
  /** The claim that names the person. */
  username_claim: claimName.default('preferred_username'),
  /** Claims that list the account's roles and its groups; a dot leads into an object. */
  roles_claim: claimName.default('roles'),
  groups_claim: claimName.default('groups'),
  /** Role or group at the provider → role in the console. */
  roles: roleMap.default({}),
  groups: roleMap.default({}),
  /** Whether an e-mail address that the provider has verified binds an account at its first sign-in. */
  bind_by_email: z.boolean().default(false),
});
export type SsoSettings = z.infer<typeof ssoSettings>;

/** Where the settings are kept; read at every sign-in. */
export interface SsoSettingsReader {
  /** Undefined while sign-in at a provider is not set up. */
  settings(): SsoSettings | undefined;
  /** Undefined for a client without a secret. Throws what the keeper of secrets throws while it is locked. */
  clientSecret(): string | undefined;
}

export type Claims = Readonly<Record<string, unknown>>;

/** The username that the claims give; undefined where they give none that this installation could have. */
export function usernameOf(settings: Pick<SsoSettings, 'username_claim'>, claims: Claims): string | undefined {
  const claim = claimAt(claims, settings.username_claim);
  const username = typeof claim === 'string' ? claim.toLowerCase() : '';
  return USERNAME.test(username) ? username : undefined;
}

/**
 * The e-mail address that the provider has verified, in lower case, where such a one binds accounts. Letters beyond ASCII
 * stay as they are: some of them have one of ASCII as their lower case (U+212A is k), and are another's address.
 */
export function verifiedEmail(settings: Pick<SsoSettings, 'bind_by_email'>, claims: Claims): string | undefined {
  const { email, email_verified: isVerified } = claims;
  if (!settings.bind_by_email || isVerified !== true || typeof email !== 'string') return undefined;
  return email.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The role that the provider gives; undefined for none. */
export function projectedRole(settings: SsoSettings, claims: Claims): PersonConsoleRole | undefined {
  const given = (claim: string, map: SsoSettings['roles']) =>
    textsAt(claims, claim).flatMap((name) => (Object.hasOwn(map, name) ? [map[name] as PersonConsoleRole] : []));
  return highestRole([
    ...given(settings.roles_claim, settings.roles),
    ...given(settings.groups_claim, settings.groups),
  ]);
}

/** Whether the claims hold everything that is asked of them; if not, the provider has more to tell elsewhere. */
export function areComplete(settings: SsoSettings, claims: Claims): boolean {
  const asked = [settings.username_claim];
  if (Object.keys(settings.roles).length > 0) asked.push(settings.roles_claim);
  if (Object.keys(settings.groups).length > 0) asked.push(settings.groups_claim);
  if (settings.bind_by_email) asked.push('email', 'email_verified');
  return asked.every((name) => claimAt(claims, name) !== undefined);
}

/** The texts that a claim lists; none where it lists something else. */
export function textsAt(claims: Claims, name: string): string[] {
  const claim = claimAt(claims, name);
  const values: unknown[] = Array.isArray(claim) ? claim : [claim];
  return values.filter((value) => typeof value === 'string');
}

/** A claim by its name, or by its path: Keycloak has its roles in `realm_access.roles`. */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}
