/** One person: profile, blocking, letting go, sessions, and the role in the console (DIR-01, CON-03). */
import type { PersonConsoleRole } from '#src/identity/console/permissions.ts';
import type { ItemOf, ReplyOf } from '../../console-api.ts';
import { confirmed, showDialog } from '../../dialog.ts';
import { badge, element, facts, link, part, workButton, type Child } from '../../elements.ts';
import { form, input, select } from '../../form.ts';
import { t, when, word } from '../../language.ts';
import { Listing, loaded } from '../../listing.ts';
import { shownOnce } from '../../shown-once.ts';
import type { ScreenContext } from '../../screen-context.ts';
import { quotasListing } from '../quotas.ts';

type User = ReplyOf<'get /users/:username'>;

const ROLES: readonly (PersonConsoleRole | '')[] = ['', 'viewer', 'administrator', 'owner'];

export function showPerson(stage: ScreenContext, username: string): readonly Node[] {
  const parameters = { username };
  const body = loaded(
    async () => await stage.call('get /users/:username', { parameters }),
    (user) => show(stage, user, () => body.reload()),
  );
  return [element('p', {}, link('people', t('people.back'))), body];
}

function show(stage: ScreenContext, user: User, reload: () => void): Child[] {
  // What is known of an owner is for owners to change.
  const mayWrite = stage.may(user.role === 'owner' ? 'access:write' : 'users:write') && user.state !== 'left';
  return [
    element('h2', {}, user.display_name ?? user.user),
    facts(
      ['people.user', user.user],
      ['column.state', badge(word('state', user.state), user.state === 'active' ? 'good' : 'bad')],
      ['people.kind', word('kind', user.role === 'owner' ? 'owner' : user.kind)],
      ['people.created', when(user.created_at)],
      ['people.groups', user.groups.map(({ id, name }) => [link(`groups/${id}`, name), ' '])],
    ),
    mayWrite && element('div', { class: 'actions' }, standing(stage, user, reload)),
    mayWrite && part('people.profile', profileForm(stage, user, reload)),
    !mayWrite && facts(['people.email', user.email], ['people.phone', user.phone], ['people.job', user.title]),
    stage.may('access:write') && user.kind === 'person' && part('people.role', roleForm(stage, user, reload)),
    part('people.sessions', sessions(stage, user.user).element),
    !stage.isVendor && part('quotas.title', quotas(stage, user.user)),
  ];
}

/** Blocking, unblocking and letting go. */
function standing(stage: ScreenContext, { avatar, role, state, user }: User, reload: () => void): Child[] {
  const { notices } = stage;
  const whom = { parameters: { username: user } };
  const done = () => {
    notices.say('notice.done');
    reload();
  };
  const block = workButton(
    'people.block',
    notices,
    async () => {
      if (!(await confirmed('people.block', t('people.block-asked', { user }), 'people.block'))) return;
      await stage.call('post /users/:username/block', whom);
      done();
    },
    { class: 'danger' },
  );
  const unblock = workButton('people.unblock', notices, async () => {
    await stage.call('post /users/:username/unblock', whom);
    done();
  });
  const leave = workButton(
    'people.leave',
    notices,
    async () => {
      if (!(await confirmed('people.leave', t('people.leave-asked', { user }), 'people.leave'))) return;
      await stage.call('post /users/:username/leave', whom);
      done();
    },
    { class: 'danger' },
  );
  const removePicture = workButton('people.remove-avatar', notices, async () => {
    await stage.call('delete /users/:username/avatar', whom);
    done();
  });
  const hasPicture = avatar !== undefined;
  return [
    state === 'active' ? block : unblock,
    hasPicture && removePicture,
    role !== 'owner' && passwordReset(stage, user),
    role !== 'owner' && factorRemoval(stage, user),
    leave,
  ];
}

/** A link by which the person sets another password, shown once (CRD-12). */
function passwordReset(stage: ScreenContext, user: string): HTMLElement {
  return workButton('people.reset', stage.notices, async () => {
    if (!(await confirmed('people.reset', t('people.reset-asked', { user }), 'people.reset'))) return;
    const made = await stage.call('post /users/:username/password-reset', { parameters: { username: user } });
    showDialog(
      'people.reset',
      shownOnce({ title: 'people.reset-link', hint: 'people.reset-hint', secret: made.url }),
      element('p', {}, t('invitation.until'), ' ', when(made.expires_at)),
    );
  });
}

