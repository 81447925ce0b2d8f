/** Entries of the audit trail as sentences: who did what to whom. The event's own name and details stand beside them. */
import type { ItemOf } from '../../session/console-api.ts';
import { t, word } from '../../words/words.ts';

type Entry = ItemOf<'get /audit'>;

/** `user:root` is root; what has no kind before it is as it is. */
function nameOf(subject: string | null | undefined): string {
  if (subject === null || subject === undefined || subject === '') return '—';
  return subject.replace(/^(?:user|vendor_token|node|bot|conversation|group):/, '');
}

/** A sentence where the dictionary has one of the event; otherwise the words of its name, with who and whom. */
export function sentenceOfEntry({ about, actor, event }: Entry): string {
  const told = word('event', event);
  const did = told === event ? event.replaceAll('_', ' ').replace('.', ': ') : told;
  const values = { actor: nameOf(actor), did, about: nameOf(about) };
  return about === null || about === undefined || about === '' || about === actor
    ? t('audit.sentence-alone', values)
    : t('audit.sentence', values);
}
