/** The events that peers send: the same bytes as Parley's, made without storing anything. */
import { formatInstant } from '#src/base/time.ts';
import { encodeEvent } from '#src/protocol/sockets/events.ts';

/** A conversation of a peer: all it knows is how far it has counted. */
export class PeerRoom {
  readonly id: string;
  #seq = 0;

  constructor(id: string) {
    this.id = id;
  }

  get head(): number {
    return this.#seq;
  }

  /** The message that a posted body becomes, as JSON, and the event that carries it. */
  post(sender: string, body: string): { message: string; event: string } {
    const posted = JSON.parse(body) as { kind: string; body: string; client_msg_id: string };
    this.#seq += 1;
    const now = Date.now();
    const message = JSON.stringify({
      conversation_id: this.id,
      seq: this.#seq,
      kind: posted.kind,
      body: posted.body,
      sender,
      client_msg_id: posted.client_msg_id,
      created_at: formatInstant(now),
    });
    const ts = Math.floor(now / 1000);
    const head = { type: 'message.new', conv: this.id, seq: this.#seq, ts, rev: this.#seq, rev_count: 1 } as const;
    return { message, event: encodeEvent(head, message) };
  }

  receipt(user: string, seq: number): string {
    const data = JSON.stringify({ user, conversation_id: this.id, seq, state: 'read' });
    return encodeEvent({ type: 'receipt', conv: this.id, seq, ts: Math.floor(Date.now() / 1000) }, data);
  }

  typing(user: string): string {
    return encodeEvent({ type: 'typing', conv: this.id, ts: Math.floor(Date.now() / 1000) }, JSON.stringify({ user }));
  }
}

/** The rooms of a peer, made when they are first named. */
export class PeerRooms {
  readonly #rooms = new Map<string, PeerRoom>();

  get(id: string): PeerRoom {
    let room = this.#rooms.get(id);
    if (room === undefined) this.#rooms.set(id, (room = new PeerRoom(id)));
    return room;
  }
}

/** The room in a path of the messages of a conversation. */
export function roomOfPath(path: string): string | undefined {
  return /^\/v1\/conversations\/([^/]+)\/messages$/.exec(path)?.[1];
}

/** Says on standard output where the peer listens, as Parley itself does. */
export function announce(port: number): void {
  process.stdout.write(`${JSON.stringify({ event: 'ready', port })}\n`);
}
