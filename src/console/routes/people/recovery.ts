/** Live recovery codes of guests, for an administrator to read to them; every look is audited (GST-02, GST-03). */
import type { Recovery } from '#src/directory/recovery.ts';
import { recoveryReply } from '#src/protocol/directory/guests.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

export const recoveryRoutes = {
  listRecoveryCodes: consoleRoute.get(
    '/recovery',
    'The recovery codes that work now. Who reads one could sign in as its guest, so reading takes a right to write.',
    { access: 'users:write', vendor: 'closed', audit: 'recovery.codes_read', replies: { 200: recoveryReply } },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makeRecoveryPage({ recovery }: { readonly recovery: Recovery }): ConsolePage {
  return page(recoveryRoutes, {
    listRecoveryCodes: async ({ by }) => {
      const items = await recovery.read(by);
      return { status: 200, body: { items, next: null } };
    },
  });
}
