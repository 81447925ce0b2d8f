/** Legal holds: over everything or one conversation, begun and ended by owners, and the export of what is held. */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, Facts, Part, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { formatPeriod } from '../../words/formats.ts';
import { t } from '../../words/words.ts';

export function HoldsScreen() {
  const context = useScreenContext();
  const list = useList(async (after) => await context.call('get /holds', { query: { after } }));
  const hold = async (id: string, held: boolean) => {
    await context.call('put /conversations/:id/hold', { parameters: { id }, body: { held } });
  };
  return (
    <>
      <p>{t('holds.hint')}</p>
      <HoldOverAll />
      <DataTable
        caption="holds.conversations"
        empty="holds.empty"
        list={list}
        columns={[
          { head: 'holds.conversation', cell: ({ conversation_id: id }) => <code>{id}</code> },
          { head: 'column.since', cell: ({ held_by: by, since }) => <When at={since} by={by} /> },
          {
            head: 'column.actions',
            cell: ({ conversation_id: id }) => (
              <Actions>
                <ScreenLink to={`message-export?conversation=${id}`}>{t('holds.export')}</ScreenLink>
                <Work
                  label="holds.end"
                  ask={t('holds.end-asked')}
                  work={async () => await hold(id, false)}
                  done={list.reload}
                />
              </Actions>
            ),
          },
        ]}
      />
      <Part title="holds.add">
        <FieldsForm
          fields={{
            conversation: {
              kind: 'conversation',
              label: 'holds.conversation',
              hint: 'export.conversation-hint',
              isRequired: true,
            },
          }}
          submit="holds.begin"
          isClearing
          send={async ({ conversation }) => {
            await hold(conversation.trim(), true);
            context.notices.say('notice.done');
            await list.reload();
          }}
        />
      </Part>
    </>
  );
}

function HoldOverAll() {
  const context = useScreenContext();
  const rule = useLoaded(async () => await context.call('get /retention', {}));
  return (
    <LoadedPlace of={rule}>
      {({ held: isHeld, seconds }) => (
        <>
          <Facts
            of={{
              'settings.retention': seconds === null ? t('holds.for-ever') : formatPeriod(seconds),
              'holds.everything': (
                <StateBadge tone={isHeld ? 'warning' : 'plain'}>{t(isHeld ? 'holds.on' : 'holds.off')}</StateBadge>
              ),
            }}
          />
          <Actions>
            <Work
              label={isHeld ? 'holds.end-all' : 'holds.begin-all'}
              ask={isHeld ? t('holds.end-asked') : undefined}
              isDanger={isHeld}
              work={async () => await context.call('put /retention/hold', { body: { held: !isHeld } })}
              done={rule.reload}
            />
          </Actions>
        </>
      )}
    </LoadedPlace>
  );
}
