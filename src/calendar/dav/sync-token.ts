/** Sync-tokens: how far a client has read a calendar, as the absolute URI that RFC 6578 asks for. */
import type { SyncPosition } from '#storage/calendars/calendar-reader.ts';
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import { broken } from './dav-refusal.ts';
import { dav } from './xml/xml-names.ts';

const TOKEN = /^urn:parley:sync:([\w-]{1,64}):([\w-]{1,64}):(\d{1,15})-(\d{1,15})$/;

/**
 * The token of a position in a calendar as somebody sees it (`CalendarContents.scope`). The epoch tells a data folder from the same
 * one restored from a backup.
 */
export function writeSyncToken(epoch: string, scope: string, { after, base }: SyncPosition): string {
  return `urn:parley:sync:${epoch}:${scope}:${after}-${base}`;
}

/** The token of a calendar as it is: nothing in it is newer. */
export function newestToken(epoch: string, scope: string, { syncSeq }: Pick<CalendarRecord, 'syncSeq'>): string {
  return writeSyncToken(epoch, scope, { after: syncSeq, base: syncSeq });
}

/**
 * The position of a token.
 * @throws DavRefusal 403 valid-sync-token for a token that is none of this calendar.
 */
export function readSyncToken(epoch: string, scope: string, token: string): SyncPosition {
  const match = TOKEN.exec(token);
  if (match === null || match[1] !== epoch || match[2] !== scope) throw invalidSyncToken();
  return { after: Number(match[3]), base: Number(match[4]) };
}

/** The expected answer to a token that is too old or none of ours: the client reads everything again. */
export function invalidSyncToken(): Error {
  return broken(dav('valid-sync-token'), 'The token is too old or none of this calendar; read everything again.');
}
