/** Incoming webhooks of all rooms: their last use, making one, and revoking (BOT-01). */
import type { ItemOf } from '../console-api.ts';
import { conversationField } from './people/conversation-field.ts';
import { confirmed } from '../dialog.ts';
import { element, fill, part, workButton } from '../elements.ts';
import { form, input } from '../form.ts';
import { t, when } from '../language.ts';
import { Listing } from '../listing.ts';
import { shownOnce } from '../shown-once.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';

type Webhook = ItemOf<'get /webhooks'>;

export const webhooksScreen: Screen = {
  path: 'webhooks',
  title: 'webhooks.title',
  section: 'access',
  needs: 'settings:read',
  isForVendors: true,
  show: (stage) => {
    const once = element('div');
    const listing: Listing<Webhook> = new Listing<Webhook>({
      caption: 'webhooks.title',
      empty: 'webhooks.empty',
      load: async (after) => await stage.call('get /webhooks', { query: { after } }),
      columns: [
        { head: 'column.name', cell: ({ name }) => name },
        { head: 'holds.conversation', cell: ({ conversation_id: id }) => element('code', {}, id) },
        { head: 'people.user', cell: ({ sender }) => sender },
        { head: 'column.since', cell: ({ created_at: at, created_by: by }) => [when(at), ' ', by] },
        {
          head: 'vendor.used',
          cell: ({ last_used_at: at, last_used_address: address }) =>
            at === null ? t('list.never') : [when(at), ' ', address],
        },
        {
          head: 'column.actions',
          cell: (webhook) =>
            stage.may('settings:write') && revokeButton(stage, webhook, async () => await listing.reload()),
        },
      ],
    });
    if (!stage.may('settings:write')) return [listing.element];
    const conversation = conversationField(stage, {
      label: 'holds.conversation',
      name: 'conversation',
      hint: 'webhooks.room-hint',
    });
    const name = input({
      label: 'column.name',
      name: 'name',
      hint: 'webhooks.name-hint',
      attributes: { required: true, maxlength: 100 },
    });
    const send = async () => {
      const parameters = { id: conversation.value.trim() };
      const body = { name: name.value.trim() };
      const { path } = await stage.call('post /conversations/:id/webhooks', { parameters, body });
      fill(once, shownOnce({ title: 'webhooks.path', hint: 'webhooks.path-hint', secret: path }));
      once.scrollIntoView();
      await listing.reload();
    };
    return [
      once,
      listing.element,
      part('webhooks.add', form({ submit: 'action.create', parts: [conversation, name], send })),
    ];
  },
};

function revokeButton(
  stage: ScreenContext,
  { conversation_id: id, id: webhook, name }: Webhook,
  reload: () => Promise<void>,
) {
  return workButton(
    'vendor.revoke',
    stage.notices,
    async () => {
      if (!(await confirmed('vendor.revoke', t('webhooks.revoke-asked', { name }), 'vendor.revoke'))) return;
      await stage.call('delete /conversations/:id/webhooks/:webhook', { parameters: { id, webhook } });
      stage.notices.say('notice.done');
      await reload();
    },
    { class: 'danger' },
  );
}
