/** People’s second factors on the coordinator: signing in by them, and what a person does with their own. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { OwnProfiles } from '#src/directory/own-profiles.ts';
import { addClientRoutes, type ClientHandlers } from '#src/http/client-routes.ts';
import type { SecondFactors } from '#src/identity/console/second-factors.ts';
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { SignInGuard } from '#src/identity/credentials/sign-in-guard.ts';
import type { ClientFactors } from '#src/identity/second-factors/client-factors.ts';
import { OwnFactors } from '#src/identity/second-factors/own-factors.ts';
import type { Passkeys } from '#src/identity/second-factors/passkeys.ts';
import type { SignIn } from '#src/identity/sign-in.ts';
import type { SignInSwitches } from '#src/identity/sign-in-switches.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { FACTOR_SIGN_IN_ROUTES, OWN_FACTOR_ROUTES } from '#src/protocol/sessions/second-factor-routes.ts';
import type * as forms from '#src/protocol/sessions/second-factors.ts';
import { isPasswordElsewhere } from '#src/settings/kept-elsewhere.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { SessionCookies } from '../session-cookies.ts';

export interface SecondFactorsOptions {
  readonly accounts: Accounts;
  /** The coordinator's app, which does not listen yet. */
  readonly app: FastifyInstance;
  readonly announcer: Pick<SessionAnnouncer, 'revoked'>;
  readonly clientFactors: ClientFactors;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly passkeys: Passkeys;
  readonly passwords: Passwords;
  readonly profiles: Pick<OwnProfiles, 'read'>;
  readonly secondFactors: SecondFactors;
  readonly sessionCookies: SessionCookies;
  readonly signIn: SignIn;
  readonly signInGuard: SignInGuard;
  readonly signInSwitches: SignInSwitches;
}

/** Adds the routes of second factors to the coordinator's app. */
export function addSecondFactors(options: SecondFactorsOptions): void {
  const { app, limiter, signIn } = options;
  // None of these takes a session.
  addClientRoutes(app, FACTOR_SIGN_IN_ROUTES, signInHandlers(options), () => '');
  const session = (token: string | undefined) => signIn.enrollingSession(token);
  addClientRoutes(app, OWN_FACTOR_ROUTES, ownHandlers(options), (token) => session(token).sub, limiter);
}

function signInHandlers(options: SecondFactorsOptions): ClientHandlers<typeof FACTOR_SIGN_IN_ROUTES> {
  const { accounts, clientFactors, passkeys, sessionCookies, signIn, signInSwitches } = options;
  return {
    finishSignIn: async (request) => {
      const { address, body } = request;
      const form = body as forms.FinishSignIn;
      const prove = async (pending: Parameters<ClientFactors['prove']>[0]) =>
        await clientFactors.prove(pending, form, address);
      return await sessionCookies.opened(request, async () => await signIn.finish(form.challenge, address, prove));
    },
    beginPasskeySignIn: ({ body }) => {
      if (signInSwitches.refusePasswords()) throw new Refusal('sign_in_by_identity');
      const device = (body as forms.BeginPasskeySignIn)?.device_id ?? '';
      return { status: 200, body: passkeys.request(`sign-in:${device}`) };
    },
    passkeySignIn: async (request) => {
      const { address, body } = request;
      const form = body as forms.PasskeySignIn;
      const credential = form.passkey.id;
      const from = { address, credential, holder: passkeys.holderOf(credential) };
      const prove = async () => {
        const verified = await passkeys.verify(form.passkey, `sign-in:${form.device_id ?? ''}`, address);
        // Beside a password that another system judges, it would go on where that one ended.
        if (verified === undefined || isPasswordElsewhere(accounts, verified.username)) return undefined;
        const { username } = verified;
        return { username, use: (draft: Parameters<Passkeys['use']>[0]) => passkeys.use(draft, verified, true) };
      };
      return await sessionCookies.opened(request, async () => await signIn.enterAlone(form, from, prove));
    },
  };
}

function ownHandlers(options: SecondFactorsOptions): ClientHandlers<typeof OWN_FACTOR_ROUTES> {
  const { accounts, profiles, signIn, signInGuard: guard } = options;
  const own = new OwnFactors({
    ...options,
    guard,
    isElsewhere: (username) => isPasswordElsewhere(accounts, username),
    nameOf: (username) => profiles.read(username).display_name ?? username,
  });
  const claimsOf = (token: string | undefined) => signIn.enrollingSession(token);
  return {
    listOwnFactors: ({ token }) => ({ status: 200, body: own.list(claimsOf(token)) }),
    beginProof: ({ token }) => ({ status: 200, body: own.beginProof(claimsOf(token)) }),
    proveOneself: async ({ address, body, token }) => {
      const until = await own.prove(claimsOf(token), body as forms.ProveOneself, address);
      return { status: 200, body: { expires_at: formatInstant(until) } };
    },
    setUpTotp: async ({ address, token }) => ({ status: 200, body: await own.setUpApp(claimsOf(token), address) }),
    confirmTotp: async ({ address, body, token }) => {
      const { code, end_others: endOthers, name } = body as forms.ConfirmTotp;
      return { status: 200, body: await own.confirmApp(claimsOf(token), { code, endOthers, name }, address) };
    },
    beginPasskey: async ({ token }) => ({ status: 200, body: await own.beginPasskey(claimsOf(token)) }),
    addPasskey: async ({ address, body, token }) => {
      const { end_others: endOthers, name, passkey } = body as forms.AddPasskey;
      return { status: 201, body: await own.addPasskey(claimsOf(token), { endOthers, name, passkey }, address) };
    },
    renameFactor: async ({ address, body, parameters, token }) => {
      const { name } = body as { readonly name: string };
      return { status: 200, body: await own.rename(claimsOf(token), parameters['factor'] ?? '', name, address) };
    },
    removeFactor: async ({ address, parameters, query, token }) => {
      const endOthers = (query as { readonly end_others: string }).end_others === 'true';
      await own.remove(claimsOf(token), parameters['factor'] ?? '', endOthers, address);
      return { status: 204, body: undefined };
    },
    renewOwnRecoveryCodes: async ({ address, token }) => ({
      status: 200,
      body: { recovery_codes: await own.renewRecoveryCodes(claimsOf(token), address) },
    }),
  };
}