/** For whoever lost theirs. */
function factorRemoval(stage: ScreenContext, user: string): HTMLElement {
  return workButton('people.factors', stage.notices, async () => {
    if (!(await confirmed('people.factors', t('people.factors-asked', { user }), 'people.factors'))) return;
    await stage.call('delete /users/:username/second-factors', { parameters: { username: user } });
    stage.notices.say('notice.done');
  });
}

function profileForm(stage: ScreenContext, user: User, reload: () => void): HTMLElement {
  const name = input({
    label: 'people.name',
    name: 'display_name',
    attributes: { maxlength: 100, value: user.display_name ?? '' },
  });
  const phone = input({
    label: 'people.phone',
    name: 'phone',
    hint: 'people.phone-hint',
    attributes: { type: 'tel', maxlength: 16, value: user.phone ?? '' },
  });
  const email = input({
    label: 'people.email',
    name: 'email',
    attributes: { type: 'email', maxlength: 254, value: user.email ?? '' },
  });
  const title = input({ label: 'people.job', name: 'title', attributes: { maxlength: 100, value: user.title ?? '' } });
  const send = async () => {
    const body = {
      display_name: name.text ?? null,
      // A guest's phone is how it recovers: it comes from the invitation and is not changed here.
      ...(user.kind === 'guest' ? {} : { phone: phone.text ?? null }),
      email: email.text ?? null,
      title: title.text ?? null,
    };
    await stage.call('patch /users/:username', { parameters: { username: user.user }, body });
    stage.notices.say('notice.done');
    reload();
  };
  return form({
    submit: 'action.save',
    parts: user.kind === 'guest' ? [name, email, title] : [name, phone, email, title],
    send,
  });
}

function roleForm(stage: ScreenContext, { role, user }: User, reload: () => void): HTMLElement {
  const choices = ROLES.map((value) => ({ value, label: value === '' ? t('people.no-role') : word('role', value) }));
  const showForm = (now: string) => {
    const choice = select({ label: 'people.role', name: 'role', hint: 'people.role-hint', value: now, choices });
    const send = async () => {
      const body = { role: choice.value === '' ? null : (choice.value as PersonConsoleRole) };
      const asked = t('people.role-asked', {
        user,
        role: choices.find(({ value }) => value === choice.value)?.label ?? '',
      });
      if (!(await confirmed('people.role', asked, 'action.save'))) return;
      await stage.call('put /console-roles/:user', { parameters: { user }, body });
      stage.notices.say('notice.done');
      reload();
    };
    return [form({ submit: 'action.save', parts: [choice], send })];
  };
  return loaded(async () => (role === 'owner' ? 'owner' : await roleOf(stage, user)), showForm);
}

/** The role that a person has below owner: none where the list does not name them. */
async function roleOf(stage: ScreenContext, user: string): Promise<string> {
  for (let after: string | undefined; ;) {
    const { items, next } = await stage.call('get /console-roles', { query: { after } });
    const found = items.find((item) => item.user === user);
    if (found !== undefined || next === null) return found?.role ?? '';
    after = next;
  }
}

function quotas(stage: ScreenContext, username: string): HTMLElement {
  const parameters = { username };
  return quotasListing(async () => await stage.call('get /users/:username/quotas', { parameters })).element;
}

function sessions(stage: ScreenContext, username: string): Listing<ItemOf<'get /users/:username/sessions'>> {
  const listing: Listing<ItemOf<'get /users/:username/sessions'>> = new Listing({
    caption: 'people.sessions',
    empty: 'people.no-sessions',
    load: async () => await stage.call('get /users/:username/sessions', { parameters: { username } }),
    columns: [
      { head: 'column.name', cell: ({ name }) => name },
      { head: 'people.platform', cell: ({ platform }) => platform },
      { head: 'people.signed-in', cell: ({ signed_in_at: at }) => when(at) },
      { head: 'people.renewable', cell: ({ renewable_until: until }) => when(until) },
      {
        head: 'column.actions',
        cell: ({ id }) =>
          stage.may('users:write') &&
          workButton('people.end-session', stage.notices, async () => {
            const parameters = { username, session: id };
            await stage.call('delete /users/:username/sessions/:session', { parameters });
            stage.notices.say('notice.done');
            await listing.reload();
          }),
      },
    ],
  });
  return listing;
}
