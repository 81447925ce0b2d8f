/** The providers that people sign in at with their apps: what is set, changing them, and whose account is whose (CRD-13). */
import { harmlessName } from '../../../kit/harmless-text.ts';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, BackLink, Part, ScreenLink, StateBadge } from '../../kit/facts.tsx';
import { USER_FIELD } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import type { Input, ItemOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';
import { changesOf, settingFields, type SettingKind } from '../settings/setting-kinds.ts';

type Provider = ItemOf<'get /sso/providers'>;

/** The settings of a provider, by the API's own names. */
const KINDS: Readonly<Record<Exclude<keyof Provider, 'id' | 'logout_uri' | 'redirect_uri'>, SettingKind>> = {
  name: 'line',
  issuer: 'line',
  client_id: 'line',
  client_secret: 'secret',
  scope: 'line',
  username_claim: 'line',
  groups_claim: 'line',
  groups: 'map',
  creates_people: 'switch',
  bind_by_email: 'switch',
};

export function SsoProvidersScreen() {
  const [id] = useScreenContext().place.rest;
  return id === undefined ? <ProviderList /> : <ProviderPage id={id} />;
}

function ProviderList() {
  const context = useScreenContext();
  const list = useList<Provider>(async () => await context.call('get /sso/providers', {}));
  return (
    <>
      <DataTable
        caption="sso-providers.title"
        empty="sso-providers.empty"
        list={list}
        columns={[
          { head: 'column.name', cell: ({ id, name }) => <ScreenLink to={`sso-providers/${id}`}>{name}</ScreenLink> },
          { head: 'identity.issuer', cell: ({ issuer }) => <code>{issuer}</code> },
          {
            head: 'sso-providers.creates',
            cell: ({ creates_people: makes }) => (
              <StateBadge tone="plain">{t(makes ? 'sso-providers.yes' : 'sso-providers.no')}</StateBadge>
            ),
          },
        ]}
      />
      {context.may('access:write') && (
        <Part title="sso-providers.add">
          <FieldsForm
            fields={{
              provider: {
                label: 'sso-providers.id',
                hint: 'sso-providers.id-hint',
                isRequired: true,
                maxLength: 32,
                isName: true,
              },
            }}
            submit="action.create"
            send={async ({ provider }) => {
              context.go(`sso-providers/${encodeURIComponent(provider.trim())}`);
              await Promise.resolve();
            }}
          />
        </Part>
      )}
    </>
  );
}

function ProviderPage({ id }: { readonly id: string }) {
  const context = useScreenContext();
  const found = useLoaded(async () => ({
    provider: (await context.call('get /sso/providers', {})).items.find((each) => each.id === id),
  }));
  return (
    <>
      <BackLink to="sso-providers" label="sso-providers.back" />
      <LoadedPlace of={found}>
        {({ provider }) => (
          <>
            <h2>{harmlessName(provider?.name ?? id)}</h2>
            {provider !== undefined && (
              <>
                <p>{t('sso-providers.addresses')}</p>
                <ul>
                  {[provider.redirect_uri, provider.logout_uri].map((uri) => (
                    <li key={uri}>
                      <code>{harmlessName(uri)}</code>
                    </li>
                  ))}
                </ul>
              </>
            )}
            {context.may('access:write') && <ProviderForm id={id} provider={provider} reload={found.reload} />}
          </>
        )}
      </LoadedPlace>
    </>
  );
}

interface ProviderFormProps {
  readonly id: string;
  readonly provider: Provider | undefined;
  readonly reload: () => Promise<void>;
}

function ProviderForm({ id, provider, reload }: ProviderFormProps) {
  const context = useScreenContext();
  const parameters = { provider: id };
  const before = (provider ?? {}) as Readonly<Record<string, unknown>>;
  return (
    <>
      <FieldsForm
        key={JSON.stringify(before)}
        fields={settingFields(KINDS, before)}
        submit="action.save"
        send={async (values) => {
          const changes = changesOf(KINDS, before, values);
          // The form is whole: what was not changed stays as it is, and what was emptied is left out.
          const fields = Object.keys(KINDS).flatMap((field) => {
            const isSecret = field === 'client_secret';
            const kept = isSecret ? undefined : before[field];
            const value = Object.hasOwn(changes, field) ? changes[field] : kept;
            return value === undefined || (value === null && !isSecret) ? [] : [[field, value]];
          });
          const body = Object.fromEntries(fields) as Input<'put /sso/providers/:provider'>['body'];
          const { dropped } = await context.call('put /sso/providers/:provider', { parameters, body });
          if (dropped.length === 0) context.notices.say('notice.done');
          else context.notices.say('settings.dropped', { fields: 'client secret' });
          await reload();
        }}
      />
      {provider !== undefined && (
        <>
          <Actions>
            <Work
              label="sso-providers.remove"
              isDanger
              ask={t('sso-providers.remove-asked', { name: id })}
              typed={id}
              work={async () => {
                await context.call('delete /sso/providers/:provider', { parameters });
                context.go('sso-providers');
              }}
            />
          </Actions>
          <Part title="sso-providers.bind">
            <BindingForm provider={id} />
          </Part>
        </>
      )}
    </>
  );
}

/** Binding a person to an account of the provider, and taking that away. */
function BindingForm({ provider }: { readonly provider: string }) {
  const context = useScreenContext();
  return (
    <FieldsForm
      fields={{
        user: USER_FIELD,
        subject: { label: 'identity.subject', hint: 'sso-providers.subject-hint', maxLength: 255, isName: true },
      }}
      submit="action.save"
      isClearing
      send={async ({ subject, user }) => {
        const parameters = { provider, user: user.trim() };
        const body = { subject: subject.trim() };
        const path = '/sso/providers/:provider/identities/:user' as const;
        if (body.subject === '') await context.call(`delete ${path}`, { parameters });
        else await context.call(`put ${path}`, { parameters, body });
        context.notices.say('notice.done');
      }}
    />
  );
}
