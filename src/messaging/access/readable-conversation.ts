/** A conversation as somebody who takes part in it may read it, straight from its lane. */
import { Refusal } from '#src/protocol/errors.ts';
import { readConversation, readMember, type Tables } from '#storage/conversations/conversation-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { ConversationRecord, MemberRecord } from '#storage/engine/records.ts';

export interface Readable {
  readonly tables: Tables;
  readonly record: ConversationRecord;
  readonly member: MemberRecord;
}

/**
 * The conversation of that id, if `user` takes part in it.
 * @throws Refusal `conversation_forbidden` for one that is not there and one that is not theirs (MSG-11); `storage_damaged`
 * where nobody can tell.
 */
export function readableBy(lanes: Pick<Lanes, 'read' | 'requireReadable'>, id: string, user: string): Readable {
  lanes.requireReadable(id);
  const environment = lanes.read(id);
  environment.refresh();
  const record = readConversation(environment.tables, id);
  const member = readMember(environment.tables, id, user);
  if (record === undefined || member === undefined) throw new Refusal('conversation_forbidden');
  return { tables: environment.tables, record, member };
}
