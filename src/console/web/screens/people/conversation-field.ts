/** A field for a conversation: whoever types the title of a room chooses it from a list, and nobody types an id. */
import { element, fill } from '../../elements.ts';
import { Field, type FieldOptions } from '../../form.ts';
import { t } from '../../language.ts';
import type { ScreenContext } from '../../screen-context.ts';

/** Rooms that are offered at once. */
const OFFERED_MAX = 20;

/** What the id of a conversation looks like. */
export const CONVERSATION_ID = /^c_[0-9a-z]{22}$/;

/** Makes lists unique in the page. */
let made = 0;

/** Its value is the id of what was chosen. `label`, `name` and `hint` as of any field. */
export function conversationField(stage: ScreenContext, options: FieldOptions): Field {
  made += 1;
  const offered = element('datalist', { id: `conversations-${made}` });
  const control = element('input', {
    type: 'text',
    autocomplete: 'off',
    required: true,
    maxlength: 100,
    spellcheck: 'false',
    list: offered.id,
    ...options.attributes,
  });
  const field = new Field(control, options);
  field.element.append(offered);
  if (stage.may('conversations:read')) field.onChange(() => void offer(stage, field, offered));
  return field;
}

async function offer(stage: ScreenContext, field: Field, offered: HTMLElement): Promise<void> {
  const q = field.text;
  // One that was chosen has nothing more to be found by.
  if (q === undefined || CONVERSATION_ID.test(q)) return;
  const query = { q, kind: 'room', sort: 'members', limit: OFFERED_MAX } as const;
  const items = await stage.call('get /conversations', { query }).then(
    (page) => page.items,
    // What is typed can be sent without a list; the answer to that says what is wrong.
    () => [],
  );
  if (field.text !== q) return;
  fill(
    offered,
    items.map(({ id, participant_count: people, title }) =>
      element('option', { value: id, label: `${title ?? t('conversations.untitled')} · ${people}` }),
    ),
  );
}
