/** Whose name and password are kept by another system, as this server is set up now. */
import { LdapDirectory } from '#src/identity/ldap/ldap-directory.ts';
import { isScimClient } from '#src/identity/scim-clients.ts';
import { SignInSwitches } from '#src/identity/sign-in-switches.ts';
import { identitiesOf, identityAt } from '#src/identity/single-sign-on/person-identities.ts';
import { issuersOfProviders } from '#src/identity/single-sign-on/person-providers.ts';
import { readSetValues, readSignInSettings } from './settings.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';

type View = Pick<AccountsReader, 'document' | 'documents'>;

/**
 * Whether a person is one of the directory server's. Values of its screen that are no secrets tell, so that it is known
 * while encryption at rest is locked; with the screen emptied, its people are this server's own.
 */
export function isKeptByDirectory(view: View, username: string): boolean {
  const { base_dn: baseDn, url } = readSetValues(view, 'ldap');
  if (typeof baseDn !== 'string' || typeof url !== 'string') return false;
  return identityAt(view, username, LdapDirectory.issuerOf({ baseDn })) !== undefined;
}

/** Fields of a profile that a client of SCIM keeps, and a person could change otherwise. */
const PROVISIONED_FIELDS: ReadonlySet<string> = new Set(['display_name', 'title', 'phone']);

/** Whether a field of a person's profile is what another system says, which would take the person's own word away again. */
export function isFieldElsewhere(view: View, username: string, field: string): boolean {
  if (field === 'display_name' && isKeptByDirectory(view, username)) return true;
  const isProvisioned = identitiesOf(view, username).some(({ issuer }) => isScimClient(view, issuer));
  return isProvisioned && PROVISIONED_FIELDS.has(field);
}

/**
 * Whether a person's password is kept elsewhere: everybody's while sign-in is at the provider, that of the directory
 * server's people, and that of people whom a provider made, who were never told one of here. A local password beside it
 * would go on where the other one ended.
 */
export function isPasswordElsewhere(view: View, username: string): boolean {
  if (new SignInSwitches(readSignInSettings(view)).refusePasswords() || isKeptByDirectory(view, username)) return true;
  const made = identitiesOf(view, username).filter(({ bound }) => bound.by === 'first_sign_in');
  const issuers = made.length === 0 ? [] : issuersOfProviders(view);
  return made.some(({ issuer }) => issuers.includes(issuer));
}
