/** When people are busy on the days of an entry: asked of the server when the people or the days change. */
import { useEffect, useState } from 'react';
import type { CalendarReplyOf } from '#src/client/calendar-api.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';
import type { EntryForm } from '../entry/entry-form.ts';
import { addDays, instantOf } from '../time.ts';

export type Busy = CalendarReplyOf<'askFreeBusy'>['items'][number];

/** As many as one question takes. */
const PEOPLE_MAX = 50;

export interface FreeBusy {
  readonly busy: ReadonlyMap<string, Busy>;
  readonly refused: string | undefined;
}

export function useFreeBusy(users: readonly string[], { start, zone }: Pick<EntryForm, 'start' | 'zone'>): FreeBusy {
  const { api } = useCalendar();
  const [found, setFound] = useState<FreeBusy>({ busy: new Map(), refused: undefined });
  const names = users.slice(0, PEOPLE_MAX).join(' ');
  const day = start.slice(0, 10);
  useEffect(() => {
    if (!names.includes(' ')) return undefined;
    // Answers overtake each other: only the one to the newest question counts.
    let isNewest = true;
    const span = { from: instantOf(`${day}T00:00`, zone), to: instantOf(`${addDays(day, 1)}T00:00`, zone) };
    api.call('askFreeBusy', { params: {}, body: { users: names.split(' '), ...span } }).then(
      ({ items }) => {
        if (isNewest) setFound({ busy: new Map(items.map((one) => [one.user, one])), refused: undefined });
      },
      (thrown: unknown) => {
        if (isNewest) setFound({ busy: new Map(), refused: sentenceOf(thrown) });
      },
    );
    return () => {
      isNewest = false;
    };
  }, [api, names, day, zone]);
  return found;
}
