/** The handlers of the session routes: sign-in, renewal, sign-out, and the exchange of an invitation. */
import type { z } from 'zod';
import type { SESSION_ROUTES } from '#src/protocol/routes.ts';
import type { Login, Renew, exchangeInvitation } from '#src/protocol/sessions/sessions.ts';
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { Enrollment } from '#src/directory/enrollment.ts';
import type { SignIn } from '#src/identity/sign-in.ts';

export { checkPresence, NO_QUERY } from '#src/http/client-routes.ts';

export function makeSessionHandlers(signIn: SignIn, enrollment: Enrollment): ClientHandlers<typeof SESSION_ROUTES> {
  return {
    login: async ({ body, address }) => ({ status: 200, body: await signIn.login(body as Login, address) }),
    renew: async ({ token, body, address }) => ({
      status: 200,
      body: await signIn.renew(token, (body as Renew)?.refresh_token, address),
    }),
    logout: async ({ token }) => {
      await signIn.logout(token);
      return { status: 200, body: { status: 'ok' } };
    },
    exchangeInvitation: async ({ parameters, body, address }) => {
      const { username, password } = body as z.infer<typeof exchangeInvitation>;
      await enrollment.exchange(parameters['invitation'] ?? '', { username, password }, address);
      return { status: 201, body: { user: username } };
    },
  };
}
