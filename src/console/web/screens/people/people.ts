/** People: who there is, and inviting more (DIR-01). A person's own page is `person.ts`. */
import type { ItemOf } from '../../console-api.ts';
import { badge, button, element, link } from '../../elements.ts';
import { input, select } from '../../form.ts';
import { t, word } from '../../language.ts';
import { Listing } from '../../listing.ts';
import type { Screen } from '../../screen-context.ts';
import { invite } from './invitation.ts';
import { showPerson } from './person.ts';

type User = ItemOf<'get /users'>;

const TONES = { active: 'good', blocked: 'bad', left: 'plain', over: 'plain' } as const;

export const peopleScreen: Screen = {
  path: 'people',
  title: 'people.title',
  section: 'people',
  needs: 'users:read',
  isForVendors: false,
  show: (stage) => {
    const [username] = stage.place.rest;
    if (username !== undefined) return showPerson(stage, username);
    const filter = input({
      label: 'people.filter',
      name: 'text',
      hint: 'people.filter-hint',
      attributes: { type: 'search', maxlength: 100, value: stage.place.query.get('text') ?? '' },
    });
    const order = select({
      label: 'people.order',
      name: 'sort',
      value: stage.place.query.get('sort') ?? '',
      choices: [
        { value: '', label: t('people.order-best') },
        { value: 'user', label: t('people.order-user') },
        { value: 'name', label: t('people.order-name') },
        { value: 'changed', label: t('people.order-changed') },
      ],
    });
    const asked = () => ({
      ...(filter.text === undefined ? {} : { q: filter.text }),
      ...(order.value === '' ? {} : { sort: order.value }),
    });
    const listing = new Listing<User>({
      caption: 'people.title',
      empty: 'people.empty',
      load: async (after) => await stage.call('get /users', { query: { after, ...asked() } }),
      columns: [
        { head: 'people.user', cell: ({ user }) => link(`people/${encodeURIComponent(user)}`, user) },
        { head: 'people.name', cell: ({ display_name: name }) => name },
        { head: 'column.state', cell: ({ state }) => badge(word('state', state), TONES[state]) },
        { head: 'people.kind', cell: ({ kind, role }) => word('kind', role === 'owner' ? 'owner' : kind) },
        { head: 'people.email', cell: ({ email }) => email },
        { head: 'people.groups', cell: ({ groups }) => groups.map(({ name }) => name).join(', ') },
      ],
    });
    for (const field of [filter, order]) {
      field.onChange(() => {
        const { q, ...rest } = asked();
        stage.keepQuery(new URLSearchParams({ ...(q === undefined ? {} : { text: q }), ...rest }));
        void listing.reload();
      });
    }
    const add = stage.may('users:write') && button('people.invite', () => invite(stage), { class: 'primary' });
    return [element('div', { class: 'actions' }, add), filter.element, order.element, listing.element];
  },
};
