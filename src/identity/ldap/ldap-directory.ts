/**
 * A directory server (LDAP, Active Directory) as this server asks it: one person by the name that they sign in with,
 * everybody and every group page by page, and whether a password is right, which a bind says.
 *
 * Names go into filters as values, never as text (RFC 4515). An empty password is never sent, since a server takes it
 * for nobody's and says yes (RFC 4513, section 5.1.2). Referrals and aliases are not followed.
 */
import {
  AndFilter,
  EqualityFilter,
  FilterParser,
  InvalidCredentialsError,
  ResultCodeError,
  type Client,
  type Entry,
  type Filter,
} from 'ldapts';
import { randomSymbols } from '#src/base/ids.ts';
import { ldapWordOf, withLdap, type LdapBounds, type LdapTarget } from '#src/outgoing/ldap.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { MEMBER_ATTRIBUTES, membersOf } from './ldap-members.ts';

/** How long connecting, and each answer, may take. Beyond it: `directory_unavailable`. */
export const LDAP_MILLIS = 5_000;

/** Sign-ins that ask the server at once; each has a connection. Beyond it: `busy`. */
export const LDAP_SIGN_INS_MAX = 16;

/** Entries in one page: servers give 1,000 at most by default (MaxPageSize of Active Directory). */
const PAGE_ENTRIES = 500;

/** `ACCOUNTDISABLE` of userAccountControl. */
const ACCOUNT_DISABLED = 2;

/** What `pwdAccountLockedTime` says of an account that somebody locked for good; any other time is of wrong passwords. */
const LOCKED_FOR_GOOD = '000001010000Z';

/**
 * Who is disabled, in each way that servers say it: Active Directory (a bit, by its matching rule), 389 Directory Server,
 * OpenLDAP's password policy. What a server does not know is no match (RFC 4511, section 4.5.1.7).
 */
const DISABLED_FILTER =
  `(|(userAccountControl:1.2.840.113556.1.4.803:=${ACCOUNT_DISABLED})` +
  `(nsAccountLock=TRUE)(pwdAccountLockedTime=${LOCKED_FOR_GOOD}))`;

/** What the issuer of a directory server's accounts begins with: no URL of a provider does. */
const ISSUER_PREFIX = 'ldap:';

/** Whether accounts of an issuer are those of a directory server. */
export function isDirectory(issuer: string): boolean {
  return issuer.startsWith(ISSUER_PREFIX);
}

/** What the settings say, with defaults. */
export interface LdapSettings extends LdapTarget {
  readonly bindDn: string;
  readonly bindPassword: string;
  readonly baseDn: string;
  readonly userFilter: string;
  /** Attributes: the name that people sign in with, the id that never changes, the name for readers, the address. */
  readonly usernameAttribute: string;
  readonly idAttribute: string;
  readonly nameAttribute: string;
  readonly mailAttribute: string;
  /** Below which groups are; undefined where none are taken. */
  readonly groupBaseDn: string | undefined;
  readonly groupFilter: string;
  readonly createsPeople: boolean;
  readonly syncSeconds: number;
  readonly blockPercentMax: number;
}

/** Somebody as the directory server has them. */
export interface LdapPerson {
  readonly dn: string;
  /** Of the attribute that never changes: hex for bytes, text otherwise. */
  readonly id: string;
  /** In lower case. */
  readonly username: string | undefined;
  readonly displayName: string | undefined;
  readonly email: string | undefined;
  readonly isDisabled: boolean;
}

export interface LdapGroup {
  readonly id: string;
  readonly name: string;
  /** Distinguished names, as the server writes them; undefined where they were not all to be had. */
  readonly members: readonly string[] | undefined;
}

export interface LdapDirectoryOptions extends Pick<LdapBounds, 'allowPrivateTargets'> {
  readonly log: Pick<Logger, 'warn'>;
  /** Undefined while it is not set up. @throws Refusal `encryption_locked`. */
  readonly settings: () => LdapSettings | undefined;
  readonly millis?: number;
}

export class LdapDirectory {
  readonly #options: LdapDirectoryOptions;
  #signIns = 0;

  constructor(options: LdapDirectoryOptions) {
    this.#options = options;
  }

  settings(): LdapSettings | undefined {
    return this.#options.settings();
  }

