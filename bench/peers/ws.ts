/** What most Node servers do: the `ws` library, and a loop over the room's sockets. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { announce, PeerRooms, roomOfPath } from './events.ts';

const rooms = new PeerRooms();
const members = new Map<string, Set<WebSocket>>();

function post(request: IncomingMessage, response: ServerResponse): void {
  const id = roomOfPath(request.url ?? '');
  const sender = (request.headers.authorization ?? '').slice('Bearer '.length);
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    if (id === undefined) {
      response.writeHead(404, { 'content-length': 2 }).end('{}');
      return;
    }
    const { message, event } = rooms.get(id).post(sender, body);
    const bytes = Buffer.from(event);
    for (const socket of members.get(id) ?? []) socket.send(bytes, { binary: false });
    const length = Buffer.byteLength(message);
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': length }).end(message);
  });
}

const server = createServer(post);
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on('connection', (socket, request) => {
  const query = new URL(request.url ?? '', 'http://peer').searchParams;
  for (const room of (query.get('rooms') ?? '').split(',')) {
    const joined = members.get(room) ?? new Set();
    members.set(room, joined.add(socket));
    socket.on('close', () => joined.delete(socket));
  }
});
server.listen(0, '127.0.0.1', 4096, () => announce((server.address() as AddressInfo).port));
