/**
 * What administrators set in the console: values in a document for each screen, secrets in the vault. Whoever uses a
 * screen reads it whole with `read`; whoever looks at it sees of a secret that it is set, or not (CON-02, VND-10).
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { hasTurn } from '#src/protocol/calls/calls.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditValue, AuditActor } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { Vault } from '#storage/vault/vault.ts';
import { fieldsOf, type SettingScreenName, type SettingValues } from './setting-screens.ts';
import { CONSOLE_ROLES, permits, type ConsoleRole } from '#src/identity/console/permissions.ts';
import type { SignInSettings, SignInSource } from '#src/identity/sign-in-switches.ts';
import { readRedirects } from '#src/identity/single-sign-on/app-redirects.ts';
import { ownerAtProvider } from '#src/identity/single-sign-on/sso-bindings.ts';
import { ssoSettings, type SsoSettings, type SsoSettingsReader } from '#src/identity/single-sign-on/sso-settings.ts';

type Values = Readonly<Record<string, unknown>>;

interface ScreenRecord {
  readonly values: Values;
  /** RFC 3339. */
  readonly changedAt: string;
  /** An actor of the audit trail. */
  readonly changedBy: string;
}

const settings = defineCollection<ScreenRecord>('settings', { version: 1 });

/** The values of a screen as they were set, without its secrets: for what is read before there are settings. */
export function readSetValues(view: View, name: SettingScreenName): Values {
  return view.document(settings, name)?.values ?? {};
}

/** `sign_in_mode` and `platform_token`, read at every sign-in, before there are settings too. */
export function readSignInSettings(view: View): SignInSettings {
  const source = (field: string) => (readSetValues(view, 'sign-in')[field] as SignInSource | undefined) ?? 'local';
  return { signInMode: () => source('sign_in_mode'), platformToken: () => source('platform_token') };
}

/** A screen as it is looked at. */
export interface ScreenView {
  /** Whether everything is set that it cannot do without. */
  readonly isComplete: boolean;
  /** Values as they were set, null for none; of a secret `{set}`. */
  readonly values: Values;
  readonly changedAt: string | null;
  readonly changedBy: string | null;
  /** Secrets that the change which is answered took away, since where they go is another place now. */
  readonly dropped: readonly string[];
}

/** What reads and changes of one screen need of the accounts: the draft within a change. */
type View = Pick<AccountsDraft, 'document'>;

/** The longest value that the audit trail repeats; of a longer one, such as a certificate, it has the length. */
const TOLD_LENGTH_MAX = 500;

/** Who changes a screen, and the role that they have. */
export interface SettingActor extends AuditActor {
  readonly role: ConsoleRole;
}

/** Judges a change of a screen by its values before and after. @throws Refusal where it may not be. */
export type SettingJudge = (
  draft: AccountsDraft,
  change: { readonly before: Values; readonly after: Values; readonly by: AuditActor },
) => void;

export interface SettingsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly vault: Vault;
}

export class Settings {
  readonly #options: SettingsOptions;
  readonly #judges = new Map<SettingScreenName, SettingJudge>();
  readonly #followers = new Map<SettingScreenName, () => Promise<void>>();

  constructor(options: SettingsOptions) {
    this.#options = options;
  }

  /** Has `told` called when a screen was changed, before the change is answered. One follower for each. */
  follow(name: SettingScreenName, told: () => Promise<void>): void {
    this.#followers.set(name, told);
  }

  /** Has changes of a screen judged within them: `judge` may refuse, and change more. One for each. */
  judge(name: SettingScreenName, judge: SettingJudge): void {
    this.#judges.set(name, judge);
  }

