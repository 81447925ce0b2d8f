/** What people's devices are and do: sessions, telemetry, live calls, and what requests they make. */
import type { ItemOf } from '../console-api.ts';
import { element, facts, part } from '../elements.ts';
import { formatNumber, t, when, word } from '../language.ts';
import { Listing, loaded } from '../listing.ts';
import type { Screen } from '../screen-context.ts';

export const populationScreen: Screen = {
  path: 'population',
  title: 'population.requests',
  section: 'now',
  isForVendors: true,
  show: (stage) => [
    loaded(
      async () => await stage.call('get /population', {}),
      ({ missing, protocol, requests_by_version: byVersion, retired_forms: retired }) => [
        facts(
          ['overview.protocol', `${protocol.min}–${protocol.current}`],
          ['overview.threads-missing', missing.join(', ') || t('list.none')],
        ),
        counts('population.requests', 'population.version', byVersion),
        part('population.retired', counts('population.retired', 'population.code', retired)),
      ],
    ),
  ],
};

function counts(
  caption: 'population.requests' | 'population.retired',
  head: 'population.version' | 'population.code',
  map: Readonly<Record<string, number>>,
) {
  return new Listing<[string, number]>({
    caption,
    empty: 'list.empty',
    load: async () => ({ items: Object.entries(map), next: null }),
    columns: [
      { head, cell: ([name]) => name },
      { head: 'population.count', cell: ([, count]) => formatNumber(count) },
    ],
  }).element;
}

export const callsScreen: Screen = {
  path: 'calls',
  title: 'calls.title',
  section: 'now',
  needs: 'audit:read',
  isForVendors: true,
  show: (stage) => [
    new Listing<ItemOf<'get /mcu/live'>>({
      caption: 'calls.title',
      empty: 'calls.empty',
      load: async () => await stage.call('get /mcu/live', {}),
      columns: [
        { head: 'calls.call', cell: ({ call }) => call },
        { head: 'calls.room', cell: ({ room }) => room },
        { head: 'column.state', cell: ({ state }) => word('state', state) },
        { head: 'calls.people', cell: ({ participants }) => participants.map(({ user }) => user).join(', ') },
        { head: 'column.since', cell: ({ started_at: at }) => when(at) },
        { head: 'routing.node', cell: ({ node }) => node },
      ],
    }).element,
  ],
};

export const clientSessionsScreen: Screen = {
  path: 'client-sessions',
  title: 'sessions.title',
  section: 'traces',
  needs: 'audit:read',
  isForVendors: true,
  show: (stage) => [
    new Listing<ItemOf<'get /client-sessions'>>({
      caption: 'sessions.title',
      empty: 'sessions.empty',
      load: async (after) => await stage.call('get /client-sessions', { query: { after } }),
      columns: [
        { head: 'people.user', cell: ({ user }) => user },
        { head: 'column.name', cell: ({ name }) => name },
        { head: 'people.platform', cell: ({ platform }) => platform },
        { head: 'sessions.version', cell: ({ app_version: version }) => version },
        { head: 'sessions.used', cell: ({ used_at: at }) => when(at) },
        { head: 'people.renewable', cell: ({ session_until: until }) => when(until) },
      ],
    }).element,
  ],
};

export const telemetryScreen: Screen = {
  path: 'telemetry',
  title: 'telemetry.title',
  section: 'traces',
  needs: 'audit:read',
  isForVendors: true,
  show: (stage) => {
    const nodes = element('div');
    const entries = new Listing<ItemOf<'get /telemetry'>>({
      caption: 'telemetry.title',
      empty: 'telemetry.empty',
      load: async (after) => {
        const page = await stage.call('get /telemetry', { query: { after } });
        nodes.replaceChildren(
          ...page.nodes.map(({ name, reported_at: at, figures }) =>
            element('section', {}, element('h2', {}, name, ' ', when(at)), figuresOf(figures)),
          ),
        );
        return page;
      },
      columns: [
        { head: 'column.time', cell: ({ received_at: at }) => when(at) },
        { head: 'people.user', cell: ({ user }) => user },
        { head: 'sessions.version', cell: ({ app_version: version }) => version },
        { head: 'telemetry.kind', cell: ({ kind, name }) => `${kind} ${name}` },
        { head: 'logs.line', cell: ({ line, figures }) => [line, figures !== null && figuresOf(figures)] },
      ],
    });
    return [nodes, entries.element];
  },
};

function figuresOf(figures: Readonly<Record<string, number>>): HTMLElement {
  const text = Object.entries(figures).map(([name, value]) => `${name} ${formatNumber(value)}`);
  return element('code', { class: 'fields' }, text.join(' · '));
}
