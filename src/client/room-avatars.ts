/** Pictures of rooms. A room's record has the number of its picture; an update of the record tells of another one. */
import type { AvatarSize } from '#src/protocol/account/avatars.ts';
import { fillPath } from './calls.ts';
import type { Http } from './connection/http.ts';
import type { Session } from './connection/session.ts';

/** How long a picture may take, up or down, in milliseconds. */
const PICTURE_MILLIS_MAX = 60_000;

export class RoomAvatars {
  readonly #session: Session;
  readonly #http: Http;

  constructor(session: Session, http: Http) {
    this.#session = session;
    this.#http = http;
  }

  /**
   * Gives a room another picture; answers its number.
   * @throws ParleyError `avatar_invalid`, `body_too_large`, `right_missing`, `conversation_archived`, `busy`.
   */
  async put(conv: string, picture: Blob): Promise<number> {
    const path = fillPath('/v1/conversations/:id/avatar', { id: conv });
    const request = { method: 'put', path, bytes: picture, millisMax: PICTURE_MILLIS_MAX };
    const response = await this.#session.authorized((token) => this.#http.exchange({ ...request, token }));
    return ((await response.json()) as { avatar: number }).avatar;
  }

  /** Takes a room's picture away. @throws ParleyError `right_missing`, `conversation_archived`. */
  async remove(conv: string): Promise<void> {
    const path = fillPath('/v1/conversations/:id/avatar', { id: conv });
    await this.#session.request(this.#http, { method: 'delete', path });
  }

  /** A room's picture by the number that its record says. @throws ParleyError `avatar_not_found`. */
  async read(conv: string, avatar: number, size: AvatarSize): Promise<Blob> {
    const path = fillPath('/v1/conversations/:id/avatar/:avatar', { id: conv, avatar });
    const request = { method: 'get', path, query: { size }, millisMax: PICTURE_MILLIS_MAX };
    const response = await this.#session.authorized((token) => this.#http.exchange({ ...request, token }));
    return await response.blob();
  }
}
