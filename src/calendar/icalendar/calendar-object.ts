/** The model of a calendar object, of its index and of its instances; what reads and finds them stands beside it. */
import { type CalendarFault as Fault } from './calendar-fault.ts';
import { type Component } from './component.ts';

export type ComponentKind = 'event' | 'todo' | 'journal';

/** Who is meant to see an object (RFC 5545, 3.8.1.3). */
export type Classification = 'public' | 'confidential' | 'private';

/** A stored object: one UID, a master and its overrides (or overrides alone), its zones. */
export interface CalendarObject {
  readonly uid: string;
  readonly kind: ComponentKind;
  /** The bytes it was read from, one character (U+0000…U+00FF) per byte: offsets in components count these. */
  readonly source: string;
  /** The VCALENDAR. */
  readonly calendar: Component;
  /** Absent where only overrides came: legal, and so an attendee of one instance gets it. */
  readonly master: Component | undefined;
  /** The components with a RECURRENCE-ID, in the order of the text. */
  readonly overrides: readonly Component[];
  /** VTIMEZONE components by TZID. */
  readonly zones: ReadonlyMap<string, Component>;
  /** METHOD in upper case, present in scheduling messages only. */
  readonly method: string | undefined;
}

/** What the store's index row says of an object; instants in milliseconds. */
export interface ObjectIndex {
  readonly uid: string;
  readonly kind: ComponentKind;
  readonly summary: string;
  /** No instance begins before this; the smallest safe integer for a to-do without dates. */
  readonly first: number;
  /** No instance ends after this; null: endless, or counting to its end would cost too much. */
  readonly last: number | null;
  readonly isRecurring: boolean;
  /** A span in which an instance begins wherever it lies between `first` and `last`; undefined where none is known. */
  readonly beginsWithin: number | undefined;
  readonly isTransparent: boolean;
  readonly isCancelled: boolean;
  /** The calendar address, in lower case: `mailto:ann@example.org`. */
  readonly organizer?: string;
  /** Calendar addresses in lower case, each once, of the master and all overrides. */
  readonly attendees: readonly string[];
  readonly classification: Classification;
  readonly hasAlarms: boolean;
}

/** One item of a stream that could not be read. */
export interface StreamFault {
  /** Which item of the file it is, from 0. */
  readonly index: number;
  /** Undefined where the item has none. */
  readonly uid: string | undefined;
  readonly fault: Fault;
}

/** One object of a stream, as bytes that are a calendar object resource of their own. */
export interface StreamObject {
  /** Which item of the file it is, from 0. */
  readonly index: number;
  /** The line of the file that it begins in. */
  readonly line: number;
  readonly uid: string;
  readonly kind: ComponentKind;
  readonly bytes: Uint8Array;
}

/** One instance; instants in milliseconds. */
export interface Occurrence {
  readonly start: number;
  /** Exclusive; equal to start for an instance without length. */
  readonly end: number;
  readonly isAllDay: boolean;
  /**
   * Which instance of a recurring object it is: its original start, written as the master writes DTSTART
   * (`20261121`, `20261121T090000` in the master's zone, `20261121T080000Z`). Undefined where nothing recurs.
   */
  readonly recurrenceId: string | undefined;
  /** The component that describes it: the master or an override. */
  readonly component: Component;
  /** Wall time as its component has it: `2026-11-21T09:00:00`, or `2026-11-21` for an all-day instance. */
  readonly localStart: string;
  /** The IANA name of the zone of localStart; undefined for floating and all-day instances. */
  readonly tz: string | undefined;
}

/** What an expansion found. */
export interface Expansion {
  /** By start. */
  readonly occurrences: Occurrence[];
  /** More are in the window than `most`, or the budget of steps ended before the window did. */
  readonly isCut: boolean;
  /** TZIDs that nothing defines; their times were read in the calendar's zone. */
  readonly unknownZones: readonly string[];
}

/** Half-open: [from, to) in milliseconds. */
export interface Window {
  readonly from: number;
  readonly to: number;
}