  /** Stores the values of a screen as part of a change that somebody else judged, audits and tells of. */
  put(draft: AccountsDraft, name: SettingScreenName, values: Values, changedBy: string): void {
    const before = draft.document(settings, name)?.values;
    const changedAt = formatInstant(this.#options.clock.now());
    draft.putDocument(settings, name, { values: { ...before, ...values }, changedAt, changedBy });
  }

  /** A screen as it is looked at, also while the vault is locked. */
  view(name: SettingScreenName, view: View = this.#options.accounts): ScreenView {
    const record = view.document(settings, name);
    const isSet = (field: string) => this.#options.vault.isSet(secretName(name, field), view);
    const values = fieldsOf(name).map(([field, { isSecret }]) => {
      return [field, isSecret === true ? { set: isSet(field) } : (record?.values[field] ?? null)];
    });
    return {
      isComplete: this.#isComplete(name, view),
      values: Object.fromEntries(values) as Values,
      changedAt: record?.changedAt ?? null,
      changedBy: record?.changedBy ?? null,
      dropped: [],
    };
  }

  /**
   * A screen whole, for the service that uses it; undefined while something is missing that it cannot do without.
   * @throws Refusal `encryption_locked` where it has secrets and the vault is locked.
   */
  read<Name extends SettingScreenName>(name: Name): SettingValues<Name> | undefined {
    const { accounts } = this.#options;
    if (!this.#isComplete(name, accounts)) return undefined;
    const secrets = fieldsOf(name).flatMap(([field, { isSecret }]) => {
      const text = isSecret === true ? this.#secret(name, field, accounts) : undefined;
      return text === undefined ? [] : [[field, text] as const];
    });
    const values = { ...accounts.document(settings, name)?.values, ...Object.fromEntries(secrets) };
    return values as SettingValues<Name>;
  }

  /**
   * Changes a screen: what the change leaves out stays, null takes a value away. Checked by the screen's form before.
   * A secret goes when where it goes to changes and it is not given anew (CRD-14).
   * @throws Refusal `encryption_locked`; `field_invalid` where fields do not go together; `role_above_own`;
   * `sso_not_set`, `sso_in_use`, `sso_owner_required` for what would leave nobody a way to sign in.
   */
  async change(name: SettingScreenName, change: Values, by: SettingActor): Promise<ScreenView> {
    const { accounts, clock, vault } = this.#options;
    const { role, ...actor } = by;
    assertRolesBelow(name, change, role);
    const view = await accounts.change((draft) => {
      const before = draft.document(settings, name)?.values ?? {};
      const after: Record<string, unknown> = { ...before };
      const told: Record<string, AuditValue> = {};
      for (const [field, { isPersonal, isSecret }] of fieldsOf(name)) {
        const value = change[field];
        if (value === undefined) continue;
        const word = value === null ? 'removed' : 'set';
        if (isSecret === true) {
          told[field] = word;
          if (value === null) vault.remove(draft, secretName(name, field));
          else vault.put(draft, secretName(name, field), Buffer.from(value as string, 'utf8'));
          continue;
        }
        told[field] = isPersonal === true ? word : { before: toldOf(before[field]), after: toldOf(value) };
        if (value === null) delete after[field];
        else after[field] = value;
      }
      const dropped = this.#dropSecrets(name, draft, change, { before, after });
      for (const field of dropped) told[field] = 'dropped';
      // A form that names no field changes nothing, and nobody changed anything.
      if (Object.keys(told).length === 0) return this.view(name, draft);
      this.#judges.get(name)?.(draft, { before, after, by: actor });
      const now = clock.now();
      draft.putDocument(settings, name, { values: after, changedAt: formatInstant(now), changedBy: actor.actor });
      this.#checkTogether(name, draft, change);
      draft.audit(now, { event: 'settings.changed', ...actor, subject: `settings:${name}`, details: told });
      return { ...this.view(name, draft), dropped };
    });
    await this.#followers.get(name)?.();
    return view;
  }

  /** Writes into the audit trail that a screen was tried, and how that went. */
  async auditTest(name: SettingScreenName, outcome: string, by: AuditActor): Promise<void> {
    const { accounts, clock } = this.#options;
    const entry = { event: 'settings.tested', ...by, subject: `settings:${name}`, details: { outcome } };
    await accounts.change((draft) => draft.audit(clock.now(), entry));
  }

  /** `sign_in_mode` and `platform_token`, read at every sign-in. */
  get signIn(): SignInSettings {
    return readSignInSettings(this.#options.accounts);
  }

  /** The addresses of apps that signing in at a provider may lead back to. */
  appRedirects(): readonly string[] {
    const text = this.#options.accounts.document(settings, 'sign-in')?.values['app_redirects'];
    return typeof text === 'string' ? (readRedirects(text) ?? []) : [];
  }

  /** The identity provider, read at every sign-in. */
  get sso(): SsoSettingsReader {
    const { accounts } = this.#options;
    return {
      settings: (): SsoSettings | undefined => {
        if (!this.#isComplete('sso', accounts)) return undefined;
        return ssoSettings.parse(accounts.document(settings, 'sso')?.values);
      },
      clientSecret: () => this.#secret('sso', 'client_secret', accounts),
    };
  }

  /** When the certificate of the screen ends, in RFC 3339; undefined while there is none. */
  certificateEnd(): string | undefined {
    const certificate = this.#options.accounts.document(settings, 'tls')?.values['certificate'];
    return typeof certificate === 'string' ? endOf(certificate) : undefined;
  }

  #isComplete(name: SettingScreenName, view: View): boolean {
    const values = view.document(settings, name)?.values ?? {};
    return fieldsOf(name).every(([field, { isRequired, isSecret }]) => {
      if (isRequired !== true) return true;
      return isSecret === true ? this.#options.vault.isSet(secretName(name, field), view) : values[field] !== undefined;
    });
  }

  #secret(name: SettingScreenName, field: string, view: View): string | undefined {
    const secret = this.#options.vault.get(secretName(name, field), view);
    return secret === undefined ? undefined : Buffer.from(secret).toString('utf8');
  }

  /** Takes away the secrets whose place has changed and that were not given anew; answers their fields. */
  #dropSecrets(
    name: SettingScreenName,
    draft: AccountsDraft,
    change: Values,
    screen: { before: Values; after: Values },
  ) {
    const hasMoved = (field: string) => !isDeepStrictEqual(screen.before[field], screen.after[field]);
    return fieldsOf(name).flatMap(([field, form]) => {
      if (form.isSecret !== true || change[field] !== undefined || !form.goesTo.some(hasMoved)) return [];
      const secret = secretName(name, field);
      if (!this.#options.vault.isSet(secret, draft)) return [];
      this.#options.vault.remove(draft, secret);
      return [field];
    });
  }

  #checkTogether(name: SettingScreenName, draft: AccountsDraft, change: Values): void {
    if (name === 'tls') this.#checkPair(draft, change);
    if (name === 'turn') this.#checkTurn(draft);
    if (name !== 'sso' && name !== 'sign-in') return;
    const { sign_in_mode: mode, platform_token: token } = draft.document(settings, 'sign-in')?.values ?? {};
    if (mode !== 'identity' && token !== 'identity') return;
    if (!this.#isComplete('sso', draft)) throw new Refusal(name === 'sso' ? 'sso_in_use' : 'sso_not_set');
    // Whoever turns to a provider that lets no owner in has locked everybody out, themselves among them.
    const sso = ssoSettings.parse(draft.document(settings, 'sso')?.values);
    if (ownerAtProvider(draft, sso) === undefined)
      throw new Refusal(name === 'sso' ? 'sso_in_use' : 'sso_owner_required');
  }

  /** Without a secret nobody could be let in by a TURN server. */
  #checkTurn(draft: AccountsDraft): void {
    const uris = draft.document(settings, 'turn')?.values['uris'];
    if (typeof uris !== 'string' || !hasTurn(uris) || this.#options.vault.isSet(secretName('turn', 'secret'), draft)) {
      return;
    }
    throw new Refusal('field_invalid', { field: 'secret' });
  }

  /** A key that is not the certificate's would be found out by whoever connects first. */
  #checkPair(draft: AccountsDraft, change: Values): void {
    const certificate = draft.document(settings, 'tls')?.values['certificate'];
    const key = this.#secret('tls', 'private_key', draft);
    if (typeof certificate !== 'string' || key === undefined || isPair(certificate, key)) return;
    throw new Refusal('field_invalid', {
      field: typeof change['private_key'] === 'string' ? 'private_key' : 'certificate',
    });
  }
}

