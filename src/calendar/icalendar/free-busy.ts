/** VFREEBUSY: when somebody is taken, without saying by what (RFC 5545, 3.6.4). */
import { type Component, makeComponent, makeProperty, propertyOf } from './component.ts';
import { type Occurrence } from './calendar-object.ts';
import { writeInstant } from './values.ts';

/** How taken a time is. Free time is not written. */
export type BusyType = 'BUSY' | 'BUSY-TENTATIVE' | 'BUSY-UNAVAILABLE';

/** A time that is taken: [start, end) in milliseconds. */
export interface BusyPeriod {
  readonly start: number;
  readonly end: number;
  readonly type: BusyType;
}

/** How an instance takes its time: not at all when transparent or cancelled, tentatively when it says so. */
export function busyTypeOf(component: Component): BusyType | undefined {
  const valueOf = (name: string) => propertyOf(component, name)?.value.trim().toUpperCase();
  if (component.name !== 'VEVENT' || valueOf('TRANSP') === 'TRANSPARENT' || valueOf('STATUS') === 'CANCELLED') {
    return undefined;
  }
  return valueOf('STATUS') === 'TENTATIVE' ? 'BUSY-TENTATIVE' : 'BUSY';
}

/** The times that instances take within the window, joined where they touch, each type by itself. */
export function busyPeriods(
  occurrences: readonly Occurrence[],
  window: { readonly from: number; readonly to: number },
): BusyPeriod[] {
  const periods = occurrences.flatMap(({ start, end, component }) => {
    const type = busyTypeOf(component);
    const [from, to] = [Math.max(start, window.from), Math.min(end, window.to)];
    return type === undefined || from >= to ? [] : [{ start: from, end: to, type }];
  });
  return joinPeriods(periods);
}

/** Periods by start, those of one type joined where they touch or overlap. */
export function joinPeriods(periods: readonly BusyPeriod[]): BusyPeriod[] {
  const last = new Map<BusyType, { start: number; end: number; readonly type: BusyType }>();
  const joined: BusyPeriod[] = [];
  for (const period of periods.toSorted((a, b) => a.start - b.start)) {
    const open = last.get(period.type);
    if (open !== undefined && period.start <= open.end) open.end = Math.max(open.end, period.end);
    else {
      const next = { ...period };
      last.set(period.type, next);
      joined.push(next);
    }
  }
  return joined;
}

/** A VFREEBUSY of the window; `attendee` and `organizer` are calendar addresses of a reply to somebody's question. */
export function makeFreeBusy(
  periods: readonly BusyPeriod[],
  window: { readonly from: number; readonly to: number },
  about: { readonly uid: string; readonly stamp: number; readonly attendee?: string; readonly organizer?: string },
): Component {
  const person = (name: string, address: string | undefined) =>
    address === undefined ? [] : [makeProperty(name, address)];
  return makeComponent('VFREEBUSY', [
    makeProperty('UID', about.uid),
    makeProperty('DTSTAMP', writeInstant(about.stamp)),
    makeProperty('DTSTART', writeInstant(window.from)),
    makeProperty('DTEND', writeInstant(window.to)),
    ...person('ORGANIZER', about.organizer),
    ...person('ATTENDEE', about.attendee),
    ...periods.map(({ start, end, type }) =>
      makeProperty('FREEBUSY', `${writeInstant(start)}/${writeInstant(end)}`, [['FBTYPE', type]]),
    ),
  ]);
}
