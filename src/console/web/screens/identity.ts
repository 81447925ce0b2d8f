/** Who signs in at the identity provider: which username belongs to which account there (VND-14). */
import type { ItemOf } from '../console-api.ts';
import { confirmed } from '../dialog.ts';
import { badge, element, workButton } from '../elements.ts';
import { form, input } from '../form.ts';
import { t, when, word } from '../language.ts';
import { Listing } from '../listing.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';
import { leaveForProvider } from '../single-sign-on.ts';

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
        {
          head: 'identity.bound-by',
          cell: ({ bound_actor: actor, bound_by: by }) =>
            by === null ? badge(t('identity.not-bound'), 'warning') : [word('binding', by), ' · ', actor],
        },
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
    return [bindingPart(stage, async () => await listing.reload()), listing.element];
  },
};

/** Binding one's own account, and for administrators somebody else's. */
function bindingPart(stage: ScreenContext, bound: () => Promise<void>): HTMLElement {
  const own = workButton('identity.bind-own', stage.notices, async () => {
    await leaveForProvider('bind', await stage.call('get /sso/binding', {}));
  });
  const user = input({ label: 'people.user', name: 'user', attributes: { required: true, autocapitalize: 'none' } });
  const subject = input({ label: 'identity.subject', name: 'subject', attributes: { required: true, maxlength: 255 } });
  const send = async () => {
    const parameters = { user: user.value.trim() };
    await stage.call('put /sso/identities/:user', { parameters, body: { subject: subject.value.trim() } });
    stage.notices.say('notice.done');
    await bound();
  };
  return element(
    'div',
    {},
    element('p', {}, t('identity.bind-hint')),
    stage.me.sign_in === 'password' && element('div', { class: 'actions' }, own),
    stage.may('users:write') && form({ submit: 'identity.bind', parts: [user, subject], send }),
  );
}
