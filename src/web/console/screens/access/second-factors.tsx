/** The second factors of everybody who has one for the console, for owners (TFA-01). */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { When } from '../../kit/facts.tsx';
import { Work } from '../../kit/work.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';

export function SecondFactorsScreen() {
  const context = useScreenContext();
  const list = useList(async (after) => await context.call('get /second-factors', { query: { after } }));
  return (
    <DataTable
      caption="factors.title"
      empty="factors.empty"
      list={list}
      columns={[
        { head: 'people.user', cell: ({ user }) => user },
        { head: 'column.since', cell: ({ since }) => <When at={since} /> },
        { head: 'factors.codes', isNumber: true, cell: ({ recovery_codes_left: left }) => left },
        {
          head: 'column.actions',
          cell: ({ user }) => (
            <Work
              label="factors.remove"
              size="xs"
              isDanger
              ask={t('factors.remove-asked', { user })}
              work={async () => await context.call('delete /second-factors/:user', { parameters: { user } })}
              done={list.reload}
            />
          ),
        },
      ]}
    />
  );
}
