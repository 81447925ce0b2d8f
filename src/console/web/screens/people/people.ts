/** People: who there is, and inviting more (DIR-01). A person's own page is `person.ts`. */
import type { ItemOf } from '../../console-api.ts';
import { badge, button, element, link } from '../../elements.ts';
import { input } from '../../form.ts';
import { word } from '../../language.ts';
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
      attributes: { type: 'search', value: stage.place.query.get('text') ?? '' },
    });
    const listing = new Listing<User>({
      caption: 'people.title',
      empty: 'people.empty',
      load: async (after) => await stage.call('get /users', { query: { after } }),
      isShown: (user) => matches(user, filter.value),
      columns: [
        { head: 'people.user', cell: ({ user }) => link(`people/${encodeURIComponent(user)}`, user) },
        { head: 'people.name', cell: ({ display_name: name }) => name },
        { head: 'column.state', cell: ({ state }) => badge(word('state', state), TONES[state]) },
        { head: 'people.kind', cell: ({ kind, role }) => word('kind', role === 'owner' ? 'owner' : kind) },
        { head: 'people.email', cell: ({ email }) => email },
        { head: 'people.groups', cell: ({ groups }) => groups.map(({ name }) => name).join(', ') },
      ],
    });
    filter.onChange(() => {
      stage.keepQuery(new URLSearchParams(filter.value === '' ? {} : { text: filter.value }));
      listing.refresh();
    });
    const add = stage.may('users:write') && button('people.invite', () => invite(stage), { class: 'primary' });
    return [element('div', { class: 'actions' }, add), filter.element, listing.element];
  },
};

/** Whether any of what names a person has the text in it, whatever its case. */
export function matches(
  user: Pick<User, 'user' | 'display_name' | 'email' | 'phone' | 'title'>,
  text: string,
): boolean {
  const wanted = text.trim().toLowerCase();
  const names = [user.user, user.display_name, user.email, user.phone, user.title];
  return names.some((name) => name?.toLowerCase().includes(wanted) === true);
}
