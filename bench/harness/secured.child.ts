/** The generator of `secured.ts`. Whom it talks to is not looked at: that would be the generator's work, not the server's. */
import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { WebSocket } from 'ws';
import { answerAsks } from './child.ts';
import { within } from './deadline.ts';
import type { Done, FramesOrder, RequestsOrder, SecuredTarget } from './secured.ts';

/** A connection, answer or frame that takes longer is lost. */
const LOST_SECONDS = 20;

async function open({ host, isTls, port }: SecuredTarget): Promise<Socket> {
  const socket = isTls ? connectTls({ host, port, rejectUnauthorized: false }) : connectPlain({ host, port });
  await within('a connection', LOST_SECONDS, once(socket, isTls ? 'secureConnect' : 'connect'));
  return socket.setNoDelay(true);
}

/** Does it over and over, so many at once, until the time is over. */
async function repeat(lanes: number, seconds: number, once_: (lane: number) => Promise<void>): Promise<Done> {
  const began = performance.now();
  let count = 0;
  const work = Array.from({ length: lanes }, async (_, lane) => {
    while (performance.now() - began < seconds * 1000) {
      // oxlint-disable-next-line no-await-in-loop -- One after the other is what is measured.
      await once_(lane);
      count += 1;
    }
  });
  await Promise.all(work);
  return { count, seconds: (performance.now() - began) / 1000 };
}

async function connects(order: SecuredTarget & Pick<RequestsOrder, 'connections' | 'seconds'>): Promise<Done> {
  return await repeat(order.connections, order.seconds, async () => void (await open(order)).destroy());
}

/** Sends a request and reads its answer, which has a length; answers the status. */
async function ask(socket: Socket, text: string): Promise<number> {
  const { promise, reject, resolve } = Promise.withResolvers<number>();
  let answer = '';
  const read = (chunk: Buffer) => {
    answer += chunk.toString('latin1');
    const head = answer.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1];
    if (head !== -1 && answer.length >= head + 4 + Number(length ?? 0)) resolve(Number(answer.slice(9, 12)));
  };
  const lost = () => reject(new Error('the connection was closed'));
  socket.on('data', read).once('close', lost);
  socket.write(text);
  try {
    return await within('an answer', LOST_SECONDS, promise);
  } finally {
    socket.off('data', read).off('close', lost);
  }
}

async function requests(order: RequestsOrder): Promise<Done> {
  const { connections, host, path, port, seconds, token } = order;
  const sockets = await Promise.all(Array.from({ length: connections }, async () => await open(order)));
  const text = `GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  try {
    return await repeat(connections, seconds, async (lane) => {
      const status = await ask(sockets[lane] as Socket, text);
      if (status !== 200) throw new Error(`${path} was answered ${status}`);
    });
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

async function frames(order: FramesOrder): Promise<Done> {
  const { host, isTls, port, postPath, posts, socketPaths, token } = order;
  const url = `${isTls ? 'wss' : 'ws'}://${host}:${port}`;
  let left = 0;
  let done: () => void = () => undefined;
  const sockets = socketPaths.map((path) => new WebSocket(`${url}${path}`, { rejectUnauthorized: false }));
  for (const socket of sockets) {
    socket.on('message', (data: Buffer) => {
      if (!data.subarray(0, 40).includes('message.new')) return;
      left -= 1;
      if (left === 0) done();
    });
  }
  await within('the sockets', LOST_SECONDS, Promise.all(sockets.map(async (socket) => await once(socket, 'open'))));
  const poster = await open(order);
  const began = performance.now();
  try {
    for (let post = 0; post < posts; post += 1) {
      const { promise, resolve } = Promise.withResolvers<void>();
      [left, done] = [sockets.length, resolve];
      const body = JSON.stringify({ kind: 'text', body: 'one of the posts', client_msg_id: `${began}-${post}` });
      const head = `Host: ${host}:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json`;
      const text = `POST ${postPath} HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      // oxlint-disable-next-line no-await-in-loop -- The next when every socket has the last.
      const status = await ask(poster, text);
      if (status !== 201) throw new Error(`a post was answered ${status}`);
      // oxlint-disable-next-line no-await-in-loop -- The same.
      await within('a frame', LOST_SECONDS, promise);
    }
    return { count: posts * sockets.length, seconds: (performance.now() - began) / 1000 };
  } finally {
    poster.destroy();
    for (const socket of sockets) socket.terminate();
  }
}

answerAsks({ connects, requests, frames });
