/** Actors on a real lane without threads or sockets: what they answer, and everything they say, in order. */
import { existsSync, writeFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { makeConversationActor } from '#actors/conversation/conversation.ts';
import type { ConversationMessage, Reply } from '#actors/conversation/conversation.messages.ts';
import type { Address, Answer, AnyActor, Effect, Tell } from '#actors/runtime/actor.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { ActorSystem, type Outlet } from '#actors/runtime/system.ts';
import { formatInstant } from '#src/base/time.ts';
import { folderPaths, lanePath, openFolder } from '#storage/engine/folder.ts';
import { Lane } from '#storage/engine/lane.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { HeldEnvironment } from './held-environment.ts';

export const EPOCH = 'ep_test';
/** 2026-11-21T08:00:00Z. */
export const NOW = Date.UTC(2026, 10, 21, 8);

/** What an actor said to the outside. */
export type Said = Exclude<Effect, { kind: 'append' | 'answer' | 'refuse' | 'hold' | 'answerHeld' | 'wake' }>;

export interface Reported {
  readonly what: 'restarted' | 'quarantined' | 'dropped' | 'storageFailed';
  readonly detail: string;
}

export interface HostOptions {
  /** Actors beside the conversation's. */
  readonly actors?: readonly AnyActor[];
  /** A data folder, made with one lane when it is empty. A new one by default. */
  readonly folder?: string;
}

export class ActorHost {
  readonly folder: string;
  readonly environment: HeldEnvironment;
  readonly lane: Lane;
  readonly system: ActorSystem;
  readonly said: Said[] = [];
  readonly reports: Reported[] = [];
  /** The clock that actors see, in milliseconds. */
  now = NOW;

  constructor(folder: string, actors: readonly AnyActor[]) {
    this.folder = folder;
    openFolder(folder, 1, formatInstant(NOW));
    // As a start leaves it that is cut short: there is a lane, and nothing else has to be there.
    const { stores } = folderPaths(folder);
    if (!existsSync(stores)) writeFileSync(stores, JSON.stringify({ installation: 'of the tests', stores: [] }));
    this.environment = new HeldEnvironment(lanePath(folder, 0));
    this.lane = new Lane(0, this.environment, () => undefined);
    const report = (what: Reported['what'], detail: string) => void this.reports.push({ what, detail });
    this.system = new ActorSystem({
      actors: [makeConversationActor({ epoch: EPOCH, lane: () => this.lane, search: true }), ...actors],
      now: () => this.now,
      report: {
        restarted: (_actor, _address, error) => report('restarted', error.message),
        quarantined: (_actor, address) => report('quarantined', address),
        dropped: (_actor, kind) => report('dropped', kind),
        storageFailed: (_address, error) => report('storageFailed', error.message),
      },
    });
    const say = (effect: Said) => void this.said.push(effect);
    const outlet: Outlet = {
      publish: say,
      publishTo: say,
      membership: say,
      disband: (conversation) => say({ kind: 'disband', conversation }),
      displace: say,
      tell: (to, message) => say({ kind: 'tell', to, message }),
      push: (delivery) => say({ kind: 'push', delivery }),
    };
    this.system.connect(outlet);
  }

  get tables() {
    return this.environment.tables;
  }

  /** The events published to a topic so far, parsed. */
  events(topic: string): Record<string, unknown>[] {
    return this.said.flatMap((said) =>
      said.kind === 'publish' && said.topic === topic ? [JSON.parse(said.event) as Record<string, unknown>] : [],
    );
  }

  async ask(to: Address, message: Tell, more: { due?: number; cancelled?: boolean } = {}): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const { due = monotonicMillis() + 30_000, cancelled = false } = more;
    this.system.deliver(to, message, { due, cancelled, settle: resolve });
    return await promise;
  }

  async converse(id: string, message: ConversationMessage): Promise<Answer> {
    return await this.ask(`conversation:${id}`, message);
  }

  /** The answer's JSON; fails with the code of a refusal. */
  async reply(id: string, message: ConversationMessage): Promise<{ status: number; body: Record<string, unknown> }> {
    const answer = await this.converse(id, message);
    if (!answer.ok) throw new Error(`${message.kind} was refused: ${answer.code}`);
    const { status, json } = answer.value as Reply;
    return { status, body: json === '' ? {} : (JSON.parse(json) as Record<string, unknown>) };
  }

  /** Writes out what waits and closes the lane; `checkFolder` can look then. */
  async close(): Promise<void> {
    this.system.stop();
    await this.lane.settle();
    await this.environment.close();
  }
}

/** A host that is closed when the test ends, or before. */
export function openHost(t: TestContext, options: HostOptions = {}): ActorHost {
  const host = new ActorHost(options.folder ?? temporaryFolder(t), options.actors ?? []);
  t.after(async () => await host.close().catch(() => undefined));
  return host;
}

/** A room of `alice`, who owns it, with `others` as members. */
export async function makeRoom(host: ActorHost, id: string, others: readonly string[] = []): Promise<void> {
  await host.reply(id, {
    kind: 'create',
    conversation: 'room',
    title: 'Room',
    participants: others,
    user: 'alice',
    device: 'd_a',
  });
}

export function post(user: string, body: string, clientMsgId?: string): ConversationMessage {
  const form = { kind: 'text' as const, body, ...(clientMsgId === undefined ? {} : { client_msg_id: clientMsgId }) };
  return { kind: 'post', form, user, device: `d_${user}` };
}