  /** Whose accounts these are, for what binds people to them. */
  static issuerOf({ baseDn }: Pick<LdapSettings, 'baseDn'>): string {
    return ISSUER_PREFIX + baseDn.toLowerCase();
  }

  /**
   * The person of that name whose password this is; undefined for nobody, a wrong password and a disabled account, each
   * of which costs a search and a bind. With `password` undefined it is nobody's, and costs the same.
   * @throws Refusal `directory_unavailable`, `busy`.
   */
  async authenticate(
    settings: LdapSettings,
    username: string,
    password: string | undefined,
  ): Promise<LdapPerson | undefined> {
    if (this.#signIns >= LDAP_SIGN_INS_MAX) throw new Refusal('busy');
    this.#signIns += 1;
    try {
      const person = await this.#ask(settings, async (client) => await findPerson(client, settings, username));
      const isTried = person !== undefined && !person.isDisabled && password !== undefined && password !== '';
      // Nobody has this name, so that nobody's password is sent for it, and who is not there costs what who is does.
      const dn = isTried ? person.dn : `cn=${randomSymbols(16)},${settings.baseDn}`;
      const isRight = await this.#isRight(settings, dn, isTried ? password : randomSymbols(16));
      return isTried && isRight ? person : undefined;
    } finally {
      this.#signIns -= 1;
    }
  }

  /** Everybody whom the filter takes, page by page. @throws Refusal `directory_unavailable`. */
  async people(settings: LdapSettings, take: (page: readonly LdapPerson[]) => Promise<void>): Promise<void> {
    const { baseDn, userFilter: filter } = settings;
    await this.#pages(settings, { baseDn, filter, attributes: personAttributes(settings) }, async (entries) => {
      await take(entries.flatMap((entry) => personOf(settings, entry) ?? []));
    });
  }

  /**
   * Whoever is disabled below the base, page by page. The filter of people is left out of it: many say there that nobody
   * disabled is one. @throws Refusal `directory_unavailable`.
   */
  async disabled(settings: LdapSettings, take: (page: readonly LdapPerson[]) => Promise<void>): Promise<void> {
    const asked = { baseDn: settings.baseDn, filter: DISABLED_FILTER, attributes: personAttributes(settings) };
    await this.#pages(settings, asked, async (entries) => {
      await take(entries.flatMap((entry) => personOf(settings, entry) ?? []).filter(({ isDisabled }) => isDisabled));
    });
  }

  /** Every group, page by page; none where no place for groups is set. @throws Refusal `directory_unavailable`. */
  async groups(settings: LdapSettings, take: (page: readonly LdapGroup[]) => Promise<void>): Promise<void> {
    const { groupBaseDn: baseDn, groupFilter: filter, idAttribute } = settings;
    if (baseDn === undefined) return;
    const attributes = ['cn', ...MEMBER_ATTRIBUTES, idAttribute];
    await this.#pages(settings, { baseDn, filter, attributes }, async (entries, client) => {
      const groups: LdapGroup[] = [];
      for (const entry of entries) {
        const [id, name] = [idOf(entry, idAttribute), textOf(entry, 'cn')];
        if (id !== undefined && name !== undefined) groups.push({ id, name, members: await membersOf(client, entry) });
      }
      await take(groups);
    });
  }

  async #pages(
    settings: LdapSettings,
    { attributes, baseDn, filter }: { readonly attributes: string[]; readonly baseDn: string; readonly filter: string },
    take: (entries: readonly Entry[], client: Client) => Promise<void>,
  ): Promise<void> {
    await this.#ask(settings, async (client) => {
      const options = { ...searchOptions(settings), filter, attributes, paged: { pageSize: PAGE_ENTRIES } };
      for await (const { searchEntries } of client.searchPaginated(baseDn, options)) await take(searchEntries, client);
    });
  }

  /** Does something as the account of the settings. */
  async #ask<T>(settings: LdapSettings, work: (client: Client) => Promise<T>): Promise<T> {
    return await this.#connected(settings, async (client) => {
      await client.bind(settings.bindDn, settings.bindPassword);
      return await work(client);
    });
  }

  async #isRight(settings: LdapSettings, dn: string, password: string): Promise<boolean> {
    return await this.#connected(settings, async (client) => {
      try {
        await client.bind(dn, password);
        return client.isBound;
      } catch (error) {
        // Whatever the server says of a person it does not let in, it is the same answer here.
        if (error instanceof ResultCodeError) {
          if (!(error instanceof InvalidCredentialsError)) this.#note('a person was not bound', error);
          return false;
        }
        throw error;
      }
    });
  }

  async #connected<T>(settings: LdapSettings, work: (client: Client) => Promise<T>): Promise<T> {
    const { allowPrivateTargets, millis = LDAP_MILLIS } = this.#options;
    try {
      return await withLdap(settings, { allowPrivateTargets, millis }, work);
    } catch (error) {
      if (error instanceof Refusal && error.code !== 'target_private') throw error;
      this.#note('the directory server failed', error);
      throw new Refusal('directory_unavailable');
    }
  }

  #note(message: string, error: unknown): void {
    this.#options.log.warn(message, { reason: ldapWordOf(error) });
  }
}

