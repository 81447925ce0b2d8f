/** Erasing people: who was erased, how far it is, and what came of it. */
import { Button } from '@mantine/core';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, Part, StateBadge, When } from '../../kit/facts.tsx';
import { USER_FIELD } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { confirmed } from '../../kit/work.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { formatBytes, formatNumber } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';

export function ErasuresScreen() {
  const context = useScreenContext();
  const list = useList(async (after) => await context.call('get /erasures', { query: { after } }));
  return (
    <>
      <p>{t('erasures.hint')}</p>
      <Actions>
        <Button variant="default" onClick={() => void list.reload()}>
          {t('action.refresh')}
        </Button>
      </Actions>
      <DataTable
        caption="erasures.title"
        empty="erasures.empty"
        list={list}
        columns={[
          { head: 'people.user', cell: ({ user }) => user },
          {
            head: 'column.state',
            cell: ({ state }) => (
              <StateBadge tone={state === 'done' ? 'good' : 'warning'}>{word('state', state)}</StateBadge>
            ),
          },
          { head: 'column.since', cell: ({ started_at: at, started_by: by }) => <When at={at} by={by} /> },
          { head: 'column.until', cell: ({ done_at: at }) => <When at={at} /> },
          { head: 'erasures.conversations', isNumber: true, cell: (one) => formatNumber(one.conversations) },
          {
            head: 'erasures.messages',
            isNumber: true,
            cell: ({ bytes, messages }) => `${formatNumber(messages)} · ${formatBytes(bytes)}`,
          },
          { head: 'erasures.forwards', isNumber: true, cell: ({ forwards }) => formatNumber(forwards) },
          { head: 'erasures.names', isNumber: true, cell: ({ names }) => formatNumber(names) },
          {
            head: 'erasures.held',
            cell: ({ held, kept }) =>
              held + kept > 0 && (
                <StateBadge tone="warning">{t('erasures.left', { conversations: held, messages: kept })}</StateBadge>
              ),
          },
        ]}
      />
      <Part title="erasures.add">
        <FieldsForm
          fields={{ user: USER_FIELD }}
          submit="erasures.erase"
          isDanger
          isClearing
          send={async ({ user }) => {
            const username = user.trim();
            const text = t('erasures.asked', { user: username });
            const question = { title: 'erasures.erase', text, yes: 'erasures.erase', typed: username } as const;
            if (!(await confirmed(context, question))) return;
            await context.call('post /users/:username/erase', { parameters: { username } });
            context.notices.say('notice.done');
            await list.reload();
          }}
        />
      </Part>
    </>
  );
}
