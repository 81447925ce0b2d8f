/** The export of a conversation's messages as a file: clear data, for owners alone. */
import { conversationField } from './people/conversation-field.ts';
import { badge, button, element, fill } from '../elements.ts';
import { form } from '../form.ts';
import { t } from '../language.ts';
import type { Screen } from '../screen-context.ts';

export const messageExportScreen: Screen = {
  path: 'message-export',
  title: 'export.title',
  section: 'traces',
  needs: 'access:write',
  isForVendors: false,
  show: (stage) => {
    const conversation = conversationField(stage, {
      label: 'export.conversation',
      name: 'conversation',
      hint: 'export.conversation-hint',
      attributes: { value: stage.place.query.get('conversation') ?? '' },
    });
    const place = element('p', { role: 'status' });
    const send = async () => {
      const query = { conversation: conversation.value.trim() };
      const file = await stage.api.download('get /message-export', { query }, stage.signal);
      const text = await file.text();
      // An export without its last line was cut short, and says less than it seems to.
      const isWhole = /(?:^|\n)\{"end":[^\n]*\n?$/.test(text);
      const save = button('action.download', () => {
        const address = URL.createObjectURL(file);
        element('a', { href: address, download: `${query.conversation}.ndjson` }).click();
        URL.revokeObjectURL(address);
      });
      fill(place, badge(t(isWhole ? 'export.whole' : 'export.cut'), isWhole ? 'good' : 'bad'), ' ', save);
    };
    return [element('p', {}, t('export.hint')), form({ submit: 'export.make', parts: [conversation], send }), place];
  },
};