/** Connects and binds as the settings say, and looks for the base. @throws as `withLdap` does. */
export async function tryLdap(settings: LdapSettings, bounds: LdapBounds): Promise<void> {
  await withLdap(settings, bounds, async (client) => {
    await client.bind(settings.bindDn, settings.bindPassword);
    await client.search(settings.baseDn, { scope: 'base', filter: '(objectClass=*)', attributes: ['1.1'] });
  });
}

/** Whether a text is a filter (RFC 4515). */
export function isFilter(text: string): boolean {
  try {
    FilterParser.parseString(text);
    return true;
  } catch {
    return false;
  }
}

function searchOptions({ idAttribute }: LdapSettings) {
  const explicitBufferAttributes = idAttribute.toLowerCase() === 'objectguid' ? [idAttribute] : [];
  return { scope: 'sub', derefAliases: 'never', explicitBufferAttributes } as const;
}

function personAttributes(settings: LdapSettings): string[] {
  const { idAttribute, mailAttribute, nameAttribute, usernameAttribute } = settings;
  const disabling = ['userAccountControl', 'nsAccountLock', 'pwdAccountLockedTime'];
  return [idAttribute, usernameAttribute, nameAttribute, mailAttribute, ...disabling];
}

/** The one person of that name; two of one name are nobody. */
async function findPerson(client: Client, settings: LdapSettings, username: string): Promise<LdapPerson | undefined> {
  const named = new EqualityFilter({ attribute: settings.usernameAttribute, value: username });
  const filter: Filter = new AndFilter({ filters: [FilterParser.parseString(settings.userFilter), named] });
  const { searchEntries } = await client.search(settings.baseDn, {
    ...searchOptions(settings),
    filter,
    attributes: personAttributes(settings),
    sizeLimit: 2,
  });
  const [entry] = searchEntries;
  const person = searchEntries.length === 1 && entry !== undefined ? personOf(settings, entry) : undefined;
  return person?.username === username ? person : undefined;
}

function personOf(settings: LdapSettings, entry: Entry): LdapPerson | undefined {
  const { idAttribute, mailAttribute, nameAttribute, usernameAttribute } = settings;
  const id = idOf(entry, idAttribute);
  if (id === undefined) return undefined;
  const control = Number(textOf(entry, 'userAccountControl') ?? 0);
  const isLocked =
    textOf(entry, 'nsAccountLock')?.toLowerCase() === 'true' ||
    textOf(entry, 'pwdAccountLockedTime') === LOCKED_FOR_GOOD;
  return {
    dn: entry.dn,
    id,
    username: textOf(entry, usernameAttribute)?.toLowerCase(),
    displayName: textOf(entry, nameAttribute),
    email: textOf(entry, mailAttribute),
    isDisabled: isLocked || (control & ACCOUNT_DISABLED) !== 0,
  };
}

function idOf(entry: Entry, attribute: string): string | undefined {
  const [value] = valuesOf(entry, attribute);
  if (value === undefined || value.length === 0) return undefined;
  return typeof value === 'string' ? value.toLowerCase() : value.toString('hex');
}

function textOf(entry: Entry, attribute: string): string | undefined {
  const text = valuesOf(entry, attribute)[0]?.toString().trim();
  return text === '' ? undefined : text;
}

/** Servers write names of attributes in letters of their own. */
function valuesOf(entry: Entry, attribute: string): (Buffer | string)[] {
  const name = Object.keys(entry).find((each) => each.toLowerCase() === attribute.toLowerCase());
  return name === undefined ? [] : [entry[name] ?? []].flat();
}
