/** What the calendar service says of a calendar and of what is in it. */
import type { CalendarReplyOf } from '#src/client/calendar-api.ts';

export type Calendar = CalendarReplyOf<'readCalendar'>;

export type Occurrence = CalendarReplyOf<'readRange'>['items'][number] & { readonly calendar_id: string };

/** Names one occurrence of one entry in one calendar. */
export interface OccurrencePlace {
  readonly calendar_id: string;
  readonly entry_id: string;
  readonly recurrence_id?: string | undefined;
}

export function keyOf({ calendar_id: calendar, entry_id: entry, recurrence_id: id = '' }: OccurrencePlace): string {
  return `${calendar}/${entry}/${id}`;
}

/** From and to, as instants of RFC 3339 in UTC. */
export interface Span {
  readonly from: string;
  readonly to: string;
}
