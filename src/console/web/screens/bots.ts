/** Bots: making, what each may, another token, revoking (CRD-04, BOT-01). */
import type { Input, ItemOf } from '../console-api.ts';
import { CONVERSATION_ID, conversationField } from './people/conversation-field.ts';
import { confirmed, showDialog } from '../dialog.ts';
import { badge, button, element, fill, link, part, workButton } from '../elements.ts';
import { allOf, form, input, textarea, Ticks } from '../form.ts';
import { t, when, word } from '../language.ts';
import { Listing } from '../listing.ts';
import { shownOnce } from '../shown-once.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';
import { showBot } from './bot-integrations.ts';
import { namesIn } from './people/groups.ts';

type Bot = ItemOf<'get /bots'>;
type Scope = Bot['scopes'][number];

const SCOPES = allOf<Scope>({
  'commands:write': true,
  'conversations:read': true,
  'conversations:write': true,
  'events:subscribe': true,
  'messages:read': true,
  'messages:write': true,
  'pins:write': true,
  'presence:read': true,
  'presence:write': true,
  'reactions:write': true,
  'receipts:write': true,
  'signals:read': true,
  'signals:write': true,
});

export const botsScreen: Screen = {
  path: 'bots',
  title: 'bots.title',
  section: 'access',
  needs: 'settings:read',
  isForVendors: false,
  show: (stage) => {
    const [id] = stage.place.rest;
    if (id !== undefined) return showBot(stage, id);
    const once = element('div');
    const listing: Listing<Bot> = new Listing<Bot>({
      caption: 'bots.title',
      empty: 'bots.empty',
      load: async (after) => await stage.call('get /bots', { query: { after } }),
      columns: [
        { head: 'people.user', cell: ({ id: of, user }) => link(`bots/${of}`, user) },
        { head: 'people.name', cell: ({ display_name: name }) => name },
        { head: 'column.state', cell: ({ state }) => badge(word('state', state), state === 'active' ? 'good' : 'bad') },
        { head: 'bots.scopes', cell: ({ scopes }) => scopes.join(', ') },
        { head: 'bots.conversations', cell: ({ conversations }) => conversations.join(', ') },
        {
          head: 'vendor.used',
          cell: ({ last_used_at: at, last_used_address: address }) =>
            at === null ? t('list.never') : [when(at), ' ', address],
        },
        {
          head: 'column.actions',
          cell: (bot) =>
            bot.state === 'active' &&
            stage.may('settings:write') &&
            actions(stage, bot, once, async () => await listing.reload()),
        },
      ],
    });
    if (!stage.may('settings:write')) return [listing.element];
    return [
      once,
      listing.element,
      part(
        'bots.add',
        makeForm(stage, once, async () => await listing.reload()),
      ),
    ];
  },
};

function showToken(once: HTMLElement, token: string): void {
  fill(once, shownOnce({ title: 'bots.token', hint: 'bots.token-hint', secret: token }));
  once.scrollIntoView();
}

function actions(stage: ScreenContext, bot: Bot, once: HTMLElement, reload: () => Promise<void>): Node[] {
  const parameters = { id: bot.id };
  const change = button('action.change', () => {
    const settings = settingsFields(stage, bot);
    const send = async () => {
      await stage.call('patch /bots/:id', { parameters, body: settings.read() });
      dialog.close();
      stage.notices.say('notice.done');
      await reload();
    };
    const dialog = showDialog('bots.change', form({ submit: 'action.save', parts: settings.parts, send }));
  });
  const another = workButton('bots.another', stage.notices, async () => {
    if (!(await confirmed('bots.another', t('bots.another-asked', { user: bot.user }), 'bots.another'))) return;
    showToken(once, (await stage.call('post /bots/:id/token', { parameters })).token);
    await reload();
  });
  const revoke = workButton(
    'vendor.revoke',
    stage.notices,
    async () => {
      if (!(await confirmed('bots.revoke', t('bots.revoke-asked', { user: bot.user }), 'vendor.revoke'))) return;
      await stage.call('post /bots/:id/revoke', { parameters });
      stage.notices.say('notice.done');
      await reload();
    },
    { class: 'danger' },
  );
  return [change, another, revoke];
}

function makeForm(stage: ScreenContext, once: HTMLElement, reload: () => Promise<void>): HTMLElement {
  const name = input({
    label: 'people.user',
    name: 'name',
    hint: 'bots.name-hint',
    attributes: { required: true, maxlength: 60, autocapitalize: 'none', spellcheck: 'false' },
  });
  const settings = settingsFields(stage);
  const send = async () => {
    const body: Input<'post /bots'>['body'] = { name: name.value.trim(), ...settings.read() };
    showToken(once, (await stage.call('post /bots', { body })).token);
    await reload();
  };
  return form({ submit: 'action.create', parts: [name, ...settings.parts], send });
}

function settingsFields(stage: ScreenContext, bot?: Bot) {
  const name = input({
    label: 'people.name',
    name: 'display_name',
    attributes: { required: true, maxlength: 100, value: bot?.display_name ?? '' },
  });
  const choices = SCOPES.map((value) => ({ value, label: value }));
  const scopes = new Ticks('bots.scopes', choices, bot?.scopes);
  const conversations = textarea({
    label: 'bots.conversations',
    name: 'conversations',
    hint: 'bots.conversations-hint',
    attributes: { spellcheck: 'false' },
  });
  conversations.value = bot?.conversations.join('\n') ?? '';
  const room = conversationField(stage, { label: 'bots.add-room', name: 'room', attributes: { required: false } });
  room.onChange(() => {
    const chosen = room.text;
    if (chosen === undefined || !CONVERSATION_ID.test(chosen)) return;
    conversations.value = [...namesIn(conversations.value), chosen].join('\n');
    room.value = '';
  });
  return {
    parts: [name, scopes, conversations, room],
    read: () => ({
      display_name: name.value.trim(),
      scopes: scopes.values as Scope[],
      conversations: namesIn(conversations.value),
    }),
  };
}
