/** Entries that are dragged and lengthened: asked for which of a series, sent, and put back where the server refuses. */
import type { EventChangeInfo } from '@fullcalendar/react';
import { useState } from 'react';
import { useChat } from '../../chat/chat-context.ts';
import type { CalendarWords } from '../../kit/language.ts';
import type { CalendarContextValue } from '../calendar-context.ts';
import { moveEntry } from '../entry/entry-changes.ts';
import { readOpenEntry, type OpenEntry } from '../entry/open-entry.ts';
import { formOf, scopesOf, type EntryForm, type Scope } from '../entry/entry-form.ts';
import type { Occurrence } from '../state/occurrence.ts';
import { addDays, wallOf } from '../time.ts';

interface Asked {
  readonly open: OpenEntry;
  readonly forms: { readonly before: EntryForm; readonly after: EntryForm };
  readonly scopes: readonly Scope[];
  readonly revert: () => void;
}

export interface Moves {
  /** A series was moved, and which of it is not said yet. */
  readonly asked: Asked | undefined;
  readonly answer: (scope: Scope | undefined) => void;
  readonly move: (change: EventChangeInfo) => void;
}

export function useMoves(calendar: CalendarContextValue, t: CalendarWords): Moves {
  const { me } = useChat();
  const [asked, setAsked] = useState<Asked>();
  const send = async ({ forms, open, revert }: Asked, scope: Scope) => {
    try {
      await moveEntry(calendar, open, forms, scope, t);
    } catch (thrown) {
      revert();
      calendar.notices.refuse(thrown);
    }
  };
  const begin = async ({ event, revert }: EventChangeInfo) => {
    try {
      const open = await readOpenEntry(calendar.api, event.extendedProps['occurrence'] as Occurrence);
      const before = formOf(open.entry, open.series, calendar.zone, me);
      const after = { ...before, ...timesOf(event, before.zone) };
      const scopes = open.series.recurring ? scopesOf(before, after, open.series) : (['all'] as const);
      const next = { open, forms: { before, after }, scopes, revert };
      if (open.series.recurring) setAsked(next);
      else await send(next, 'all');
    } catch (thrown) {
      revert();
      calendar.notices.refuse(thrown);
    }
  };
  return {
    asked,
    answer: (scope) => {
      setAsked(undefined);
      if (asked === undefined) return;
      if (scope === undefined) asked.revert();
      else void send(asked, scope);
    },
    move: (change) => void begin(change),
  };
}

/** Where an event was put. Hours that became whole days, and the other way round, keep the zone. */
function timesOf(
  { allDay, end, endStr, start, startStr }: EventChangeInfo['event'],
  zone: string,
): Pick<EntryForm, 'start' | 'end' | 'isAllDay'> {
  if (allDay) {
    const first = startStr.slice(0, 10);
    const last = endStr === '' ? first : addDays(endStr.slice(0, 10), -1);
    return { isAllDay: true, start: `${first}T09:00`, end: `${last}T10:00` };
  }
  const begin = start ?? new Date();
  // What was a whole day has no end by the clock, and gets an hour.
  const until = end ?? new Date(begin.getTime() + 3_600_000);
  return { isAllDay: false, start: wallOf(begin.toISOString(), zone), end: wallOf(until.toISOString(), zone) };
}
