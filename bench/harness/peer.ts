/** Peers as subjects: small servers that run beside ours in the same rounds. */
import { makeId } from '#src/base/ids.ts';
import type { Dialect } from './dialect.ts';
import { spawnNode } from './pinning.ts';
import { endProcess, readyLine, type Person, type Room, type Subject, type World, type WorldSize } from './subject.ts';

interface PeerKind {
  readonly entry: string;
  readonly dialect: Dialect;
}

export const PEERS = {
  'bare uWS': { entry: 'bare-uws.ts', dialect: 'plain' },
  ws: { entry: 'ws.ts', dialect: 'plain' },
  'Socket.IO': { entry: 'socket-io.ts', dialect: 'socket.io' },
} as const satisfies Record<string, PeerKind>;

export type PeerName = keyof typeof PEERS;

/** Starts a peer. Its people are names only: it believes whoever speaks. The bare one speaks TLS by the files of a certificate and its key. */
export async function startPeer(
  name: PeerName,
  size: WorldSize,
  cores: readonly number[],
  files: readonly string[] = [],
): Promise<Subject> {
  const kind = PEERS[name];
  const child = spawnNode(new URL(`../peers/${kind.entry}`, import.meta.url), files, { cores });
  const ready = await readyLine(name, child);
  const world = peerWorld(size);
  const roomsOf = Map.groupBy(
    world.rooms.flatMap((room) => room.members.map((member) => ({ member, id: room.id }))),
    (membership) => membership.member,
  );
  const query = (person: Person): string => (roomsOf.get(person.username) ?? []).map(({ id }) => id).join(',');
  return {
    name,
    dialect: kind.dialect,
    host: '127.0.0.1',
    port: Number(ready['port']),
    pid: child.pid ?? 0,
    world,
    socketPath: (person) =>
      kind.dialect === 'plain'
        ? `/v1/ws?rooms=${query(person)}`
        : `/socket.io/?EIO=4&transport=websocket&user=${person.username}&rooms=${query(person)}`,
    stop: async () => void (await endProcess(child, 'SIGTERM', 2)),
  };
}

/** People and rooms of the shapes that `parley seed` makes, so that names and ids take as many bytes. */
function peerWorld(size: WorldSize): World {
  const people = Array.from({ length: size.people }, (_, i): Person => {
    const username = `load-${String(i + 1).padStart(5, '0')}`;
    return { username, token: username, device: makeId('d', 0) };
  });
  const rooms = Array.from({ length: size.rooms }, (_, i): Room => {
    const members = Array.from({ length: size.members }, (_member, k) => people[(i * size.members + k) % size.people]);
    return { id: makeId('c', i), members: members.map((person) => person?.username ?? '') };
  });
  return { people, rooms };
}
