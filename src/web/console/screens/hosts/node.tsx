/** One node: what it says of its host, its journals, and its end (NOD-01, VND-11). */
import { Button } from '@mantine/core';
import { harmlessName } from '../../../kit/harmless-text.ts';
import { Actions, BackLink, Facts, harmless, Part, StateBadge, When } from '../../kit/facts.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { formatBytes, formatNumber } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';
import { NodeState } from './host-states.tsx';
import { NodeJournal } from './node-journal.tsx';

type NodeView = ReplyOf<'get /nodes/:id'>;
type Health = ReplyOf<'get /nodes/:id/health'>;

export function NodePage({ id }: { readonly id: string }) {
  const context = useScreenContext();
  const parameters = { id };
  const found = useLoaded(async () => {
    const node = await context.call('get /nodes/:id', { parameters });
    return { node, health: await context.call('get /nodes/:id/health', { parameters }) };
  });
  return (
    <>
      <BackLink to="nodes" label="nodes.back" />
      <Actions>
        <Button variant="default" onClick={() => void found.reload()}>
          {t('action.refresh')}
        </Button>
      </Actions>
      <LoadedPlace of={found}>
        {({ health, node }) => (
          <>
            <NodeFacts node={node} reload={found.reload} />
            <Part title="node.health">
              <NodeHealth health={health} />
            </Part>
          </>
        )}
      </LoadedPlace>
      <Part title="node.journal">
        <NodeJournal id={id} />
      </Part>
    </>
  );
}

interface NodeFactsProps {
  readonly node: NodeView;
  readonly reload: () => Promise<void>;
}

function NodeFacts({ node, reload }: NodeFactsProps) {
  const context = useScreenContext();
  return (
    <>
      <h2>{harmlessName(node.name)}</h2>
      <Facts
        of={{
          'column.state': <NodeState silent={node.silent} state={node.state} />,
          'nodes.roles': node.roles.map((role) => word('node-role', role)).join(', '),
          'nodes.host': node.host?.hostname,
          'column.address': node.host?.address,
          'node.os': node.host?.os,
          'nodes.agent': node.host?.agent_version,
          'node.created': <When at={node.created_at} by={node.created_by} />,
          'node.joined': <When at={node.joined_at} />,
          'nodes.seen': <When at={node.last_seen_at} />,
        }}
      />
      {context.may('gateways:write') && node.state !== 'revoked' && (
        <Actions>
          <Work
            label="node.revoke"
            isDanger
            ask={t('node.revoke-asked', { name: node.name })}
            typed={node.name}
            work={async () => await context.call('delete /nodes/:id', { parameters: { id: node.id } })}
            done={reload}
          />
        </Actions>
      )}
    </>
  );
}

function NodeHealth({ health: { health, received_at: at } }: { readonly health: Health }) {
  if (health === null) return <p className="state">{t('node.no-health')}</p>;
  const { certificates, disks, errors, load, memory, units_failed: failed, uptime_seconds: uptime } = health;
  const freeOf = (free: number, all: number) => t('node.free-of', { free: formatBytes(free), all: formatBytes(all) });
  return (
    <>
      <Facts
        of={{
          'column.time': <When at={at} />,
          'node.load': load.map((value) => formatNumber(value)).join(' · '),
          'node.uptime': t('node.days', { days: formatNumber(uptime / 86_400) }),
          'node.memory': freeOf(memory.available_bytes, memory.total_bytes),
          'node.disks': disks.map(({ free_bytes: free, path, total_bytes: all }) => (
            <div key={path}>{harmless(`${path}: ${freeOf(free, all)}`)}</div>
          )),
          'node.failed':
            failed.length === 0
              ? t('list.none')
              : failed.map((unit) => (
                  <span key={unit}>
                    <StateBadge tone="bad">{unit}</StateBadge>{' '}
                  </span>
                )),
          'node.certificates':
            certificates.length === 0
              ? t('list.none')
              : certificates.map(({ name, not_after: end }) => (
                  <div key={name}>
                    {harmless(name)} <When at={end} />
                  </div>
                )),
        }}
      />
      {errors.length > 0 && (
        <ol className="lines">
          {errors.map(({ at: time, level, line }) => (
            <li key={`${time} ${line}`}>
              <When at={time} /> <StateBadge tone="bad">{level}</StateBadge> {harmless(line)}
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
