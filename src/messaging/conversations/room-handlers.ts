/** Handlers of public rooms: finding them, coming in; and of where somebody keeps a conversation. */
import type { z } from 'zod';
import { isId } from '#src/base/ids.ts';
import type { placement } from '#src/protocol/conversations/conversations.ts';
import type { PublicRoom, RoomsQuery } from '#src/protocol/conversations/rooms.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { ROOMS_LOOKED_AT_MAX } from '#src/protocol/limits.ts';
import { readConversation, readMember, roomView } from '#storage/conversations/conversation-reader.ts';
import { isListed, readListings } from '#storage/conversations/room-records.ts';
import { fold } from '#storage/search/search-folding.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { decodeCursor, encodeCursor } from '../http/cursors.ts';
import { askConversation, pathConversation, type ClientRequest, type Handler } from '../http/caller.ts';

const WORDS = /[\p{L}\p{N}]+/gu;

/** A page of those that the caller may come into, by how new they are. Guests of the installation are shown none. */
export const listRooms: Handler = (request) => {
  const { q, after, limit } = request.query as RoomsQuery;
  const before = after === undefined ? undefined : readCursor(after);
  const { access } = request.service;
  if (access.isGuest(request.user)) return pageOf([], null);
  const words = q === undefined ? [] : (fold(q).match(WORDS) ?? []);
  // Dots and dashes alone are in no title.
  if (q !== undefined && words.length === 0) return pageOf([], null);
  const { rooms, isWhole } = newest(request, before);
  const items: PublicRoom[] = [];
  for (const { id, title } of rooms) {
    const item = fits(title, words) ? view(request, id) : undefined;
    if (item !== undefined) items.push(item);
    if (items.length === limit) return pageOf(items, id === rooms.at(-1)?.id && isWhole ? null : encodeCursor([id]));
  }
  const last = rooms.at(-1);
  return pageOf(items, isWhole || last === undefined ? null : encodeCursor([last.id]));
};

export const joinRoom: Handler = (request) => {
  const id = pathConversation(request);
  const { tables } = laneOf(request, id);
  const record = readConversation(tables, id);
  // A room that the policies keep from the caller is none for them.
  if (record !== undefined && !mayFind(request, record)) throw new Refusal('conversation_forbidden');
  return askConversation(request, { kind: 'join' });
};

export const putPlacement: Handler = (request) => {
  const { category, favourite } = request.body as z.infer<typeof placement>;
  return askConversation(request, { kind: 'place', category, favourite });
};

/** Public rooms of all lanes in front of an id, up to the first that another lane may have a newer one than. */
function newest({ service }: ClientRequest, before: string | undefined) {
  const { environments } = service.lanes;
  const most = Math.ceil(ROOMS_LOOKED_AT_MAX / environments.length);
  const read = environments.map((environment) => {
    environment.refresh();
    return readListings(environment.tables, before, most);
  });
  const ends = read.filter((rooms) => rooms.length === most).map((rooms) => rooms.at(-1)?.id ?? '');
  const end = ends.toSorted().at(-1) ?? '';
  const rooms = read.flat().toSorted((a, b) => (a.id < b.id ? 1 : -1));
  return { rooms: rooms.filter(({ id }) => id >= end), isWhole: ends.length === 0 };
}

function fits(title: string, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const named = fold(title).match(WORDS) ?? [];
  return words.every((word) => named.some((one) => one.startsWith(word)));
}

function view(request: ClientRequest, id: string): PublicRoom | undefined {
  const { tables } = laneOf(request, id);
  const record = readConversation(tables, id);
  if (record === undefined || !isListed(record) || !mayFind(request, record)) return undefined;
  const { avatar, topic, purpose } = roomView(record);
  return {
    id,
    title: record.title ?? '',
    ...(topic === undefined ? {} : { topic }),
    ...(purpose === undefined ? {} : { purpose }),
    ...(avatar === undefined ? {} : { avatar }),
    created_at: record.createdAt,
    participant_count: record.participantCount,
    joined: readMember(tables, id, request.user) !== undefined,
  };
}

/** Whoever comes in speaks to who is there: a room is for those who may see and message the person who made it. */
export function mayFind(
  { service, user }: Pick<ClientRequest, 'service' | 'user'>,
  { createdBy }: ConversationRecord,
): boolean {
  return service.access.allows('see', user, createdBy) && service.access.allows('message', user, createdBy);
}

function laneOf({ service }: ClientRequest, id: string) {
  const environment = service.lanes.read(id);
  environment.refresh();
  return environment;
}

function readCursor(text: string): string {
  const [id] = decodeCursor(text, 'after', [1]);
  if (typeof id !== 'string' || !isId('c', id)) throw new Refusal('cursor_invalid', { field: 'after' });
  return id;
}

function pageOf(items: readonly PublicRoom[], next: string | null) {
  return { status: 200, json: JSON.stringify({ items, next }) } as const;
}
