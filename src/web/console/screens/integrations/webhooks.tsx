/** Incoming webhooks of all rooms: their last use, making one, and revoking (BOT-01). */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { LastUse, Part, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';

type Webhook = ItemOf<'get /webhooks'>;

export function WebhooksScreen() {
  const context = useScreenContext();
  const mayWrite = context.may('settings:write');
  const list = useList<Webhook>(async (after) => await context.call('get /webhooks', { query: { after } }));
  return (
    <>
      <DataTable
        caption="webhooks.title"
        empty="webhooks.empty"
        list={list}
        columns={[
          { head: 'column.name', cell: ({ name }) => name },
          { head: 'holds.conversation', cell: ({ conversation_id: id }) => <code>{id}</code> },
          { head: 'people.user', cell: ({ sender }) => sender },
          { head: 'column.since', cell: ({ created_at: at, created_by: by }) => <When at={at} by={by} /> },
          {
            head: 'vendor.used',
            cell: ({ last_used_address: address, last_used_at: at }) => <LastUse at={at} address={address} />,
          },
          mayWrite && {
            head: 'column.actions',
            cell: ({ conversation_id: id, id: webhook, name }) => (
              <Work
                label="vendor.revoke"
                size="xs"
                isDanger
                ask={t('webhooks.revoke-asked', { name })}
                work={async () => {
                  await context.call('delete /conversations/:id/webhooks/:webhook', { parameters: { id, webhook } });
                }}
                done={list.reload}
              />
            ),
          },
        ]}
      />
      {mayWrite && (
        <Part title="webhooks.add">
          <FieldsForm
            fields={{
              conversation: {
                kind: 'conversation',
                label: 'holds.conversation',
                hint: 'webhooks.room-hint',
                isRequired: true,
              },
              name: { label: 'column.name', hint: 'webhooks.name-hint', isRequired: true, maxLength: 100 },
            }}
            submit="action.create"
            isClearing
            send={async ({ conversation, name }) => {
              const parameters = { id: conversation.trim() };
              const body = { name: name.trim() };
              const { path } = await context.call('post /conversations/:id/webhooks', { parameters, body });
              void showOnce(context.dialogs, 'webhooks.path', { hint: 'webhooks.path-hint', secret: path });
              await list.reload();
            }}
          />
        </Part>
      )}
    </>
  );
}
