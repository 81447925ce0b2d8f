/** Legal holds: over everything or one conversation, begun and ended by owners, and the export of what is held. */
import type { ItemOf, ReplyOf } from '../../console-api.ts';
import { conversationField } from './conversation-field.ts';
import { confirmed } from '../../dialog.ts';
import { badge, element, facts, link, part, workButton, type Child } from '../../elements.ts';
import { form } from '../../form.ts';
import { formatPeriod, t, when } from '../../language.ts';
import { Listing, loaded } from '../../listing.ts';
import type { Screen, ScreenContext } from '../../screen-context.ts';

type Rule = ReplyOf<'get /retention'>;
type Hold = ItemOf<'get /holds'>;

export const holdsScreen: Screen = {
  path: 'holds',
  title: 'holds.title',
  section: 'traces',
  needs: 'access:write',
  isForVendors: false,
  show: (stage) => {
    const rule = loaded(
      async () => await stage.call('get /retention', {}),
      (now) => showRule(stage, now, () => rule.reload()),
    );
    const listing: Listing<Hold> = new Listing<Hold>({
      caption: 'holds.conversations',
      empty: 'holds.empty',
      load: async (after) => await stage.call('get /holds', { query: { after } }),
      columns: [
        { head: 'holds.conversation', cell: ({ conversation_id: id }) => element('code', {}, id) },
        { head: 'column.since', cell: ({ held_by: by, since }) => [when(since), ' ', by] },
        {
          head: 'column.actions',
          cell: ({ conversation_id: id }) => [
            link(`message-export?conversation=${id}`, t('holds.export')),
            ' ',
            endButton(stage, id, async () => await listing.reload()),
          ],
        },
      ],
    });
    const conversation = conversationField(stage, {
      label: 'holds.conversation',
      name: 'conversation',
      hint: 'export.conversation-hint',
    });
    const send = async () => {
      const parameters = { id: conversation.value.trim() };
      await stage.call('put /conversations/:id/hold', { parameters, body: { held: true } });
      conversation.value = '';
      stage.notices.say('notice.done');
      await listing.reload();
    };
    return [
      element('p', {}, t('holds.hint')),
      rule,
      listing.element,
      part('holds.add', form({ submit: 'holds.begin', parts: [conversation], send })),
    ];
  },
};

function showRule(stage: ScreenContext, { held: isHeld, seconds }: Rule, reload: () => void): Child[] {
  const turn = workButton(isHeld ? 'holds.end-all' : 'holds.begin-all', stage.notices, async () => {
    if (isHeld && !(await confirmed('holds.end-all', t('holds.end-asked'), 'holds.end'))) return;
    await stage.call('put /retention/hold', { body: { held: !isHeld } });
    stage.notices.say('notice.done');
    reload();
  });
  return [
    facts(
      ['settings.retention', seconds === null ? t('holds.for-ever') : formatPeriod(seconds)],
      ['holds.everything', badge(t(isHeld ? 'holds.on' : 'holds.off'), isHeld ? 'warning' : 'plain')],
    ),
    element('div', { class: 'actions' }, turn),
  ];
}

function endButton(stage: ScreenContext, id: string, reload: () => Promise<void>): HTMLButtonElement {
  return workButton('holds.end', stage.notices, async () => {
    if (!(await confirmed('holds.end', t('holds.end-asked'), 'holds.end'))) return;
    await stage.call('put /conversations/:id/hold', { parameters: { id }, body: { held: false } });
    stage.notices.say('notice.done');
    await reload();
  });
}
