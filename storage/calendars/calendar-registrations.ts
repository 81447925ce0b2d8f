/**
 * Where programs are told that a calendar changed (WebDAV Push). A registration is of one person, one calendar and one push
 * resource, so registering again is changing it. It lies under its calendar, and ends by itself.
 */
import { createHash } from 'node:crypto';
import { key, lastPart, numberAt, numberValue, under } from '../engine/keys.ts';
import { calendarRecordOf, type CalendarEnvironment } from './calendar-records.ts';
import type { CalendarView } from './calendar-reader.ts';
import type { CalendarWriteSet } from './calendar-write-set.ts';

/** Registrations of one person: the calendars of a busy one on three devices. [403 push-not-available] */
export const PUSH_REGISTRATIONS_PER_PERSON_MAX = 200;

/** Which registration it is. */
export interface RegistrationPlace {
  readonly calendar: string;
  readonly user: string;
  /** Of its push resource: see `registrationIdOf`. */
  readonly id: string;
}

export interface PushRegistration {
  /** The push resource (RFC 8030): where a push goes. */
  readonly endpoint: string;
  /** What pushes are encrypted with (RFC 8291), base64url. */
  readonly p256dh: string;
  readonly auth: string;
  /** Whether it is told of what is in the calendar, and of the calendar's properties. */
  readonly isContent: boolean;
  readonly isProperty: boolean;
  /** The app password that it was made with: it ends with that one. */
  readonly appPassword: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The sync_seq up to which it was told, or needed not be. */
  readonly toldSeq: number;
  /** When a push went to it last; 0 where none did. */
  readonly toldAt: number;
}

export interface PlacedRegistration extends PushRegistration {
  readonly place: RegistrationPlace;
}

const registrationRecord = calendarRecordOf<PushRegistration>('push registration', [
  'endpoint',
  'p256dh',
  'auth',
  'isContent',
  'isProperty',
  'appPassword',
  'expiresAt',
  'toldSeq',
  'toldAt',
]);

/** The name of a push resource in URLs: 22 characters, the same whenever it is registered. */
export function registrationIdOf(endpoint: string): string {
  return createHash('sha256').update(endpoint).digest('base64url').slice(0, 22);
}

export function registrationKey({ calendar, id, user }: RegistrationPlace): Buffer {
  return key(calendar, user, id);
}

/** How a registration is called in memory: its key, as text. */
export function registrationName(place: RegistrationPlace): string {
  return registrationKey(place).toString();
}

export function registrationAt(view: CalendarView, place: RegistrationPlace): PushRegistration | undefined {
  const stored = view.read('registrations', registrationKey(place));
  return stored === undefined ? undefined : registrationRecord.decode(stored);
}

/** Which registration lies under a key. */
export function registrationPlaceOf(itemKey: Buffer): RegistrationPlace {
  const [calendar = '', user = '', id = ''] = itemKey.toString().split('\0');
  return { calendar, user, id };
}

/** A row of the table. */
export function placedRegistration(row: { readonly key: Buffer; readonly value: Buffer }): PlacedRegistration {
  return { ...registrationRecord.decode(row.value), place: registrationPlaceOf(row.key) };
}

/** How many registrations a person has. */
export function registrationsOf(view: CalendarView, user: string): number {
  const stored = view.read('meta', key('registered', user));
  return stored === undefined ? 0 : numberAt(stored);
}

/** Writes a registration, a new one or what is there already; false where the person has as many as one may have. */
export function putRegistration(draft: CalendarWriteSet, place: RegistrationPlace, of: PushRegistration): boolean {
  if (registrationAt(draft, place) === undefined) {
    const count = registrationsOf(draft, place.user);
    if (count >= PUSH_REGISTRATIONS_PER_PERSON_MAX) return false;
    putCount(draft, place.user, count + 1);
  }
  draft.put('registrations', registrationKey(place), registrationRecord.encode(of));
  return true;
}

/** Changes what is noted of a registration, where it is there still. */
export function noteRegistration(
  draft: CalendarWriteSet,
  place: RegistrationPlace,
  change: Partial<PushRegistration>,
): void {
  const before = registrationAt(draft, place);
  if (before !== undefined)
    draft.put('registrations', registrationKey(place), registrationRecord.encode({ ...before, ...change }));
}

/** Ends a registration; false where there is none. */
export function removeRegistration(draft: CalendarWriteSet, place: RegistrationPlace): boolean {
  if (registrationAt(draft, place) === undefined) return false;
  draft.put('registrations', registrationKey(place), null);
  putCount(draft, place.user, registrationsOf(draft, place.user) - 1);
  return true;
}

function putCount(draft: CalendarWriteSet, user: string, count: number): void {
  draft.put('meta', key('registered', user), count <= 0 ? null : numberValue(count));
}

/** People whose registrations are counted otherwise than they are, and calendars that are gone and have some still, for the check. */
export function* strayRegistrations({ tables }: CalendarEnvironment): Generator<readonly string[]> {
  const counts = new Map<string, number>();
  const strays = new Set<string>();
  for (const row of tables.registrations.getRange()) {
    const { calendar, user } = placedRegistration({ key: Buffer.from(row.key), value: row.value }).place;
    counts.set(user, (counts.get(user) ?? 0) + 1);
    const isThere = [key(calendar), key('purge', calendar)].some(
      (itemKey, at) => tables[at === 0 ? 'calendars' : 'meta'].get(itemKey) !== undefined,
    );
    if (!isThere) strays.add(calendar);
  }
  for (const { key: itemKey, value } of tables.meta.getRange(under('registered'))) {
    const user = lastPart(Buffer.from(itemKey));
    if (counts.get(user) !== numberAt(value)) yield ['of', user];
    counts.delete(user);
  }
  for (const user of counts.keys()) yield ['of', user];
  for (const calendar of strays) yield [calendar];
}
