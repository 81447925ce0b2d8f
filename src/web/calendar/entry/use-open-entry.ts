/** An entry that is open, as it stands now: read again when its calendar changes. */
import { useCallback, useEffect, useState } from 'react';
import { useChat } from '../../chat/chat-context.ts';
import { toParleyError } from '#src/client/parley-error.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';
import { keyOf, type OccurrencePlace } from '../state/occurrence.ts';
import { readOpenEntry, type OpenEntry } from './open-entry.ts';

export interface OpenedEntry {
  readonly open: OpenEntry | undefined;
  readonly isGone: boolean;
  readonly refused: string | undefined;
  readonly again: () => void;
}

export function useOpenEntry(place: OccurrencePlace): OpenedEntry {
  const { api } = useCalendar();
  const { client } = useChat();
  const [found, setFound] = useState<Omit<OpenedEntry, 'again'>>({
    open: undefined,
    isGone: false,
    refused: undefined,
  });
  const key = keyOf(place);
  const again = useCallback(() => {
    readOpenEntry(api, place).then(
      (open) => setFound({ open, isGone: false, refused: undefined }),
      (thrown: unknown) => {
        const isGone = ['entry_not_found', 'calendar_not_found'].includes(toParleyError(thrown).code);
        setFound((before) => ({ ...before, isGone, refused: isGone ? undefined : sentenceOf(thrown) }));
      },
    );
    // The key says all that matters of the place.
  }, [api, key]);
  useEffect(() => {
    again();
    return client.on('calendar.changed', ({ data }) => {
      if (data.calendar_id === place.calendar_id) again();
    });
  }, [again, client, place.calendar_id]);
  return { ...found, again };
}
