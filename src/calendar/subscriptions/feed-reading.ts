/**
 * Reads a feed and compares it with what is known of the one before, on a thread of the pool. Plain data in and out.
 *
 *     feed ─► items, alarms left out ─► digest of what each says ─► known by UID? by digest? ─► to put, to remove
 *
 * What says when a line was written is not what it says: DTSTAMP, CREATED and LAST-MODIFIED do not count, since feeds
 * write them anew at each request. Nor does the UID where nothing else changed: some feeds make new ones each time.
 */
import { createHash } from 'node:crypto';
import { serialize } from 'node:v8';
import { type FeedFailure, FEED_FAULTS_MAX } from '#src/protocol/calendars/calendar-subscriptions.ts';
import { CALENDAR_FEED_OBJECTS_MAX } from '#src/protocol/limits.ts';
import { entryIdOf, type ComponentKind, type ObjectIndex as StoredIndex } from '#storage/calendars/calendar-records.ts';
import { ENTRY_ID_BYTES, SOURCE_DIGEST_BYTES } from '#storage/calendars/calendar-subscriptions.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import { indexOf } from '../recurrence/object-index.ts';
import { readCalendarObject, uidOf } from '../icalendar/object-reader.ts';
import { readCalendarStream, textBetween } from '../icalendar/stream-reader.ts';
import { propertyOf, type Component } from '../icalendar/component.ts';
import { readComponents, sourceOf } from '../icalendar/component-reader.ts';
import type { StreamFault, StreamObject } from '../icalendar/calendar-object.ts';
import { readDuration } from '../icalendar/values.ts';
import { flatten } from '../ics/flattening.ts';
import { storedIndex } from '../objects/stored-index.ts';

/** Objects of one commit, and their bytes together: a few milliseconds of the thread that writes. */
export const BATCH_OBJECTS = 32;
const BATCH_BYTES = 256 * 1024;
/** Characters of a UID in the report of a fault. */
const UID_LENGTH_MAX = 200;

export interface FeedQuestion {
  readonly bytes: Uint8Array;
  /** The digest of the feed that was last taken in whole. */
  readonly digest: string | null;
  /** Entries as they are known: rows of an entry id and the digest of what the feed said of it. */
  readonly known: Uint8Array;
  readonly zone: string;
  readonly kinds: readonly ComponentKind[];
}

/** An entry that is new or says something else. */
export interface FeedPut {
  readonly entry: string;
  readonly bytes: Uint8Array;
  readonly index: StoredIndex;
  readonly digest: Uint8Array;
}

export interface FeedFault {
  readonly uid?: string;
  readonly line?: number;
  readonly code: 'entry_invalid' | 'entry_kind_refused' | 'entry_too_large';
}

export type FeedAnswer =
  | { readonly kind: 'same' }
  | { readonly kind: 'refused'; readonly outcome: FeedFailure; readonly line: number | null }
  | {
      readonly kind: 'read';
      readonly digest: string;
      /** How often the feed wishes to be asked for. */
      readonly seconds: number | null;
      /** `FeedPut[]` each, serialised: opened one by one, so that no thread opens ten thousand at once. */
      readonly batches: readonly Uint8Array[];
      /** Entry ids of what is not there any more. */
      readonly removed: readonly string[];
      readonly failed: number;
      readonly faults: readonly FeedFault[];
    };

