/** Automations: webhooks on events, and what became of each delivery. */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, BackLink, Journal, Part, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import { NAME_FIELD, type FieldSpecs } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { namesIn } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';

type Automation = ItemOf<'get /automations'>;
type Run = ItemOf<'get /automations/:id/runs'>;

const TONES = { pending: 'warning', delivered: 'good', failed: 'bad', dropped: 'bad' } as const;

export function AutomationsScreen() {
  const [id] = useScreenContext().place.rest;
  return id === undefined ? <AutomationList /> : <Runs id={id} />;
}

function AutomationList() {
  const context = useScreenContext();
  const mayWrite = context.may('settings:write');
  const list = useList<Automation>(async () => await context.call('get /automations', {}));
  return (
    <>
      <DataTable
        caption="automations.title"
        empty="automations.empty"
        list={list}
        columns={[
          { head: 'column.name', cell: ({ id, name }) => <ScreenLink to={`automations/${id}`}>{name}</ScreenLink> },
          {
            head: 'column.state',
            cell: ({ enabled }) => (
              <StateBadge tone={enabled ? 'good' : 'plain'}>
                {t(enabled ? 'automations.on' : 'automations.off')}
              </StateBadge>
            ),
          },
          { head: 'automations.events', cell: ({ events }) => events.join(', ') },
          { head: 'automations.url', cell: ({ url }) => url },
          { head: 'column.since', cell: ({ created_at: at, created_by: by }) => <When at={at} by={by} /> },
          mayWrite && {
            head: 'column.actions',
            cell: (automation) => <AutomationActions automation={automation} reload={list.reload} />,
          },
        ]}
      />
      {mayWrite && (
        <Part title="automations.add">
          <FieldsForm
            fields={automationFields()}
            submit="action.create"
            isClearing
            send={async (typed) => {
              await context.call('post /automations', { body: { ...automationOf(typed), secret: typed.secret } });
              context.notices.say('notice.done');
              await list.reload();
            }}
          />
        </Part>
      )}
    </>
  );
}

interface AutomationActionsProps {
  readonly automation: Automation;
  readonly reload: () => Promise<void>;
}

function AutomationActions({ automation, reload }: AutomationActionsProps) {
  const context = useScreenContext();
  const { enabled, id, name } = automation;
  const parameters = { id };
  return (
    <Actions>
      <Work label="action.change" size="xs" isQuiet work={async () => await change(context, automation, reload)} />
      <Work
        label={enabled ? 'automations.turn-off' : 'automations.turn-on'}
        size="xs"
        isQuiet
        work={async () => await context.call('patch /automations/:id', { parameters, body: { enabled: !enabled } })}
        done={reload}
      />
      <Work
        label="action.delete"
        size="xs"
        isDanger
        ask={t('automations.delete-asked', { name })}
        work={async () => await context.call('delete /automations/:id', { parameters })}
        done={reload}
      />
    </Actions>
  );
}

async function change(context: ScreenContext, automation: Automation, reload: () => Promise<void>): Promise<void> {
  await context.dialogs.show({
    title: 'action.change',
    content: (close) => (
      <FieldsForm
        fields={automationFields(automation)}
        submit="action.save"
        send={async (typed) => {
          const secret = typed.secret === '' ? {} : { secret: typed.secret };
          const parameters = { id: automation.id };
          await context.call('patch /automations/:id', { parameters, body: { ...automationOf(typed), ...secret } });
          close();
          context.notices.say('notice.done');
          await reload();
        }}
      />
    ),
  });
}

function automationFields(automation?: Automation) {
  const isNew = automation === undefined;
  return {
    name: { ...NAME_FIELD, value: automation?.name ?? '' },
    events: {
      kind: 'text',
      label: 'automations.events',
      hint: 'automations.events-hint',
      isRequired: true,
      rows: 3,
      isName: true,
      value: automation?.events.join('\n') ?? '',
    },
    url: { label: 'automations.url', type: 'url', isRequired: true, maxLength: 2000, value: automation?.url ?? '' },
    secret: {
      label: 'automations.secret',
      hint: isNew ? 'automations.secret-hint' : 'settings.secret-hint',
      type: 'password',
      isRequired: isNew,
      minLength: 16,
      maxLength: 256,
    },
  } as const satisfies FieldSpecs;
}

function automationOf({ events, name, url }: Readonly<Record<'events' | 'name' | 'url', string>>) {
  return { name: name.trim(), events: namesIn(events), url: url.trim() };
}

function Runs({ id }: { readonly id: string }) {
  const context = useScreenContext();
  const list = useList<Run>(
    async (after) => await context.call('get /automations/:id/runs', { parameters: { id }, query: { after } }),
  );
  return (
    <>
      <BackLink to="automations" label="automations.back" />
      <DataTable
        caption="automations.runs"
        empty="automations.no-runs"
        list={list}
        columns={[
          { head: 'column.time', cell: ({ created_at: at }) => <When at={at} /> },
          { head: 'audit.event', cell: ({ event }) => <code>{event}</code> },
          {
            head: 'column.state',
            cell: ({ state }) => <StateBadge tone={TONES[state]}>{word('run', state)}</StateBadge>,
          },
          { head: 'automations.attempts', isNumber: true, cell: ({ attempts }) => attempts },
          { head: 'automations.status', cell: ({ reason, status }) => `${status ?? ''} ${reason ?? ''}` },
          {
            head: 'column.details',
            cell: (run) => (
              <Work label="action.show" size="xs" isQuiet work={async () => await showRun(context, run)} />
            ),
          },
        ]}
      />
    </>
  );
}

async function showRun(context: ScreenContext, { message, reply }: Run): Promise<void> {
  const texts = [message, reply].filter((text) => text !== null);
  await context.dialogs.show({
    title: 'column.details',
    size: 'xl',
    content: () =>
      texts.map((text, at) => (
        <Journal key={at} label={`${t('column.details')} ${at + 1}`}>
          {text}
        </Journal>
      )),
  });
}
