/** What an invitation says that is another than before, for whoever reads it in a mail: plain data, in nobody's language. */
import type { CalendarObject } from '../icalendar/calendar-object.ts';
import { type Component, propertiesOf, textOf } from '../icalendar/component.ts';
import { extentOf } from '../recurrence/extent.ts';
import { Series } from '../recurrence/series.ts';
import { wallOf } from '../zones/zone.ts';
import { type When, whenOf } from './describing.ts';
import { exclusionsOf, type Instance, isInPlace, WHOLE } from './instances.ts';
import { identityOf, type Recipients } from './people.ts';

/** A fact that is another, or what became of an occurrence. Texts are cut to `TEXT_LENGTH_MAX`. */
export type RevisedFact =
  | { readonly what: 'when'; readonly before?: When; readonly after?: When }
  | { readonly what: 'title' | 'location'; readonly before: string; readonly after: string }
  | {
      readonly what:
        | 'added'
        | 'cancelled'
        | 'description'
        | 'left_out'
        | 'meeting'
        | 'more'
        | 'other'
        | 'people'
        | 'repetition'
        | 'restored';
    };

export interface Revision {
  /** When the occurrence was to be that it is about; absent where it is about all of it. */
  readonly occurrence?: When;
  readonly facts: readonly RevisedFact[];
}

/** Revisions that one mail lists; `more` stands for those behind them. The calendar beside it has them all. */
export const REVISIONS_MAX = 10;
const TEXT_LENGTH_MAX = 400;

/** An object as one person sees it. */
export interface ViewedObject {
  readonly object: CalendarObject;
  readonly instances: readonly Instance[];
  /** Keys of the instances that they are invited to. */
  readonly keys: ReadonlySet<string>;
}

/** What of two states of an object is another to its reader. */
export function revisionsBetween(
  before: ViewedObject,
  after: ViewedObject,
  recipients: Recipients,
  zone: string,
): Revision[] {
  const [was, is] = [before, after].map((state) => new View(state, zone)) as [View, View];
  const found = [...wholeRevisions(was, is, recipients), ...occurrenceRevisions(was, is, recipients)];
  if (found.length === 0) return [{ facts: [{ what: 'other' }] }];
  return found.length <= REVISIONS_MAX ? found : [...found.slice(0, REVISIONS_MAX), { facts: [{ what: 'more' }] }];
}

/** One state, with what its reader is not asked to as left out. */
class View {
  readonly whole: Instance | undefined;
  readonly overrides: ReadonlyMap<string, Instance>;
  readonly leftOut: ReadonlySet<string>;
  readonly #object: CalendarObject;
  readonly #series: Series;
  readonly #zone: string;

  constructor({ object, instances, keys }: ViewedObject, zone: string) {
    this.#object = object;
    this.#series = new Series(object, zone);
    this.#zone = zone;
    const shown = instances.filter(({ key }) => keys.has(key));
    this.whole = shown.find(({ key }) => key === WHOLE);
    this.overrides = new Map(shown.filter(({ key }) => key !== WHOLE).map((one) => [one.key, one]));
    const absent = instances.flatMap(({ key }) => (keys.has(key) ? [] : [key]));
    this.leftOut = new Set([...exclusionsOf(object, zone).map(({ key }) => key), ...absent]);
  }

