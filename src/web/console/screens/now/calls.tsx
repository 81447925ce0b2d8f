/** The calls that are going on. */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { When } from '../../kit/facts.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { word } from '../../words/words.ts';

export function CallsScreen() {
  const context = useScreenContext();
  const list = useList(async () => await context.call('get /mcu/live', {}));
  return (
    <DataTable
      caption="calls.title"
      empty="calls.empty"
      list={list}
      columns={[
        { head: 'calls.call', cell: ({ call }) => call },
        { head: 'calls.room', cell: ({ room }) => room },
        { head: 'column.state', cell: ({ state }) => word('state', state) },
        { head: 'calls.people', cell: ({ participants }) => participants.map(({ user }) => user).join(', ') },
        { head: 'column.since', cell: ({ started_at: at }) => <When at={at} /> },
        { head: 'routing.node', cell: ({ node }) => node },
      ]}
    />
  );
}
