/** The inbox: pages of a person's conversations, the most recently active first, and what changed since a walk. */
import type { z } from 'zod';
import type { inboxQuery } from '#src/protocol/conversations/conversations.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { inboxItemJson, laneStamps, readLaneInbox, type InboxEntry } from '#storage/conversations/inbox-reader.ts';
import type { ClientRequest, Handler } from '../http/caller.ts';
import { decodeCursor, encodeCursor } from '../http/cursors.ts';

/**
 * A cursor of the walk: where its stamps were taken, since when it looks, and the last item given. Opaque to clients,
 * and harmless to forge: it selects among the caller's own conversations only.
 */
interface Cursor {
  /** Stamps of every lane when the walk began: what `sync` will be. */
  readonly stamps: readonly number[];
  /** Stamps of the walk before: only what is newer is told. */
  readonly since: readonly number[];
  /** Activity and id of the last item given; undefined at the start of a walk. */
  readonly last?: readonly [activeAt: number, id: string] | undefined;
}

export const readInbox: Handler = async (request) => {
  const { after, limit } = request.query as z.infer<typeof inboxQuery>;
  const { lanes, epoch } = request.service;
  for (const environment of lanes.environments) environment.refresh();
  const cursor = readCursor(request, after);
  const entries: InboxEntry[] = [];
  for (const [lane, environment] of lanes.environments.entries()) {
    const found = readLaneInbox(environment.tables, lane, request.user, cursor.since[lane] ?? 0);
    entries.push(...found.filter(({ id }) => request.reach?.has(id) !== false));
    // Lane by lane with a breath between: somebody in thousands of conversations must not hold up the shard.
    if (entries.length > 200) await new Promise((resolve) => setImmediate(resolve));
  }
  const ordered = entries.toSorted(byActivity).filter((entry) => isBehind(entry, cursor.last));
  const page = ordered.slice(0, limit);
  const items: string[] = [];
  for (const entry of page) {
    const tables = lanes.environments[entry.lane]?.tables;
    if (tables !== undefined) items.push(inboxItemJson(tables, entry, request.user, epoch));
    if (items.length % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const final = page.at(-1);
  const more = ordered.length > limit && final !== undefined;
  const next = more ? JSON.stringify(writeCursor(epoch, { ...cursor, last: positionOf(final) })) : 'null';
  const sync = JSON.stringify(writeCursor(epoch, { stamps: cursor.stamps, since: cursor.stamps }));
  return { status: 200, json: `{"items":[${items.join(',')}],"next":${next},"sync":${sync}}` };
};

function positionOf(entry: InboxEntry): [number, string] {
  return [entry.record?.activeAt ?? 0, entry.id];
}

/** The most recently active first; the id decides between equals. */
function byActivity(a: InboxEntry, b: InboxEntry): number {
  const [activeA, idA] = positionOf(a);
  const [activeB, idB] = positionOf(b);
  return activeB - activeA || (idA < idB ? -1 : 1);
}

function isBehind(entry: InboxEntry, last: Cursor['last']): boolean {
  if (last === undefined) return true;
  const [active, id] = positionOf(entry);
  return active < last[0] || (active === last[0] && id > last[1]);
}

function writeCursor(epoch: string, cursor: Cursor): string {
  const { stamps, since, last } = cursor;
  return encodeCursor([epoch, stamps, since, ...(last ?? [])]);
}

/** @throws Refusal cursor_invalid. A cursor of another epoch starts afresh: its stamps mean nothing here. */
function readCursor(request: ClientRequest, text: string | undefined): Cursor {
  const { lanes, epoch } = request.service;
  const stamps = laneStamps(lanes.environments);
  const fresh = { stamps, since: stamps.map(() => 0) };
  if (text === undefined) return fresh;
  const invalid = new Refusal('cursor_invalid', { field: 'after' });
  const [ofEpoch, at, since, activeAt, id] = decodeCursor(text, 'after', [3, 5]);
  if (typeof ofEpoch !== 'string') throw invalid;
  if (!isStamps(at, stamps.length) || !isStamps(since, stamps.length)) throw invalid;
  if (ofEpoch !== epoch) return fresh;
  if (activeAt === undefined) return { stamps, since };
  if (typeof activeAt !== 'number' || typeof id !== 'string') throw invalid;
  return { stamps: at, since, last: [activeAt, id] };
}

function isStamps(value: unknown, lanes: number): value is number[] {
  return Array.isArray(value) && value.length === lanes && value.every((stamp) => Number.isSafeInteger(stamp));
}
