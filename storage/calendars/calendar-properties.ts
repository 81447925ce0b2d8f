/** What clients keep on calendars, homes and objects beside what the server knows: changed as a whole, and bounded. */
import type { CalendarWriteSet } from './calendar-write-set.ts';
import { ANYBODY, objectResource, PROPERTIES_BYTES_MAX, propertiesRecord } from './calendar-records.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { key } from '../engine/keys.ts';

/** Properties to set (a text) or to remove (null) by their names. */
export type PropertyValues = Readonly<Record<string, string | null>>;

/**
 * Changes properties of one person on a resource, or of ANYBODY on an object, all or none.
 * @throws Refusal `properties_too_large`.
 */
export function changeProperties(
  draft: CalendarWriteSet,
  resource: string,
  user: string,
  changes: PropertyValues,
): void {
  const values = new Map(Object.entries(draft.properties(resource, user)));
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) values.delete(name);
    else values.set(name, value);
  }
  putValues(draft, key(resource, user), Object.fromEntries(values));
}

/** Gives an object these properties in place of those that it has. */
export function setObjectProperties(
  draft: CalendarWriteSet,
  id: string,
  name: string,
  values: Readonly<Record<string, string>>,
): void {
  const itemKey = key(objectResource(id, name), ANYBODY);
  // Next to no object has any, and then there is nothing to write.
  const isWithout = Object.keys(values).length === 0 && draft.read('properties', itemKey) === undefined;
  if (!isWithout) putValues(draft, itemKey, values);
}

function putValues(draft: CalendarWriteSet, itemKey: Buffer, values: Readonly<Record<string, string>>): void {
  const encoded = propertiesRecord.encode({ values });
  if (encoded.length > PROPERTIES_BYTES_MAX) throw new Refusal('properties_too_large');
  draft.put('properties', itemKey, Object.keys(values).length === 0 ? null : encoded);
}
