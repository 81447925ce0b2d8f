/** The sessions of people's apps. */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { When } from '../../kit/facts.tsx';
import { useScreenContext } from '../../screen-context.ts';

export function ClientSessionsScreen() {
  const context = useScreenContext();
  const list = useList(async (after) => await context.call('get /client-sessions', { query: { after } }));
  return (
    <DataTable
      caption="sessions.title"
      empty="sessions.empty"
      list={list}
      columns={[
        { head: 'people.user', cell: ({ user }) => user },
        { head: 'column.name', cell: ({ name }) => name },
        { head: 'people.platform', cell: ({ platform }) => platform },
        { head: 'sessions.version', cell: ({ app_version: version }) => version },
        { head: 'sessions.used', cell: ({ used_at: at }) => <When at={at} /> },
        { head: 'people.renewable', cell: ({ session_until: until }) => <When at={until} /> },
      ]}
    />
  );
}