/** What of a feed is to be written. Never throws for what a feed may be. */
export function readFeed({ bytes, digest: known, ...question }: FeedQuestion): FeedAnswer {
  const digest = createHash('sha256').update(bytes).digest('base64url');
  if (digest === known) return { kind: 'same' };
  const head = Buffer.from(bytes.subarray(0, 200))
    .toString('latin1')
    .replace(/^\u00EF\u00BB\u00BF/, '');
  if (!/^\s*BEGIN:VCALENDAR[ \t]*[\r\n]/i.test(head)) return { kind: 'refused', outcome: 'not_calendar', line: 1 };
  // A feed that breaks off says nothing of what would come behind.
  const tail = Buffer.from(bytes.subarray(-200)).toString('latin1');
  if (!/(?:^|[\r\n])END:VCALENDAR\s*$/i.test(tail)) return { kind: 'refused', outcome: 'truncated', line: null };
  try {
    const { objects, faults } = readCalendarStream(bytes, bodyOf);
    if (objects.length + faults.length > CALENDAR_FEED_OBJECTS_MAX) {
      return { kind: 'refused', outcome: 'too_many_entries', line: null };
    }
    return { kind: 'read', digest, seconds: wishOf(bytes), ...compare(question, objects, faults) };
  } catch (error) {
    if (!(error instanceof CalendarFault)) throw error;
    return { kind: 'refused', outcome: 'not_calendar', line: error.line ?? null };
  }
}

function compare(
  { kinds, known, zone }: Omit<FeedQuestion, 'bytes' | 'digest'>,
  objects: readonly StreamObject[],
  streamFaults: readonly StreamFault[],
): Pick<Extract<FeedAnswer, { kind: 'read' }>, 'batches' | 'removed' | 'failed' | 'faults'> {
  const before = knownEntries(known);
  const faults: FeedFault[] = streamFaults.map(({ uid, fault }) => faultOf(uid, fault, fault.line));
  for (const { uid } of streamFaults) if (uid !== undefined) before.delete(entryIdOf(uid));
  const fresh = new Map<string, FeedPut>();
  const batches = new Batches();
  for (const object of objects) {
    const entry = entryIdOf(object.uid);
    const digest = digestOf(object.bytes);
    const said = before.get(entry);
    before.delete(entry);
    if (said?.equals(digest) === true || fresh.has(entry)) continue;
    const put = putOf(object, digest, { kinds, zone });
    if ('code' in put) faults.push(put);
    // One that is known by its UID says something else; one that is not may be known by what it says.
    else if (said === undefined) fresh.set(entry, put);
    else batches.add(put);
  }
  const gone = new Map<string, string[]>();
  for (const [entry, digest] of before) {
    const same = gone.get(digest.toString('latin1'));
    if (same === undefined) gone.set(digest.toString('latin1'), [entry]);
    else same.push(entry);
  }
  for (const put of fresh.values()) {
    const same = gone.get(Buffer.from(put.digest).toString('latin1'));
    if (same?.pop() === undefined) batches.add(put);
  }
  const removed = [...gone.values()].flat();
  return { batches: batches.all(), removed, failed: faults.length, faults: faults.slice(0, FEED_FAULTS_MAX) };
}

function knownEntries(rows: Uint8Array): Map<string, Buffer> {
  const all = Buffer.from(rows.buffer, rows.byteOffset, rows.length);
  const found = new Map<string, Buffer>();
  for (let at = 0; at < all.length; at += ENTRY_ID_BYTES + SOURCE_DIGEST_BYTES) {
    const end = at + ENTRY_ID_BYTES;
    found.set(all.toString('base64url', at, end), all.subarray(end, end + SOURCE_DIGEST_BYTES));
  }
  return found;
}

function putOf(
  { bytes, line, uid }: StreamObject,
  digest: Buffer,
  { kinds, zone }: Pick<FeedQuestion, 'kinds' | 'zone'>,
): FeedPut | FeedFault {
  try {
    const index = indexOf(readCalendarObject(bytes), zone);
    if (!kinds.includes(index.kind)) return { uid: clip(uid), line, code: 'entry_kind_refused' };
    // Whoever is said to organise or to be invited is said so by the feed: nothing follows from it.
    return { entry: entryIdOf(uid), bytes, digest, index: storedIndex(index, false, false) };
  } catch (error) {
    if (!(error instanceof CalendarFault)) throw error;
    return faultOf(uid, error, line);
  }
}

function faultOf(uid: string | undefined, { precondition }: CalendarFault, line: number | undefined): FeedFault {
  const where = { ...(uid === undefined ? {} : { uid: clip(uid) }), ...(line === undefined ? {} : { line }) };
  if (precondition === 'max-resource-size') return { ...where, code: 'entry_too_large' };
  return { ...where, code: precondition === 'supported-calendar-component' ? 'entry_kind_refused' : 'entry_invalid' };
}

