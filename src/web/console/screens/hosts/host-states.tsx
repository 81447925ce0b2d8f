/** The states of nodes and of what runs on them, as lists and their own pages show them. */
import { StateBadge, type Tone } from '../../kit/facts.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { t, word } from '../../words/words.ts';

const TONES: Readonly<Record<string, Tone>> = {
  up: 'good',
  running: 'good',
  degraded: 'warning',
  starting: 'warning',
  down: 'bad',
  failed: 'bad',
};

export function RunState({ state }: { readonly state: string | null }) {
  return state === null ? null : <StateBadge tone={TONES[state] ?? 'plain'}>{word('state', state)}</StateBadge>;
}

/** The state of a node in a word; one that is joined and silent says so. */
export function NodeState({ silent, state }: Pick<ItemOf<'get /nodes'>, 'silent' | 'state'>) {
  if (state === 'joined' && silent) return <StateBadge tone="bad">{t('nodes.silent')}</StateBadge>;
  return <StateBadge tone={state === 'joined' ? 'good' : 'plain'}>{word('state', state)}</StateBadge>;
}
