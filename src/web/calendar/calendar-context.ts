/** What every part of the calendar has: the state that is drawn, and what can be opened over it. */
import { createContext, useContext } from 'react';
import type { CalendarApi } from '#src/client/calendar-api.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { CalendarList } from './state/calendar-list.ts';
import { Invitations } from './state/invitations.ts';
import { KeptDays } from './state/kept-days.ts';
import { Notices } from './state/notices.ts';
import type { OccurrencePlace } from './state/occurrence.ts';
import { Occurrences } from './state/occurrences.ts';
import type { OpenEntry } from './entry/open-entry.ts';
import type { EntryForm } from './entry/entry-form.ts';

/** What stands over the days. */
export type Opened =
  | { readonly kind: 'details'; readonly place: OccurrencePlace }
  | { readonly kind: 'form'; readonly form: EntryForm; readonly open?: OpenEntry | undefined }
  | { readonly kind: 'propose'; readonly open: OpenEntry }
  | { readonly kind: 'calendar'; readonly calendar?: string | undefined }
  | { readonly kind: 'share'; readonly calendar: string }
  | { readonly kind: 'import'; readonly calendar: string };

export interface CalendarState {
  readonly api: CalendarApi;
  readonly list: CalendarList;
  readonly occurrences: Occurrences;
  readonly invitations: Invitations;
  readonly notices: Notices;
  /** What this browser has for a time without a network. */
  readonly kept: KeptDays;
  /** Follows the server; the answer ends that. */
  start(): () => void;
}

export function makeCalendarState(client: ParleyClient): CalendarState {
  const api = client.calendar;
  if (api === undefined) throw new Error('The client was not told where the calendar service is.');
  const kept = new KeptDays(client.user);
  const list = new CalendarList(client, api, kept);
  const parts = {
    list,
    occurrences: new Occurrences(client, list, kept),
    invitations: new Invitations(client, api),
  };
  return {
    api,
    ...parts,
    notices: new Notices(),
    kept,
    start: () => {
      const ends = Object.values(parts).map((part) => part.start());
      return () => ends.forEach((end) => end());
    },
  };
}

export interface CalendarContextValue extends CalendarState {
  readonly zone: string;
  readonly open: (opened: Opened | undefined) => void;
}

export const CalendarContext = createContext<CalendarContextValue | undefined>(undefined);

export function useCalendar(): CalendarContextValue {
  const calendar = useContext(CalendarContext);
  if (calendar === undefined) throw new Error('This belongs into the calendar.');
  return calendar;
}
