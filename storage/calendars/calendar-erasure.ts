/** Takes a person out of the calendar file. Whatever of it is done stays done, so it may be begun again at any time. */
import type { AuditActor } from '../accounts/audit-chain.ts';
import type { Calendars } from './calendars.ts';
import { lastPart } from '../engine/keys.ts';

/** Property sets looked through in one go, after which others have their turn. */
const LOOKED_AT = 1_000;

/**
 * Removes the calendars of a person with their entries, shares, feeds and alarms, takes the person out of calendars that
 * others share with them, and forgets what their clients kept. Copies that others have of a meeting are theirs and stay.
 * Resolves when no door shows any of it and the entries are off the disk.
 * @throws Refusal `busy`, `storage_full`, or `calendar_not_found` for a calendar that somebody removed meanwhile.
 */
export async function eraseCalendarsOf(calendars: Calendars, user: string, by: AuditActor): Promise<void> {
  calendars.refresh();
  for (const { calendar, access } of calendars.accessibleTo(user)) {
    if (access === 'owner') await calendars.removeCalendar(calendar.id, by);
    else await calendars.change((draft) => draft.share(calendar.id, user, null, by));
  }
  await forgetProperties(calendars, user);
  await calendars.purged();
}

/** Property sets stand under their resource: the person's are found by looking at all. */
async function forgetProperties(calendars: Calendars, user: string): Promise<void> {
  const { properties } = calendars.environment.tables;
  let start: Buffer = Buffer.alloc(0);
  for (;;) {
    const found = [...properties.getKeys({ start, limit: LOOKED_AT })].map((itemKey) => Buffer.from(itemKey));
    const own = found.filter((itemKey) => lastPart(itemKey) === user);
    if (own.length > 0) {
      await calendars.change((draft) => own.forEach((itemKey) => draft.put('properties', itemKey, null)));
    } else await new Promise(setImmediate);
    const last = found.at(-1);
    if (last === undefined || found.length < LOOKED_AT) return;
    start = Buffer.concat([last, Buffer.of(0)]);
  }
}
