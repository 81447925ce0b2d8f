/** What nodes report of their hosts: gateways, routes, deployments with their lines, mail (NOD-02, CON-02). */
import type { ItemOf } from '../../console-api.ts';
import { showDialog } from '../../dialog.ts';
import { badge, element, facts, link, part, workButton, type Child } from '../../elements.ts';
import { t, when, word } from '../../language.ts';
import { Listing, loaded } from '../../listing.ts';
import type { Screen, ScreenContext } from '../../screen-context.ts';

const TONES: Readonly<Record<string, 'good' | 'warning' | 'bad'>> = {
  up: 'good',
  running: 'good',
  degraded: 'warning',
  starting: 'warning',
  down: 'bad',
  failed: 'bad',
};

function stateBadge(state: string | null): Child {
  return state !== null && badge(word('state', state), TONES[state] ?? 'plain');
}

export const gatewaysScreen: Screen = {
  path: 'gateways',
  title: 'gateways.title',
  section: 'hosts',
  needs: 'gateways:read',
  isForVendors: true,
  show: (stage) => {
    const gateways = new Listing<ItemOf<'get /gateways'>>({
      caption: 'gateways.title',
      empty: 'gateways.empty',
      load: async (after) => await stage.call('get /gateways', { query: { after } }),
      columns: [
        { head: 'column.name', cell: ({ id, name }) => link(`nodes/${id}`, name) },
        {
          head: 'column.state',
          cell: ({ state, silent }) => (silent ? badge(t('nodes.silent'), 'bad') : stateBadge(state)),
        },
        {
          head: 'gateways.listeners',
          cell: ({ listeners }) =>
            listeners.map(({ host, port, protocol }) => `${protocol} ${host}:${port}`).join(', '),
        },
        { head: 'column.reported', cell: ({ reported_at: at }) => when(at) },
        { head: 'column.actions', cell: ({ id }) => reportsButton(stage, id) },
      ],
    });
    if (!stage.may('routing:read')) return [gateways.element];
    const routes = loaded(
      async () => await stage.call('get /routing', {}),
      ({ items, listeners }) => [
        element(
          'ul',
          {},
          listeners.map(({ service, url }) => element('li', {}, `${service}: ${url}`)),
        ),
        new Listing({
          caption: 'routing.title',
          empty: 'routing.empty',
          load: async () => ({ items, next: null }),
          columns: [
            { head: 'routing.node', cell: ({ name }) => name },
            { head: 'routing.from', cell: ({ from }) => from },
            { head: 'routing.to', cell: ({ to }) => to },
            { head: 'routing.via', cell: ({ via }) => via },
            { head: 'column.state', cell: ({ state }) => stateBadge(state) },
            { head: 'column.reported', cell: ({ reported_at: at }) => when(at) },
          ],
        }).element,
      ],
    );
    return [gateways.element, part('routing.title', routes)];
  },
};

function reportsButton(stage: ScreenContext, id: string): HTMLElement {
  return workButton('gateways.reports', stage.notices, async () => {
    const { items } = await stage.call('get /gateways/:id/reports', { parameters: { id }, query: {} });
    const reports = items.map(({ received_at: at, report }) => [
      element('h3', {}, when(at)),
      element('pre', { class: 'journal', tabindex: '0' }, JSON.stringify(report, null, 2)),
    ]);
    showDialog('gateways.reports', reports.length === 0 ? t('gateways.no-reports') : reports);
  });
}

type Server = ItemOf<'get /servers'>;

