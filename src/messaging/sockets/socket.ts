import type { WebSocket } from 'uWebSockets.js';
import type { CloseReason } from '#src/protocol/sockets/close-codes.ts';
import type { Platform } from '#src/protocol/version.ts';
import type { Bot } from '../bots/bot-access.ts';
import type { RefusedFrames } from './refused-frames.ts';

/** What a socket carries. All of it comes from the token and the upgrade, nothing from later frames. */
export interface SocketData extends RefusedFrames {
  /** Unique among the sockets of this process, and higher for a later handshake, also across restarts of a shard. */
  readonly id: number;
  readonly user: string;
  readonly device: string;
  readonly sid: string;
  readonly version: number;
  readonly platform: Platform;
  /** When the session's token runs out, in Unix seconds; moves on when the session is renewed. */
  exp: number;
  closing: CloseReason | undefined;
  /** The person's rights as they were told of last; undefined for a bot, which has none of an account. */
  rights: string | undefined;
  /** Whether the app is awake, as it said last, where that was too much at once and is told a moment later. */
  late: boolean | undefined;
  /** The bot whose socket it is, as it stands now, and where it connected from; undefined for a person's. */
  readonly seat: { bot: Bot; readonly address: string } | undefined;
}

export type Socket = WebSocket<SocketData>;
