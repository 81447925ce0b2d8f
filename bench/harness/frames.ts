/**
 * WebSocket frames for the load generators: reads just far enough to count them, and writes small masked ones.
 * A full library spends more on a received frame than the server spends on sending it, so it would measure itself.
 */

export const OPCODE = { text: 1, close: 8, ping: 9, pong: 10 } as const;

/** How much of a text frame's payload is looked at: enough for the event's type in every dialect. */
const PEEK_BYTES = 40;

/** Gets every frame. `at` is where its payload begins in `bytes`, which are valid during the call only. */
export interface FrameSink {
  /** Whether text frames are wanted whole, for decoding, or only their first bytes. */
  readonly wantsWhole: boolean;
  frame(opcode: number, bytes: Buffer, at: number, length: number): void;
}

/** Cuts a server's byte stream into frames. Keeps at most one cut-off head between chunks, never a payload. */
export class FrameReader {
  readonly #sink: FrameSink;
  /** Payload bytes of the frame already reported that are still to come. */
  #skip = 0;
  #carry: Buffer | undefined;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /**
   * Takes the next `length` bytes of the stream.
   * @throws Error when the server masks a frame, which RFC 6455 section 5.1 forbids.
   */
  read(chunk: Buffer, length: number): void {
    let bytes = chunk;
    let end = length;
    let at = 0;
    if (this.#carry !== undefined) {
      bytes = Buffer.concat([this.#carry, chunk.subarray(0, length)]);
      end = bytes.length;
      this.#carry = undefined;
    } else if (this.#skip > 0) {
      if (this.#skip >= end) {
        this.#skip -= end;
        return;
      }
      at = this.#skip;
      this.#skip = 0;
    }
    while (at < end) {
      const next = this.#readFrame(bytes, at, end);
      if (next === undefined) {
        // The read buffer is shared by all sockets of the process, so what is kept must be copied.
        this.#carry = Buffer.from(bytes.subarray(at, end));
        return;
      }
      at = next;
    }
    this.#skip = at - end;
  }

  /** Reports one frame and answers where the next begins, or undefined when too little of it is there. */
  #readFrame(bytes: Buffer, at: number, end: number): number | undefined {
    if (end - at < 2) return undefined;
    const opcode = bytes[at]! & 0x0f;
    let length = bytes[at + 1]!;
    if (length > 127) throw new Error('the server sent a masked frame');
    let payload = at + 2;
    if (length === 126) {
      if (end - at < 4) return undefined;
      length = (bytes[at + 2]! << 8) | bytes[at + 3]!;
      payload = at + 4;
    } else if (length === 127) {
      if (end - at < 10) return undefined;
      length = bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6);
      payload = at + 10;
    }
    const isWhole = opcode !== OPCODE.text || this.#sink.wantsWhole;
    const needed = isWhole || length < PEEK_BYTES ? length : PEEK_BYTES;
    if (end - payload < needed) return undefined;
    this.#sink.frame(opcode, bytes, payload, length);
    return payload + length;
  }
}

/** A client's frame. The mask is all zeros: it must be present, and nothing between here and the server needs hiding. */
export function clientFrame(opcode: number, payload: Buffer | string): Buffer {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const extended = bytes.length > 125;
  if (bytes.length > 0xffff) throw new Error('load generators send no frame above 64 KiB');
  const frame = Buffer.alloc((extended ? 8 : 6) + bytes.length);
  frame[0] = 0x80 | opcode;
  if (extended) {
    frame[1] = 0x80 | 126;
    frame.writeUInt16BE(bytes.length, 2);
  } else {
    frame[1] = 0x80 | bytes.length;
  }
  bytes.copy(frame, extended ? 8 : 6);
  return frame;
}
