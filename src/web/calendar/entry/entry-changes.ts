/** What is done to entries: made, changed, moved, deleted, and taken back where that is the whole truth. */
import type { CalendarWords } from '../../kit/language.ts';
import type { CalendarState } from '../calendar-context.ts';
import { keyOf, type OccurrencePlace } from '../state/occurrence.ts';
import type { OpenEntry } from './open-entry.ts';
import { changeOf, creationOf, type ChangeBody, type Entry, type EntryForm, type Scope } from './entry-form.ts';

/** Long enough to see what went, and to press a button. */
const UNDO_MILLIS = 6_000;

/** @throws ParleyError what making an entry may fail with. */
export async function createEntry(state: CalendarState, form: EntryForm): Promise<Entry> {
  const made = await state.api.call('createEntry', { params: { calendar: form.calendar }, body: creationOf(form) });
  void state.occurrences.again(form.calendar);
  return made;
}

/** Changes what is different; answers undefined where nothing is. @throws ParleyError `entry_changed` and others. */
export async function saveEntry(
  state: CalendarState,
  open: OpenEntry,
  before: EntryForm,
  after: EntryForm,
  scope: Scope,
): Promise<Entry | undefined> {
  const body = changeOf(before, after, open.series, scope);
  if (body === undefined) return undefined;
  return await change(state, open.place, { ...body, ...scopeOf(open.place, scope), etag: open.series.etag });
}

function scopeOf({ recurrence_id: id }: OccurrencePlace, scope: Scope): Pick<ChangeBody, 'scope' | 'recurrence_id'> {
  return scope === 'all' || id === undefined ? {} : { scope, recurrence_id: id };
}

/** Ends when the days show the change: whoever reads that it is done and opens what moved finds the entry that it is of now. */
async function change(state: CalendarState, place: OccurrencePlace, body: ChangeBody): Promise<Entry> {
  const { calendar_id: calendar, entry_id: entry } = place;
  try {
    return await state.api.call('changeEntry', { params: { calendar, entry }, body });
  } finally {
    await state.occurrences.again(calendar);
  }
}

/** Moves an entry. It is moved back on request where nobody but its owner has heard of it, and no series changed as a whole. */
export async function moveEntry(
  state: CalendarState,
  open: OpenEntry,
  forms: { readonly before: EntryForm; readonly after: EntryForm },
  scope: Scope,
  t: CalendarWords,
): Promise<void> {
  const { after, before } = forms;
  // What is said of an earlier move is no answer to this one.
  state.notices.clear();
  const moved = await saveEntry(state, open, before, after, scope);
  if (moved === undefined) return;
  if (moved.attendees.length > 0) return state.notices.say(t('moved.told'));
  const isWhole = open.series.recurring && scope !== 'this';
  if (isWhole) return state.notices.say(t('moved.done'));
  const back = changeOf(after, before, open.series, scope) ?? {};
  const undo = () => {
    const body = { ...back, ...scopeOf(open.place, scope), etag: moved.etag };
    change(state, open.place, body).then(
      () => state.notices.say(t('moved.back')),
      (thrown: unknown) => state.notices.refuse(thrown),
    );
  };
  state.notices.say(t('moved.done'), undo);
}

/** Which shown occurrences go with a deletion. */
function leavingWith(place: OccurrencePlace, scope: Scope): (other: OccurrencePlace) => boolean {
  const { recurrence_id: id = '' } = place;
  return (other) => {
    if (other.calendar_id !== place.calendar_id || other.entry_id !== place.entry_id) return false;
    if (scope === 'this') return keyOf(other) === keyOf(place);
    return scope === 'all' || (other.recurrence_id ?? '') >= id;
  };
}

/**
 * Deletes an entry, or some of a series. Where others take part it goes at once, since they are told; else it is out of sight first and
 * gone a few seconds later, unless it is taken back. Closing the page meanwhile leaves it there.
 */
export async function deleteEntry(
  state: CalendarState,
  open: OpenEntry,
  scope: Scope,
  t: CalendarWords,
): Promise<void> {
  const { calendar_id: calendar, entry_id: entry } = open.place;
  const query = { ...scopeOf(open.place, scope), etag: open.series.etag };
  const carryOut = async () => {
    await state.api.call('deleteEntry', { params: { calendar, entry }, query });
    await state.occurrences.again(calendar);
  };
  if (open.series.attendees.length > 0) {
    await carryOut();
    return state.notices.say(t('deleted.told'));
  }
  const back = state.occurrences.hide(leavingWith(open.place, open.series.recurring ? scope : 'all'));
  const timer = setTimeout(() => {
    carryOut()
      .catch((thrown: unknown) => state.notices.refuse(thrown))
      .finally(back);
  }, UNDO_MILLIS);
  state.notices.say(t('deleted.done'), () => {
    clearTimeout(timer);
    back();
  });
}
