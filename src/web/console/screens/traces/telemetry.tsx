/** What clients and nodes report of themselves. */
import { useState } from 'react';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { harmless, When } from '../../kit/facts.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { formatNumber } from '../../words/formats.ts';

export function TelemetryScreen() {
  const context = useScreenContext();
  const [nodes, setNodes] = useState<ReplyOf<'get /telemetry'>['nodes']>([]);
  const list = useList(async (after) => {
    const page = await context.call('get /telemetry', { query: { after } });
    setNodes(page.nodes);
    return page;
  });
  return (
    <>
      {nodes.map(({ figures, name, reported_at: at }) => (
        <section key={name} className="part">
          <h2>
            {harmless(name)} <When at={at} />
          </h2>
          <FiguresText of={figures} />
        </section>
      ))}
      <DataTable
        caption="telemetry.title"
        empty="telemetry.empty"
        list={list}
        columns={[
          { head: 'column.time', cell: ({ received_at: at }) => <When at={at} /> },
          { head: 'people.user', cell: ({ user }) => user },
          { head: 'sessions.version', cell: ({ app_version: version }) => version },
          { head: 'telemetry.kind', cell: ({ kind, name }) => `${kind} ${name}` },
          {
            head: 'logs.line',
            cell: ({ figures, line }) => (
              <>
                {line} {figures !== null && <FiguresText of={figures} />}
              </>
            ),
          },
        ]}
      />
    </>
  );
}

function FiguresText({ of }: { readonly of: Readonly<Record<string, number>> }) {
  const text = Object.entries(of).map(([name, value]) => `${name} ${formatNumber(value)}`);
  return <code className="fields-of-line">{harmless(text.join(' · '))}</code>;
}
