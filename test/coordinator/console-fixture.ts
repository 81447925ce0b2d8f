/** The sign-in of the console over a real accounts file and vault, with a clock that is moved by hand. */
import type { TestContext } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { SignInGuard } from '#src/identity/credentials/sign-in-guard.ts';
import { Passwords } from '#src/identity/credentials/passwords.ts';
import { ConsoleAuthentication } from '#src/identity/console/console-authentication.ts';
import type { ConsolePerson, Principal } from '#src/identity/console/principal.ts';
import { BreakGlassAccount, type BreakGlassUse } from '#src/identity/console/break-glass.ts';
import { ConsoleRoles } from '#src/identity/console/console-roles.ts';
import { ConsoleSessions } from '#src/identity/console/console-sessions.ts';
import { ConsoleSignIn } from '#src/identity/console/console-sign-in.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { SecondFactors } from '#src/identity/console/second-factors.ts';
import { SignInSwitches, type SignInSource } from '#src/identity/sign-in-switches.ts';
import { StepUp } from '#src/identity/console/step-up.ts';
import { Passkeys } from '#src/identity/second-factors/passkeys.ts';
import { WebauthnChallenges } from '#src/identity/second-factors/webauthn-challenges.ts';
import { VendorTokenUse } from '#src/identity/vendor-token-use.ts';
import { VendorTokens } from '#src/identity/vendor-tokens.ts';
import { formatInstant } from '#src/base/time.ts';
import type { PersonConsoleRole } from '#src/identity/console/permissions.ts';
import type { PersonRole } from '#storage/accounts/account-records.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { limiterBy } from '#test/support/limiter.ts';
import { Vault } from '#storage/vault/vault.ts';
import { HandClock, PASSWORD, temporaryFolder } from './coordinator-fixture.ts';

/** Where requests come from. */
export const ADDRESS = '192.0.2.7';

/** Failed sign-ins a minute for a person at an address. */
export const ATTEMPTS = 5;

export async function openConsole(context: TestContext) {
  const folder = temporaryFolder(context);
  openFolder(folder, 4, '2026-11-21T08:00:00.000Z');
  const clock = new HandClock();
  const opened = await openConsoleOn(folder, clock);
  context.after(() => opened.accounts.close());
  return opened;
}

