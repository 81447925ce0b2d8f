/** Who signs in at the identity provider: which username belongs to which account there (VND-14). */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, StateBadge, When } from '../../kit/facts.tsx';
import { USER_FIELD } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { leaveForProvider } from '../../session/single-sign-on.ts';
import { useScreenContext } from '../../screen-context.ts';
import { t, word } from '../../words/words.ts';

type Account = ItemOf<'get /identity/control/accounts'>;

export function IdentityScreen() {
  const context = useScreenContext();
  const list = useList<Account>(
    async (after) => await context.call('get /identity/control/accounts', { query: { after } }),
  );
  return (
    <>
      <p>{t('identity.bind-hint')}</p>
      {context.me.sign_in === 'password' && (
        <Actions>
          <Work
            label="identity.bind-own"
            isQuiet
            work={async () => await leaveForProvider('bind', await context.call('get /sso/binding', {}))}
          />
        </Actions>
      )}
      {/* Binding somebody else's account, for administrators. */}
      {context.may('users:write') && (
        <FieldsForm
          fields={{ user: USER_FIELD, subject: { label: 'identity.subject', isRequired: true, maxLength: 255 } }}
          submit="identity.bind"
          isClearing
          send={async ({ subject, user }) => {
            const parameters = { user: user.trim() };
            await context.call('put /sso/identities/:user', { parameters, body: { subject: subject.trim() } });
            context.notices.say('notice.done');
            await list.reload();
          }}
        />
      )}
      <DataTable
        caption="identity.title"
        empty="identity.empty"
        list={list}
        columns={[
          { head: 'people.user', cell: ({ user }) => user },
          { head: 'identity.issuer', cell: ({ issuer }) => issuer },
          { head: 'identity.subject', cell: ({ subject }) => subject },
          {
            head: 'identity.bound-by',
            cell: ({ bound_actor: actor, bound_by: by }) =>
              by === null ? (
                <StateBadge tone="warning">{t('identity.not-bound')}</StateBadge>
              ) : (
                `${word('binding', by)} · ${actor}`
              ),
          },
          { head: 'people.signed-in', cell: ({ signed_in_at: at }) => <When at={at} /> },
          context.may('access:write') && {
            head: 'column.actions',
            cell: ({ user }) => (
              <Work
                label="identity.forget"
                size="xs"
                isDanger
                ask={t('identity.forget-asked', { user })}
                work={async () => await context.call('delete /sso/identities/:user', { parameters: { user } })}
                done={list.reload}
              />
            ),
          },
        ]}
      />
    </>
  );
}
