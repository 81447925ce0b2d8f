/** Quotas: how much of each all people together have used, and for a person's page how much that person has. */
import { DataTable, useList, type Page } from '../../kit/data-table.tsx';
import { ScreenLink, StateBadge } from '../../kit/facts.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { formatNumber } from '../../words/formats.ts';
import { t } from '../../words/words.ts';

type Use = ItemOf<'get /quotas'>;

export function QuotasScreen() {
  const context = useScreenContext();
  return (
    <>
      <p>
        <ScreenLink to="settings/quotas">{t('quotas.change')}</ScreenLink>
      </p>
      <QuotasTable load={async () => await context.call('get /quotas', {})} />
    </>
  );
}

/** Quotas as they stand, with a mark at those of which four fifths are used. */
export function QuotasTable({ load }: { readonly load: () => Promise<Page<Use>> }) {
  const list = useList(load);
  return (
    <DataTable
      caption="quotas.title"
      empty="quotas.empty"
      list={list}
      columns={[
        {
          head: 'column.name',
          cell: ({ near, quota }) => (
            <>
              {quota} {near && <StateBadge tone="bad">{t('quotas.near')}</StateBadge>}
            </>
          ),
        },
        { head: 'quotas.used', isNumber: true, cell: ({ used }) => formatNumber(used) },
        { head: 'quotas.limit', isNumber: true, cell: ({ limit }) => (limit === null ? '—' : formatNumber(limit)) },
        { head: 'quotas.unit', cell: ({ unit, window }) => (window === 'stored' ? unit : `${unit} / ${window}`) },
      ]}
    />
  );
}
