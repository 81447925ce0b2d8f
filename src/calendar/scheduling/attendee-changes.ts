/** What an attendee may change of their copy: their answer and what is their own, not what their organiser says (RFC 6638, 3.2.2.1). */
import { addComponents } from '../icalendar/edits.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { type Component, textOf } from '../icalendar/component.ts';
import { exclusionsOf, type Instance, instancesOf, isInPlace, WHOLE } from './instances.ts';

/** Two states of an attendee's copy. */
export interface AttendeeChange {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  /** The calendar's. */
  readonly zone: string;
}

/** What a reader of an invitation goes by. The rest a client may write anew in its own way, and the next REQUEST brings it back. */
const ORGANIZERS = ['SUMMARY', 'LOCATION'] as const;

/** What a change leaves of what the organiser says: `all`, `not all`, or all of it in the new state with what that had dropped. */
export type Left = 'all' | 'not all' | { readonly restored: Uint8Array };

/**
 * Whether times, title and place are as they were. An occurrence may be left out, which declines it, and may get a component of
 * its own for an answer of its own, or lose one that says nothing of the organiser's. A client that drops more does not mean it: the
 * occurrence would be back at the time that it was moved from, or the series declined. That is put back. @throws CalendarFault.
 */
export function leftOfOrganizers({ after, before, zone }: AttendeeChange): Left {
  const prior = readCalendarObject(before);
  const known = new Map(instancesOf(prior, zone).map((instance) => [instance.key, instance]));
  const whole = known.get(WHOLE);
  const isSame = (instance: Instance): boolean => {
    const told = known.get(instance.key);
    if (told !== undefined) return told.timing === instance.timing && saysSame(told.component, instance.component);
    return whole !== undefined && isInPlace(instance, prior, zone) && saysSame(whole.component, instance.component);
  };
  const stated = readCalendarObject(after);
  const instances = instancesOf(stated, zone);
  const there = new Set([...instances, ...exclusionsOf(stated, zone)].map(({ key }) => key));
  const isKept = (instance: Instance): boolean =>
    // Without a series each occurrence is an invitation by itself.
    whole === undefined || there.has(instance.key) || isAsSeries(instance, whole);
  const isAsSeries = (instance: Instance, series: Instance): boolean =>
    instance !== series &&
    !instance.isCancelled &&
    isInPlace(instance, prior, zone) &&
    saysSame(series.component, instance.component);
  if (!instances.every(isSame)) return 'not all';
  const dropped = [...known.values()].filter((instance) => !isKept(instance)).map(({ component }) => component);
  return dropped.length === 0 ? 'all' : { restored: addComponents(stated, dropped) };
}

function saysSame(one: Component, other: Component): boolean {
  const text = (component: Component, name: (typeof ORGANIZERS)[number]) => (textOf(component, name) ?? '').trim();
  return ORGANIZERS.every((name) => text(one, name) === text(other, name));
}
