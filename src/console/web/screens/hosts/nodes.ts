/** Nodes: the list, and joining a host. A node's own page is `node.ts` (NOD-01). */
import type { ItemOf } from '../../console-api.ts';
import { element, fill, link, part } from '../../elements.ts';
import { allOf, form, input, Ticks } from '../../form.ts';
import { t, when, word } from '../../language.ts';
import { Listing } from '../../listing.ts';
import { shownOnce } from '../../shown-once.ts';
import type { Screen, ScreenContext } from '../../screen-context.ts';
import { showNode } from './node.ts';
import { nodeState } from './node-state.ts';

type NodeItem = ItemOf<'get /nodes'>;
type Role = NodeItem['roles'][number];

const ROLES = allOf<Role>({ gateway: true, mail: true, mcu: true, telemetry: true, deployments: true, routing: true });

export const nodesScreen: Screen = {
  path: 'nodes',
  title: 'nodes.title',
  section: 'hosts',
  needs: 'gateways:read',
  isForVendors: true,
  show: (stage) => {
    const [id] = stage.place.rest;
    if (id !== undefined) return showNode(stage, id);
    const listing = new Listing<NodeItem>({
      caption: 'nodes.title',
      empty: 'nodes.empty',
      load: async (after) => await stage.call('get /nodes', { query: { after } }),
      columns: [
        { head: 'column.name', cell: ({ id: node, name }) => link(`nodes/${node}`, name) },
        { head: 'column.state', cell: nodeState },
        { head: 'nodes.roles', cell: ({ roles }) => roles.map((role) => word('node-role', role)).join(', ') },
        { head: 'nodes.host', cell: ({ host }) => host?.hostname },
        { head: 'nodes.agent', cell: ({ host }) => host?.agent_version },
        { head: 'nodes.seen', cell: ({ last_seen_at: at }) => when(at) },
      ],
    });
    if (!stage.may('gateways:write')) return [listing.element];
    const once = element('div');
    return [
      once,
      listing.element,
      part(
        'nodes.add',
        joinForm(stage, once, async () => await listing.reload()),
      ),
    ];
  },
};

function joinForm(stage: ScreenContext, once: HTMLElement, reload: () => Promise<void>): HTMLElement {
  const name = input({
    label: 'column.name',
    name: 'name',
    hint: 'nodes.name-hint',
    attributes: { required: true, maxlength: 63, spellcheck: 'false' },
  });
  const roles = new Ticks(
    'nodes.roles',
    ROLES.map((value) => ({ value, label: word('node-role', value) })),
  );
  const send = async () => {
    const body = { name: name.value.trim(), roles: roles.values as Role[] };
    const { command, expires_at: until } = await stage.call('post /nodes', { body });
    const hint = element('p', {}, t('nodes.command-until'), ' ', when(until));
    fill(once, shownOnce({ title: 'nodes.command', hint: 'nodes.command-hint', secret: command }), hint);
    once.scrollIntoView();
    name.value = '';
    await reload();
  };
  return form({ submit: 'nodes.make', parts: [name, roles], send });
}
