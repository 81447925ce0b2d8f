/** The installation at a glance: figures, open alerts, who is connected, and the last errors and warnings (CON-01). */
import { Button } from '@mantine/core';
import { Actions, Facts, harmless, Part, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { formatBytes, formatNumber, formatSeconds } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';
import { LogLines } from '../traces/log-lines.tsx';
import { AlertsTable } from './alerts.tsx';
import { FirstRun } from './first-run.tsx';

type Overview = ReplyOf<'get /overview'>;

export function OverviewScreen() {
  const context = useScreenContext();
  // Read when asked, not by a clock: a page that reads by itself would never be idle, and its session never over.
  const overview = useLoaded(async () => await context.call('get /overview', {}));
  return (
    <>
      <Actions>
        <Button variant="default" onClick={() => void overview.reload()}>
          {t('action.refresh')}
        </Button>
      </Actions>
      {context.may('access:write') && <FirstRun />}
      <LoadedPlace of={overview}>{(now) => <AtAGlance overview={now} />}</LoadedPlace>
    </>
  );
}

function AtAGlance({ overview }: { readonly overview: Overview }) {
  const context = useScreenContext();
  const { clients, cluster, counts, health, lines, protocol, started_at: startedAt, status, version } = overview;
  return (
    <>
      <Part title="overview.state">
        <Facts
          of={{
            'column.state': <StateBadge tone={status === 'ok' ? 'good' : 'bad'}>{word('state', status)}</StateBadge>,
            'overview.version': version,
            'overview.protocol': `${protocol.min}–${protocol.current}`,
            'overview.started': <When at={startedAt} />,
            'overview.threads-missing': health.threads_missing.join(', ') || t('list.none'),
            'overview.restarts': formatNumber(health.thread_restarts),
          }}
        />
      </Part>
      {cluster !== null && <Cluster of={cluster} />}
      <Part title="overview.figures">
        <dl className="figures">
          {figures(counts, clients.total, health).map(([name, value]) => (
            <div key={name}>
              <dt>{harmless(name)}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </Part>
      {context.may('audit:read') && (
        <Part title="overview.alerts">
          <AlertsTable state="open" />
          <ScreenLink to="alerts">{t('alerts.title')}</ScreenLink>
        </Part>
      )}
      <Part title="population.title">
        <PopulationTable of={clients} />
      </Part>
      <Part title="overview.lines">
        <LogLines lines={lines} />
        {context.may('audit:read') && <ScreenLink to="logs">{t('logs.title')}</ScreenLink>}
      </Part>
    </>
  );
}

/** The hosts of the installation: who leads, and how far each of the others is behind. */
function Cluster({ of: { hosts, reached, term } }: { readonly of: NonNullable<Overview['cluster']> }) {
  return (
    <Part title="cluster.title">
      <Facts
        of={{
          'cluster.nats': (
            <StateBadge tone={reached ? 'good' : 'bad'}>{t(reached ? 'cluster.reached' : 'cluster.away')}</StateBadge>
          ),
          'cluster.term': term === null ? t('list.none') : formatNumber(term),
        }}
      />
      <div className="scroll" tabIndex={0} role="region" aria-label={t('cluster.title')}>
        <table className="grid">
          <thead>
            <tr>
              {(['cluster.host', 'cluster.role', 'cluster.behind'] as const).map((head) => (
                <th key={head} scope="col">
                  {t(head)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {hosts.map(({ host, lag_ms: lag, role }) => (
              <tr key={host}>
                <th scope="row">{harmless(host)}</th>
                <td>{harmless(word('host-role', role))}</td>
                <td>{formatSeconds(lag / 1_000)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Part>
  );
}

function figures(counts: Overview['counts'], sockets: number, health: Overview['health']): [string, string][] {
  const { post_ack_p50_seconds: p50, post_ack_p99_seconds: p99 } = health;
  return [
    ...Object.entries(counts).map(([noun, count]): [string, string] => [word('count', noun), formatNumber(count)]),
    [t('overview.sockets'), formatNumber(sockets)],
    [t('overview.messages'), formatNumber(health.messages_acknowledged)],
    [t('overview.post'), `${formatSeconds(p50)} / ${formatSeconds(p99)}`],
    [t('overview.commit'), formatSeconds(health.commit_p99_seconds)],
    [t('overview.commit-failures'), formatNumber(health.commit_failures)],
    [t('overview.memory'), formatBytes(health.resident_bytes)],
  ];
}

/** Connected clients, a row for each version and a column for each platform. */
function PopulationTable({ of }: { readonly of: Overview['clients'] }) {
  const { by_platform: byPlatform, by_version: byVersion, by_version_and_platform: cells } = of;
  const platforms = Object.keys(byPlatform).filter((platform) => (byPlatform[platform] ?? 0) > 0);
  const versions = Object.keys(byVersion).filter((version) => (byVersion[version] ?? 0) > 0);
  if (versions.length === 0) return <p className="state">{t('population.empty')}</p>;
  const count = (version: string, platform: string) =>
    cells.find((cell) => cell.version === version && cell.platform === platform)?.count ?? 0;
  const heads = [t('population.version'), ...platforms, t('population.all')];
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={t('population.title')}>
      <table className="grid">
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {harmless(head)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {versions.map((version) => (
            <tr key={version}>
              <th scope="row">{harmless(version)}</th>
              {platforms.map((platform) => (
                <td key={platform}>{formatNumber(count(version, platform))}</td>
              ))}
              <td>{formatNumber(byVersion[version] ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
