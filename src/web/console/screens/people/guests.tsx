/** Guests with their terms (GST-01). */
import { Button } from '@mantine/core';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { instantOf, localTime } from '../../words/formats.ts';
import { t } from '../../words/words.ts';
import { invite } from './invitation.tsx';

type Guest = ItemOf<'get /guests'>;

export function GuestsScreen() {
  const context = useScreenContext();
  const list = useList<Guest>(async (after) => await context.call('get /guests', { query: { after } }));
  const mayWrite = context.may('users:write');
  return (
    <>
      {mayWrite && (
        <Actions>
          <Button onClick={() => invite(context, 'guest')}>{t('guests.invite')}</Button>
        </Actions>
      )}
      <DataTable
        caption="guests.title"
        empty="guests.empty"
        list={list}
        columns={[
          {
            head: 'people.user',
            cell: ({ user }) => <ScreenLink to={`people/${encodeURIComponent(user)}`}>{user}</ScreenLink>,
          },
          { head: 'people.name', cell: ({ display_name: name }) => name },
          { head: 'people.phone', cell: ({ phone }) => phone },
          { head: 'guests.by', cell: ({ invited_by: by }) => by },
          { head: 'guests.until', cell: ({ expires_at: until }) => <When at={until} /> },
          {
            head: 'column.state',
            cell: ({ is_over: isOver }) => (
              <StateBadge tone={isOver ? 'plain' : 'good'}>{t(isOver ? 'guests.over' : 'state.active')}</StateBadge>
            ),
          },
          mayWrite && {
            head: 'column.actions',
            cell: (guest) => (
              <Actions>
                <Work
                  label="guests.change"
                  size="xs"
                  isQuiet
                  work={async () => await changeTerm(context, guest, list.reload)}
                />
                {!guest.is_over && (
                  <Work
                    label="guests.end"
                    size="xs"
                    isDanger
                    ask={t('guests.end-asked', { user: guest.user })}
                    work={async () =>
                      await context.call('post /guests/:username/end', { parameters: { username: guest.user } })
                    }
                    done={list.reload}
                  />
                )}
              </Actions>
            ),
          },
        ]}
      />
    </>
  );
}

async function changeTerm(context: ScreenContext, { expires_at: until, user }: Guest, reload: () => Promise<void>) {
  await context.dialogs.show({
    title: 'guests.change',
    content: (close) => (
      <FieldsForm
        fields={{
          expires_at: {
            label: 'guests.until',
            type: 'datetime-local',
            isRequired: true,
            value: localTime(Date.parse(until)),
          },
        }}
        submit="action.save"
        send={async (values) => {
          const body = { expires_at: instantOf(values.expires_at) ?? '' };
          await context.call('patch /guests/:username', { parameters: { username: user }, body });
          close();
          context.notices.say('notice.done');
          await reload();
        }}
      />
    ),
  });
}
