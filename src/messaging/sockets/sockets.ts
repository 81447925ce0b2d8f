/**
 * GET /v1/ws: the upgrade, and what a client may say afterwards — two frames, and nothing about who it is.
 */
import { HeldAnswers } from '#src/limits/held-answers.ts';
import type { HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t } from 'uWebSockets.js';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { unixSeconds } from '#src/base/clock.ts';
import { readSocketEnd, type ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { PersonMessage } from '#actors/person/person.ts';
import { clientFrame, type ClientFrame } from '#src/protocol/sockets/frames.ts';
import { encodeEvent } from '#src/protocol/sockets/events.ts';
import { errorBody, Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { FRAME_BYTES_MAX, FRAME_BYTES_READ_MAX } from '#src/protocol/limits.ts';
import { CLOSE_CODES } from '#src/protocol/sockets/close-codes.ts';
import {
  readClientVersion,
  readPlatform,
  SUBPROTOCOL_PREFIX,
  TOKEN_SUBPROTOCOL_PREFIX,
  type Platform,
} from '#src/protocol/version.ts';
import { deviceId } from '#src/protocol/names.ts';
import { upgradeQuery, type SessionClaims } from '#src/protocol/sessions/sessions.ts';
import { readMemberships } from '#storage/conversations/inbox-reader.ts';
import { bearerToken, type Authentication } from '../access/authentication.ts';
import type { VendorTokenWatch } from '../access/vendor-token-watch.ts';
import type { BotEntrance, BotRequest } from '../bots/bot-access.ts';
import type { Service } from '../http/caller.ts';
import { Exchange } from '../http/exchange.ts';
import { readHead } from '../http/request-head.ts';
import { answerHeaders } from '../http/http-surface.ts';
import { parseQuery } from '../http/parsing.ts';
import { countRefusedFrame } from './refused-frames.ts';
import type { Socket, SocketData } from './socket.ts';
import type { SocketHub } from './socket-hub.ts';

export interface SocketsOptions {
  readonly service: Service;
  readonly authentication: Authentication;
  readonly vendorTokens: VendorTokenWatch;
  readonly metrics: ThreadMetrics;
  readonly hub: SocketHub;
  readonly log: Log;
}

/** Sessions are looked at this often; a socket outlives its session by no more. */
const EXPIRY_CHECK_MILLIS = 1_000;

/** Fine enough that no shard opens sockets faster, coarse enough for 69 years of 64 shards in a safe integer. */
const ID_MOMENTS_PER_MILLI = 64;

export class Sockets {
  readonly #options: SocketsOptions;
  readonly #held = new HeldAnswers();
  readonly #check: NodeJS.Timeout;
  #lastMoment = 0;

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
      this.#refusePlain(this.#exchange(res, req, 'websocket'), res);
    });
  }

  #refusePlain(exchange: Exchange, res: HttpResponse): void {
    let visit: BotRequest | undefined;
    let refusal = new Refusal('socket_upgrade_required');
    try {
      visit = this.#options.service.bots.authenticate(tokenOf(exchange, ''), () =>
        entranceOf('bot.request', this.#addressOf(res, exchange)),
      );
      visit?.admit();
    } catch (error) {
      if (error instanceof Refusal && visit !== undefined) refusal = error;
    }
    visit?.refuse(refusal.code);
    exchange.refuse(refusal);
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
    let visit: BotRequest | undefined;
    const address = this.#addressOf(res, exchange);
    try {
      if (exchange.head.isAmbiguous) {
        exchange.closeAfter();
        throw new Refusal('request_malformed');
      }
      const token = tokenOf(exchange, protocols);
      visit = this.#options.service.bots.authenticate(token, () => entranceOf('bot.request', address));
      visit?.admit();
      data = this.#admit(exchange, { protocols, token }, visit && { bot: visit.bot, address });
      visit?.settle(101);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal('internal');
      if (refusal !== error) this.#options.log.error('an upgrade failed', { error });
      visit?.refuse(refusal.code);
      this.#options.metrics.countRefusal(refusal.code, 'upgrade');
      return this.#held.hold(refusal, () => exchange.refuse(refusal));
    }
    const chosen = protocolWith(SUBPROTOCOL_PREFIX, protocols) ?? '';
    return res.cork(() => {
      res.writeStatus('101 Switching Protocols');
      for (const [name, value] of answerHeaders(this.#options.service.config)) res.writeHeader(name, value);
      res.upgrade(data, key, chosen, extensions, context);
    }) as unknown as undefined;
  }

  /** What the socket will carry. @throws Refusal. */
  #admit(
    exchange: Exchange,
    { protocols, token }: { readonly protocols: string; readonly token: string | undefined },
    seat: SocketData['seat'],
  ): SocketData {
    const { service } = this.#options;
    const { head } = exchange;
    const version = statedVersion(head.clientVersion, protocols);
    const tooOld = version < service.config.protocolMin;
    // A page sees no answer to a failed upgrade, only that it failed; it is let in and closed with the code (4426).
    if (tooOld && head.origin === '') throw new Refusal('client_too_old');
    const session = this.#session(token, seat);
    const { device = '' } = parseQuery(upgradeQuery, head.query);
    if (device === '') throw new Refusal('device_required', { field: 'device' });
    if (!deviceId.safeParse(device).success || device !== session.dev) {
      throw new Refusal('device_forbidden', { field: 'device' });
    }
    return {
      id: this.#nextId(),
      user: session.sub,
      device,
      sid: session.sid,
      version,
      platform: this.#platformOf(session.sub, device),
      exp: session.exp,
      refused: 0,
      refusedSince: 0,
      closing: tooOld ? 'clientTooOld' : undefined,
      late: undefined,
      rights: undefined,
      seat,
    };
  }

  /**
   * Ids of one process never meet and rise with the time of the handshake, over all shards and their restarts: by them
   * the later of two sockets is known, in whatever order they are heard of.
   */
  #nextId(): number {
    this.#lastMoment = Math.max(this.#lastMoment + 1, Math.floor(monotonicMillis() * ID_MOMENTS_PER_MILLI));
    const { config, runtime } = this.#options.service;
    return this.#lastMoment * config.shards + runtime.shard;
  }

  /** A bot's token has no end of its own: it is revoked. @throws Refusal as `authenticate` does. */
  #session(token: string | undefined, seat: SocketData['seat']): Pick<SessionClaims, 'sub' | 'dev' | 'sid' | 'exp'> {
    if (seat !== undefined) {
      const { device, id, user } = seat.bot;
      return { sub: user, dev: device, sid: `bot:${id}`, exp: Number.MAX_SAFE_INTEGER };
    }
    const { service, authentication } = this.#options;
    const claims = authentication.authenticate(token, unixSeconds(service.now()));
    service.rates.take('upgrade', claims.sub);
    return claims;
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
    if (data.seat === undefined) data.rights = service.rights.stateOf(data.user);
    const { device, id: socketId } = data;
    this.#tellPerson(data.user, { kind: 'connected', device, shard: service.runtime.shard, socket: socketId });
    return undefined;
  }

  #close(socket: Socket, code: number): void {
    const { hub } = this.#options;
    const data = socket.getUserData();
    if (data.closing === 'clientTooOld') return;
    hub.remove(socket, data.closing ?? readSocketEnd(code));
    data.late = undefined;
    if (data.seat !== undefined) {
      const { bot, address } = data.seat;
      this.#options.service.bots.note(bot, entranceOf('bot.disconnected', address), code);
    }
    this.#tellPerson(data.user, { kind: 'disconnected', device: data.device, socket: data.id });
  }

  #receive(socket: Socket, bytes: ArrayBuffer, isBinary: boolean): void {
    const data = socket.getUserData();
    if (data.closing !== undefined) return;
    const frame = readFrame(bytes, isBinary);
    if (data.seat !== undefined) {
      const refused = this.#judgeBotFrame(socket, data.seat, frame);
      // What a bot may say was not judged yet, so nothing of it is kept for later.
      if (refused === 'rate_limited' && typeof frame !== 'string') return this.#options.metrics.dropped(frame.kind);
      if (refused !== undefined) return this.#refuse(socket, refused);
    }
    if (typeof frame === 'string') return this.#refuse(socket, frame);
    const wait = data.seat === undefined ? this.#options.service.rates.secondsUntil('frame', data.device) : 0;
    if (wait > 0) return this.#drop(data, frame, wait);
    if (frame.kind === 'presence') return this.#tellAwake(data, frame.awake);
    // Whoever takes part hears the conversation, so the subscription is the membership, without a read.
    if (!this.#options.hub.hears(socket, frame.conv)) return this.#refuse(socket, 'conversation_forbidden');
    const { access, runtime } = this.#options.service;
    // Who may not write to the other of two may not show them that they would. It is a hint, and dropped like one.
    if (!access.mayMessageIn(frame.conv, data.user)) return undefined;
    runtime.tell(`conversation:${frame.conv}`, {
      kind: 'typing',
      user: data.user,
      device: data.device,
    } as { kind: 'typing' });
    return undefined;
  }

  /**
   * Lets go of a valid frame that is one too many: no client is at fault that hurries, so nothing is answered and nothing
   * closes. What it said of presence last is told in `seconds`, since it holds until the next word.
   */
  #drop(data: SocketData, frame: ClientFrame, seconds: number): void {
    this.#options.metrics.dropped(frame.kind);
    if (frame.kind !== 'presence') return;
    if (data.late === undefined) {
      setTimeout(() => {
        if (data.late !== undefined) this.#tellAwake(data, data.late);
      }, seconds * 1000).unref();
    }
    data.late = frame.awake;
  }

  #tellAwake(data: SocketData, awake: boolean): void {
    data.late = undefined;
    this.#tellPerson(data.user, { kind: 'awake', device: data.device, socket: data.id, awake });
  }

  /** Why a bot's frame is refused, if it is; into the audit trail either way (CRD-04). */
  #judgeBotFrame(
    socket: Socket,
    { bot, address }: NonNullable<SocketData['seat']>,
    frame: ClientFrame | ErrorCode,
  ): ErrorCode | undefined {
    const isFrame = typeof frame !== 'string';
    const conversation = isFrame && frame.kind === 'typing' ? frame.conv : undefined;
    const visit = this.#options.service.bots.visit(bot, {
      event: 'bot.frame',
      method: '',
      route: isFrame ? frame.kind : '',
      address,
      conversation,
    });
    try {
      visit.admit();
      if (!isFrame) throw new Refusal(frame);
      visit.checkFrame();
      if (conversation !== undefined && !this.#options.hub.hears(socket, conversation)) {
        throw new Refusal('conversation_forbidden');
      }
      visit.settle(0);
      return undefined;
    } catch (error) {
      const code = error instanceof Refusal ? error.code : 'internal';
      visit.refuse(code);
      return code;
    }
  }

  /** Answers a refused frame to its connection alone; too many in a minute end it (SOC-08). */
  #refuse(socket: Socket, code: ErrorCode): void {
    const { metrics, hub, service } = this.#options;
    metrics.countRefusedFrame(code);
    socket.send(encodeEvent({ type: 'error', ts: unixSeconds(service.now()) }, JSON.stringify(errorBody(code))));
    if (countRefusedFrame(socket.getUserData(), monotonicMillis())) hub.close(socket, 'abuse');
  }

  #tellPerson(user: string, message: PersonMessage): void {
    this.#options.service.runtime.tell(`person:${user}`, message);
  }

  #addressOf(res: HttpResponse, { head }: Exchange): string {
    return this.#options.service.addresses.of(res, head);
  }

  #exchange(res: HttpResponse, req: HttpRequest, route: string): Exchange {
    const { metrics, service, vendorTokens } = this.#options;
    const head = readHead(req);
    const protocols = req.getHeader('sec-websocket-protocol');
    const shown = vendorTokens.look(head, () => service.addresses.of(res, head), protocols);
    return new Exchange(res, head, {
      headers: answerHeaders(service.config),
      onAnswer: (status) => {
        metrics.countRequest('messaging', route, status, readClientVersion(head.clientVersion));
        vendorTokens.answered(shown, status);
      },
    });
  }
}

