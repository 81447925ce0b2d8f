/** The two ways an event is wrapped on the wire, and how to tell its type from a few bytes. */

/** `plain`: the frame is the event's JSON. `socket.io`: Engine.IO 4 and Socket.IO 5 framing around the same JSON. */
export type Dialect = 'plain' | 'socket.io';

/** What Socket.IO puts before the event: message, event packet, the event's name. */
export const SOCKET_IO_PREFIX = '42["event",';

/** Where the event's JSON begins in a frame. */
export function eventOffset(dialect: Dialect): number {
  return dialect === 'plain' ? 0 : SOCKET_IO_PREFIX.length;
}

export const EVENT_CLASS = { other: 0, message: 1, receipt: 2, typing: 3 } as const;
export const EVENT_CLASSES = 4;

const TYPE_AT = '{"type":"'.length;
const [R, C, T, M, N] = Buffer.from('rctmn');

/**
 * The class of the event whose JSON begins at `at`, told from two letters of its type: `message.new`, `receipt` and
 * `typing` each have a pair that no other type of the vocabulary has.
 */
export function eventClass(bytes: Buffer, at: number): number {
  switch (bytes[at + TYPE_AT]) {
    case M:
      return bytes[at + TYPE_AT + 8] === N ? EVENT_CLASS.message : EVENT_CLASS.other;
    case R:
      return bytes[at + TYPE_AT + 2] === C ? EVENT_CLASS.receipt : EVENT_CLASS.other;
    case T:
      return EVENT_CLASS.typing;
    default:
      return EVENT_CLASS.other;
  }
}
