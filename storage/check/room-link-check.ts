/** Checks links into rooms: each is readable, into a room that is there, and let in no more people than it may. */
import { roomLinkAt } from '../conversations/room-links.ts';
import { lastPart, under } from '../engine/keys.ts';
import { isPurging, type Subject } from './check-subject.ts';

export function checkRoomLinks(subject: Subject): void {
  const { tables, record, findings } = subject;
  for (const { key: itemKey, value } of tables.roomLinks.getRange(under(record.id))) {
    const parts = [record.id, lastPart(itemKey)];
    const wrong = (predicate: string) => findings.add('roomLinks', parts, predicate);
    const link = findings.attempt('roomLinks', parts, () => roomLinkAt(itemKey, value));
    if (record.kind !== 'room') wrong('is into a conversation that nobody is added to');
    if (record.deleted && !isPurging(subject)) wrong('is into a deleted conversation');
    if (link !== undefined && link.used > link.uses) wrong(`let in ${link.used} people, and may ${link.uses}`);
  }
}