  /** When an instance is that has a component. */
  whenOf({ component }: Instance): When | undefined {
    const extent = extentOf(component, this.#series.zones);
    return extent === undefined ? undefined : whenOf(extent);
  }

  /** When the series has the instance of a key; undefined without a series. */
  plannedAt(key: string): When | undefined {
    const { master } = this.#series;
    if (master === undefined) return undefined;
    const at = Number(key.slice(1));
    const wall = master.start.isDate || key.startsWith('d') ? at : wallOf(master.zone, at);
    return whenOf({ ...master, start: { ...master.start, wall } });
  }

  isInPlace(override: Instance): boolean {
    return isInPlace(override, this.#object, this.#zone);
  }
}

function wholeRevisions(was: View, is: View, recipients: Recipients): Revision[] {
  const [before, after] = [was.whole, is.whole];
  if (before === undefined || after === undefined) return [];
  const facts = [
    ...timeFacts(was.whenOf(before), is.whenOf(after)),
    ...(ruleOf(before.component) === ruleOf(after.component) ? [] : [{ what: 'repetition' as const }]),
    ...wordFacts(before.component, after.component, recipients),
    ...(after.isCancelled && !before.isCancelled ? [{ what: 'cancelled' as const }] : []),
  ];
  return facts.length === 0 ? [] : [{ facts }];
}

/** What became of single occurrences, in their order. */
function occurrenceRevisions(was: View, is: View, recipients: Recipients): Revision[] {
  // The exceptions of a series at other times are other ones: none of those of before is told of.
  const isOther = was.whole?.timing !== is.whole?.timing;
  const gone = isOther && is.whole !== undefined ? [] : goneOccurrences(was, is);
  const back = isOther ? [] : [...was.leftOut].filter((key) => !is.leftOut.has(key) && !is.overrides.has(key));
  const reverted = isOther ? [] : revertedOccurrences(was, is, recipients);
  const found: Revision[] = [
    ...gone.map((key) => revisionOf(was, key, [{ what: 'left_out' }])),
    ...back.map((key) => revisionOf(is, key, [{ what: 'restored' }])),
    ...reverted,
    ...[...is.overrides.values()].flatMap((override) => changedOccurrence(was, is, override, recipients)),
  ];
  return found.toSorted((one, other) => (one.occurrence?.start ?? 0) - (other.occurrence?.start ?? 0));
}

function revisionOf(view: View, key: string, facts: readonly RevisedFact[]): Revision {
  const override = view.overrides.get(key);
  const occurrence = view.plannedAt(key) ?? (override === undefined ? undefined : view.whenOf(override));
  return { ...(occurrence === undefined ? {} : { occurrence }), facts };
}

/** Dates that are left out by now, and of a reader of single occurrences those that they are not asked to any more. */
function goneOccurrences(was: View, is: View): string[] {
  if (is.whole === undefined) return [...was.overrides.keys()].filter((key) => !is.overrides.has(key));
  return [...is.leftOut].filter((key) => !was.leftOut.has(key));
}

/** Occurrences that are as the series has them again. */
function revertedOccurrences(was: View, is: View, recipients: Recipients): Revision[] {
  const { whole } = is;
  if (whole === undefined) return [];
  return [...was.overrides.values()].flatMap((before) => {
    if (is.overrides.has(before.key) || is.leftOut.has(before.key)) return [];
    const facts = [
      ...(was.isInPlace(before) ? [] : timeFacts(was.whenOf(before), is.plannedAt(before.key))),
      ...wordFacts(before.component, whole.component, recipients),
    ];
    return facts.length === 0 ? [] : [revisionOf(is, before.key, facts)];
  });
}

function changedOccurrence(was: View, is: View, after: Instance, recipients: Recipients): Revision[] {
  const before = was.overrides.get(after.key);
  const isOfSeries = before === undefined && is.whole !== undefined && !was.leftOut.has(after.key);
  // Of an occurrence that was as its series, what is new of the series is told with the series.
  const component = before?.component ?? (isOfSeries ? is.whole?.component : undefined);
  if (component === undefined) {
    return [revisionOf(is, after.key, [{ what: was.leftOut.has(after.key) ? 'restored' : 'added' }])];
  }
  const isMoved = before === undefined ? !is.isInPlace(after) : before.timing !== after.timing;
  const planned = before === undefined ? is.plannedAt(after.key) : was.whenOf(before);
  const facts = [
    ...(isMoved ? timeFacts(planned, is.whenOf(after)) : []),
    ...wordFacts(component, after.component, recipients),
    ...(after.isCancelled && before?.isCancelled !== true ? [{ what: 'cancelled' as const }] : []),
  ];
  return facts.length === 0 ? [] : [revisionOf(is, after.key, facts)];
}

function timeFacts(before: When | undefined, after: When | undefined): RevisedFact[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  return [{ what: 'when', ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
}

function wordFacts(before: Component, after: Component, recipients: Recipients): RevisedFact[] {
  const text = (component: Component, name: 'LOCATION' | 'SUMMARY') =>
    (textOf(component, name) ?? '').slice(0, TEXT_LENGTH_MAX);
  const pair = (what: 'location' | 'title', name: 'LOCATION' | 'SUMMARY'): RevisedFact[] => {
    const [from, to] = [text(before, name), text(after, name)];
    return from === to ? [] : [{ what, before: from, after: to }];
  };
  const isOther = (read: (component: Component) => string) => read(before) !== read(after);
  const people = (component: Component) => {
    const invited = propertiesOf(component, 'ATTENDEE').map(({ value }) => identityOf(recipients, value));
    return [...new Set(invited)].toSorted().join(' ');
  };
  return [
    ...pair('title', 'SUMMARY'),
    ...pair('location', 'LOCATION'),
    ...(isOther((component) => textOf(component, 'DESCRIPTION') ?? '') ? [{ what: 'description' as const }] : []),
    ...(isOther((component) => valuesOf(component, 'CONFERENCE')) ? [{ what: 'meeting' as const }] : []),
    ...(isOther(people) ? [{ what: 'people' as const }] : []),
  ];
}

function ruleOf(component: Component): string {
  return ['RRULE', 'EXRULE', 'RDATE'].map((name) => valuesOf(component, name)).join('|');
}

function valuesOf(component: Component, name: string): string {
  const values = propertiesOf(component, name).map(({ value }) => value.trim());
  return values.toSorted().join(' ');
}
