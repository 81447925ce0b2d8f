/** Guests with their terms, and the live recovery codes for an administrator to read to them (GST-01, GST-02). */
import type { ItemOf } from '../../console-api.ts';
import { confirmed, showDialog } from '../../dialog.ts';
import { badge, button, element, fill, link, workButton } from '../../elements.ts';
import { form, input } from '../../form.ts';
import { t, when } from '../../language.ts';
import { Listing } from '../../listing.ts';
import type { Screen, ScreenContext } from '../../screen-context.ts';
import { instantOf } from '../audit.ts';
import { invite, localTime } from './invitation.ts';

type Guest = ItemOf<'get /guests'>;

export const guestsScreen: Screen = {
  path: 'guests',
  title: 'guests.title',
  section: 'people',
  needs: 'users:read',
  isForVendors: false,
  show: (stage) => {
    const listing: Listing<Guest> = new Listing<Guest>({
      caption: 'guests.title',
      empty: 'guests.empty',
      load: async (after) => await stage.call('get /guests', { query: { after } }),
      columns: [
        { head: 'people.user', cell: ({ user }) => link(`people/${encodeURIComponent(user)}`, user) },
        { head: 'people.name', cell: ({ display_name: name }) => name },
        { head: 'people.phone', cell: ({ phone }) => phone },
        { head: 'guests.by', cell: ({ invited_by: by }) => by },
        { head: 'guests.until', cell: ({ expires_at: until }) => when(until) },
        {
          head: 'column.state',
          cell: ({ is_over: isOver }) => badge(t(isOver ? 'guests.over' : 'state.active'), isOver ? 'plain' : 'good'),
        },
        {
          head: 'column.actions',
          cell: (guest) => stage.may('users:write') && actions(stage, guest, async () => await listing.reload()),
        },
      ],
    });
    const add = stage.may('users:write') && button('guests.invite', () => invite(stage, 'guest'), { class: 'primary' });
    return [element('div', { class: 'actions' }, add), listing.element];
  },
};

function actions(stage: ScreenContext, guest: Guest, reload: () => Promise<void>): Node[] {
  const parameters = { username: guest.user };
  const term = button('guests.change', () => {
    const until = input({
      label: 'guests.until',
      name: 'expires_at',
      attributes: { type: 'datetime-local', required: true, value: localTime(Date.parse(guest.expires_at)) },
    });
    const send = async () => {
      const body = { expires_at: instantOf(until.value) ?? '' };
      await stage.call('patch /guests/:username', { parameters, body });
      dialog.close();
      stage.notices.say('notice.done');
      await reload();
    };
    const dialog = showDialog('guests.change', form({ submit: 'action.save', parts: [until], send }));
  });
  const end = workButton('guests.end', stage.notices, async () => {
    if (!(await confirmed('guests.end', t('guests.end-asked', { user: guest.user }), 'guests.end'))) return;
    await stage.call('post /guests/:username/end', { parameters });
    stage.notices.say('notice.done');
    await reload();
  });
  return guest.is_over ? [term] : [term, end];
}

export const recoveryScreen: Screen = {
  path: 'recovery',
  title: 'recovery.title',
  section: 'people',
  needs: 'users:write',
  isForVendors: false,
  show: (stage) => {
    const place = element('div');
    // Every look is in the audit trail, so that nobody looks by coming past.
    const look = button('recovery.look', () => fill(place, recoveryListing(stage).element), { class: 'primary' });
    return [element('p', {}, t('recovery.hint')), element('div', { class: 'actions' }, look), place];
  },
};

function recoveryListing(stage: ScreenContext): Listing<ItemOf<'get /recovery'>> {
  return new Listing({
    caption: 'recovery.title',
    empty: 'recovery.empty',
    load: async () => await stage.call('get /recovery', {}),
    columns: [
      { head: 'people.user', cell: ({ user }) => user },
      { head: 'people.phone', cell: ({ phone }) => phone },
      { head: 'recovery.code', cell: ({ code }) => element('code', { translate: 'no' }, code) },
      { head: 'recovery.requested', cell: ({ requested_at: at }) => when(at) },
      { head: 'column.until', cell: ({ expires_at: until }) => when(until) },
      { head: 'recovery.attempts', cell: ({ attempts_left: left }) => left },
    ],
  });
}
