/** Sockets by a name that several may share: a person, a session, a device, a conversation. */
import type { Socket } from './socket.ts';

export function addTo(map: Map<string, Set<Socket>>, name: string, socket: Socket): void {
  const sockets = map.get(name);
  if (sockets === undefined) map.set(name, new Set([socket]));
  else sockets.add(socket);
}

/** A name that nobody has any more goes, too. */
export function removeFrom(map: Map<string, Set<Socket>>, name: string, socket: Socket): void {
  const sockets = map.get(name);
  sockets?.delete(socket);
  if (sockets?.size === 0) map.delete(name);
}
