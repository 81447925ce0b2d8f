/** Alerts that the server raised: they open and close by themselves. */
import type { ItemOf } from '../console-api.ts';
import { badge } from '../elements.ts';
import { select } from '../form.ts';
import { t, when, word } from '../language.ts';
import { Listing } from '../listing.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';

type AlertState = 'open' | 'closed';

export const alertsScreen: Screen = {
  path: 'alerts',
  title: 'alerts.title',
  section: 'now',
  needs: 'audit:read',
  isForVendors: true,
  show: (stage) => {
    const state = select({
      label: 'column.state',
      name: 'state',
      value: stage.place.query.get('state') ?? '',
      choices: ['', 'open', 'closed'].map((value) => ({
        value,
        label: value === '' ? t('list.all') : word('state', value),
      })),
    });
    const listing = alertsListing(stage, () => (state.value === '' ? undefined : (state.value as AlertState)));
    state.onChange(() => {
      stage.keepQuery(new URLSearchParams(state.value === '' ? {} : { state: state.value }));
      void listing.reload();
    });
    return [state.element, listing.element];
  },
};

/** Alerts of a state, or of all, as they are now. */
export function alertsListing(
  stage: ScreenContext,
  state: AlertState | (() => AlertState | undefined),
): Listing<ItemOf<'get /alerts'>> {
  return new Listing({
    caption: 'alerts.title',
    empty: 'alerts.empty',
    load: async (after) =>
      await stage.call('get /alerts', { query: { state: typeof state === 'string' ? state : state(), after } }),
    columns: [
      {
        head: 'column.state',
        cell: (alert) => badge(word('state', alert.state), alert.state === 'open' ? 'bad' : 'plain'),
      },
      { head: 'alerts.what', cell: ({ kind, say }) => wordOr('alert', kind, say) },
      { head: 'alerts.about', cell: ({ about }) => about },
      { head: 'column.details', cell: ({ details }) => details },
      { head: 'column.since', cell: ({ since }) => when(since) },
      { head: 'alerts.seen', cell: ({ last_seen: seen }) => when(seen) },
    ],
  });
}

/** A translation where there is one, the server's own sentence where not. */
function wordOr(prefix: string, value: string, otherwise: string): string {
  const found = word(prefix, value);
  return found === value ? otherwise : found;
}
