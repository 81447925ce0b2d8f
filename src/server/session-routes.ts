/** The handlers of the session routes: sign-in, renewal, sign-out, and the exchange of an invitation. */
import type { z } from 'zod';
import type { SESSION_ROUTES } from '#src/protocol/routes.ts';
import type { Login, Logout, Renew, exchangeInvitation } from '#src/protocol/sessions/sessions.ts';
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { Enrollment } from '#src/directory/enrollment.ts';
import type { HostedGuests } from '#src/hosting/hosted-guests.ts';
import type { SignIn } from '#src/identity/sign-in.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { SessionCookies } from './session-cookies.ts';

export { checkPresence, NO_QUERY } from '#src/http/client-routes.ts';

export function makeSessionHandlers(
  signIn: SignIn,
  enrollment: Enrollment,
  hostedGuests: Pick<HostedGuests, 'land'>,
  cookies: SessionCookies,
): ClientHandlers<typeof SESSION_ROUTES> {
  return {
    login: async (request) =>
      await cookies.opened(request, async () => await signIn.login(request.body as Login, request.address)),
    renew: async (request) =>
      await cookies.opened(request, async () => {
        const { address, token } = request;
        const { device_id: device, refresh_token: refreshToken } = (request.body as Renew) ?? {};
        if (device === undefined) return await signIn.renew(token, refreshToken, address);
        const kept = refreshToken ?? cookies.read(request, device);
        return await signIn.renewOnDevice({ device, refreshToken: kept, token }, address);
      }),
    logout: async (request) => {
      const { token } = request;
      const device = (request.body as Logout)?.device_id;
      const body = { status: 'ok' };
      if (device === undefined) {
        await signIn.logout(token);
        return { status: 200, body };
      }
      cookies.requireOwnPage(request.page);
      await ended(signIn.logoutOnDevice({ device, refreshToken: cookies.read(request, device), token }));
      return { status: 200, body, headers: { 'set-cookie': cookies.cleared(request, device) } };
    },
    exchangeInvitation: async ({ parameters, body, address }) => {
      const { username, password } = body as z.infer<typeof exchangeInvitation>;
      await enrollment.exchange(parameters['invitation'] ?? '', { username, password }, address);
      const room = await hostedGuests.land(username);
      return { status: 201, body: { user: username, ...(room === undefined ? {} : { conversation_id: room }) } };
    },
  };
}

/** A session that had ended before is one that has ended: the browser is rid of its cookie all the same. */
async function ended(ending: Promise<void>): Promise<void> {
  try {
    await ending;
  } catch (error) {
    if (!(error instanceof Refusal) || !['session_over', 'session_revoked'].includes(error.code)) throw error;
  }
}
