/**
 * The person actor: which of a person's devices are connected, where, and whether anyone is awake behind them.
 *
 * It is the one place that sees all of a person's sockets, so it decides which socket of a device stays (SOC-02) and
 * what the person's presence is over all devices (FRM-03). It stores nothing: sockets say again who they are when a
 * shard comes back.
 */
import { unixSeconds } from '#src/base/clock.ts';
import { encodeEvent, type PresenceState } from '#src/protocol/sockets/events.ts';
import { unreachable, type Actor, type Address, type Effect, type Tell } from '../runtime/actor.ts';
import type { Attention } from './attention.ts';
import type { PresenceBudget } from './presence-budget.ts';

export type PersonMessage =
  /** `socket` rises with the time of the handshake. */
  | { readonly kind: 'connected'; readonly device: string; readonly shard: number; readonly socket: number }
  | { readonly kind: 'disconnected'; readonly device: string; readonly socket: number }
  | { readonly kind: 'awake'; readonly device: string; readonly socket: number; readonly awake: boolean }
  | { readonly kind: 'shardLost'; readonly shard: number }
  /** A call wants to know whether a device in it is still there. */
  | { readonly kind: 'locate'; readonly device: string; readonly call: string; readonly replyTo: Address }
  | { readonly kind: 'announce' };

interface Connection {
  readonly shard: number;
  readonly socket: number;
  awake: boolean;
}

export interface PersonState {
  readonly user: string;
  readonly devices: Map<string, Connection>;
  announced: PresenceState;
  announcing: boolean;
}

/** A person has a handful of devices; what waits here beyond this is a fault. Tells are dropped and counted. */
const PERSON_MAILBOX_MAX = 1_000;

/**
 * Presence is told this long after it changed, and only if it is still different: a reconnect shows nobody a flicker,
 * and somebody who flaps costs one event per interval.
 */
export const PRESENCE_DELAY_MILLIS = 2_000;

/** Whom a change of presence is told. */
export interface Audience {
  readonly people: readonly string[];
  /** Rooms too large to tell each of their people of each of the others. */
  readonly rooms: readonly string[];
}

export interface Announcement {
  readonly user: string;
  readonly state: PresenceState;
  readonly rooms: readonly string[];
}

export interface PersonOptions {
  /** Who is told of this person's presence: people who share a small conversation, and large rooms. */
  readonly audience: (user: string) => Audience;
  /** Hears what is announced, for the large rooms. */
  readonly announced?: (change: Announcement) => void;
  /** What the shard may tell of presence. */
  readonly budget: PresenceBudget;
  /** Where it is shown whether the person has an app open before them. */
  readonly attention?: Attention;
  /** Whether pushes reach the person, so that somebody has to hear when their last awake socket is gone. */
  readonly hasPushes?: (user: string) => boolean;
}

export function makePersonActor(options: PersonOptions): Actor<PersonState, PersonMessage> {
  return {
    name: 'person',
    mailboxMax: PERSON_MAILBOX_MAX,
    start: (user) => follow({ user, devices: new Map(), announced: 'offline', announcing: false }, options),
    receive: (state, message, now) => {
      const wasOnline = effective(state) === 'online';
      const effects = receive(state, message, now, options);
      follow(state, options);
      const isLost = wasOnline && (message.kind === 'disconnected' || message.kind === 'shardLost');
      if (!isLost || effective(state) === 'online' || options.hasPushes?.(state.user) !== true) return effects;
      // What was sent to a socket that was dead already counted as delivered: it is to be looked at again.
      const lost = { kind: 'attentionLost', at: now } as Tell;
      return [...effects, { kind: 'tell', to: `push:${state.user}`, message: lost }];
    },
    isIdle: (state) => state.devices.size === 0 && !state.announcing,
    inspect: (state) => ({ devices: state.devices.size, presence: effective(state) }),
  };
}

function follow(state: PersonState, { attention }: PersonOptions): PersonState {
  attention?.follow(state.user, state);
  return state;
}

function receive(state: PersonState, message: PersonMessage, now: number, options: PersonOptions): readonly Effect[] {
  switch (message.kind) {
    case 'connected': {
      const { device, shard, socket } = message;
      const old = state.devices.get(device);
      if (old?.shard === shard && old.socket === socket) return [];
      // Two shards may tell of their handshakes in either order; the later handshake is the one that stays (SOC-02).
      if (old !== undefined && old.socket > socket) return [{ kind: 'displace', device, shard, socket }];
      state.devices.set(device, { shard, socket, awake: true });
      const displaced: Effect[] = old === undefined ? [] : [{ kind: 'displace', device, ...old }];
      return [...displaced, ...soon(state)];
    }
    case 'disconnected':
      if (state.devices.get(message.device)?.socket !== message.socket) return [];
      state.devices.delete(message.device);
      return soon(state);
    case 'awake': {
      const connection = state.devices.get(message.device);
      if (connection?.socket !== message.socket) return [];
      connection.awake = message.awake;
      return soon(state);
    }
    case 'shardLost':
      for (const [device, connection] of state.devices) {
        if (connection.shard === message.shard) state.devices.delete(device);
      }
      return soon(state);
    case 'locate': {
      const { call, device, replyTo } = message;
      const located = { kind: 'located', call, device, user: state.user, connected: state.devices.has(device) };
      return [{ kind: 'tell', to: replyTo, message: located }];
    }
    case 'announce':
      return announce(state, now, options);
    default:
      return unreachable(message);
  }
}

/** Online while any device is awake, away while any is connected, offline otherwise. */
export function effective(state: PersonState): PresenceState {
  if (state.devices.size === 0) return 'offline';
  return [...state.devices.values()].some((connection) => connection.awake) ? 'online' : 'away';
}

function soon(state: PersonState): Effect[] {
  if (state.announcing || effective(state) === state.announced) return [];
  state.announcing = true;
  return [{ kind: 'wake', after: PRESENCE_DELAY_MILLIS, message: { kind: 'announce' } }];
}

function announce(state: PersonState, now: number, { announced, audience, budget }: PersonOptions): readonly Effect[] {
  state.announcing = false;
  const presence = effective(state);
  if (presence === state.announced) return [];
  if (!budget.isOpen(now)) return soon(state);
  state.announced = presence;
  const data = JSON.stringify({ user: state.user, state: presence });
  const event = encodeEvent({ type: 'presence', ts: unixSeconds(now) }, data);
  const { people, rooms } = audience(state.user);
  budget.spend(people.length);
  announced?.({ user: state.user, state: presence, rooms });
  return [{ kind: 'publishTo', users: people, type: 'presence', event }];
}
