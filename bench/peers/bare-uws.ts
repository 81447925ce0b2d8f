/**
 * The floor: a bare uWebSockets.js app. Answers a post after parsing it and storing nothing, and publishes it to the
 * room's sockets; answers a read with as many bytes as its path asks for. With the files of a certificate and its key as
 * arguments it speaks TLS.
 */
import { App, SSLApp, us_socket_local_port, type HttpRequest, type HttpResponse } from 'uWebSockets.js';
import { announce, PeerRooms, roomOfPath } from './events.ts';

interface PeerSocket {
  rooms: string[];
}

/** The same as Parley's defaults, so that both ping as often and hold as much back. */
const IDLE_SECONDS = 50;
const BACKPRESSURE_BYTES = 1024 * 1024;

const rooms = new PeerRooms();
const canned = new Map<number, string>();
const [certificateFile, keyFile] = process.argv.slice(2);
const app =
  certificateFile === undefined || keyFile === undefined
    ? App()
    : SSLApp({ cert_file_name: certificateFile, key_file_name: keyFile });

app.ws<PeerSocket>('/v1/ws', {
  idleTimeout: IDLE_SECONDS,
  maxBackpressure: BACKPRESSURE_BYTES,
  closeOnBackpressureLimit: true,
  upgrade: (res, req, context) => {
    const joined = (req.getQuery('rooms') ?? '').split(',').filter((room) => room !== '');
    const key = req.getHeader('sec-websocket-key');
    res.upgrade({ rooms: joined }, key, req.getHeader('sec-websocket-protocol'), '', context);
  },
  open: (socket) => {
    for (const room of socket.getUserData().rooms) socket.subscribe(room);
  },
});

app.post('/*', (res: HttpResponse, req: HttpRequest) => {
  const id = roomOfPath(req.getUrl());
  const sender = req.getHeader('authorization').slice('Bearer '.length);
  let body = '';
  res.onAborted(() => undefined);
  res.onData((chunk, isLast) => {
    body += Buffer.from(chunk).toString();
    if (!isLast) return;
    if (id === undefined) {
      res.cork(() => res.writeStatus('404 Not Found').end('{}'));
      return;
    }
    const { message, event } = rooms.get(id).post(sender, body);
    app.publish(id, event);
    res.cork(() => res.writeStatus('201 Created').writeHeader('Content-Type', 'application/json').end(message));
  });
});

app.get('/canned/:bytes', (res, req) => {
  const bytes = Number(req.getParameter(0));
  let text = canned.get(bytes);
  if (text === undefined) canned.set(bytes, (text = 'x'.repeat(bytes)));
  res.writeHeader('Content-Type', 'application/json').end(text);
});

app.listen('127.0.0.1', 0, (listening) => {
  if (listening === false) throw new Error('no free port on 127.0.0.1');
  announce(us_socket_local_port(listening));
});
