/** Nodes: the list, and joining a host. A node's own page is `node.tsx` (NOD-01). */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Part, ScreenLink, When } from '../../kit/facts.tsx';
import { allOf } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { t, word } from '../../words/words.ts';
import { NodeState } from './host-states.tsx';
import { NodePage } from './node.tsx';

type NodeItem = ItemOf<'get /nodes'>;
type Role = NodeItem['roles'][number];

const ROLES = allOf<Role>({ gateway: true, mail: true, mcu: true, telemetry: true, deployments: true, routing: true });

export function NodesScreen() {
  const [id] = useScreenContext().place.rest;
  return id === undefined ? <NodeList /> : <NodePage id={id} />;
}

function NodeList() {
  const context = useScreenContext();
  const list = useList<NodeItem>(async (after) => await context.call('get /nodes', { query: { after } }));
  return (
    <>
      <DataTable
        caption="nodes.title"
        empty="nodes.empty"
        list={list}
        columns={[
          { head: 'column.name', cell: ({ id, name }) => <ScreenLink to={`nodes/${id}`}>{name}</ScreenLink> },
          { head: 'column.state', cell: (node) => <NodeState silent={node.silent} state={node.state} /> },
          { head: 'nodes.roles', cell: ({ roles }) => roles.map((role) => word('node-role', role)).join(', ') },
          { head: 'nodes.host', cell: ({ host }) => host?.hostname },
          { head: 'nodes.agent', cell: ({ host }) => host?.agent_version },
          { head: 'nodes.seen', cell: ({ last_seen_at: at }) => <When at={at} /> },
        ]}
      />
      {context.may('gateways:write') && (
        <Part title="nodes.add">
          <JoinForm joined={list.reload} />
        </Part>
      )}
    </>
  );
}

function JoinForm({ joined }: { readonly joined: () => Promise<void> }) {
  const context = useScreenContext();
  return (
    <FieldsForm
      fields={{
        name: { label: 'column.name', hint: 'nodes.name-hint', isRequired: true, maxLength: 63, isName: true },
        roles: {
          kind: 'ticks',
          label: 'nodes.roles',
          choices: ROLES.map((value) => ({ value, label: word('node-role', value) })),
        },
      }}
      submit="nodes.make"
      isClearing
      send={async ({ name, roles }) => {
        const body = { name: name.trim(), roles: [...roles] as Role[] };
        const { command, expires_at: until } = await context.call('post /nodes', { body });
        void showOnce(context.dialogs, 'nodes.command', {
          hint: 'nodes.command-hint',
          secret: command,
          more: (
            <p>
              {t('nodes.command-until')} <When at={until} />
            </p>
          ),
        });
        await joined();
      }}
    />
  );
}
