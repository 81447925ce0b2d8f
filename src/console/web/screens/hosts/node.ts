/** One node: what it says of its host, its journals, and its end (NOD-01, VND-11). */
import type { ReplyOf } from '../../console-api.ts';
import { confirmed } from '../../dialog.ts';
import { badge, button, element, facts, fill, link, part, workButton, type Child } from '../../elements.ts';
import { form, input } from '../../form.ts';
import { formatBytes, formatNumber, t, when, word } from '../../language.ts';
import { loaded } from '../../listing.ts';
import type { ScreenContext } from '../../screen-context.ts';
import { nodeState } from './node-state.ts';

type NodeView = ReplyOf<'get /nodes/:id'>;
type Health = ReplyOf<'get /nodes/:id/health'>;
type Journal = ReplyOf<'get /nodes/:id/logs'>;

/** How often an open ask is looked after: an agent answers within a second or two. */
const LOOK_MILLIS = 2_000;

export function showNode(stage: ScreenContext, id: string): readonly Node[] {
  const parameters = { id };
  const body = loaded(
    async () => {
      const node = await stage.call('get /nodes/:id', { parameters });
      return { node, health: await stage.call('get /nodes/:id/health', { parameters }) };
    },
    ({ node, health }) => [...shown(stage, node, () => body.reload()), part('node.health', healthOf(health))],
  );
  return [
    element('p', {}, link('nodes', t('nodes.back'))),
    element(
      'div',
      { class: 'actions' },
      button('action.refresh', () => body.reload()),
    ),
    body,
    part('node.journal', journalPart(stage, id)),
  ];
}

function shown(stage: ScreenContext, node: NodeView, reload: () => void): Child[] {
  const revoke = workButton(
    'node.revoke',
    stage.notices,
    async () => {
      if (!(await confirmed('node.revoke', t('node.revoke-asked', { name: node.name }), 'node.revoke'))) return;
      await stage.call('delete /nodes/:id', { parameters: { id: node.id } });
      stage.notices.say('notice.done');
      reload();
    },
    { class: 'danger' },
  );
  return [
    element('h2', {}, node.name),
    facts(
      ['column.state', nodeState(node)],
      ['nodes.roles', node.roles.map((role) => word('node-role', role)).join(', ')],
      ['nodes.host', node.host?.hostname],
      ['column.address', node.host?.address],
      ['node.os', node.host?.os],
      ['nodes.agent', node.host?.agent_version],
      ['node.created', [when(node.created_at), ' ', node.created_by]],
      ['node.joined', when(node.joined_at)],
      ['nodes.seen', when(node.last_seen_at)],
    ),
    stage.may('gateways:write') && node.state !== 'revoked' && element('div', { class: 'actions' }, revoke),
  ];
}

function healthOf({ health, received_at: at }: Health): Child {
  if (health === null) return element('p', { class: 'state' }, t('node.no-health'));
  const { certificates, disks, errors, load, memory, units_failed: failed, uptime_seconds: uptime } = health;
  return [
    facts(
      ['column.time', when(at)],
      ['node.load', load.map((value) => formatNumber(value)).join(' · ')],
      ['node.uptime', t('node.days', { days: formatNumber(uptime / 86_400) })],
      [
        'node.memory',
        t('node.free-of', { free: formatBytes(memory.available_bytes), all: formatBytes(memory.total_bytes) }),
      ],
      [
        'node.disks',
        disks.map(({ path, free_bytes: free, total_bytes: all }) =>
          element('div', {}, `${path}: ${t('node.free-of', { free: formatBytes(free), all: formatBytes(all) })}`),
        ),
      ],
      ['node.failed', failed.length === 0 ? t('list.none') : failed.map((unit) => [badge(unit, 'bad'), ' '])],
      [
        'node.certificates',
        certificates.length === 0
          ? t('list.none')
          : certificates.map(({ name, not_after: end }) => element('div', {}, name, ' ', when(end))),
      ],
    ),
    errors.length > 0 &&
      element(
        'ol',
        { class: 'lines' },
        errors.map(({ at: time, level, line }) => element('li', {}, when(time), ' ', badge(level, 'bad'), ' ', line)),
      ),
  ];
}

/** Asking for a journal, and the last chunk, whoever asked for it. */
function journalPart(stage: ScreenContext, id: string): Child[] {
  const parameters = { id };
  const unit = input({
    label: 'node.unit',
    name: 'unit',
    hint: 'node.unit-hint',
    attributes: { required: true, maxlength: 128, spellcheck: 'false', autocapitalize: 'none' },
  });
  const lines = input({
    label: 'node.lines',
    name: 'lines',
    attributes: { type: 'number', min: 1, max: 1000, required: true, value: 200 },
  });
  const status = element('p', { role: 'status', class: 'state' });
  const chunk = loaded(async () => await stage.call('get /nodes/:id/logs', { parameters }), showJournal);
  const send = async () => {
    const body = { unit: unit.value.trim(), lines: Number(lines.value) };
    const asked = await stage.call('post /nodes/:id/logs', { parameters, body });
    fill(status, t('node.asked'));
    void follow(asked.id, asked.expires_at);
  };
  const follow = async (ask: string, expiresAt: string) => {
    // A node that does not answer is waited for until its ask is over, as the server says.
    for (let isOpen = true; isOpen && Date.now() < Date.parse(expiresAt) + LOOK_MILLIS;) {
      await stage.wait(LOOK_MILLIS);
      try {
        const { open } = await stage.call('get /nodes/:id/logs', { parameters });
        isOpen = open.some((each) => each.id === ask);
      } catch {
        // The next look may succeed; what is wrong for good ends with the ask.
      }
    }
    fill(status);
    chunk.reload();
  };
  return [form({ submit: 'node.ask', parts: [unit, lines], send, attributes: { class: 'filter' } }), status, chunk];
}

function showJournal({ chunk }: Journal): Child[] {
  if (chunk === null) return [element('p', { class: 'state' }, t('node.no-journal'))];
  const { actor, cut_bytes: cut, journal, problem, received_at: at, unit } = chunk;
  return [
    facts(
      ['node.unit', unit],
      ['audit.actor', actor],
      ['column.time', when(at)],
      ['node.cut', cut > 0 ? formatBytes(cut) : t('list.none')],
    ),
    problem !== null && element('p', { class: 'bad' }, problem),
    element('pre', { class: 'journal', tabindex: '0', translate: 'no' }, journal),
  ];
}