export const serversScreen: Screen = {
  path: 'servers',
  title: 'servers.title',
  section: 'hosts',
  needs: 'gateways:read',
  isForVendors: true,
  show: (stage) => {
    const listing = new Listing<Server>({
      caption: 'servers.title',
      empty: 'servers.empty',
      load: async (after) => await stage.call('get /servers', { query: { after } }),
      columns: [
        { head: 'column.name', cell: ({ id, name }) => link(`nodes/${id}`, name) },
        { head: 'nodes.host', cell: ({ hostname }) => hostname },
        {
          head: 'column.state',
          cell: ({ silent }) => badge(t(silent ? 'nodes.silent' : 'state.up'), silent ? 'bad' : 'good'),
        },
        { head: 'servers.deployments', cell: ({ deployments }) => deployments.map((each) => deployment(stage, each)) },
      ],
    });
    return [listing.element];
  },
};

function deployment(
  stage: ScreenContext,
  { errors, id, lines, service, started_at, state, version }: Server['deployments'][number],
) {
  const more = [...errors, ...lines].map(({ at, level, line }) =>
    element('li', {}, when(at), ' ', badge(level, 'plain'), ' ', line),
  );
  // The configuration has secrets in it, so that who reads settings alone is not offered it.
  const config = workButton('servers.config', stage.notices, async () => {
    const { config: text, reported_at: at } = await stage.call('get /deployments/:id/config', { parameters: { id } });
    const shown = text === null ? t('servers.no-config') : element('pre', { class: 'journal', tabindex: '0' }, text);
    showDialog('servers.config', facts(['column.reported', when(at)]), shown);
  });
  return element(
    'details',
    {},
    element('summary', {}, `${service} ${version} `, stateBadge(state)),
    facts(['overview.started', when(started_at)]),
    stage.may('settings:write') && config,
    more.length > 0 && element('ol', { class: 'lines' }, more),
  );
}

export const mailScreen: Screen = {
  path: 'mail',
  title: 'mail.title',
  section: 'hosts',
  needs: 'audit:read',
  isForVendors: true,
  show: (stage) => {
    const quarantine = new Listing<ItemOf<'get /mail/quarantine'>>({
      caption: 'mail.quarantine',
      empty: 'mail.no-quarantine',
      load: async () => await stage.call('get /mail/quarantine', {}),
      columns: [
        { head: 'column.time', cell: ({ at }) => when(at) },
        { head: 'mail.from', cell: ({ from }) => from },
        { head: 'mail.to', cell: ({ to }) => to },
        { head: 'mail.subject', cell: ({ subject }) => subject },
        { head: 'mail.reason', cell: ({ reason }) => reason },
        { head: 'routing.node', cell: ({ name }) => name },
      ],
    });
    const bounces = new Listing<ItemOf<'get /mail/group-bounces'>>({
      caption: 'mail.bounces',
      empty: 'mail.no-bounces',
      load: async () => await stage.call('get /mail/group-bounces', {}),
      columns: [
        { head: 'column.time', cell: ({ at }) => when(at) },
        { head: 'mail.group', cell: ({ group }) => group },
        { head: 'mail.to', cell: ({ recipient }) => recipient },
        { head: 'mail.reason', cell: ({ reason }) => reason },
        { head: 'routing.node', cell: ({ name }) => name },
      ],
    });
    const shown = [quarantine.element, bounces.element];
    return stage.isVendor || !stage.may('settings:read') ? shown : [...shown, dnsListing(stage).element];
  },
};

function dnsListing(stage: ScreenContext): Listing<ItemOf<'get /mail/dns'>> {
  return new Listing({
    caption: 'mail.dns',
    empty: 'mail.no-dns',
    load: async () => await stage.call('get /mail/dns', {}),
    columns: [
      { head: 'mail.domain', cell: ({ domain }) => domain },
      { head: 'mail.record', cell: ({ record, type }) => `${type} ${record}` },
      {
        head: 'column.state',
        cell: ({ matches }) => badge(t(matches ? 'mail.matches' : 'mail.differs'), matches ? 'good' : 'bad'),
      },
      { head: 'mail.expected', cell: ({ expected }) => expected },
      { head: 'mail.found', cell: ({ found }) => found.join(', ') },
    ],
  });
}
