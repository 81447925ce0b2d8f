/**
 * Signing in with a second factor, and by a passkey alone. `ParleyClient.signIn` fails with `second_factor_required` where one is
 * asked for; `ParleyClient.resume` goes on with the session that these answer.
 *
 *     try { client = await ParleyClient.signIn(options); } catch (error) {
 *       if (error.code !== 'second_factor_required') throw error;
 *       const session = await finishSignIn({ coordinatorUrl, ask: error.secondFactor, proof: { code: typed() } });
 *       client = ParleyClient.resume({ ...options, session });
 *     }
 */
import type { PasskeyRequest } from '#src/protocol/sessions/passkeys.ts';
import type { FinishSignIn, SecondFactorAsk } from '#src/protocol/sessions/second-factors.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { surround, type ClientOptions, type SignInOptions } from './client-context.ts';
import { cookieForm, openSession } from './connection/session.ts';
import { getPasskey } from './passkey.ts';

type CoordinatorOptions = Pick<ClientOptions, 'coordinatorUrl' | 'fetch' | 'sessionCookie' | 'timers'>;

export interface FinishSignInOptions extends CoordinatorOptions {
  /** What the error of the sign-in said. */
  readonly ask: SecondFactorAsk;
  /** A code, a recovery code, or a passkey that `getPasskey` of `passkey.ts` answered for `ask.passkey`. */
  readonly proof: Omit<FinishSignIn, 'challenge' | 'session_cookie'>;
}

/**
 * The session of a sign-in that was asked for its second factor.
 * @throws ParleyError `second_factor_wrong`, after which the same may be tried again; `sign_in_over`, after which the password is
 * asked again; `rate_limited`.
 */
export async function finishSignIn({ ask, proof, ...options }: FinishSignInOptions): Promise<Session> {
  const { coordinator } = surround({ ...options, messagingUrl: options.coordinatorUrl });
  const body = { challenge: ask.challenge, ...proof, ...cookieForm(options.sessionCookie) };
  return await openSession(coordinator, '/v1/auth/second-factor', body);
}

/**
 * The session of whom a passkey names, without a name or a password.
 * @throws ParleyError `login_failed`, `passkeys_unavailable`, `sign_in_by_identity`, `rate_limited`; `transfer_aborted` where the
 * person gives none.
 */
export async function signInWithPasskey({
  device,
  ...options
}: CoordinatorOptions & Pick<SignInOptions, 'device'>): Promise<Session> {
  const { coordinator } = surround({ ...options, messagingUrl: options.coordinatorUrl });
  const own = device?.id === undefined ? {} : { device_id: device.id };
  const path = '/v1/auth/passkey';
  const asked = await coordinator.request({ method: 'post', path: `${path}/options`, body: own });
  const passkey = await getPasskey(asked as PasskeyRequest);
  const named = device === undefined ? {} : { device: { name: device.name, platform: device.platform } };
  return await openSession(coordinator, path, { passkey, ...named, ...own, ...cookieForm(options.sessionCookie) });
}
