/** Meetings: what is planned, who hosts it, and the end of one that nobody else can end (MTG-01). */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { formatNumber } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';

type Meeting = ItemOf<'get /meetings'>;

export function MeetingsScreen() {
  const context = useScreenContext();
  const list = useList<Meeting>(async (after) => await context.call('get /meetings', { query: { after } }));
  return (
    <DataTable
      caption="meetings.title"
      empty="meetings.empty"
      list={list}
      columns={[
        { head: 'meetings.name', cell: ({ title }) => title },
        { head: 'column.state', cell: ({ state }) => word('state', state) },
        { head: 'meetings.host', cell: ({ host }) => host },
        { head: 'meetings.starts', cell: ({ created_at: made, starts_at: at }) => <When at={at ?? made} /> },
        { head: 'meetings.ends', cell: ({ ends_at: at }) => <When at={at} /> },
        { head: 'meetings.people', isNumber: true, cell: (one) => formatNumber(one.participant_count) },
        { head: 'meetings.waiting', isNumber: true, cell: (one) => formatNumber(one.waiting_count) },
        context.may('users:write') && {
          head: 'column.actions',
          cell: (meeting) => meeting.state === 'open' && <MeetingActions meeting={meeting} reload={list.reload} />,
        },
      ]}
    />
  );
}

interface MeetingActionsProps {
  readonly meeting: Meeting;
  readonly reload: () => Promise<void>;
}

function MeetingActions({ meeting, reload }: MeetingActionsProps) {
  const context = useScreenContext();
  return (
    <Actions>
      <Work label="meetings.hand-over" size="xs" isQuiet work={async () => await handOver(context, meeting, reload)} />
      <Work
        label="meetings.cancel"
        size="xs"
        isDanger
        ask={t('meetings.cancel-asked', { title: meeting.title })}
        work={async () => await context.call('post /meetings/:meeting/cancel', { parameters: { meeting: meeting.id } })}
        done={reload}
      />
    </Actions>
  );
}

async function handOver(context: ScreenContext, { host, id }: Meeting, reload: () => Promise<void>): Promise<void> {
  await context.dialogs.show({
    title: 'meetings.hand-over',
    content: (close) => (
      <FieldsForm
        fields={{ user: { label: 'meetings.host', isRequired: true, maxLength: 64, isName: true, value: host } }}
        submit="action.save"
        send={async ({ user }) => {
          const parameters = { meeting: id };
          await context.call('put /meetings/:meeting/host', { parameters, body: { user: user.trim() } });
          close();
          context.notices.say('notice.done');
          await reload();
        }}
      />
    ),
  });
}
