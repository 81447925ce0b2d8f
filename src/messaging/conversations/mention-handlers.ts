/** The caller's mentions out of all lanes, the newest first. */
import type { z } from 'zod';
import type { mentionsQuery } from '#src/protocol/conversations/conversations.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  readConversation,
  readMessage,
  readWatermark,
  type Tables,
} from '#storage/conversations/conversation-reader.ts';
import { readUpTo } from '#storage/conversations/inbox-reader.ts';
import { stampOf } from '#storage/engine/lane.ts';
import { readLaneMentions, STAMP_MAX } from '#storage/conversations/mention-reader.ts';
import type { MentionRow } from '#storage/conversations/mention-records.ts';
import type { ClientRequest, Handler } from '../http/caller.ts';
import { decodeCursor, encodeCursor } from '../http/cursors.ts';

/** What was read of a lane and not given yet, and where the lane goes on. */
interface Stream {
  readonly tables: Tables;
  readonly rows: MentionRow[];
  readonly rest: number;
  /** The stamp below which nothing of the lane was given. */
  position: number;
}

export const readMentions: Handler = async (request) => {
  const { after, limit } = request.query as z.infer<typeof mentionsQuery>;
  const { lanes, epoch } = request.service;
  const positions = readCursor(request, after);
  const streams: Stream[] = [];
  for (const [lane, environment] of lanes.environments.entries()) {
    environment.refresh();
    const { tables } = environment;
    // What comes while somebody turns the pages is on none of them.
    const position = Math.min(positions[lane] ?? 0, stampOf(tables) + 1);
    streams.push({ tables, position, ...readLaneMentions(tables, request.user, position, limit, request.reach) });
    // Lane by lane with a breath between: somebody in thousands of conversations must not hold up the shard.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const items = gather(streams, limit).flatMap(({ row, tables }) => itemJson(tables, row, request.user));
  const rest = streams.map(({ rows, rest: below, position }) => (rows.length === 0 ? below : position));
  const next = rest.every((position) => position === 0) ? null : writeCursor(epoch, rest);
  return { status: 200, json: `{"items":[${items.join(',')}],"next":${JSON.stringify(next)}}` };
};

/**
 * The newest rows of all lanes. Ends early at a lane of which more has to be read: what it has next may be newer than
 * what the others have.
 */
function gather(streams: readonly Stream[], limit: number): { row: MentionRow; tables: Tables }[] {
  const given: { row: MentionRow; tables: Tables }[] = [];
  while (given.length < limit && streams.every(({ rows, rest }) => rows.length > 0 || rest === 0)) {
    const heads = streams.filter(({ rows }) => rows.length > 0);
    const [newest] = heads.toSorted((a, b) => (b.rows[0]?.at ?? 0) - (a.rows[0]?.at ?? 0));
    const row = newest?.rows.shift();
    if (newest === undefined || row === undefined) break;
    newest.position = row.stamp;
    given.push({ row, tables: newest.tables });
  }
  return given;
}

/** None when the message or the conversation went since the row was read. */
function itemJson(tables: Tables, { conversation, seq }: MentionRow, user: string): string[] {
  const record = readConversation(tables, conversation);
  const json = record === undefined ? undefined : readMessage(tables, record, seq);
  if (record === undefined || json === undefined) return [];
  const unread = seq > readUpTo(tables, record, user, readWatermark(tables, conversation, user).read);
  return [`{"message":${json},"unread":${unread}}`];
}

function writeCursor(epoch: string, positions: readonly number[]): string {
  return encodeCursor([epoch, positions]);
}

/** @throws Refusal cursor_invalid. A cursor of another epoch starts afresh: its stamps mean nothing here. */
function readCursor(request: ClientRequest, text: string | undefined): number[] {
  const { lanes, epoch } = request.service;
  const fresh = lanes.environments.map(() => STAMP_MAX);
  if (text === undefined) return fresh;
  const invalid = new Refusal('cursor_invalid', { field: 'after' });
  const [ofEpoch, positions] = decodeCursor(text, 'after', [2]);
  if (typeof ofEpoch !== 'string' || !Array.isArray(positions) || positions.length !== fresh.length) throw invalid;
  if (!positions.every((one) => Number.isSafeInteger(one) && one >= 0 && one <= STAMP_MAX)) throw invalid;
  return ofEpoch === epoch ? (positions as number[]) : fresh;
}
