/** The installation at a glance: figures, open alerts, who is connected, and the last errors and warnings (CON-01). */
import type { ReplyOf } from '../console-api.ts';
import { badge, button, element, facts, link, part, type Child } from '../elements.ts';
import { formatBytes, formatNumber, formatSeconds, t, when, word } from '../language.ts';
import { loaded } from '../listing.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';
import { alertsListing } from './alerts.ts';
import { logLines } from './logs.ts';

type Overview = ReplyOf<'get /overview'>;

export const overviewScreen: Screen = {
  path: 'overview',
  title: 'overview.title',
  section: 'now',
  isForVendors: true,
  show: (stage) => {
    // Read when asked, not by a clock: a page that reads by itself would never be idle, and its session never over.
    const body = loaded(
      async () => await stage.call('get /overview', {}),
      (overview) => show(stage, overview),
    );
    return [
      element(
        'div',
        { class: 'actions' },
        button('action.refresh', () => body.reload()),
      ),
      body,
    ];
  },
};

function show(
  stage: ScreenContext,
  { clients, counts, health, lines, protocol, started_at, status, version }: Overview,
): Child[] {
  const isOk = status === 'ok';
  return [
    part(
      'overview.state',
      facts(
        ['column.state', badge(word('state', status), isOk ? 'good' : 'bad')],
        ['overview.version', version],
        ['overview.protocol', `${protocol.min}–${protocol.current}`],
        ['overview.started', when(started_at)],
        ['overview.threads-missing', health.threads_missing.join(', ') || t('list.none')],
        ['overview.restarts', formatNumber(health.thread_restarts)],
      ),
    ),
    part(
      'overview.figures',
      element(
        'dl',
        { class: 'figures' },
        figures(counts, clients.total, health).map(([name, value]) =>
          element('div', {}, element('dt', {}, name), element('dd', {}, value)),
        ),
      ),
    ),
    stage.may('audit:read') &&
      part('overview.alerts', alertsListing(stage, 'open').element, link('alerts', t('alerts.title'))),
    part('population.title', populationTable(clients)),
    part('overview.lines', logLines(lines), stage.may('audit:read') && link('logs', t('logs.title'))),
  ];
}

function figures(counts: Overview['counts'], sockets: number, health: Overview['health']): [string, string][] {
  return [
    ...Object.entries(counts).map(([noun, count]): [string, string] => [word('count', noun), formatNumber(count)]),
    [t('overview.sockets'), formatNumber(sockets)],
    [t('overview.messages'), formatNumber(health.messages_acknowledged)],
    [
      t('overview.post'),
      `${formatSeconds(health.post_ack_p50_seconds)} / ${formatSeconds(health.post_ack_p99_seconds)}`,
    ],
    [t('overview.commit'), formatSeconds(health.commit_p99_seconds)],
    [t('overview.commit-failures'), formatNumber(health.commit_failures)],
    [t('overview.memory'), formatBytes(health.resident_bytes)],
  ];
}

/** Connected clients, a row for each version and a column for each platform. */
function populationTable({
  by_platform: byPlatform,
  by_version_and_platform: cells,
  by_version: byVersion,
}: Overview['clients']) {
  const platforms = Object.keys(byPlatform).filter((platform) => (byPlatform[platform] ?? 0) > 0);
  const versions = Object.keys(byVersion).filter((version) => (byVersion[version] ?? 0) > 0);
  if (versions.length === 0) return element('p', { class: 'state' }, t('population.empty'));
  const count = (version: string, platform: string) =>
    cells.find((cell) => cell.version === version && cell.platform === platform)?.count ?? 0;
  const heads = [t('population.version'), ...platforms, t('population.all')];
  return element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('population.title') },
    element(
      'table',
      { class: 'grid' },
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          heads.map((head) => element('th', { scope: 'col' }, head)),
        ),
      ),
      element(
        'tbody',
        {},
        versions.map((version) =>
          element(
            'tr',
            {},
            element('th', { scope: 'row' }, version),
            platforms.map((platform) => element('td', {}, formatNumber(count(version, platform)))),
            element('td', {}, formatNumber(byVersion[version] ?? 0)),
          ),
        ),
      ),
    ),
  );
}
