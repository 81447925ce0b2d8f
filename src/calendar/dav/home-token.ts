/**
 * Sync-tokens of a home (RFC 6578): how far a client has read each calendar in it, so that nothing has to be kept for anybody. Some 120
 * characters a calendar.
 */
import { createHash } from 'node:crypto';
import type { SyncPosition } from '#storage/calendars/calendar-reader.ts';
import type { DavContext } from './dav-context.ts';
import { calendarsOf, isReadable, segmentOf, type CalendarResource } from './resources.ts';
import { invalidSyncToken } from './sync-token.ts';

const TOKEN = /^urn:parley:home:([\w-]{1,64}):(calendars|all):([\w-]*)$/;
/** Of a digest as many symbols as keep two of one calendar apart. */
const DIGEST_SYMBOLS = 12;

/** What a client knows of a calendar. */
export interface KnownCalendar {
  /** Which one it is, and how much of it its viewer sees: one of another identity has nothing in common with it. */
  readonly identity: string;
  /** Its properties, as they were. */
  readonly look: string;
  readonly position: SyncPosition;
}

/** By the last segment of their paths. */
export type KnownHome = ReadonlyMap<string, KnownCalendar>;

/** What there is to know of a calendar now. */
export function knownOf(resource: CalendarResource): KnownCalendar {
  const { access, calendar, contents, properties } = resource;
  const { color, description, displayname, followsOwner, kinds, order, syncSeq, transparency, zone } = calendar;
  return {
    identity: digestOf([calendar.id, contents.scope]),
    look: digestOf([
      access,
      color,
      description,
      displayname,
      followsOwner,
      kinds,
      order,
      transparency,
      zone,
      properties,
    ]),
    // Whoever may see free and busy times only hears of no change.
    position: isReadable(resource) ? { after: syncSeq, base: syncSeq } : { after: 0, base: 0 },
  };
}

/** The token of somebody's home as it is now. */
export function homeTokenOf(context: DavContext, viewer: string): string {
  const known = calendarsOf(context, viewer).map((one) => [segmentOf(one), knownOf(one)] as const);
  return writeHomeToken(context.epoch, new Map(known), true);
}

/** @param isDeep whether the client read what is in the calendars, too. */
export function writeHomeToken(epoch: string, home: KnownHome, isDeep: boolean): string {
  const rows = [...home].map(([segment, { identity, look, position }]) => [
    segment,
    identity,
    look,
    position.after,
    position.base,
  ]);
  const level = isDeep ? 'all' : 'calendars';
  return `urn:parley:home:${epoch}:${level}:${Buffer.from(JSON.stringify(rows)).toString('base64url')}`;
}

/** @throws DavRefusal 403 valid-sync-token for a token that is none of a home, or of another data folder, or says too little. */
export function readHomeToken(epoch: string, token: string, isDeep: boolean): KnownHome {
  const match = TOKEN.exec(token);
  if (match === null || match[1] !== epoch || (isDeep && match[2] !== 'all')) throw invalidSyncToken();
  const rows = parse(Buffer.from(match[3] ?? '', 'base64url').toString());
  const home = new Map<string, KnownCalendar>();
  for (const row of Array.isArray(rows) ? (rows as unknown[]) : [undefined]) {
    const [segment, identity, look, after, base] = Array.isArray(row) ? (row as unknown[]) : [];
    const areTexts = typeof segment === 'string' && typeof identity === 'string' && typeof look === 'string';
    if (!areTexts || !isPosition(after) || !isPosition(base)) throw invalidSyncToken();
    home.set(segment, { identity, look, position: { after, base } });
  }
  return home;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPosition(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function digestOf(values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, DIGEST_SYMBOLS);
}
