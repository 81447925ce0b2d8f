/**
 * GET /v1/ws: the upgrade, and what a client may say afterwards — two frames, and nothing about who it is.
 */
import type { HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t } from 'uWebSockets.js';
import { isUtf8 } from 'node:buffer';
import { unixSeconds } from '#src/base/clock.ts';
import { readSocketEnd } from '#src/telemetry/thread-figures.ts';
import type { ThreadFigures } from '#src/telemetry/thread-figures.ts';
import type { PersonMessage } from '#actors/person/person.ts';
import { clientFrame, type ClientFrame } from '#src/protocol/frames.ts';
import { encodeEvent } from '#src/protocol/events.ts';
import { errorBody, Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { FRAME_BYTES_MAX, FRAME_BYTES_READ_MAX, REFUSED_FRAMES_PER_MINUTE_MAX } from '#src/protocol/limits.ts';
import { CLOSE_CODES } from '#src/protocol/close-codes.ts';
import { readClientVersion, readPlatform, SUBPROTOCOL_PREFIX, type Platform } from '#src/protocol/version.ts';
import { deviceId } from '#src/protocol/names.ts';
import { readMemberships } from '#storage/inbox-reader.ts';
import { bearerToken, type Authentication } from './authentication.ts';
import type { Service } from './caller.ts';
import { Exchange, readHead } from './exchange.ts';
import { answerHeaders, codeOf } from './http-surface.ts';
import type { Socket, SocketData, SocketHub } from './socket-hub.ts';

export interface SocketsOptions {
  readonly service: Service;
  readonly authentication: Authentication;
  readonly figures: ThreadFigures;
  readonly hub: SocketHub;
}

/** Sessions are looked at this often; a socket outlives its session by no more. */
const EXPIRY_CHECK_MILLIS = 1_000;
const MINUTE_MILLIS = 60_000;

export class Sockets {
  readonly #options: SocketsOptions;
  readonly #check: NodeJS.Timeout;
  // Ids of one process never meet, also not across restarts of a shard: each begins at a place of its own.
  #lastId = Math.floor(Math.random() * 2 ** 40) * 4_096;

  constructor(options: SocketsOptions) {
    this.#options = options;
    this.#check = setInterval(() => options.hub.expire(unixSeconds(options.service.now())), EXPIRY_CHECK_MILLIS);
    this.#check.unref();
  }

  register(app: TemplatedApp): void {
    const { config } = this.#options.service;
    app.ws<SocketData>('/v1/ws', {
      maxPayloadLength: FRAME_BYTES_READ_MAX,
      maxBackpressure: config.socketBufferBytes,
      // The overflow handler closes with the documented code; the library's own way would just cut the connection.
      closeOnBackpressureLimit: false,
      idleTimeout: config.socketIdleSeconds,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => this.#upgrade(res, req, context),
      open: (socket) => this.#open(socket),
      message: (socket, data, isBinary) => this.#receive(socket, data, isBinary),
      dropped: (socket) => this.#options.hub.overflow(socket),
      drain: (socket) => this.#options.hub.drained(socket),
      close: (socket, code) => this.#close(socket, code),
    });
    // Reached when the request asks for no upgrade.
    app.get('/v1/ws', (res, req) => {
      this.#exchange(res, req, 'websocket').refuse(new Refusal('socket_upgrade_required'));
    });
  }

  stop(): void {
    clearInterval(this.#check);
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const key = req.getHeader('sec-websocket-key');
    const protocols = req.getHeader('sec-websocket-protocol');
    const extensions = req.getHeader('sec-websocket-extensions');
    const exchange = this.#exchange(res, req, 'websocket');
    let data: SocketData;
    try {
      data = this.#admit(exchange, protocols);
    } catch (error) {
      this.#options.figures.countRefusal(codeOf(error), 'upgrade');
      return exchange.refuse(error instanceof Refusal ? error : new Refusal('internal'));
    }
    const chosen =
      protocols
        .split(',')
        .find((one) => one.trim().startsWith(SUBPROTOCOL_PREFIX))
        ?.trim() ?? '';
    return res.cork(() => {
      res.writeStatus('101 Switching Protocols');
      for (const [name, value] of answerHeaders(this.#options.service.config)) res.writeHeader(name, value);
      res.upgrade(data, key, chosen, extensions, context);
    }) as unknown as undefined;
  }

  /** What the socket will carry. @throws Refusal. */
  #admit(exchange: Exchange, protocols: string): SocketData {
    const { service, authentication } = this.#options;
    const { head } = exchange;
    const version = statedVersion(head.clientVersion, protocols);
    const tooOld = version < service.config.protocolMin;
    // A page sees no answer to a failed upgrade, only that it failed; it is let in and closed with the code (4426).
    if (tooOld && head.origin === '') throw new Refusal('client_too_old');
    const query = new URLSearchParams(head.query);
    const session = authentication.authenticate(
      bearerToken(head.authorization) ?? query.get('token') ?? undefined,
      unixSeconds(service.now()),
    );
    const device = query.get('device');
    if (device === null || device === '') throw new Refusal('device_required', { field: 'device' });
    if (!deviceId.safeParse(device).success || device !== session.dev) {
      throw new Refusal('device_forbidden', { field: 'device' });
    }
    this.#lastId += 1;
    return {
      id: this.#lastId,
      user: session.sub,
      device,
      sid: session.sid,
      version,
      platform: this.#platformOf(session.sub, device),
      exp: session.exp,
      refused: 0,
      refusedSince: 0,
      closing: tooOld ? 'clientTooOld' : undefined,
    };
  }

  #platformOf(user: string, device: string): Platform {
    const found = this.#options.service.accounts.devices(user).find((one) => one.id === device);
    return readPlatform(found?.platform);
  }

  #open(socket: Socket): void {
    const { hub, service } = this.#options;
    const data = socket.getUserData();
    if (data.closing === 'clientTooOld') return socket.end(CLOSE_CODES.clientTooOld, 'clientTooOld');
    hub.add(socket, () => {
      for (const environment of service.lanes.environments) environment.refresh();
      return readMemberships(service.lanes.environments, data.user);
    });
    const { device, id: socketId } = data;
    this.#tellPerson(data.user, { kind: 'connected', device, shard: service.node.shard, socket: socketId });
    return undefined;
  }

  #close(socket: Socket, code: number): void {
    const { hub } = this.#options;
    const data = socket.getUserData();
    if (data.closing === 'clientTooOld') return;
    hub.remove(socket, data.closing ?? readSocketEnd(code));
    this.#tellPerson(data.user, { kind: 'disconnected', device: data.device, socket: data.id });
  }

  #receive(socket: Socket, bytes: ArrayBuffer, isBinary: boolean): void {
    const data = socket.getUserData();
    if (data.closing !== undefined) return;
    let frame: ClientFrame;
    try {
      frame = readFrame(bytes, isBinary);
    } catch (error) {
      return this.#refuse(socket, codeOf(error));
    }
    if (frame.kind === 'presence') {
      return this.#tellPerson(data.user, {
        kind: 'awake',
        device: data.device,
        socket: data.id,
        awake: frame.awake,
      });
    }
    // Whoever takes part hears the conversation, so the subscription is the membership, without a read.
    if (!socket.isSubscribed(frame.conv)) return this.#refuse(socket, 'conversation_forbidden');
    this.#options.service.node.tell(`conversation:${frame.conv}`, {
      kind: 'typing',
      user: data.user,
      device: data.device,
    } as { kind: 'typing' });
    return undefined;
  }

  /** Answers a refused frame to its connection alone; too many in a minute end it (SOC-08). */
  #refuse(socket: Socket, code: ErrorCode): void {
    const { figures, hub, service } = this.#options;
    const data = socket.getUserData();
    const now = service.now();
    figures.countRefusedFrame(code);
    if (Math.abs(now - data.refusedSince) >= MINUTE_MILLIS) {
      data.refused = 0;
      data.refusedSince = now;
    }
    data.refused += 1;
    socket.send(encodeEvent({ type: 'error', ts: unixSeconds(now) }, JSON.stringify(errorBody(code))));
    if (data.refused > REFUSED_FRAMES_PER_MINUTE_MAX) hub.close(socket, 'abuse');
  }

  #tellPerson(user: string, message: PersonMessage): void {
    this.#options.service.node.tell(`person:${user}`, message);
  }

  #exchange(res: HttpResponse, req: HttpRequest, route: string): Exchange {
    const { figures, service } = this.#options;
    const head = readHead(req);
    return new Exchange(res, head, {
      headers: answerHeaders(service.config),
      onAnswer: (status) => figures.countRequest('messaging', route, status, readClientVersion(head.clientVersion)),
    });
  }
}

/** The version of a handshake: the header's, or the one in the subprotocol that a browser can name instead. */
function statedVersion(header: string, protocols: string): number {
  if (header !== '') return readClientVersion(header);
  const named = protocols.split(',').find((one) => one.trim().startsWith(SUBPROTOCOL_PREFIX));
  return readClientVersion(named?.trim().slice(SUBPROTOCOL_PREFIX.length));
}

/** @throws Refusal frame_too_large, frame_invalid. */
function readFrame(bytes: ArrayBuffer, isBinary: boolean): ClientFrame {
  if (bytes.byteLength > FRAME_BYTES_MAX) throw new Refusal('frame_too_large');
  const buffer = Buffer.from(bytes);
  if (isBinary || !isUtf8(buffer)) throw new Refusal('frame_invalid');
  let value: unknown;
  try {
    value = JSON.parse(buffer.toString('utf8'));
  } catch {
    throw new Refusal('frame_invalid');
  }
  const parsed = clientFrame.safeParse(value);
  if (!parsed.success) throw new Refusal('frame_invalid');
  return parsed.data;
}
