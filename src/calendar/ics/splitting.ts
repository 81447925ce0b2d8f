/** An import file split into objects, as plain data for the way between threads. */
import type { CalendarPrecondition } from '../icalendar/calendar-fault.ts';
import { readCalendarStream } from '../icalendar/stream-reader.ts';

export interface SplitObject {
  /** Which item of the file it is, from 0. */
  readonly index: number;
  readonly line: number;
  readonly uid: string;
  readonly bytes: Uint8Array;
}

export interface SplitFault {
  readonly index: number;
  readonly uid: string | undefined;
  readonly line: number | undefined;
  readonly precondition: CalendarPrecondition;
  readonly message: string;
}

export interface Split {
  readonly objects: readonly SplitObject[];
  readonly faults: readonly SplitFault[];
}

/** @throws CalendarFault where the whole is not iCalendar. */
export function splitFile(bytes: Uint8Array): Split {
  const { objects, faults } = readCalendarStream(bytes);
  return {
    objects: objects.map(({ index, line, uid, bytes: own }) => ({ index, line, uid, bytes: own })),
    faults: faults.map(({ index, uid, fault }) => {
      const { line, message, precondition } = fault;
      return { index, uid, line, precondition, message };
    }),
  };
}
