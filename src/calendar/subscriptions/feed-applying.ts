/** Takes a feed into its calendar: what is new or says something else is put, what is gone removed, in small commits. */
import { deserialize } from 'node:v8';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { putSource, sourcesOf, subscriptionOf } from '#storage/calendars/calendar-subscriptions.ts';
import { BATCH_OBJECTS, type FeedAnswer, type FeedPut } from './feed-reading.ts';

/** Rows that are read at a time of what is known of the entries of a feed. */
const KNOWN_STEP = 500;

/** The calendar is gone, or follows another feed by now: there is nothing to take in. */
export class FeedSuperseded extends Error {
  override readonly name = 'FeedSuperseded';
}

/** What the feed said of its entries so far. */
export async function knownEntries(calendars: Calendars, calendar: string): Promise<Uint8Array> {
  const all: Buffer[] = [];
  for (let after: string | undefined; ;) {
    const { last, rows } = sourcesOf(calendars, calendar, after, KNOWN_STEP);
    all.push(rows);
    if (last === undefined) return new Uint8Array(Buffer.concat(all));
    after = last;
    await new Promise(setImmediate);
  }
}

/**
 * Writes what was read; answers whether anything was. What a crash leaves out is seen as missing at the next refresh.
 * @throws FeedSuperseded; Refusal `busy`, `storage_full`; the signal's reason once it is aborted.
 */
export async function applyFeed(
  calendars: Calendars,
  {
    calendar,
    generation,
    signal,
  }: { readonly calendar: string; readonly generation: number; readonly signal: AbortSignal },
  { batches, removed }: Extract<FeedAnswer, { kind: 'read' }>,
): Promise<boolean> {
  const write = async (decide: (draft: CalendarDraft) => void) => {
    signal.throwIfAborted();
    await calendars.change((draft) => {
      if (subscriptionOf(draft, calendar)?.generation !== generation) throw new FeedSuperseded();
      decide(draft);
    });
    // Others have their turn.
    await new Promise(setImmediate);
  };
  for (const batch of batches) {
    const puts = deserialize(batch) as FeedPut[];
    await write((draft) => {
      for (const { bytes, digest, entry, index } of puts) {
        draft.putObject(calendar, nameOf(entry), bytes, index);
        putSource(draft, calendar, entry, digest);
      }
    });
  }
  for (let at = 0; at < removed.length; at += BATCH_OBJECTS) {
    const entries = removed.slice(at, at + BATCH_OBJECTS);
    await write((draft) => {
      for (const entry of entries) {
        if (draft.object(calendar, nameOf(entry)) !== undefined) draft.removeObject(calendar, nameOf(entry));
        putSource(draft, calendar, entry, null);
      }
    });
  }
  return batches.length + removed.length > 0;
}

function nameOf(entry: string): string {
  return `${entry}.ics`;
}
