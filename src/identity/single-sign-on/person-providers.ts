/** The providers that people sign in at: several, each with a name for the sign-in page, kept apart from the console's own. */
import { z } from 'zod';
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { PROVIDER_ID, PROVIDERS_MAX } from '#src/protocol/sessions/sso.ts';
import type { Accounts, AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { Vault } from '#storage/vault/vault.ts';
import { claimAt, claimName, secureUrl, textsAt, usernameOf, verifiedEmail, type Claims } from './sso-settings.ts';

/** Groups of the provider that lead into groups here. [field_invalid] */
const GROUPS_MAPPED_MAX = 200;

const oneLine = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u);

/** The settings of a provider without the client's secret, which is kept apart. */
export const personProvider = z.strictObject({
  /** As the sign-in page shows it. */
  name: oneLine(100),
  issuer: secureUrl,
  client_id: oneLine(200),
  scope: oneLine(500).default('openid profile email'),
  username_claim: claimName.default('preferred_username'),
  /** The claim that lists the account's groups; a dot leads into an object. */
  groups_claim: claimName.default('groups'),
  /** Group at the provider → id of a group here, whose members of the provider follow it at each sign-in. */
  groups: z
    .record(z.string().min(1).max(200), z.string().regex(/^grp_[0-9a-z]{22}$/))
    .refine((groups) => Object.keys(groups).length <= GROUPS_MAPPED_MAX, `At most ${GROUPS_MAPPED_MAX} groups.`)
    .default({}),
  /** Whether somebody whom nobody here is gets an account at their first sign-in. */
  creates_people: z.boolean().default(false),
  /** Whether an e-mail address that the provider has verified binds the one person who has it; never an owner. */
  bind_by_email: z.boolean().default(false),
});
export type PersonProvider = z.infer<typeof personProvider>;

/** A change of a provider: all of its settings; a secret that is left out stays, null takes it away. */
export const providerForm = personProvider.extend({
  client_secret: oneLine(4_096).nullable().optional(),
});
export type ProviderForm = z.infer<typeof providerForm>;

const providers = defineCollection<PersonProvider>('sso_providers', { version: 1 });

/** The issuers of all providers, once each time that one is named. */
export function issuersOfProviders(view: Pick<AccountsReader, 'documents'>): string[] {
  return view.documents(providers).map(({ document }) => document.issuer);
}

export interface ProviderView extends PersonProvider {
  readonly id: string;
  readonly client_secret: { readonly set: boolean };
}

export interface PersonProvidersOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly vault: Vault;
}

export class PersonProviders {
  readonly #options: PersonProvidersOptions;

  constructor(options: PersonProvidersOptions) {
    this.#options = options;
  }

  /** All of them, by id. */
  list(): ProviderView[] {
    return this.#options.accounts.documents(providers).map(({ id, document }) => this.#view(id, document));
  }

  /** @throws Refusal `sso_provider_not_found`. */
  read(id: string): PersonProvider {
    const provider = PROVIDER_ID.test(id) ? this.#options.accounts.document(providers, id) : undefined;
    if (provider === undefined) throw new Refusal('sso_provider_not_found');
    return provider;
  }

  /** Undefined for a public client. @throws Refusal `encryption_locked`. */
  clientSecret(id: string): string | undefined {
    const secret = this.#options.vault.get(secretName(id), this.#options.accounts);
    return secret === undefined ? undefined : Buffer.from(secret).toString('utf8');
  }

