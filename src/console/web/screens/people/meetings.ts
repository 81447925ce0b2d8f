/** Meetings: what is planned, who hosts it, and the end of one that nobody else can end (MTG-01). */
import type { ItemOf } from '../../console-api.ts';
import { confirmed, showDialog } from '../../dialog.ts';
import { button, workButton } from '../../elements.ts';
import { form, input } from '../../form.ts';
import { formatNumber, t, when, word } from '../../language.ts';
import { Listing } from '../../listing.ts';
import type { Screen, ScreenContext } from '../../screen-context.ts';

type Meeting = ItemOf<'get /meetings'>;

export const meetingsScreen: Screen = {
  path: 'meetings',
  title: 'meetings.title',
  section: 'people',
  needs: 'users:read',
  isForVendors: false,
  show: (stage) => {
    const listing: Listing<Meeting> = new Listing<Meeting>({
      caption: 'meetings.title',
      empty: 'meetings.empty',
      load: async (after) => await stage.call('get /meetings', { query: { after } }),
      columns: [
        { head: 'meetings.name', cell: ({ title }) => title },
        { head: 'column.state', cell: ({ state }) => word('state', state) },
        { head: 'meetings.host', cell: ({ host }) => host },
        { head: 'meetings.starts', cell: ({ starts_at: at, created_at: made }) => when(at ?? made) },
        { head: 'meetings.ends', cell: ({ ends_at: at }) => when(at) },
        { head: 'meetings.people', cell: ({ participant_count: count }) => formatNumber(count) },
        { head: 'meetings.waiting', cell: ({ waiting_count: count }) => formatNumber(count) },
        {
          head: 'column.actions',
          cell: (meeting) =>
            stage.may('users:write') && meeting.state === 'open' && actions(stage, meeting, () => listing.reload()),
        },
      ],
    });
    return [listing.element];
  },
};

function actions(stage: ScreenContext, { host, id, title }: Meeting, reload: () => Promise<void>): Node[] {
  const parameters = { meeting: id };
  const give = button('meetings.hand-over', () => {
    const user = input({
      label: 'meetings.host',
      name: 'user',
      attributes: { required: true, maxlength: 64, spellcheck: 'false', autocapitalize: 'none', value: host },
    });
    const send = async () => {
      await stage.call('put /meetings/:meeting/host', { parameters, body: { user: user.value.trim() } });
      dialog.close();
      stage.notices.say('notice.done');
      await reload();
    };
    const dialog = showDialog('meetings.hand-over', form({ submit: 'action.save', parts: [user], send }));
  });
  const cancel = workButton('meetings.cancel', stage.notices, async () => {
    if (!(await confirmed('meetings.cancel', t('meetings.cancel-asked', { title }), 'meetings.cancel'))) return;
    await stage.call('post /meetings/:meeting/cancel', { parameters });
    stage.notices.say('notice.done');
    await reload();
  });
  return [give, cancel];
}
