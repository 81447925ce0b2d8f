/** The audit trail, with filters that stand in the address (CON-04). */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, Facts, Hint, Part, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { saveFile } from '../../kit/shown-once.tsx';
import { confirmed } from '../../kit/work.tsx';
import type { ItemOf, ReplyOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { formatNumber, given, instantOf } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';
import { sentenceOfEntry } from './audit-sentences.ts';

type Entry = ItemOf<'get /audit'>;

const TRAILS = ['all', 'agents', 'calendar'] as const;
const FILTERS = ['event', 'actor', 'about', 'prefix'] as const;
const TIMES = ['from', 'to'] as const;
const NAMES = ['trail', ...FILTERS, ...TIMES] as const;
type Asked = Readonly<Record<(typeof NAMES)[number], string>>;

/** Entries that one export holds at most: it is made in the browser, of what the filters leave. */
const EXPORTED_MAX = 10_000;

async function readPage(context: ScreenContext, asked: Asked, after: string | undefined) {
  const texts = Object.fromEntries(FILTERS.map((name) => [name, given(asked[name])]));
  const times = Object.fromEntries(TIMES.map((name) => [name, instantOf(given(asked[name]))]));
  const filter = { query: { ...texts, ...times, after } };
  if (asked.trail === 'agents') return await context.call('get /agents/audit', filter);
  if (asked.trail === 'calendar') return await context.call('get /calendar/audit', filter);
  return await context.call('get /audit', filter);
}

export function AuditScreen() {
  const context = useScreenContext();
  const { query } = context.place;
  const [asked, setAsked] = useState<Asked>(
    () => Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? (name === 'trail' ? 'all' : '')])) as Asked,
  );
  const list = useList<Entry>(async (after) => await readPage(context, asked, after), Object.values(asked));
  return (
    <>
      <Hint>{t('audit.hint')}</Hint>
      <AuditFilters
        asked={asked}
        show={async (next) => {
          context.keepQuery({ ...next, trail: next.trail === 'all' ? '' : next.trail });
          setAsked(next);
          await list.reload();
        }}
      />
      <AuditTable list={list} />
      <ExportButton asked={asked} />
      {/* Closed to vendor tokens, which see the entries alone. */}
      {!context.isVendor && (
        <Part title="audit.keeping">
          <Keeping />
        </Part>
      )}
    </>
  );
}

interface AuditFiltersProps {
  readonly asked: Asked;
  readonly show: (next: Asked) => Promise<void>;
}

function AuditFilters({ asked, show }: AuditFiltersProps) {
  const line = (name: (typeof FILTERS)[number]) =>
    ({ label: `audit.${name}`, type: 'search', maxLength: 200, value: asked[name] }) as const;
  const time = (name: (typeof TIMES)[number]) =>
    ({ label: `audit.${name}`, type: 'datetime-local', value: asked[name] }) as const;
  return (
    <FieldsForm
      fields={{
        trail: {
          kind: 'choice',
          label: 'audit.trail',
          value: asked.trail,
          choices: TRAILS.map((value) => ({ value, label: word('audit.trails', value) })),
        },
        event: line('event'),
        actor: line('actor'),
        about: line('about'),
        prefix: line('prefix'),
        from: time('from'),
        to: time('to'),
      }}
      submit="action.show"
      isFilter
      send={show}
    />
  );
}

function AuditTable({ list }: { readonly list: Parameters<typeof DataTable<Entry>>[0]['list'] }) {
  return (
    <DataTable
      caption="audit.title"
      empty="audit.empty"
      list={list}
      columns={[
        { head: 'column.time', cell: ({ at }) => <When at={at} /> },
        {
          head: 'audit.what',
          cell: (entry) => (
            <details className="entry">
              <summary>{sentenceOfEntry(entry)}</summary>
              <code>{JSON.stringify(entry.details)}</code>
            </details>
          ),
        },
        { head: 'audit.event', cell: ({ event }) => <code>{event}</code> },
        { head: 'audit.actor', cell: ({ actor }) => actor },
        { head: 'column.address', cell: ({ address }) => address },
        { head: 'audit.about', cell: ({ about }) => about },
      ]}
    />
  );
}

/** What the filters leave, as a file of one JSON object a line. */
function ExportButton({ asked }: { readonly asked: Asked }) {
  const context = useScreenContext();
  const [read, setRead] = useState<number>();
  const make = async () => {
    const lines: string[] = [];
    setRead(0);
    try {
      let after: string | undefined;
      do {
        const page = await readPage(context, asked, after);
        lines.push(...page.items.map((entry) => JSON.stringify(entry)));
        setRead(lines.length);
        after = page.next ?? undefined;
      } while (after !== undefined && lines.length < EXPORTED_MAX);
      saveFile(new Blob([`${lines.join('\n')}\n`], { type: 'application/x-ndjson' }), 'parley-audit.ndjson');
      if (after === undefined) context.notices.say('audit.exported', { count: formatNumber(lines.length) });
      else context.notices.say('audit.exported-part', { count: formatNumber(lines.length) });
    } catch (error) {
      context.notices.complain(error);
    }
    setRead(undefined);
  };
  return (
    <Actions>
      <Button variant="default" aria-disabled={read !== undefined || undefined} onClick={() => void make()}>
        {t('audit.export')}
      </Button>
      <span role="status">{read === undefined ? null : formatNumber(read)}</span>
    </Actions>
  );
}

/** How long the trail is kept: read by all who read it, set by owners. */
function Keeping() {
  const context = useScreenContext();
  const keeping = useLoaded(async () => await context.call('get /audit/retention', {}));
  return <LoadedPlace of={keeping}>{(now) => <KeptDays now={now} reload={keeping.reload} />}</LoadedPlace>;
}

interface KeptDaysProps {
  readonly now: ReplyOf<'get /audit/retention'>;
  readonly reload: () => Promise<void>;
}

function KeptDays({ now: { days: before, trimmed_through: trimmed }, reload }: KeptDaysProps) {
  const context = useScreenContext();
  const stated = (
    <Facts
      of={{
        'audit.days': before === null ? t('holds.for-ever') : formatNumber(before),
        'audit.trimmed': trimmed === 0 ? t('list.never') : trimmed,
      }}
    />
  );
  if (!context.may('access:write')) return stated;
  return (
    <>
      {stated}
      <FieldsForm
        key={before}
        fields={{
          days: {
            label: 'audit.days',
            hint: 'audit.days-hint',
            inputMode: 'numeric',
            // The pattern keeps out what is no number: it would be sent as null, which is for ever.
            pattern: '[0-9]+',
            maxLength: 4,
            value: before === null ? '' : String(before),
          },
        }}
        submit="action.save"
        send={async (values) => {
          const typed = given(values.days);
          const days = typed === undefined ? null : Number(typed);
          const isShorter = days !== null && (before === null || days < before);
          const question = {
            title: 'audit.keeping',
            text: t('audit.keep-asked', { days: days ?? 0 }),
            yes: 'action.save',
          } as const;
          if (isShorter && !(await confirmed(context, question))) return;
          await context.call('put /audit/retention', { body: { days } });
          context.notices.say('notice.done');
          await reload();
        }}
      />
    </>
  );
}
