/** Asking a node for a journal of its host, and the last chunk, whoever asked for it. */
import { useState } from 'react';
import { Facts, harmless, Journal, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { formatBytes } from '../../words/formats.ts';
import { t } from '../../words/words.ts';

/** How often an open ask is looked after: an agent answers within a second or two. */
const LOOK_MILLIS = 2_000;

export function NodeJournal({ id }: { readonly id: string }) {
  const context = useScreenContext();
  const parameters = { id };
  const [isWaiting, setWaiting] = useState(false);
  const journal = useLoaded(async () => await context.call('get /nodes/:id/logs', { parameters }));
  const follow = async (ask: string, expiresAt: string) => {
    setWaiting(true);
    // A node that does not answer is waited for until its ask is over, as the server says.
    for (let isOpen = true; isOpen && Date.now() < Date.parse(expiresAt) + LOOK_MILLIS;) {
      await context.wait(LOOK_MILLIS);
      try {
        const { open } = await context.call('get /nodes/:id/logs', { parameters });
        isOpen = open.some((each) => each.id === ask);
      } catch {
        // The next look may succeed; what is wrong for good ends with the ask.
      }
    }
    setWaiting(false);
    await journal.reload();
  };
  return (
    <>
      <FieldsForm
        fields={{
          unit: { label: 'node.unit', hint: 'node.unit-hint', isRequired: true, maxLength: 128, isName: true },
          lines: { label: 'node.lines', type: 'number', min: 1, max: 1000, isRequired: true, value: '200' },
        }}
        submit="node.ask"
        isFilter
        send={async ({ lines, unit }) => {
          const body = { unit: unit.trim(), lines: Number(lines) };
          const asked = await context.call('post /nodes/:id/logs', { parameters, body });
          void follow(asked.id, asked.expires_at);
        }}
      />
      <p role="status" className="state">
        {isWaiting ? t('node.asked') : null}
      </p>
      <LoadedPlace of={journal}>{(now) => <LastChunk journal={now} />}</LoadedPlace>
    </>
  );
}

function LastChunk({ journal: { chunk } }: { readonly journal: ReplyOf<'get /nodes/:id/logs'> }) {
  if (chunk === null) return <p className="state">{t('node.no-journal')}</p>;
  const { actor, cut_bytes: cut, journal, problem, received_at: at, unit } = chunk;
  return (
    <>
      <Facts
        of={{
          'node.unit': unit,
          'audit.actor': actor,
          'column.time': <When at={at} />,
          'node.cut': cut > 0 ? formatBytes(cut) : t('list.none'),
        }}
      />
      {problem !== null && <p className="bad">{harmless(problem)}</p>}
      <Journal label={t('node.journal')}>{journal}</Journal>
    </>
  );
}
