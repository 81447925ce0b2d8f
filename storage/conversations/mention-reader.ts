/** Reading mentions: a person's out of one lane, newest first, and how many of them are unread in a conversation. */
import { MENTIONS_LOOKED_AT_MAX, UNREAD_COUNT_MAX } from '#src/protocol/limits.ts';
import { readConversation, type Tables } from './conversation-reader.ts';
import { lastPart, numbered, under } from '../engine/keys.ts';
import { EVERYBODY, mentionedParts, mentionKey, mentionRow, mentionValue, type MentionRow } from './mention-records.ts';
import { membershipRecord, type ConversationRecord } from '../engine/records.ts';

/** Above every stamp: where a walk begins. */
export const STAMP_MAX = 2 ** 48 - 1;

/** Part of a lane's mentions of a person, the newest first. */
export interface LaneMentions {
  readonly rows: MentionRow[];
  /** The stamp below which there may be more; 0 when there are none. */
  readonly rest: number;
}

/**
 * The newest `limit` mentions of a person with a stamp below `before`, in conversations that the person takes part in
 * now, among `reach` if it is given. Looks at MENTIONS_LOOKED_AT_MAX rows of the person's, so that those of conversations
 * which they left cost a bounded time.
 */
export function readLaneMentions(
  tables: Tables,
  user: string,
  before: number,
  limit: number,
  reach?: ReadonlySet<string>,
): LaneMentions {
  if (before === 0) return { rows: [], rest: 0 };
  const records = new Map<string, ConversationRecord>();
  for (const entry of tables.memberships.getRange(under(user))) {
    const id = lastPart(entry.key);
    if (membershipRecord.decode(entry.value).gone || reach?.has(id) === false) continue;
    const record = readConversation(tables, id);
    if (record !== undefined) records.set(id, record);
  }
  const isTheirs = ({ conversation, seq, sender }: MentionRow) =>
    sender !== user && seq > (records.get(conversation)?.floorSeq ?? Infinity);
  // Each of the walks is whole down to some stamp; together they are down to the highest of those.
  let whole = 0;
  const rows: MentionRow[] = [];
  for (const parts of [[user], ...[...records.keys()].map((id) => mentionedParts(EVERYBODY, id))]) {
    const most = parts.length === 1 ? MENTIONS_LOOKED_AT_MAX : limit;
    const range = { start: numbered(before - 1, ...parts), end: numbered(0, ...parts), reverse: true, limit: most };
    const found = [...tables.mentioned.getRange(range)].map(({ key, value }) => mentionRow(key, value));
    rows.push(...found.filter(isTheirs));
    if (found.length === most) whole = Math.max(whole, found.at(-1)?.stamp ?? 0);
  }
  const ordered = rows.filter(({ stamp }) => stamp >= whole).toSorted((a, b) => b.stamp - a.stamp);
  if (ordered.length > limit) return { rows: ordered.slice(0, limit), rest: ordered[limit - 1]?.stamp ?? 0 };
  return { rows: ordered, rest: whole };
}

/** How many messages behind a watermark mention a person. Counts up to UNREAD_COUNT_MAX of each way to be mentioned. */
export function countUnreadMentions(tables: Tables, record: ConversationRecord, user: string, from: number): number {
  const { id, headSeq } = record;
  if (from >= headSeq) return 0;
  let count = 0;
  for (const who of [user, EVERYBODY]) {
    const range = { start: mentionKey(id, who, from + 1), end: mentionKey(id, who, headSeq + 1) };
    for (const { value } of tables.mentions.getRange({ ...range, limit: UNREAD_COUNT_MAX })) {
      if (mentionValue(value).sender !== user) count += 1;
    }
  }
  return count;
}
