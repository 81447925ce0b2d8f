/** What a bot offers and hears: its slash commands and its event subscriptions (BOT-01). */
import type { Input, ItemOf } from '../console-api.ts';
import { confirmed } from '../dialog.ts';
import { badge, element, fill, link, part, workButton } from '../elements.ts';
import { allOf, form, input, Ticks } from '../form.ts';
import { t, when, word } from '../language.ts';
import { Listing } from '../listing.ts';
import { shownOnce } from '../shown-once.ts';
import type { ScreenContext } from '../screen-context.ts';

type Command = ItemOf<'get /bots/:id/commands'>;
type Subscription = ItemOf<'get /bots/:id/subscriptions'>;
type Event = Subscription['events'][number];

const EVENTS = allOf<Event>({
  'message.new': true,
  'message.edit': true,
  'message.delete': true,
  membership: true,
  command: true,
});

export function showBot(stage: ScreenContext, id: string): readonly Node[] {
  const parameters = { id };
  const commands = new Listing<Command>({
    caption: 'bots.commands',
    empty: 'bots.no-commands',
    load: async () => await stage.call('get /bots/:id/commands', { parameters }),
    columns: [
      {
        head: 'column.name',
        cell: ({ name, usage }) => element('code', {}, `/${name}${usage === undefined ? '' : ` ${usage}`}`),
      },
      { head: 'column.details', cell: ({ description }) => description },
    ],
  });
  const head = element('p', {}, link('bots', t('bots.back')));
  // A URL may hold a secret of its receiver.
  if (stage.isVendor) return [head, commands.element];
  return [head, commands.element, ...subscriptionsPart(stage, id)];
}

function subscriptionsPart(stage: ScreenContext, id: string): Node[] {
  const parameters = { id };
  const once = element('div');
  const listing: Listing<Subscription> = new Listing<Subscription>({
    caption: 'bots.subscriptions',
    empty: 'bots.no-subscriptions',
    load: async () => await stage.call('get /bots/:id/subscriptions', { parameters }),
    columns: [
      { head: 'automations.url', cell: ({ url }) => url },
      { head: 'automations.events', cell: ({ events }) => events.join(', ') },
      { head: 'column.state', cell: ({ state }) => badge(word('state', state), state === 'active' ? 'good' : 'bad') },
      { head: 'column.since', cell: ({ created_at: at, created_by: by }) => [when(at), ' ', by] },
      {
        head: 'bots.failing',
        cell: ({ failing_since: since, last_failure: reason }) => since !== null && [when(since), ' ', reason],
      },
      {
        head: 'column.actions',
        cell: (one) => stage.may('settings:write') && actions(stage, one, async () => await listing.reload()),
      },
    ],
  });
  if (!stage.may('settings:write')) return [listing.element];
  const url = input({
    label: 'automations.url',
    name: 'url',
    attributes: { type: 'url', required: true, maxlength: 2000 },
  });
  const events = new Ticks(
    'automations.events',
    EVENTS.map((value) => ({ value, label: value })),
  );
  const send = async () => {
    const body: Input<'post /bots/:id/subscriptions'>['body'] = {
      url: url.value.trim(),
      events: events.values as Event[],
    };
    const { secret } = await stage.call('post /bots/:id/subscriptions', { parameters, body });
    fill(once, shownOnce({ title: 'bots.signing', hint: 'bots.signing-hint', secret }));
    once.scrollIntoView();
    await listing.reload();
  };
  return [once, listing.element, part('bots.subscribe', form({ submit: 'action.create', parts: [url, events], send }))];
}

function actions(
  stage: ScreenContext,
  { bot, id: subscription, state, url }: Subscription,
  reload: () => Promise<void>,
): Node[] {
  const parameters = { id: bot, subscription };
  const remove = workButton(
    'action.delete',
    stage.notices,
    async () => {
      if (!(await confirmed('action.delete', t('bots.unsubscribe-asked', { url }), 'action.delete'))) return;
      await stage.call('delete /bots/:id/subscriptions/:subscription', { parameters });
      stage.notices.say('notice.done');
      await reload();
    },
    { class: 'danger' },
  );
  if (state === 'active') return [remove];
  const enable = workButton('bots.enable', stage.notices, async () => {
    await stage.call('post /bots/:id/subscriptions/:subscription/enable', { parameters });
    stage.notices.say('notice.done');
    await reload();
  });
  return [enable, remove];
}
