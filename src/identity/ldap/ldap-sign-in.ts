/** Signing in by the password of a directory server: whose it is here, and who is made by it (CRD-13). */
import { isReservedUsername } from '#src/protocol/directory/resources.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { USERNAME } from '#src/protocol/names.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import {
  bindPerson,
  identitiesOf,
  identityAt,
  personBoundTo,
  type ForeignAccount,
} from '../single-sign-on/person-identities.ts';
import { isDirectory, LdapDirectory, type LdapPerson, type LdapSettings } from './ldap-directory.ts';

/** What somebody is made with, beside what the directory server says. */
export interface Made {
  readonly issuer: string;
  readonly passwordHash: string;
}

export interface LdapSignInOptions {
  readonly accounts: Accounts;
  readonly directory: LdapDirectory;
  /** Makes somebody whom the directory server has, as part of a change; the change is announced by `made`. */
  readonly create: (draft: AccountsDraft, username: string, person: LdapPerson, made: Made) => number;
  readonly made: (username: string, rev: number) => void;
  /** The hash of a password that nobody was ever told. */
  readonly unknownHash: () => Promise<string>;
}

export class LdapSignIn {
  readonly #options: LdapSignInOptions;

  constructor(options: LdapSignInOptions) {
    this.#options = options;
  }

  /**
   * The settings of the server that judges a name: nobody's here, or of somebody who is bound to it.
   * @throws Refusal `encryption_locked`.
   */
  judges(username: string): LdapSettings | undefined {
    const { accounts, directory } = this.#options;
    const isHere = accounts.person(username) !== undefined;
    // Without reading the settings, so that people of here come in while encryption at rest is locked.
    if (isHere && !identitiesOf(accounts, username).some(({ issuer }) => isDirectory(issuer))) return undefined;
    const settings = directory.settings();
    if (settings === undefined) return undefined;
    const isOfServer = identityAt(accounts, username, LdapDirectory.issuerOf(settings)) !== undefined;
    return isOfServer || !isHere ? settings : undefined;
  }

  /**
   * The person here whose name and password these are at the directory server: who is bound to that account, or made
   * by it. A name that is somebody else's here opens nothing.
   * @throws Refusal `login_failed`, `directory_unavailable`, `busy`.
   */
  async signIn(settings: LdapSettings, username: string, password: string): Promise<string> {
    const { accounts, create, directory, made, unknownHash } = this.#options;
    const person = await directory.authenticate(settings, username, password);
    if (person === undefined) throw new Refusal('login_failed');
    const account = { issuer: LdapDirectory.issuerOf(settings), subject: person.id };
    const known = personBoundTo(accounts, account);
    if (known !== undefined) return known;
    if (!settings.createsPeople || !mayBeMade(accounts, username)) throw new Refusal('login_failed');
    const passwordHash = await unknownHash();
    const rev = await accounts.change((draft) => {
      // Made meanwhile, by a sign-in at the same time or by the sync.
      if (personBoundTo(draft, account) !== undefined) return undefined;
      if (!mayBeMade(draft, username)) throw new Refusal('login_failed');
      return create(draft, username, person, { issuer: account.issuer, passwordHash });
    });
    if (rev !== undefined) made(username, rev);
    return username;
  }

  /** Costs what a sign-in at the server costs, for a name that it does not judge. @throws as `signIn` does. */
  async fail(username: string): Promise<void> {
    const { directory } = this.#options;
    const settings = directory.settings();
    if (settings !== undefined) await directory.authenticate(settings, username, undefined);
  }
}

/** Whether somebody may be made under a name: it could be one here, and is nobody's. */
export function mayBeMade(view: Pick<AccountsDraft, 'person'>, username: string): boolean {
  return USERNAME.test(username) && !isReservedUsername(username) && view.person(username) === undefined;
}

/** Binds somebody to their account at the directory server, as part of a change. */
export function bindToDirectory(draft: AccountsDraft, username: string, account: ForeignAccount, now: number): void {
  bindPerson(draft, username, account, { by: 'directory', actor: 'server', address: null, now });
}
