/** Hosts and what is deployed on them, with its last lines and its configuration. */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Facts, harmless, Journal, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';
import { RunState } from './host-states.tsx';

type Server = ItemOf<'get /servers'>;

export function ServersScreen() {
  const context = useScreenContext();
  const list = useList<Server>(async (after) => await context.call('get /servers', { query: { after } }));
  return (
    <DataTable
      caption="servers.title"
      empty="servers.empty"
      list={list}
      columns={[
        { head: 'column.name', cell: ({ id, name }) => <ScreenLink to={`nodes/${id}`}>{name}</ScreenLink> },
        { head: 'nodes.host', cell: ({ hostname }) => hostname },
        {
          head: 'column.state',
          cell: ({ silent }) => (
            <StateBadge tone={silent ? 'bad' : 'good'}>{t(silent ? 'nodes.silent' : 'state.up')}</StateBadge>
          ),
        },
        {
          head: 'servers.deployments',
          cell: ({ deployments }) => deployments.map((each) => <Deployment key={each.id} of={each} />),
        },
      ]}
    />
  );
}

function Deployment({ of }: { readonly of: Server['deployments'][number] }) {
  const context = useScreenContext();
  const { errors, id, lines, service, started_at: startedAt, state, version } = of;
  return (
    <details>
      <summary>
        {harmless(`${service} ${version}`)} <RunState state={state} />
      </summary>
      <Facts of={{ 'overview.started': <When at={startedAt} /> }} />
      {/* The configuration has secrets in it, so that who reads settings alone is not offered it. */}
      {context.may('settings:write') && (
        <Work label="servers.config" size="xs" isQuiet work={async () => await showConfiguration(context, id)} />
      )}
      {errors.length + lines.length > 0 && (
        <ol className="lines">
          {[...errors, ...lines].map(({ at, level, line }) => (
            <li key={`${at} ${level} ${line}`}>
              <When at={at} /> <StateBadge tone="plain">{level}</StateBadge> {harmless(line)}
            </li>
          ))}
        </ol>
      )}
    </details>
  );
}

async function showConfiguration(context: ScreenContext, id: string): Promise<void> {
  const { config, reported_at: at } = await context.call('get /deployments/:id/config', { parameters: { id } });
  void context.dialogs.show({
    title: 'servers.config',
    size: 'xl',
    content: () => (
      <>
        <Facts of={{ 'column.reported': <When at={at} /> }} />
        {config === null ? t('servers.no-config') : <Journal label={t('servers.config')}>{config}</Journal>}
      </>
    ),
  });
}
