/** The directory server as the settings have it, with what holds where they say nothing. */
import type { LdapSettings } from '#src/identity/ldap/ldap-directory.ts';
import type { Settings } from './settings.ts';

/** Any of the kinds of groups that servers have. */
const GROUP_FILTER = '(|(objectClass=groupOfNames)(objectClass=groupOfUniqueNames)(objectClass=group))';

/** Undefined while it is not filled in. @throws Refusal `encryption_locked`. */
export function readLdapSettings(settings: Pick<Settings, 'read'>): LdapSettings | undefined {
  const set = settings.read('ldap');
  if (set === undefined) return undefined;
  return {
    url: set.url,
    startTls: set.start_tls ?? true,
    authority: set.certificate,
    bindDn: set.bind_dn,
    bindPassword: set.bind_password,
    baseDn: set.base_dn,
    userFilter: set.user_filter ?? '(objectClass=person)',
    usernameAttribute: set.username_attribute ?? 'uid',
    idAttribute: set.id_attribute ?? 'entryUUID',
    nameAttribute: set.name_attribute ?? 'cn',
    mailAttribute: set.mail_attribute ?? 'mail',
    groupBaseDn: set.group_base_dn,
    groupFilter: set.group_filter ?? GROUP_FILTER,
    createsPeople: set.creates_people ?? false,
    syncSeconds: set.sync_seconds ?? 30,
    blockPercentMax: set.block_percent_max ?? 10,
  };
}
