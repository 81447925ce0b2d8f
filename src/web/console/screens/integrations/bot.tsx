/** What a bot offers and hears: its slash commands and its event subscriptions (BOT-01). */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, BackLink, Part, StateBadge, When } from '../../kit/facts.tsx';
import { allOf } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { t, word } from '../../words/words.ts';

type Subscription = ItemOf<'get /bots/:id/subscriptions'>;
type Event = Subscription['events'][number];

const EVENTS = allOf<Event>({
  'message.new': true,
  'message.edit': true,
  'message.delete': true,
  membership: true,
  command: true,
});

export function BotPage({ id }: { readonly id: string }) {
  const context = useScreenContext();
  const list = useList(async () => await context.call('get /bots/:id/commands', { parameters: { id } }));
  return (
    <>
      <BackLink to="bots" label="bots.back" />
      <DataTable
        caption="bots.commands"
        empty="bots.no-commands"
        list={list}
        columns={[
          {
            head: 'column.name',
            cell: ({ name, usage }) => <code>{`/${name}${usage === undefined ? '' : ` ${usage}`}`}</code>,
          },
          { head: 'column.details', cell: ({ description }) => description },
        ]}
      />
      {/* A URL may hold a secret of its receiver. */}
      {!context.isVendor && <Subscriptions id={id} />}
    </>
  );
}

function Subscriptions({ id }: { readonly id: string }) {
  const context = useScreenContext();
  const parameters = { id };
  const mayWrite = context.may('settings:write');
  const list = useList<Subscription>(async () => await context.call('get /bots/:id/subscriptions', { parameters }));
  return (
    <>
      <DataTable
        caption="bots.subscriptions"
        empty="bots.no-subscriptions"
        list={list}
        columns={[
          { head: 'automations.url', cell: ({ url }) => url },
          { head: 'automations.events', cell: ({ events }) => events.join(', ') },
          {
            head: 'column.state',
            cell: ({ state }) => (
              <StateBadge tone={state === 'active' ? 'good' : 'bad'}>{word('state', state)}</StateBadge>
            ),
          },
          { head: 'column.since', cell: ({ created_at: at, created_by: by }) => <When at={at} by={by} /> },
          {
            head: 'bots.failing',
            cell: ({ failing_since: since, last_failure: reason }) => <When at={since} by={reason} />,
          },
          mayWrite && {
            head: 'column.actions',
            cell: (one) => <SubscriptionActions one={one} reload={list.reload} />,
          },
        ]}
      />
      {mayWrite && (
        <Part title="bots.subscribe">
          <FieldsForm
            fields={{
              url: { label: 'automations.url', type: 'url', isRequired: true, maxLength: 2000 },
              events: {
                kind: 'ticks',
                label: 'automations.events',
                choices: EVENTS.map((value) => ({ value, label: value })),
              },
            }}
            submit="action.create"
            isClearing
            send={async ({ events, url }) => {
              const body = { url: url.trim(), events: [...events] as Event[] };
              const { secret } = await context.call('post /bots/:id/subscriptions', { parameters, body });
              void showOnce(context.dialogs, 'bots.signing', { hint: 'bots.signing-hint', secret });
              await list.reload();
            }}
          />
        </Part>
      )}
    </>
  );
}

interface SubscriptionActionsProps {
  readonly one: Subscription;
  readonly reload: () => Promise<void>;
}

function SubscriptionActions({ one: { bot, id: subscription, state, url }, reload }: SubscriptionActionsProps) {
  const context = useScreenContext();
  const parameters = { id: bot, subscription };
  return (
    <Actions>
      {state !== 'active' && (
        <Work
          label="bots.enable"
          size="xs"
          work={async () => await context.call('post /bots/:id/subscriptions/:subscription/enable', { parameters })}
          done={reload}
        />
      )}
      <Work
        label="action.delete"
        size="xs"
        isDanger
        ask={t('bots.unsubscribe-asked', { url })}
        work={async () => await context.call('delete /bots/:id/subscriptions/:subscription', { parameters })}
        done={reload}
      />
    </Actions>
  );
}
