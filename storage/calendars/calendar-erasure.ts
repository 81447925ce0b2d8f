/** Takes a person out of the calendar file. Whatever of it is done stays done, so it may be begun again at any time. */
import type { AuditActor } from '../accounts/audit-chain.ts';
import type { Calendars } from './calendars.ts';
import { key, lastPart, numbered, numberOf } from '../engine/keys.ts';
import type { CalendarDraft } from './calendar-draft.ts';
import { registrationPlaceOf, removeRegistration } from './calendar-registrations.ts';
import { objectRecord, revisionRecord, tombstoneRecord } from './calendar-records.ts';

/** Keys looked through in one go, after which others have their turn. */
const LOOKED_AT = 1_000;

/**
 * Removes the calendars of a person with their entries, shares, feeds and alarms, their inbox, takes the person out of calendars that
 * others share with them, and forgets what their clients kept. Copies that others have of a meeting are theirs and stay; what
 * they say of the person is taken out of them elsewhere.
 * Resolves when no door shows any of it and the entries are off the disk.
 * @throws Refusal `busy`, `storage_full`, or `calendar_not_found` for a calendar that somebody removed meanwhile.
 */
export async function eraseCalendarsOf(calendars: Calendars, user: string, by: AuditActor): Promise<void> {
  calendars.refresh();
  for (const { calendar, access } of calendars.accessibleTo(user)) {
    if (access === 'owner') await calendars.removeCalendar(calendar.id, by);
    else await calendars.change((draft) => draft.share(calendar.id, user, null, by));
  }
  await calendars.removeInbox(user);
  await forgetProperties(calendars, user);
  await forgetRegistrations(calendars, user);
  await calendars.purged();
}

/** Property sets stand under their resource: the person's are found by looking at all. */
async function forgetProperties(calendars: Calendars, user: string): Promise<void> {
  await forgetIn(calendars, 'properties', {
    isOwn: (itemKey) => lastPart(itemKey) === user,
    forget: (draft, itemKey) => draft.put('properties', itemKey, null),
  });
}

/** Registrations for pushes stand under their calendar: so are they. */
async function forgetRegistrations(calendars: Calendars, user: string): Promise<void> {
  await forgetIn(calendars, 'registrations', {
    isOwn: (itemKey) => registrationPlaceOf(itemKey).user === user,
    forget: (draft, itemKey) => removeRegistration(draft, registrationPlaceOf(itemKey)),
  });
}

/** Looks all keys of a table through for those of a person. */
async function forgetIn(
  calendars: Calendars,
  table: 'properties' | 'registrations',
  { forget, isOwn }: { isOwn: (itemKey: Buffer) => boolean; forget: (draft: CalendarDraft, itemKey: Buffer) => void },
): Promise<void> {
  let start: Buffer = Buffer.alloc(0);
  for (;;) {
    const keys = calendars.environment.tables[table].getKeys({ start, limit: LOOKED_AT });
    const found = [...keys].map((itemKey) => Buffer.from(itemKey));
    const own = found.filter(isOwn);
    if (own.length > 0) await calendars.change((draft) => own.forEach((itemKey) => forget(draft, itemKey)));
    else await new Promise(setImmediate);
    const last = found.at(-1);
    if (last === undefined || found.length < LOOKED_AT) return;
    start = Buffer.concat([last, Buffer.of(0)]);
  }
}

/** An object of any calendar, there or removed, with the seq of its removal. */
export type ObjectPlace =
  | { readonly calendar: string; readonly name: string; readonly isRemoved: false }
  | { readonly calendar: string; readonly name: string; readonly isRemoved: true; readonly seq: number };

/** The objects of all calendars behind a place, then those that were removed and whose last states are kept. */
export function readPlaces(calendars: Calendars, after: ObjectPlace | undefined, limit: number): ObjectPlace[] {
  const { graves, objects } = calendars.environment.tables;
  const places: ObjectPlace[] = [];
  if (after?.isRemoved !== true) {
    const start = after === undefined ? Buffer.alloc(0) : behind(key(after.calendar, after.name));
    for (const itemKey of objects.getKeys({ start, limit })) {
      const at = itemKey.indexOf(0);
      const [calendar, name] = [itemKey.toString('utf8', 0, at), itemKey.toString('utf8', at + 1)];
      places.push({ calendar, name, isRemoved: false });
    }
    if (places.length > 0) return places;
  }
  const start = after?.isRemoved === true ? behind(numbered(after.seq, after.calendar)) : Buffer.alloc(0);
  for (const { key: itemKey, value } of graves.getRange({ start, limit })) {
    const calendar = itemKey.toString('utf8', 0, itemKey.indexOf(0));
    places.push({ calendar, name: tombstoneRecord.decode(value).name, isRemoved: true, seq: numberOf(itemKey) });
  }
  return places;
}

/** The bytes of the states that are kept of an object beside its present one. */
export function readStates(calendars: Calendars, place: ObjectPlace): Buffer[] {
  const { graves, revisions } = calendars.environment.tables;
  const { calendar, name } = place;
  const grave = place.isRemoved ? graves.get(numbered(place.seq, calendar)) : undefined;
  const kept = place.isRemoved
    ? grave === undefined
      ? []
      : tombstoneRecord.decode(grave).revisions
    : (calendars.object(calendar, name)?.revisions ?? []);
  return kept.flatMap((seq) => {
    const stored = revisions.get(numbered(seq, calendar));
    return stored === undefined ? [] : [revisionRecord.decode(stored).bytes];
  });
}

/** Forgets the states of an object before its present one, or all of one that was removed. */
export function forgetStates(draft: CalendarDraft, place: ObjectPlace): void {
  const { calendar, name } = place;
  if (place.isRemoved) {
    const itemKey = numbered(place.seq, calendar);
    const stored = draft.read('graves', itemKey);
    if (stored === undefined) return;
    const grave = tombstoneRecord.decode(stored);
    for (const seq of grave.revisions) draft.put('revisions', numbered(seq, calendar), null);
    draft.put('graves', itemKey, tombstoneRecord.encode({ ...grave, revisions: [] }));
    return;
  }
  const record = draft.object(calendar, name);
  if (record === undefined) return;
  for (const seq of record.revisions) draft.put('revisions', numbered(seq, calendar), null);
  draft.put('objects', key(calendar, name), objectRecord.encode({ ...record, revisions: [] }));
}

function behind(itemKey: Buffer): Buffer {
  return Buffer.concat([itemKey, Buffer.of(0)]);
}
