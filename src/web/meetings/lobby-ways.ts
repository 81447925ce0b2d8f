/** Who of those who come by link waits for the host; held to the protocol by the type. */
import type { Lobby } from '#src/protocol/meetings/meetings.ts';

export type LobbyWay = Lobby;
const WAYS: Readonly<Record<LobbyWay, true>> = { open: true, people: true, everyone_waits: true };
export const LOBBY_WAYS = Object.keys(WAYS) as LobbyWay[];
