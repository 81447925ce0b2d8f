/** Socket.IO with its rooms: posts arrive over HTTP as for the others, or as an acknowledged emit, as its users do. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from 'socket.io';
import { announce, PeerRooms, roomOfPath } from './events.ts';

const rooms = new PeerRooms();

function post(request: IncomingMessage, response: ServerResponse): void {
  const id = roomOfPath(request.url ?? '');
  if (id === undefined) return;
  const sender = (request.headers.authorization ?? '').slice('Bearer '.length);
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const { message, event } = rooms.get(id).post(sender, body);
    io.to(id).emit('event', JSON.parse(event));
    const length = Buffer.byteLength(message);
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': length }).end(message);
  });
}

const server = createServer(post);
const io = new Server(server, { transports: ['websocket'], serveClient: false, perMessageDeflate: false });

io.on('connection', (socket) => {
  const { user, rooms: joined } = socket.handshake.query;
  const name = String(user);
  void socket.join(
    String(joined)
      .split(',')
      .filter((room) => room !== ''),
  );
  socket.on('post', (id: string, body: string, ack: (seq: number) => void) => {
    const room = rooms.get(id);
    io.to(id).emit('event', JSON.parse(room.post(name, body).event));
    ack(room.head);
  });
  socket.on('receipt', (id: string, seq: number, ack: () => void) => {
    io.to(id).emit('event', JSON.parse(rooms.get(id).receipt(name, seq)));
    ack();
  });
  socket.on('typing', (id: string) => {
    socket.to(id).emit('event', JSON.parse(rooms.get(id).typing(name)));
  });
});
server.listen(0, '127.0.0.1', 4096, () => announce((server.address() as AddressInfo).port));
