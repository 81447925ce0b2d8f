/**
 * Inboxes of scheduling messages (RFC 6638, 2.2):
 *
 *     meta   ['inbox', user]          the id of their inbox
 *     meta   ['inbox-oldest', user]   the number of the oldest message that may still be there
 *
 * An inbox is kept as a calendar is, so that it is read, synced and searched as one, and is none: it stands in no list,
 * `accessOf` gives nobody anything of it, it takes nobody's time, and no change of it is told but the topics of messages (`CalendarDraft.topics`). Its owner alone comes to it, by
 * `inboxOf`. A message is an object, named by its number; what other objects have as their UID is its topic here.
 */
import { makeId } from '#src/base/ids.ts';
import type { CalendarDraft } from './calendar-draft.ts';
import { calendarRecord, COMPONENT_KINDS, type CalendarRecord, type ObjectIndex } from './calendar-records.ts';
import { key, numberAt, numberValue } from '../engine/keys.ts';

/** Messages of one inbox, which clients clear or never look at. One more takes the place of the oldest. */
export const INBOX_MESSAGES_MAX = 500;
/** Bytes of them together: sixteen of the largest size. Beyond it the oldest go as well. */
export const INBOX_BYTES_MAX = 8 * 1024 * 1024;

/** A message as it comes in. */
export interface InboxMessage {
  /** A calendar with METHOD. */
  readonly bytes: Uint8Array;
  /** Of those bytes. */
  readonly index: ObjectIndex;
  /** What it is about, where a message about the same takes its place; undefined for one that stands for itself. */
  readonly topic?: string;
}

/** Makes somebody's inbox where they have none. @param zone of floating times in it, IANA. */
export function ensureInbox(draft: CalendarDraft, owner: string, zone: string): CalendarRecord {
  const known = draft.inboxOf(owner);
  if (known !== undefined) return known;
  const words = { name: 'inbox', displayname: '', description: '', color: '' };
  const counters = { syncSeq: 1, floorSeq: 0, objects: 0, removed: 0, shares: 0, bytes: 0 };
  const inbox: CalendarRecord = {
    ...{ id: makeId('inb', draft.now), owner, ...words, ...counters, order: 0, zone, kinds: COMPONENT_KINDS },
    ...{ transparency: 'transparent', createdAt: draft.now },
  };
  draft.put('calendars', key(inbox.id), calendarRecord.encode(inbox));
  draft.put('meta', key('inbox', owner), Buffer.from(inbox.id));
  return inbox;
}

/** Puts a message into somebody's inbox, and takes out what is more than one holds. @throws Refusal as `putObject`. */
export function putMessage(draft: CalendarDraft, owner: string, zone: string, message: InboxMessage): void {
  const { id } = ensureInbox(draft, owner, zone);
  const { bytes, index, topic } = message;
  const before = topic === undefined ? undefined : draft.nameByUid(id, topic);
  // Under another name: clients know what they have read by its name.
  if (before !== undefined) draft.removeObject(id, before);
  const name = nameOf((draft.calendar(id)?.syncSeq ?? 0) + 1);
  draft.putObject(id, name, bytes, { ...index, uid: topic ?? name, unanswered: false });
  dropOldest(draft, id, owner);
}

/** Removes an inbox with what is in it; the purge of calendars takes it off the disk. */
export function dropInbox(draft: CalendarDraft, owner: string): void {
  const inbox = draft.inboxOf(owner);
  if (inbox === undefined) return;
  draft.put('calendars', key(inbox.id), null);
  draft.put('meta', key('inbox', owner), null);
  draft.put('meta', key('inbox-oldest', owner), null);
  draft.put('meta', key('purge', inbox.id), Buffer.from(owner));
}

function dropOldest(draft: CalendarDraft, id: string, owner: string): void {
  const stored = draft.read('meta', key('inbox-oldest', owner));
  const first = stored === undefined ? 1 : numberAt(stored);
  let oldest = first;
  for (;;) {
    const inbox = draft.calendar(id);
    const isFull = inbox !== undefined && (inbox.objects > INBOX_MESSAGES_MAX || inbox.bytes > INBOX_BYTES_MAX);
    if (!isFull || oldest > inbox.syncSeq) break;
    // Numbers are passed over once: those of removals, and of messages that somebody removed.
    if (draft.object(id, nameOf(oldest)) !== undefined) draft.removeObject(id, nameOf(oldest));
    oldest += 1;
  }
  if (oldest !== first) draft.put('meta', key('inbox-oldest', owner), numberValue(oldest));
}

function nameOf(number: number): string {
  return `${number}.ics`;
}
