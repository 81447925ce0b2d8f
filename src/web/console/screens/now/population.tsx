/** What requests clients make, by the version of the protocol that they speak. */
import { DataTable, listOf } from '../../kit/data-table.tsx';
import { Facts, Part } from '../../kit/facts.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { formatNumber } from '../../words/formats.ts';
import { t } from '../../words/words.ts';

export function PopulationScreen() {
  const context = useScreenContext();
  const population = useLoaded(async () => await context.call('get /population', {}));
  return (
    <LoadedPlace of={population}>
      {({ missing, protocol, requests_by_version: byVersion, retired_forms: retired }) => (
        <>
          <Facts
            of={{
              'overview.protocol': `${protocol.min}–${protocol.current}`,
              'overview.threads-missing': missing.join(', ') || t('list.none'),
            }}
          />
          <Counts caption="population.requests" head="population.version" of={byVersion} />
          <Part title="population.retired">
            <Counts caption="population.retired" head="population.code" of={retired} />
          </Part>
        </>
      )}
    </LoadedPlace>
  );
}

interface CountsProps {
  readonly caption: 'population.requests' | 'population.retired';
  readonly head: 'population.version' | 'population.code';
  readonly of: Readonly<Record<string, number>>;
}

function Counts({ caption, head, of }: CountsProps) {
  return (
    <DataTable<[string, number]>
      caption={caption}
      empty="list.empty"
      list={listOf(Object.entries(of))}
      columns={[
        { head, cell: ([name]) => name },
        { head: 'population.count', isNumber: true, cell: ([, count]) => formatNumber(count) },
      ]}
    />
  );
}