/** The credential of a handshake: the header's, or what a browser can name instead, a subprotocol, or of old a query. */
function tokenOf({ head }: Exchange, protocols: string): string | undefined {
  const named = protocolWith(TOKEN_SUBPROTOCOL_PREFIX, protocols)?.slice(TOKEN_SUBPROTOCOL_PREFIX.length);
  return bearerToken(head.authorization) ?? named ?? new URLSearchParams(head.query).get('token') ?? undefined;
}

/** The first of the subprotocols with that prefix. */
function protocolWith(prefix: string, protocols: string): string | undefined {
  return protocols
    .split(',')
    .map((one) => one.trim())
    .find((one) => one.startsWith(prefix));
}

function entranceOf(event: 'bot.request' | 'bot.disconnected', address: string): BotEntrance {
  return { event, method: event === 'bot.request' ? 'GET' : '', route: '/v1/ws', address };
}

/** The version of a handshake: the header's, or the one in the subprotocol that a browser can name instead. */
function statedVersion(header: string, protocols: string): number {
  if (header !== '') return readClientVersion(header);
  return readClientVersion(protocolWith(SUBPROTOCOL_PREFIX, protocols)?.slice(SUBPROTOCOL_PREFIX.length));
}

/** The frame, or the code it is refused with. */
function readFrame(bytes: ArrayBuffer, isBinary: boolean): ClientFrame | 'frame_too_large' | 'frame_invalid' {
  if (bytes.byteLength > FRAME_BYTES_MAX) return 'frame_too_large';
  if (isBinary) return 'frame_invalid';
  let value: unknown;
  try {
    // Text that is not UTF-8 never gets here: the library ends its connection (RFC 6455, section 8.1).
    value = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return 'frame_invalid';
  }
  return clientFrame.safeParse(value).data ?? 'frame_invalid';
}
