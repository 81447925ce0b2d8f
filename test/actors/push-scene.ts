/** A person's pushes on real actors and a real lane, without threads, sockets or providers. */
import type { TestContext } from 'node:test';
import { Attention } from '#actors/person/attention.ts';
import { makePushActor } from '#actors/push/push.ts';
import type { PushMessage, PushOutcome } from '#actors/push/push.messages.ts';
import { PushReader } from '#actors/push/push-reader.ts';
import { nameOf, PushRegistry } from '#actors/push/push-registry.ts';
import type { AnyActor, PushDelivery } from '#actors/runtime/actor.ts';
import { post, openHost, NOW, type ActorHost } from './actor-host.ts';

export const ROOM = 'c_0000000000000000000001';
/** In milliseconds; the timers behind it are real, the clock is the test's. */
export const REDECIDE_MILLIS = 20;

export interface PushScene {
  readonly host: ActorHost;
  readonly attention: Attention;
  readonly registry: PushRegistry;
  /** Reason or kind → how many. */
  readonly counted: Map<string, number>;
  /** Pairs `from to` whom the policies keep apart. */
  readonly forbidden: Set<string>;
  /** Devices of bob that are connected, and whether they are awake. */
  readonly devices: Map<string, { awake: boolean }>;
  register(device: string, token?: string): Promise<void>;
  push(message: PushMessage): Promise<void>;
  /** Posts as a person and has bob's pushes decided, as the watch does. Answers the seq. */
  post(user: string, text: string): Promise<number>;
  /** What was handed to the provider since the last look. */
  pushed(): PushDelivery[];
  settle(delivery: PushDelivery, outcome: PushOutcome): Promise<void>;
}

/** Alice's room with bob, carol and guests of theirs, and bob's push actor. On a folder that was used before, if one is named. */
export async function openScene(t: TestContext, folder?: string): Promise<PushScene> {
  const attention = new Attention();
  const registry = new PushRegistry();
  const counted = new Map<string, number>();
  const forbidden = new Set<string>();
  const add = (name: string, count: number) => void counted.set(name, (counted.get(name) ?? 0) + count);
  const reader = new PushReader({
    get environments() {
      return [host.environment];
    },
    laneOf: () => host.environment,
  });
  const actor: AnyActor = makePushActor({
    levelAt: () => 'all',
    watchedBy: () => [],
    lane: () => host.lane,
    reader,
    registry,
    attention,
    counts: { due: (kind, count) => add(`due ${kind}`, count), dropped: add },
    reaches: (action, from, to) => !forbidden.has(`${action} ${from} ${to}`),
    redecideMillis: REDECIDE_MILLIS,
  });
  const host: ActorHost = openHost(t, { actors: [actor], ...(folder === undefined ? {} : { folder }) });
  const devices = new Map<string, { awake: boolean }>();
  attention.follow('bob', { announced: 'away', devices: new Map([['d_none', { awake: false }]]) });
  let seen = 0;
  const scene: PushScene = {
    host,
    attention,
    registry,
    counted,
    forbidden,
    devices,
    register: (device, token = '0'.repeat(63) + device.slice(-1)) =>
      scene.push({
        kind: 'register',
        registration: {
          device,
          sid: `s_${device}`,
          until: NOW / 1000 + 86_400,
          at: host.now,
          address: { provider: 'apns', token },
        },
      }),
    async push(message) {
      attention.follow('bob', { announced: 'online', devices });
      const answer = await host.ask('push:bob', message);
      if (!answer.ok) throw new Error(`${message.kind} was refused: ${answer.code}`);
    },
    async post(user, text) {
      const { body } = await host.reply(ROOM, post(user, text));
      const seq = body['seq'] as number;
      reader.refresh();
      await scene.push({ kind: 'decide', conversation: ROOM, from: seq });
      return seq;
    },
    pushed() {
      const all = host.said.flatMap((said) => (said.kind === 'push' ? [said.delivery] : []));
      const fresh = all.slice(seen);
      seen = all.length;
      return fresh;
    },
    async settle({ address, device, kind, seq, subject }, outcome) {
      const row = { device, kind, seq, subject };
      await scene.push({ kind: 'settled', row, address: nameOf(address), outcome });
    },
  };
  return scene;
}
