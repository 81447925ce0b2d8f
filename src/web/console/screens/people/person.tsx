/** One person: profile, blocking, letting go, sessions, and the role in the console (DIR-01, CON-03). */
import type { PersonConsoleRole } from '#src/identity/console/permissions.ts';
import { harmlessName } from '../../../kit/harmless-text.ts';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, BackLink, Facts, Part, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import { confirmed, Work } from '../../kit/work.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { given } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';
import { QuotasTable } from '../now/quotas.tsx';

type User = ReplyOf<'get /users/:username'>;

const ROLES: readonly (PersonConsoleRole | '')[] = ['', 'viewer', 'administrator', 'owner'];

export interface OfPerson {
  readonly user: User;
  readonly reload: () => Promise<void>;
}

export function PersonPage({ username }: { readonly username: string }) {
  const context = useScreenContext();
  const person = useLoaded(async () => await context.call('get /users/:username', { parameters: { username } }));
  return (
    <>
      <BackLink to="people" label="people.back" />
      <LoadedPlace of={person}>{(user) => <Person user={user} reload={person.reload} />}</LoadedPlace>
    </>
  );
}

function Person({ reload, user }: OfPerson) {
  const context = useScreenContext();
  // What is known of an owner is for owners to change.
  const mayWrite = context.may(user.role === 'owner' ? 'access:write' : 'users:write') && user.state !== 'left';
  return (
    <>
      <h2>{harmlessName(user.display_name ?? user.user)}</h2>
      <Facts
        of={{
          'people.user': user.user,
          'column.state': (
            <StateBadge tone={user.state === 'active' ? 'good' : 'bad'}>{word('state', user.state)}</StateBadge>
          ),
          'people.kind': word('kind', user.role === 'owner' ? 'owner' : user.kind),
          'people.created': <When at={user.created_at} />,
          'people.groups': user.groups.map(({ id, name }) => (
            <span key={id}>
              <ScreenLink to={`groups/${id}`}>{name}</ScreenLink>{' '}
            </span>
          )),
          ...(mayWrite ? {} : { 'people.email': user.email, 'people.phone': user.phone, 'people.job': user.title }),
        }}
      />
      {mayWrite && <Standing user={user} reload={reload} />}
      {mayWrite && (
        <Part title="people.profile">
          <ProfileForm user={user} reload={reload} />
        </Part>
      )}
      {context.may('access:write') && user.kind === 'person' && (
        <Part title="people.role">
          <RoleForm user={user} reload={reload} />
        </Part>
      )}
      <Part title="people.sessions">
        <Sessions username={user.user} />
      </Part>
      {!context.isVendor && (
        <Part title="quotas.title">
          <QuotasTable
            load={async () =>
              await context.call('get /users/:username/quotas', { parameters: { username: user.user } })
            }
          />
        </Part>
      )}
    </>
  );
}

/** Blocking, unblocking, letting go, and what helps whoever lost their way in. */
function Standing({ reload, user: { avatar, role, state, user } }: OfPerson) {
  const context = useScreenContext();
  const whom = { parameters: { username: user } };
  return (
    <Actions>
      {state === 'active' ? (
        <Work
          label="people.block"
          isDanger
          ask={t('people.block-asked', { user })}
          work={async () => await context.call('post /users/:username/block', whom)}
          done={reload}
        />
      ) : (
        <Work
          label="people.unblock"
          work={async () => await context.call('post /users/:username/unblock', whom)}
          done={reload}
        />
      )}
      {avatar !== undefined && (
        <Work
          label="people.remove-avatar"
          work={async () => await context.call('delete /users/:username/avatar', whom)}
          done={reload}
        />
      )}
      {role !== 'owner' && (
        <Work
          label="people.reset"
          isQuiet
          ask={t('people.reset-asked', { user })}
          work={async () => await resetPassword(context, user)}
        />
      )}
      {role !== 'owner' && (
        <Work
          label="people.factors"
          ask={t('people.factors-asked', { user })}
          work={async () => await context.call('delete /users/:username/second-factors', whom)}
        />
      )}
      <Work
        label="people.leave"
        isDanger
        ask={t('people.leave-asked', { user })}
        typed={user}
        work={async () => await context.call('post /users/:username/leave', whom)}
        done={reload}
      />
    </Actions>
  );
}

