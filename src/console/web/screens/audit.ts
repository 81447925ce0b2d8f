/** The audit trail, with filters that stand in the address (CON-04). */
import type { ItemOf } from '../console-api.ts';
import { element } from '../elements.ts';
import { form, input, select } from '../form.ts';
import { t, when, word } from '../language.ts';
import { Listing } from '../listing.ts';
import type { Screen } from '../screen-context.ts';
import { given } from './logs.ts';

type Entry = ItemOf<'get /audit'>;

const TRAILS = ['all', 'agents', 'calendar'] as const;
const FILTERS = ['event', 'actor', 'about', 'prefix'] as const;

export const auditScreen: Screen = {
  path: 'audit',
  title: 'audit.title',
  section: 'traces',
  needs: 'audit:read',
  isForVendors: true,
  show: (stage) => {
    const { query } = stage.place;
    const trail = select({
      label: 'audit.trail',
      name: 'trail',
      value: query.get('trail') ?? 'all',
      choices: TRAILS.map((value) => ({ value, label: word('audit.trails', value) })),
    });
    const filters = FILTERS.map((name) =>
      input({
        label: `audit.${name}`,
        name,
        attributes: { type: 'search', maxlength: 200, value: query.get(name) ?? '' },
      }),
    );
    const times = (['from', 'to'] as const).map((name) =>
      input({
        label: `audit.${name}`,
        name,
        attributes: { type: 'datetime-local', step: 1, value: query.get(name) ?? '' },
      }),
    );
    const asked = () => ({
      ...Object.fromEntries(filters.map(({ name, text }) => [name, text])),
      ...Object.fromEntries(times.map(({ name, text }) => [name, instantOf(text)])),
    });
    const listing = new Listing<Entry>({
      caption: 'audit.title',
      empty: 'audit.empty',
      load: async (after) => {
        const filter = { query: { ...asked(), after } };
        if (trail.value === 'agents') return await stage.call('get /agents/audit', filter);
        if (trail.value === 'calendar') return await stage.call('get /calendar/audit', filter);
        return await stage.call('get /audit', filter);
      },
      columns: [
        { head: 'column.time', cell: ({ at }) => when(at) },
        { head: 'audit.event', cell: ({ event }) => element('code', {}, event) },
        { head: 'audit.actor', cell: ({ actor }) => actor },
        { head: 'column.address', cell: ({ address }) => address },
        { head: 'audit.about', cell: ({ about }) => about },
        {
          head: 'column.details',
          cell: ({ details }) => element('code', { class: 'fields' }, JSON.stringify(details)),
        },
      ],
    });
    const send = async () => {
      const fields = Object.fromEntries([trail, ...filters, ...times].map(({ name, text }) => [name, text]));
      stage.keepQuery(new URLSearchParams(given({ ...fields, trail: trail.value === 'all' ? '' : trail.value })));
      await listing.reload();
    };
    const parts = [trail, ...filters, ...times];
    const filter = form({ submit: 'action.show', parts, send, attributes: { class: 'filter', role: 'search' } });
    return [element('p', { class: 'hint' }, t('audit.hint')), filter, listing.element];
  },
};

/** What a field for date and time holds, in the reader's zone, as an instant. */
export function instantOf(local: string | undefined): string | undefined {
  const millis = local === undefined ? Number.NaN : new Date(local).getTime();
  return Number.isNaN(millis) ? undefined : new Date(millis).toISOString();
}