/** Whether a key in PEM is the one of a certificate in PEM. */
export function isPair(certificate: string, key: string): boolean {
  return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
}

/** When a certificate in PEM ends, in RFC 3339. */
export function endOf(certificate: string): string {
  return formatInstant(Date.parse(new X509Certificate(certificate).validTo));
}

function toldOf(value: unknown): AuditValue {
  const isLong = typeof value === 'string' && value.length > TOLD_LENGTH_MAX;
  return isLong ? `${value.length} characters` : ((value ?? null) as AuditValue);
}

/** @throws Refusal `role_above_own` for a map that gives a role with a permission which its setter does not have. */
function assertRolesBelow(name: SettingScreenName, change: Values, own: ConsoleRole): void {
  for (const [field, form] of fieldsOf(name)) {
    if (form.isSecret === true || form.isRoleMap !== true) continue;
    const given = Object.values((change[field] ?? {}) as Readonly<Record<string, ConsoleRole>>);
    const isAbove = given.some((role) => !CONSOLE_ROLES[role].every((permission) => permits(own, permission)));
    if (isAbove) throw new Refusal('role_above_own', { field });
  }
}

/** Where a secret lies in the vault. */
function secretName(screen: SettingScreenName, field: string): string {
  return `setting:${screen}.${field}`;
}