/** A link by which the person sets another password, shown once (CRD-12). */
async function resetPassword(context: ScreenContext, user: string): Promise<void> {
  const made = await context.call('post /users/:username/password-reset', { parameters: { username: user } });
  void showOnce(context.dialogs, 'people.reset-link', {
    hint: 'people.reset-hint',
    secret: made.url,
    more: (
      <p>
        {t('invitation.until')} <When at={made.expires_at} />
      </p>
    ),
  });
}

function ProfileForm({ reload, user }: OfPerson) {
  const context = useScreenContext();
  // A guest's phone is how it recovers: it comes from the invitation and is not changed here.
  const isGuest = user.kind === 'guest';
  return (
    <FieldsForm
      fields={{
        display_name: { label: 'people.name', maxLength: 100, value: user.display_name ?? '' },
        phone: {
          label: 'people.phone',
          hint: 'people.phone-hint',
          type: 'tel',
          maxLength: 16,
          value: user.phone ?? '',
          isShown: () => !isGuest,
        },
        email: { label: 'people.email', type: 'email', maxLength: 254, value: user.email ?? '' },
        title: { label: 'people.job', maxLength: 100, value: user.title ?? '' },
      }}
      submit="action.save"
      send={async (values) => {
        const body = {
          display_name: given(values.display_name) ?? null,
          ...(isGuest ? {} : { phone: given(values.phone) ?? null }),
          email: given(values.email) ?? null,
          title: given(values.title) ?? null,
        };
        await context.call('patch /users/:username', { parameters: { username: user.user }, body });
        context.notices.say('notice.done');
        await reload();
      }}
    />
  );
}

function RoleForm({ reload, user: { role, user } }: OfPerson) {
  const context = useScreenContext();
  const now = useLoaded(async () => (role === 'owner' ? 'owner' : await roleOf(context, user)), [role]);
  const choices = ROLES.map((value) => ({ value, label: value === '' ? t('people.no-role') : word('role', value) }));
  return (
    <LoadedPlace of={now}>
      {(value) => (
        <FieldsForm
          key={value}
          fields={{ role: { kind: 'choice', label: 'people.role', hint: 'people.role-hint', value, choices } }}
          submit="action.save"
          send={async ({ role: chosen }) => {
            const named = choices.find((choice) => choice.value === chosen)?.label ?? '';
            const text = t('people.role-asked', { user, role: named });
            if (!(await confirmed(context, { title: 'people.role', text, yes: 'action.save' }))) return;
            const body = { role: chosen === '' ? null : (chosen as PersonConsoleRole) };
            await context.call('put /console-roles/:user', { parameters: { user }, body });
            context.notices.say('notice.done');
            await reload();
            await now.reload();
          }}
        />
      )}
    </LoadedPlace>
  );
}

/** The role that a person has below owner: none where the list does not name them. */
async function roleOf(context: ScreenContext, user: string): Promise<string> {
  for (let after: string | undefined; ;) {
    const { items, next } = await context.call('get /console-roles', { query: { after } });
    const found = items.find((item) => item.user === user);
    if (found !== undefined || next === null) return found?.role ?? '';
    after = next;
  }
}

function Sessions({ username }: { readonly username: string }) {
  const context = useScreenContext();
  const list = useList(async () => await context.call('get /users/:username/sessions', { parameters: { username } }));
  return (
    <DataTable
      caption="people.sessions"
      empty="people.no-sessions"
      list={list}
      columns={[
        { head: 'column.name', cell: ({ name }) => name },
        { head: 'people.platform', cell: ({ platform }) => platform },
        { head: 'people.signed-in', cell: ({ signed_in_at: at }) => <When at={at} /> },
        { head: 'people.renewable', cell: ({ renewable_until: until }) => <When at={until} /> },
        context.may('users:write') && {
          head: 'column.actions',
          cell: ({ id: session }) => (
            <Work
              label="people.end-session"
              size="xs"
              work={async () =>
                await context.call('delete /users/:username/sessions/:session', { parameters: { username, session } })
              }
              done={list.reload}
            />
          ),
        },
      ]}
    />
  );
}
