/** Conversations: which there are, who is in them, owners for rooms that were left, archiving. Never what is said. */
import type { ItemOf, ReplyOf } from '../../console-api.ts';
import { confirmed } from '../../dialog.ts';
import { badge, element, facts, link, part, workButton, type Child } from '../../elements.ts';
import { form, input, select } from '../../form.ts';
import { formatNumber, t, when, word } from '../../language.ts';
import { Listing, loaded } from '../../listing.ts';
import type { Screen, ScreenContext } from '../../screen-context.ts';

type Registered = ReplyOf<'get /conversations/:id'>;
type Participant = ItemOf<'get /conversations/:id/participants'>;

export const conversationsScreen: Screen = {
  path: 'conversations',
  title: 'conversations.title',
  section: 'people',
  needs: 'conversations:read',
  isForVendors: false,
  show: (stage) => {
    const [id] = stage.place.rest;
    return id === undefined ? showList(stage) : showOne(stage, id);
  },
};

function showList(stage: ScreenContext): readonly Node[] {
  const { query } = stage.place;
  const text = input({
    label: 'conversations.find',
    name: 'q',
    hint: 'conversations.find-hint',
    attributes: { type: 'search', maxlength: 100, value: query.get('q') ?? '' },
  });
  const which = select({
    label: 'conversations.which',
    name: 'which',
    value: query.get('which') ?? '',
    choices: [
      { value: '', label: t('conversations.all') },
      { value: 'room', label: word('conversation', 'room') },
      { value: 'direct', label: word('conversation', 'direct') },
      { value: 'secret', label: word('conversation', 'secret') },
      { value: 'orphaned', label: t('conversations.orphaned') },
    ],
  });
  const sort = select({
    label: 'people.order',
    name: 'sort',
    value: query.get('sort') ?? 'activity',
    choices: [
      { value: 'activity', label: t('conversations.by-activity') },
      { value: 'created', label: t('conversations.by-created') },
      { value: 'members', label: t('conversations.by-members') },
      { value: 'title', label: t('conversations.by-title') },
    ],
  });
  const asked = () => ({
    ...(text.text === undefined ? {} : { q: text.text }),
    ...(which.value === '' ? {} : which.value === 'orphaned' ? { orphaned: 'true' } : { kind: which.value }),
    sort: sort.value,
  });
  const listing = new Listing({
    caption: 'conversations.title',
    empty: 'conversations.empty',
    load: async (after) => await stage.call('get /conversations', { query: { after, ...asked() } }),
    columns: [
      { head: 'conversations.name', cell: (one) => link(`conversations/${one.id}`, nameOf(one)) },
      { head: 'people.kind', cell: ({ kind }) => word('conversation', kind) },
      { head: 'column.state', cell: stateOf },
      { head: 'groups.members', cell: ({ participant_count: people }) => formatNumber(people) },
      { head: 'conversations.messages', cell: ({ messages }) => formatNumber(messages) },
      { head: 'conversations.active', cell: ({ last_activity_at: at }) => when(at) },
    ],
  });
  for (const field of [text, which, sort]) {
    field.onChange(() => {
      const kept = { q: text.value, which: which.value, sort: sort.value };
      stage.keepQuery(new URLSearchParams(Object.entries(kept).filter(([, value]) => value !== '')));
      void listing.reload();
    });
  }
  return [text.element, which.element, sort.element, listing.element];
}

function nameOf({ kind, title }: Pick<Registered, 'kind' | 'title'>): string {
  return title ?? (kind === 'room' ? t('conversations.untitled') : word('conversation', kind));
}

function stateOf({ archived_at: archived, orphaned, visibility }: Registered): Child {
  if (orphaned) return badge(t('conversations.orphaned'), 'bad');
  if (archived !== undefined) return badge(t('conversations.archived'), 'warning');
  return visibility === undefined ? undefined : badge(t('conversations.public'), 'good');
}

function showOne(stage: ScreenContext, id: string): readonly Node[] {
  const parameters = { id };
  const body = loaded(
    async () => await stage.call('get /conversations/:id', { parameters }),
    (one) => show(stage, one, () => body.reload()),
  );
  return [element('p', {}, link('conversations', t('conversations.back'))), body];
}

function show(stage: ScreenContext, one: Registered, reload: () => void): Child[] {
  const parameters = { id: one.id };
  const isRoom = one.kind === 'room';
  const give = async (user: string) => {
    await stage.call('put /conversations/:id/owner', { parameters, body: { user } });
    stage.notices.say('notice.done');
    reload();
  };
  const members = new Listing<Participant>({
    caption: 'groups.members',
    empty: 'groups.no-members',
    load: async (after) => await stage.call('get /conversations/:id/participants', { parameters, query: { after } }),
    columns: [
      { head: 'people.user', cell: ({ user }) => link(`people/${encodeURIComponent(user)}`, user) },
      { head: 'conversations.role', cell: ({ role }) => word('member', role) },
    ],
  });
  const owner = input({ label: 'people.user', name: 'user', attributes: { required: true, maxlength: 64 } });
  return [
    element('h2', {}, nameOf(one)),
    facts(
      ['people.kind', word('conversation', one.kind)],
      ['conversations.topic', one.topic],
      ['conversations.purpose', one.purpose],
      ['column.state', stateOf(one)],
      ['people.created', when(one.created_at)],
      ['conversations.active', when(one.last_activity_at)],
      ['conversations.messages', formatNumber(one.messages)],
    ),
    isRoom && stage.may('conversations:write') && roomButtons(stage, one, reload),
    one.orphaned &&
      stage.may('conversations:write') &&
      part(
        'conversations.give',
        form({ submit: 'conversations.give', parts: [owner], send: async () => await give(owner.value.trim()) }),
      ),
    members.element,
  ];
}

function roomButtons(stage: ScreenContext, { archived_at: since, avatar, id }: Registered, reload: () => void): Child {
  const isArchived = since !== undefined;
  const label = isArchived ? 'conversations.bring-back' : 'conversations.archive';
  const act = workButton(label, stage.notices, async () => {
    if (!isArchived && !(await confirmed(label, t('conversations.archive-asked'), label))) return;
    await stage.call('put /conversations/:id/archived', { parameters: { id }, body: { archived: !isArchived } });
    stage.notices.say('notice.done');
    reload();
  });
  const removePicture = workButton('people.remove-avatar', stage.notices, async () => {
    await stage.call('delete /conversations/:id/avatar', { parameters: { id } });
    stage.notices.say('notice.done');
    reload();
  });
  return element('div', { class: 'actions' }, act, avatar !== undefined && removePicture);
}
