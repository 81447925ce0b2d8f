/** Who signs in at the identity provider: which username belongs to which account there (VND-14). */
import type { ItemOf } from '../console-api.ts';
import { confirmed } from '../dialog.ts';
import { workButton } from '../elements.ts';
import { t, when } from '../language.ts';
import { Listing } from '../listing.ts';
import type { Screen } from '../screen-context.ts';

type Account = ItemOf<'get /identity/control/accounts'>;

export const identityScreen: Screen = {
  path: 'identity',
  title: 'identity.title',
  section: 'access',
  needs: 'users:read',
  isForVendors: false,
  show: (stage) => {
    const listing: Listing<Account> = new Listing<Account>({
      caption: 'identity.title',
      empty: 'identity.empty',
      load: async (after) => await stage.call('get /identity/control/accounts', { query: { after } }),
      columns: [
        { head: 'people.user', cell: ({ user }) => user },
        { head: 'identity.issuer', cell: ({ issuer }) => issuer },
        { head: 'identity.subject', cell: ({ subject }) => subject },
        { head: 'people.signed-in', cell: ({ signed_in_at: at }) => when(at) },
        {
          head: 'column.actions',
          cell: ({ user }) =>
            stage.may('access:write') &&
            workButton('identity.forget', stage.notices, async () => {
              if (!(await confirmed('identity.forget', t('identity.forget-asked', { user }), 'identity.forget')))
                return;
              await stage.call('delete /sso/identities/:user', { parameters: { user } });
              stage.notices.say('notice.done');
              await listing.reload();
            }),
        },
      ],
    });
    return [listing.element];
  },
};