/** Everything over a folder that exists; closing its accounts is the caller's. */
export async function openConsoleOn(folder: string, clock: HandClock) {
  const accounts = await Accounts.open(folder);
  const logged: unknown[] = [];
  const log: Logger = { error: (...said) => void logged.push(said), warn: (...said) => void logged.push(said) };
  const passwords = await Passwords.make(64);
  const limiter = limiterBy(clock, { loginAttemptsPerMinute: ATTEMPTS });
  const guard = new SignInGuard({ limiter, realm: 'console', pause: async () => undefined });
  const vault = new Vault({ accounts, clock, warn: (error) => void logged.push(error) });
  const config = { consoleIdleSeconds: 1_800, consoleSessionSeconds: 43_200 };
  const sessions = new ConsoleSessions({ accounts, config, log });
  const passkeys = new Passkeys({
    accounts,
    challenges: new WebauthnChallenges(),
    clock,
    party: () => undefined,
    copied: () => undefined,
  });
  const secondFactors = new SecondFactors({
    ...{ accounts, clock, guard, passkeys, secrets: vault, sessions },
    announcer: { revoked: async () => undefined },
    endUnproven: () => [],
  });
  const sources: { mode: SignInSource; token: SignInSource } = { mode: 'local', token: 'local' };
  const settings = { signInMode: () => sources.mode, platformToken: () => sources.token };
  const switches = new SignInSwitches(settings);
  const signIn = new ConsoleSignIn({
    ...{ accounts, passwords, guard, sessions, secondFactors, passkeys, switches, clock },
    isElsewhere: () => false,
  });
  const alerts: BreakGlassUse[] = [];
  const raiseAlert = (use: BreakGlassUse) => void alerts.push(use);
  const breakGlassParts = { accounts, passwords, guard, sessions, secrets: vault, clock, log };
  const breakGlass = new BreakGlassAccount({ ...breakGlassParts, raiseAlert });
  const stepUp = new StepUp({ accounts, sessions, secondFactors, passkeys, breakGlass, clock });
  const announced: string[] = [];
  const announcer = { directoryChanged: (user: string) => void announced.push(user), revoked: async () => undefined };
  const roles = new ConsoleRoles({ accounts, announcer, clock });
  const vendorTokens = new VendorTokens({ accounts, clock });
  const use = new VendorTokenUse({ accounts, clock, log });
  const authentication = new ConsoleAuthentication({ sessions, vendorTokens, ledger: use, clock });

  /** A person with the password of the tests. */
  const add = async (username: string, role: PersonConsoleRole | null): Promise<void> => {
    const passwordHash = await passwords.hash(PASSWORD);
    const kind: PersonRole = role === 'owner' ? 'owner' : 'person';
    const createdAt = formatInstant(clock.now());
    await accounts.change((draft) =>
      draft.putPerson({ username, state: 'active', role: kind, passwordHash, createdAt }),
    );
    if (role !== null && role !== 'owner') await roles.set(OWNER, username, role, ADDRESS);
  };
  /** Blocks a person as the directory does: their state alone. */
  const block = async (username: string): Promise<void> => {
    await accounts.change((draft) => {
      const person = draft.person(username);
      if (person !== undefined) draft.putPerson({ ...person, state: 'blocked' });
    });
  };
  const who = async (token: string): Promise<Principal> =>
    await authentication.authenticate({ xAdminToken: token }, ADDRESS);
  const login = async (username: string, more: object = {}) =>
    await signIn.login({ username, password: PASSWORD, ...more }, ADDRESS);
  /** Sets up a second factor; the clock is a step further afterwards, so that the next code is another one. */
  const enroll = async (username: string) => {
    const session = await login(username);
    const principal = await who(session.token);
    const { secret } = await secondFactors.setup(principal, ADDRESS);
    const recoveryCodes = await secondFactors.confirm(principal, codeAt(secret, clock.now()), ADDRESS);
    clock.advance(30);
    return { secret, session, recoveryCodes };
  };
  /** Events of the audit trail, the oldest first. */
  const trail = (event?: string) =>
    accounts
      .auditEntries({ limit: 1_000 })
      .toReversed()
      .filter((entry) => event === undefined || entry.event === event);
  return {
    accounts,
    add,
    alerts,
    announced,
    authentication,
    block,
    breakGlass,
    breakGlassParts,
    clock,
    enroll,
    folder,
    limiter,
    log,
    logged,
    login,
    passwords,
    roles,
    secondFactors,
    sessions,
    settings,
    signIn,
    sources,
    stepUp,
    trail,
    use,
    vault,
    vendorTokens,
    who,
  };
}

/** An owner who is signed in completely, for what asks for one. */
export const OWNER_PERSON: ConsolePerson = {
  kind: 'person',
  username: 'olga',
  role: 'owner',
  signIn: 'password',
  sid: 's_0123456789abcdefghjkmn',
  isFull: true,
  steppedUpUntil: 0,
};
export const OWNER: Principal = OWNER_PERSON;

/** The code that an authenticator app shows at an instant, in milliseconds. */
export function codeAt(secret: string, millis: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: 30 }).generate({
    timestamp: millis,
  });
}

/** A code that is right at no step around an instant. */
export function wrongCodeAt(secret: string, millis: number): string {
  const right = [-2, -1, 0, 1, 2].map((step) => codeAt(secret, millis + step * 30_000));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code)) as string;
}

/** For `assert.rejects`: a refusal with that code. */
export function refusal(code: string): { code: string; name: string } {
  return { code, name: 'Refusal' };
}
