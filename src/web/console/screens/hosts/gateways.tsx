/** Gateways as their nodes report them, and the routes between services (NOD-02, CON-02). */
import { DataTable, listOf, useList } from '../../kit/data-table.tsx';
import { harmless, Journal, Part, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';
import { RunState } from './host-states.tsx';

export function GatewaysScreen() {
  const context = useScreenContext();
  const list = useList(async (after) => await context.call('get /gateways', { query: { after } }));
  return (
    <>
      <DataTable
        caption="gateways.title"
        empty="gateways.empty"
        list={list}
        columns={[
          { head: 'column.name', cell: ({ id, name }) => <ScreenLink to={`nodes/${id}`}>{name}</ScreenLink> },
          {
            head: 'column.state',
            cell: ({ silent, state }) =>
              silent ? <StateBadge tone="bad">{t('nodes.silent')}</StateBadge> : <RunState state={state} />,
          },
          {
            head: 'gateways.listeners',
            cell: ({ listeners }) =>
              listeners.map(({ host, port, protocol }) => `${protocol} ${host}:${port}`).join(', '),
          },
          { head: 'column.reported', cell: ({ reported_at: at }) => <When at={at} /> },
          {
            head: 'column.actions',
            cell: ({ id }) => (
              <Work label="gateways.reports" size="xs" isQuiet work={async () => await showReports(context, id)} />
            ),
          },
        ]}
      />
      {context.may('routing:read') && (
        <Part title="routing.title">
          <Routing />
        </Part>
      )}
    </>
  );
}

async function showReports(context: ScreenContext, id: string): Promise<void> {
  const { items } = await context.call('get /gateways/:id/reports', { parameters: { id }, query: {} });
  void context.dialogs.show({
    title: 'gateways.reports',
    size: 'xl',
    content: () =>
      items.length === 0 ? (
        <p>{t('gateways.no-reports')}</p>
      ) : (
        items.map(({ received_at: at, report }) => (
          <section key={at}>
            <h3>
              <When at={at} />
            </h3>
            <Journal label={at}>{JSON.stringify(report, null, 2)}</Journal>
          </section>
        ))
      ),
  });
}

function Routing() {
  const context = useScreenContext();
  const routing = useLoaded(async () => await context.call('get /routing', {}));
  return (
    <LoadedPlace of={routing}>
      {({ items, listeners }) => (
        <>
          <ul>
            {listeners.map(({ service, url }) => (
              <li key={`${service} ${url}`}>{harmless(`${service}: ${url}`)}</li>
            ))}
          </ul>
          <DataTable
            caption="routing.title"
            empty="routing.empty"
            list={listOf(items)}
            columns={[
              { head: 'routing.node', cell: ({ name }) => name },
              { head: 'routing.from', cell: ({ from }) => from },
              { head: 'routing.to', cell: ({ to }) => to },
              { head: 'routing.via', cell: ({ via }) => via },
              { head: 'column.state', cell: ({ state }) => <RunState state={state} /> },
              { head: 'column.reported', cell: ({ reported_at: at }) => <When at={at} /> },
            ]}
          />
        </>
      )}
    </LoadedPlace>
  );
}