function clip(uid: string): string {
  return uid.slice(0, UID_LENGTH_MAX).toWellFormed();
}

/** Gathers what is written together, and serialises each lot as soon as it is full. */
class Batches {
  readonly #full: Uint8Array[] = [];
  #open: FeedPut[] = [];
  #size = 0;

  add(put: FeedPut): void {
    const isFull = this.#open.length >= BATCH_OBJECTS || this.#size + put.bytes.length > BATCH_BYTES;
    if (isFull) this.#end();
    this.#open.push(put);
    this.#size += put.bytes.length;
  }

  all(): readonly Uint8Array[] {
    this.#end();
    return this.#full;
  }

  #end(): void {
    // Plain arrays of their own bytes: a view would bring the whole buffer behind it along.
    if (this.#open.length > 0) this.#full.push(new Uint8Array(serialize(this.#open)));
    [this.#open, this.#size] = [[], 0];
  }
}

/** Lines that say when something was written, and the name it is known by. */
const NOISE = /^(?:DTSTAMP|CREATED|LAST-MODIFIED|UID)[;:].*(?:(?:\r\n|\n|\r)[ \t].*)*(?:\r\n|\n|\r|$)/gim;

/** A UID that says nothing. */
const EMPTY_UID = /^UID(?:;[^:\r\n]*)?:[ \t]*(?:\r\n|\n|\r)/im;

function withoutNoise(text: string): string {
  return text.replace(NOISE, '');
}

/** A digest of what an object says. Definitions of zones that everybody knows do not count. */
function digestOf(bytes: Uint8Array): Buffer {
  const hash = createHash('sha256');
  for (const { text, definitions } of flatten(bytes, 'whole', '')) {
    hash.update(withoutNoise(text));
    for (const [tzid, definition] of definitions) hash.update(`\0${tzid}\0${withoutNoise(definition)}`);
  }
  return hash.digest().subarray(0, SOURCE_DIGEST_BYTES);
}

/** A component as it is stored: without alarms, which are not a stranger's to set, and with a UID. */
function bodyOf(component: Component, source: string): string {
  const parts: string[] = [];
  let at = component.start;
  for (const { name, start, end } of component.components) {
    if (name !== 'VALARM') continue;
    parts.push(source.slice(at, start));
    at = end;
  }
  const text = parts.join('') + textBetween(source, at, component.end);
  if (uidOf(component) !== '') return text;
  // The same words make the same UID at the next request.
  const uid = createHash('sha256').update(withoutNoise(text), 'latin1').digest('hex');
  const [begin = ''] = /^.*(?:\r\n|\n|\r)/.exec(text) ?? [];
  return `${begin}UID:${uid}\r\n${text.slice(begin.length).replace(EMPTY_UID, '')}`;
}

/** How often the feed wishes to be asked for, in seconds (RFC 7986, 5.7; and the word of Outlook for it). */
function wishOf(bytes: Uint8Array): number | null {
  // Both stand at the top of a calendar: what comes before its first component is read, and no more than that.
  const head = sourceOf(bytes.subarray(0, 16 * 1024));
  const end = head.slice(1).search(/^(?:BEGIN|END):/im);
  try {
    const [calendar] = readComponents(`${(end === -1 ? head : head.slice(0, end + 1)).trimEnd()}\r\nEND:VCALENDAR\r\n`);
    const wish = ['REFRESH-INTERVAL', 'X-PUBLISHED-TTL']
      .map((name) => (calendar === undefined ? undefined : propertyOf(calendar, name)?.value))
      .find((value) => value !== undefined);
    const duration = wish === undefined ? undefined : readDuration(wish);
    const seconds = duration === undefined ? 0 : duration.days * 86_400 + duration.seconds;
    return seconds > 0 ? seconds : null;
  } catch (error) {
    // A head that cannot be read by itself wishes nothing.
    if (error instanceof CalendarFault) return null;
    throw error;
  }
}
