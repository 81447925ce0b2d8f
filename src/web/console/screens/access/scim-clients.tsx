/** Clients that provision people over SCIM: making them, their tokens, and handing people to them. */
import { DataTable, useList, type List } from '../../kit/data-table.tsx';
import { Actions, Hint, LastUse, Part, StateBadge, When } from '../../kit/facts.tsx';
import { NAME_FIELD, USER_FIELD } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { formatNumber } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';

type Client = ItemOf<'get /scim-clients'>;

const TONES = { active: 'good', token_ended: 'bad' } as const;

export function ScimClientsScreen() {
  const context = useScreenContext();
  const list = useList<Client>(async () => await context.call('get /scim-clients', {}));
  return (
    <>
      <Hint>{t('scim.hint')}</Hint>
      <DataTable
        caption="scim.title"
        empty="scim.empty"
        list={list}
        columns={[
          { head: 'column.name', cell: ({ name }) => name },
          {
            head: 'column.state',
            cell: ({ state }) => <StateBadge tone={TONES[state]}>{word('state', state)}</StateBadge>,
          },
          { head: 'scim.people-max', isNumber: true, cell: ({ people_max: most }) => formatNumber(most) },
          { head: 'scim.token-made', cell: ({ token_made_at: at }) => <When at={at} /> },
          {
            head: 'vendor.used',
            cell: ({ last_used_address: address, last_used_at: at }) => <LastUse at={at} address={address} />,
          },
          { head: 'column.actions', cell: (client) => <ClientActions client={client} reload={list.reload} /> },
        ]}
      />
      <Part title="scim.create">
        <FieldsForm
          fields={{
            name: NAME_FIELD,
            people_max: {
              label: 'scim.people-max',
              isRequired: true,
              type: 'number',
              min: 1,
              max: 200_000,
              value: '10000',
            },
          }}
          submit="action.create"
          isClearing
          send={async ({ name, people_max: most }) => {
            const body = { name: name.trim(), people_max: Number(most) };
            const { token } = await context.call('post /scim-clients', { body });
            showToken(context, token);
            await list.reload();
          }}
        />
      </Part>
      <AdoptPart list={list} />
    </>
  );
}

function showToken(context: ScreenContext, token: string): void {
  void showOnce(context.dialogs, 'scim.token', { hint: 'scim.token-hint', secret: token });
}

interface ClientActionsProps {
  readonly client: Client;
  readonly reload: () => Promise<void>;
}

function ClientActions({ client: { id, name }, reload }: ClientActionsProps) {
  const context = useScreenContext();
  const parameters = { id };
  return (
    <Actions>
      <Work
        label="scim.renew"
        size="xs"
        isQuiet
        ask={t('scim.renew-asked', { name })}
        work={async () => {
          const { token } = await context.call('post /scim-clients/:id/token', { parameters });
          showToken(context, token);
        }}
        done={reload}
      />
      <Work
        label="scim.remove"
        size="xs"
        isDanger
        ask={t('scim.remove-asked', { name })}
        work={async () => await context.call('delete /scim-clients/:id', { parameters })}
        done={reload}
      />
    </Actions>
  );
}

/** Handing somebody who is here to a client, and taking them back. */
function AdoptPart({ list: { items } }: { readonly list: List<Client> }) {
  const context = useScreenContext();
  if (items.length === 0) return null;
  return (
    <Part title="scim.adopt">
      <FieldsForm
        key={items.map(({ id }) => id).join(' ')}
        fields={{
          client: {
            kind: 'choice',
            label: 'scim.client',
            choices: items.map(({ id, name }) => ({ value: id, label: name })),
          },
          user: { ...USER_FIELD, maxLength: 256 },
          user_name: { label: 'scim.user-name', hint: 'scim.user-name-hint', maxLength: 256, isName: true },
        }}
        submit="action.save"
        send={async ({ client, user, user_name: named }) => {
          const parameters = { id: client, user: user.trim() };
          const userName = named.trim();
          const path = '/scim-clients/:id/people/:user' as const;
          if (userName === '') await context.call(`delete ${path}`, { parameters });
          else await context.call(`put ${path}`, { parameters, body: { user_name: userName } });
          context.notices.say('notice.done');
        }}
      />
    </Part>
  );
}
