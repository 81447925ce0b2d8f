/** Erasing people: who was erased, how far it is, and what came of it. */
import type { ItemOf } from '../../console-api.ts';
import { confirmed } from '../../dialog.ts';
import { badge, button, element, part } from '../../elements.ts';
import { form, input } from '../../form.ts';
import { formatBytes, formatNumber, t, when, word } from '../../language.ts';
import { Listing } from '../../listing.ts';
import type { Screen } from '../../screen-context.ts';

type Erasure = ItemOf<'get /erasures'>;

export const erasuresScreen: Screen = {
  path: 'erasures',
  title: 'erasures.title',
  section: 'people',
  needs: 'access:write',
  isForVendors: false,
  show: (stage) => {
    const listing: Listing<Erasure> = new Listing<Erasure>({
      caption: 'erasures.title',
      empty: 'erasures.empty',
      load: async (after) => await stage.call('get /erasures', { query: { after } }),
      columns: [
        { head: 'people.user', cell: ({ user }) => user },
        {
          head: 'column.state',
          cell: ({ state }) => badge(word('state', state), state === 'done' ? 'good' : 'warning'),
        },
        { head: 'column.since', cell: ({ started_at: at, started_by: by }) => [when(at), ' ', by] },
        { head: 'column.until', cell: ({ done_at: at }) => when(at) },
        { head: 'erasures.conversations', cell: ({ conversations }) => formatNumber(conversations) },
        {
          head: 'erasures.messages',
          cell: ({ bytes, messages }) => [formatNumber(messages), ' · ', formatBytes(bytes)],
        },
        { head: 'erasures.forwards', cell: ({ forwards }) => formatNumber(forwards) },
        { head: 'erasures.names', cell: ({ names }) => formatNumber(names) },
        {
          head: 'erasures.held',
          cell: ({ held, kept }) =>
            held + kept > 0 && badge(t('erasures.left', { conversations: held, messages: kept }), 'warning'),
        },
      ],
    });
    const user = input({
      label: 'people.user',
      name: 'user',
      attributes: { required: true, maxlength: 64, spellcheck: 'false', autocapitalize: 'none' },
    });
    const send = async () => {
      const username = user.value.trim();
      if (!(await confirmed('erasures.erase', t('erasures.asked', { user: username }), 'erasures.erase'))) return;
      await stage.call('post /users/:username/erase', { parameters: { username } });
      user.value = '';
      stage.notices.say('notice.done');
      await listing.reload();
    };
    return [
      element('p', {}, t('erasures.hint')),
      element(
        'div',
        { class: 'actions' },
        button('action.refresh', () => void listing.reload()),
      ),
      listing.element,
      part('erasures.add', form({ submit: 'erasures.erase', parts: [user], send })),
    ];
  },
};
