/** The state of a node, as lists and its own page show it. */
import type { ItemOf } from '../../console-api.ts';
import { badge } from '../../elements.ts';
import { t, word } from '../../language.ts';

/** The state of a node in a word; one that is joined and silent says so. */
export function nodeState({ silent, state }: Pick<ItemOf<'get /nodes'>, 'silent' | 'state'>): HTMLElement {
  if (state === 'joined' && silent) return badge(t('nodes.silent'), 'bad');
  return badge(word('state', state), state === 'joined' ? 'good' : 'plain');
}
