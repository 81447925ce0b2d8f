/** Quotas: how much of each all people together have used, and for a person's page how much that person has. */
import type { ItemOf } from '../console-api.ts';
import { badge, element, link } from '../elements.ts';
import { formatNumber, t } from '../language.ts';
import { Listing } from '../listing.ts';
import type { Screen } from '../screen-context.ts';

type Use = ItemOf<'get /quotas'>;

export const quotasScreen: Screen = {
  path: 'quotas',
  title: 'quotas.title',
  section: 'now',
  needs: 'settings:read',
  isForVendors: false,
  show: (stage) => [
    element('p', {}, link('settings/quotas', t('quotas.change'))),
    quotasListing(async () => await stage.call('get /quotas', {})).element,
  ],
};

/** Quotas as they stand, with a mark at those of which four fifths are used. */
export function quotasListing(load: () => Promise<{ readonly items: Use[]; readonly next: null }>): Listing<Use> {
  return new Listing({
    caption: 'quotas.title',
    empty: 'quotas.empty',
    load,
    columns: [
      {
        head: 'column.name',
        cell: ({ quota, near }) => [quota, near ? ' ' : '', near && badge(t('quotas.near'), 'bad')],
      },
      { head: 'quotas.used', cell: ({ used }) => formatNumber(used) },
      { head: 'quotas.limit', cell: ({ limit }) => (limit === null ? '—' : formatNumber(limit)) },
      { head: 'quotas.unit', cell: ({ unit, window }) => (window === 'stored' ? unit : `${unit} / ${window}`) },
    ],
  });
}
