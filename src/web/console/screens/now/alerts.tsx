/** Alerts that the server raised: they open and close by themselves. */
import { useState } from 'react';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { StateBadge, When } from '../../kit/facts.tsx';
import { Filters } from '../../kit/fields-form.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { t, word, wordOr } from '../../words/words.ts';

type AlertState = 'open' | 'closed';

export function AlertsScreen() {
  const context = useScreenContext();
  const [state, setState] = useState(context.place.query.get('state') ?? '');
  const choices = ['', 'open', 'closed'].map((value) => ({
    value,
    label: value === '' ? t('list.all') : word('state', value),
  }));
  return (
    <>
      <Filters
        fields={{ state: { kind: 'choice', label: 'column.state', choices } }}
        values={{ state }}
        onChange={(next) => {
          context.keepQuery(next);
          setState(next.state);
        }}
      />
      <AlertsTable state={state === '' ? undefined : (state as AlertState)} />
    </>
  );
}

/** Alerts of a state, or of all, as they are now. */
export function AlertsTable({ state }: { readonly state: AlertState | undefined }) {
  const context = useScreenContext();
  const list = useList(async (after) => await context.call('get /alerts', { query: { state, after } }), [state]);
  return (
    <DataTable
      caption="alerts.title"
      empty="alerts.empty"
      list={list}
      columns={[
        {
          head: 'column.state',
          cell: (alert) => (
            <StateBadge tone={alert.state === 'open' ? 'bad' : 'plain'}>{word('state', alert.state)}</StateBadge>
          ),
        },
        { head: 'alerts.what', cell: ({ kind, say }) => wordOr('alert', kind, say) },
        { head: 'alerts.about', cell: ({ about }) => about },
        { head: 'column.details', cell: ({ details }) => details },
        { head: 'column.since', cell: ({ since }) => <When at={since} /> },
        { head: 'alerts.seen', cell: ({ last_seen: seen }) => <When at={seen} /> },
      ]}
    />
  );
}
