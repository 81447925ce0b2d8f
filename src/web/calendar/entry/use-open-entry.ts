/** An entry that is open, as it stands now: read again when its calendar changes. Without a network it is what is known of it here. */
import { useCallback, useEffect, useState } from 'react';
import { useChat } from '../../chat/chat-context.ts';
import { toParleyError } from '#src/client/parley-error.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';
import { keyOf, type Occurrence, type OccurrencePlace } from '../state/occurrence.ts';
import { readOpenEntry, type OpenEntry } from './open-entry.ts';

interface Found {
  readonly open?: OpenEntry;
  /** What the days say of it, where that is all there is without a network. */
  readonly glance?: Occurrence;
  /** Whether it is what was known of it when there was a network. */
  readonly isEarlier?: boolean;
  readonly isGone?: boolean;
  readonly refused?: string;
}

export interface OpenedEntry extends Found {
  readonly again: () => void;
}

export function useOpenEntry(place: OccurrencePlace): OpenedEntry {
  const { api, kept, occurrences } = useCalendar();
  const { client } = useChat();
  const [found, setFound] = useState<Found>({});
  const key = keyOf(place);
  const again = useCallback(() => {
    const fail = async (thrown: unknown) => {
      const { code, status } = toParleyError(thrown);
      if (['entry_not_found', 'calendar_not_found'].includes(code)) {
        void kept.forgetEntry(place);
        return setFound((before) => ({ ...before, isGone: true }));
      }
      const earlier = status === 0 ? await kept.entry(place) : undefined;
      const glance = status === 0 ? occurrences.items.find((one) => keyOf(one) === key) : undefined;
      setFound((before) => {
        if (before.open !== undefined && before.isEarlier !== true) return { ...before, refused: sentenceOf(thrown) };
        if (earlier !== undefined) return { open: { place, ...earlier }, isEarlier: true };
        return glance === undefined ? { refused: sentenceOf(thrown) } : { glance, isEarlier: true };
      });
    };
    readOpenEntry(api, place).then((open) => {
      void kept.keepEntry(place, open);
      setFound({ open });
    }, fail);
    // The key says all that matters of the place.
  }, [api, kept, key, occurrences]);
  useEffect(() => {
    again();
    const off = [
      client.on('caught-up', again),
      client.on('calendar.changed', ({ data }) => {
        if (data.calendar_id === place.calendar_id) again();
      }),
    ];
    return () => off.forEach((unsubscribe) => unsubscribe());
  }, [again, client, place.calendar_id]);
  return { ...found, again };
}
