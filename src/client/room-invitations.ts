/** Rooms that the person is asked into, and those whom rooms of theirs have asked. `membership` events tell when to look. */
import type { ReplyOf } from './calls.ts';
import { type ChatConversation, readConversation } from './conversations/records.ts';
import { readInstant } from './instants.ts';
import type { MessagingApi } from './messaging-api.ts';

type Wire = ReplyOf<'readRoomInvitations'>['items'][number];
type PendingWire = ReplyOf<'readPendingInvitations'>['items'][number];
/** Times are in milliseconds. */
type Read<W extends Wire | PendingWire> = Omit<W, 'created_at' | 'expires_at'> & {
  createdAt: number;
  expiresAt: number;
};

/** All that is told of a room before the person accepts. */
export type RoomInvitation = Read<Wire>;
/** Somebody who was asked into a room of the person's and has not answered. */
export type PendingInvitation = Read<PendingWire>;

export class RoomInvitations {
  readonly #api: MessagingApi;

  constructor(api: MessagingApi) {
    this.#api = api;
  }

  /** The newest first. @throws ParleyError */
  async list(): Promise<RoomInvitation[]> {
    const { items } = await this.#api.call('readRoomInvitations', { params: {} });
    return items.map((item) => readTimes(item));
  }

  /** Takes part from now on. @throws ParleyError `invitation_not_found`, `conversation_archived`, `conversation_full` */
  async accept(conv: string): Promise<ChatConversation> {
    return readConversation(await this.#api.call('acceptRoomInvitation', { params: { id: conv } }));
  }

  /** @throws ParleyError `invitation_not_found` */
  async decline(conv: string): Promise<void> {
    await this.#api.call('declineRoomInvitation', { params: { id: conv } });
  }

  /** Who is asked into a room. @throws ParleyError `right_missing` */
  async pending(conv: string): Promise<PendingInvitation[]> {
    const { items } = await this.#api.call('readPendingInvitations', { params: { id: conv } });
    return items.map((item) => readTimes(item));
  }

  /** @throws ParleyError `right_missing`, `invitation_not_found` */
  async withdraw(conv: string, username: string): Promise<void> {
    await this.#api.call('withdrawRoomInvitation', { params: { id: conv, username } });
  }
}

function readTimes<W extends Wire | PendingWire>({
  created_at: createdAt,
  expires_at: expiresAt,
  ...wire
}: W): Read<W> {
  return { ...wire, createdAt: readInstant(createdAt, 'created_at'), expiresAt: readInstant(expiresAt, 'expires_at') };
}
