/** The one error that reading and expanding calendar data may throw. */

/** What was wrong, in the words of CalDAV's preconditions (RFC 4791, 5.3.2.1). */
export type CalendarPrecondition =
  | 'valid-calendar-data'
  | 'supported-calendar-component'
  | 'valid-calendar-object-resource'
  | 'max-resource-size'
  | 'max-instances'
  | 'max-attendees-per-instance'
  | 'min-date-time'
  | 'max-date-time';

/** What was wrong with an object, in CalDAV's terms, with the number of its line where known (the first is 1). */
export class CalendarFault extends Error {
  readonly precondition: CalendarPrecondition;
  readonly line: number | undefined;

  constructor(precondition: CalendarPrecondition, message: string, line?: number) {
    super(line === undefined ? message : `Line ${line}: ${message}`);
    this.name = 'CalendarFault';
    this.precondition = precondition;
    this.line = line;
  }
}