  /**
   * Makes a provider or changes it whole. Its secret goes when its issuer changes and it is not given anew (CRD-14).
   * Answers whether it went.
   * @throws Refusal `sso_providers_full`, `encryption_locked`; `field_invalid` for an id that cannot be one.
   */
  async put(id: string, form: ProviderForm, by: AuditActor): Promise<{ view: ProviderView; isSecretGone: boolean }> {
    const { accounts, clock, vault } = this.#options;
    if (!PROVIDER_ID.test(id)) throw new Refusal('field_invalid', { field: 'provider' });
    const { client_secret: secret, ...provider } = form;
    return await accounts.change((draft) => {
      const before = draft.document(providers, id);
      if (before === undefined && accounts.documents(providers).length >= PROVIDERS_MAX) {
        throw new Refusal('sso_providers_full');
      }
      const hasMoved = before !== undefined && before.issuer !== provider.issuer;
      const isSecretGone = secret === undefined && hasMoved && vault.isSet(secretName(id), draft);
      if (secret === null || isSecretGone) vault.remove(draft, secretName(id));
      if (typeof secret === 'string') vault.put(draft, secretName(id), Buffer.from(secret, 'utf8'));
      draft.putDocument(providers, id, provider);
      const details = {
        before: before === undefined ? null : toldOf(before),
        after: toldOf(provider),
        secret: isSecretGone ? 'dropped' : secret === undefined ? 'kept' : secret === null ? 'removed' : 'set',
      };
      draft.audit(clock.now(), { event: 'sso.provider_changed', ...by, subject: `sso-provider:${id}`, details });
      return { view: this.#view(id, provider, draft), isSecretGone };
    });
  }

  /** People keep what binds them, for a provider of the same issuer. @throws Refusal `sso_provider_not_found`. */
  async remove(id: string, by: AuditActor): Promise<void> {
    const { accounts, clock, vault } = this.#options;
    await accounts.change((draft) => {
      const before = PROVIDER_ID.test(id) ? draft.document(providers, id) : undefined;
      if (before === undefined) throw new Refusal('sso_provider_not_found');
      draft.removeDocument(providers, id);
      vault.remove(draft, secretName(id));
      const details = { before: toldOf(before) };
      draft.audit(clock.now(), { event: 'sso.provider_removed', ...by, subject: `sso-provider:${id}`, details });
    });
  }

  #view(id: string, provider: PersonProvider, view: Pick<AccountsDraft, 'document'> = this.#options.accounts) {
    return { id, ...provider, client_secret: { set: this.#options.vault.isSet(secretName(id), view) } };
  }
}

/** What the provider's word makes of somebody here. */
export interface ClaimedPerson {
  /** Undefined where the claims give none that this installation could have. */
  readonly username: string | undefined;
  readonly displayName: string | undefined;
  /** Verified by the provider, in lower case. */
  readonly email: string | undefined;
  /** Ids of the groups that the provider's lead into. */
  readonly groups: readonly string[];
}

/** Of a display name that a provider gives; the profile takes no longer one. */
const DISPLAY_NAME_LENGTH_MAX = 100;

export function claimedPerson(provider: PersonProvider, claims: Claims): ClaimedPerson {
  const { name } = claims;
  const groups = textsAt(claims, provider.groups_claim).flatMap((group) =>
    Object.hasOwn(provider.groups, group) ? [provider.groups[group] as string] : [],
  );
  const isName = typeof name === 'string' && name.trim() !== '' && !/\p{Cc}/u.test(name);
  return {
    username: usernameOf(provider, claims),
    displayName: isName ? name.trim().slice(0, DISPLAY_NAME_LENGTH_MAX) : undefined,
    email: verifiedEmail({ bind_by_email: true }, claims),
    groups: [...new Set(groups)],
  };
}

/** Whether the claims hold all that is asked of them; if not, the user info is asked. */
export function isWhole(provider: PersonProvider, claims: Claims): boolean {
  const asked = provider.creates_people ? [provider.username_claim, 'name'] : [];
  if (Object.keys(provider.groups).length > 0) asked.push(provider.groups_claim);
  if (provider.bind_by_email || provider.creates_people) asked.push('email', 'email_verified');
  return asked.every((name) => claimAt(claims, name) !== undefined);
}

function secretName(id: string): string {
  return `sso-provider:${id}`;
}

function toldOf({ groups, ...provider }: PersonProvider) {
  return { ...provider, groups: Object.keys(groups).length };
}
