/**
 * Where pushes begin on a shard: it hears of every conversation that something was posted to, and every little while
 * has decided what that means for those of this shard's people whom pushes reach and who are not awake.
 *
 *     published ─► noted, once per conversation ─► round ─► audience, without those awake ─► push actors
 *                                                    └─ all of them answered ─► "decided up to" moves on
 *
 * A post costs a look into a map here, whatever it reaches. Nothing of it is stored but the time up to which all was
 * decided, at most once a second.
 */
import type { Address, Answer, Tell } from '../runtime/actor.ts';
import type { CallDetail } from '#storage/conversations/push-records.ts';
import { readConversation, readMember, type Tables } from '#storage/conversations/conversation-reader.ts';
import { readMemberships } from '#storage/conversations/inbox-reader.ts';
import { lastPart, under } from '#storage/engine/keys.ts';
import type { LaneEnvironment } from '#storage/engine/lane.ts';
import { conversationRecord } from '#storage/engine/records.ts';
import type { Attention } from '../person/attention.ts';
import type { PushMessage } from './push.messages.ts';
import type { PushReader } from './push-reader.ts';
import type { PushRegistry } from './push-registry.ts';

/** What was posted within this time is decided together. Nobody notices 50 ms on a push. */
export const ROUND_MILLIS = 50;
/** Conversations whose audience is kept. Beyond it the one that was asked for longest ago goes, and is read again. */
export const AUDIENCES_MAX = 10_000;
/** A decision that was refused, since an actor had too much to do, is asked for again after this time. */
const AGAIN_MILLIS = 1_000;
/** Conversations looked at in one step of a recovery, so that sockets are served in between. */
const RECOVERY_STEP = 500;
/** Clocks of messages and of rounds are read at different moments. */
const CLOCK_MILLIS = 1_000;

export interface PushWatchOptions {
  readonly registry: PushRegistry;
  readonly attention: Attention;
  readonly reader: PushReader;
  readonly environments: readonly LaneEnvironment[];
  readonly laneOf: (conversation: string) => LaneEnvironment;
  readonly now: () => number;
  /** Asks a push actor of this shard. */
  readonly ask: (to: Address, message: Tell, settle: (answer: Answer) => void) => void;
  /** A conversation could not be read; the others are decided all the same. */
  readonly failed: (conversation: string, error: unknown) => void;
}

/** What was noted of a conversation: the first new seq or, after a restart, the time from which on it is looked at. */
type Note = Pick<Extract<PushMessage, { kind: 'decide' }>, 'from' | 'since'>;

interface Round {
  /** What was published before is in this round or an earlier one. */
  readonly at: number;
  open: number;
}

export class PushWatch {
  readonly #options: PushWatchOptions;
  readonly #noted = new Map<string, Note>();
  readonly #audiences = new Map<string, Set<string>>();
  readonly #rounds: Round[] = [];
  /** From when on something may be undecided, in milliseconds since 1970: one for each recovery that is still to come. */
  readonly #gaps = new Set<{ readonly since: number }>();
  #decidedUpTo: number;
  #timer: NodeJS.Timeout | undefined;
  #lastPostAt = 0;
  #isStopped = false;

  constructor(options: PushWatchOptions) {
    this.#options = options;
    this.#decidedUpTo = options.now();
    options.registry.onAdded((user) => this.#added(user));
  }

  /** A message is on disk and goes out: `event` is its event as it is published. */
  posted(conversation: string, event: string): void {
    if (this.#options.registry.size === 0 || this.#noted.has(conversation)) return;
    // The cursor moves on with the decision: what may be undecided before this message is decided with it, or never.
    this.#note(conversation, this.#gapNote ?? { from: seqOf(event) });
  }

  /** A stanza of signalling goes out: invites of calls ring by push, too, and what ends them ends that. */
  signalled(topic: string | undefined, users: readonly string[] | undefined, event: string): void {
    if (this.#options.registry.size === 0) return;
    const signal = readCallStep(event);
    if (signal === undefined) return;
    const reached = users ?? (topic === undefined ? [] : this.#audience(topic));
    for (const user of reached) {
      if (user === signal.host || !this.#options.registry.has(user)) continue;
      const message: PushMessage =
        signal.step === 'invite' ? { kind: 'ring', call: signal } : { kind: 'hush', call: signal.call };
      this.#options.ask(`push:${user}`, message, () => undefined);
    }
  }

  /** People came to a conversation, or left it. */
  membership(conversation: string, users: readonly string[], joined: boolean): void {
    const audience = this.#audiences.get(conversation);
    for (const user of audience === undefined ? [] : users) {
      if (joined && this.#options.registry.has(user)) audience?.add(user);
      else audience?.delete(user);
    }
  }

  disbanded(conversation: string): void {
    this.#audiences.delete(conversation);
  }

  /** Pushes reach this person from now on. */
  #added(user: string): void {
    this.#options.reader.refresh();
    for (const conversation of readMemberships(this.#options.environments, user)) {
      this.#audiences.get(conversation)?.add(user);
    }
  }

  /** Up to when everything posted is decided and on disk, in milliseconds since 1970. */
  get decidedUpTo(): number {
    while (this.#rounds[0]?.open === 0) this.#decidedUpTo = (this.#rounds.shift() as Round).at;
    if (this.#rounds.length === 0 && this.#noted.size === 0) this.#decidedUpTo = this.#options.now() - CLOCK_MILLIS;
    return this.#decidedUpTo;
  }

  /** When something was last to be decided, in milliseconds since 1970. */
  get lastPostAt(): number {
    return this.#lastPostAt;
  }

  /**
   * Something posted at or after `since` may be undecided, and is to be looked for later: answers the recovery. Until it
   * has run, whatever is posted to a conversation has that decided along with it.
   */
  expectRecovery(since: number): () => Promise<void> {
    const gap = { since };
    this.#gaps.add(gap);
    const note = this.#gapNote;
    if (note !== undefined) for (const conversation of this.#noted.keys()) this.#noted.set(conversation, note);
    return async () => {
      await this.recover(since);
      this.#gaps.delete(gap);
    };
  }

  /** Has decided what was posted at or after `since`, as if all sockets had just been lost: they were. */
  async recover(since: number): Promise<void> {
    const { environments } = this.#options;
    const round: Round = { at: this.#options.now() - CLOCK_MILLIS, open: 1 };
    this.#decidedUpTo = Math.min(this.decidedUpTo, since);
    this.#rounds.unshift(round);
    for (const { tables } of environments) {
      let start: Buffer | undefined = Buffer.of(0);
      while (start !== undefined && !this.#isStopped) {
        start = this.#recoverStep(tables, start, since, round);
        await new Promise(setImmediate);
      }
    }
    round.open -= 1;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  get #gapNote(): Note | undefined {
    if (this.#gaps.size === 0) return undefined;
    return { from: 0, since: Math.min(...[...this.#gaps].map(({ since }) => since)) };
  }

  #recoverStep(tables: Tables, start: Buffer, since: number, round: Round): Buffer | undefined {
    let last: Buffer | undefined;
    let count = 0;
    for (const entry of tables.conversations.getRange({ start, limit: RECOVERY_STEP })) {
      count += 1;
      last = Buffer.concat([entry.key, Buffer.of(0)]);
      const { activeAt, deleted, id } = conversationRecord.decode(entry.value);
      if (!deleted && activeAt >= since) this.#decide(id, { from: 0, since }, round);
    }
    return count < RECOVERY_STEP ? undefined : last;
  }

  /** Asked again as a whole: who was decided already has a cursor, and is decided the same way. */
  #again(conversation: string, note: Note, round: Round): void {
    this.#note(conversation, note);
    round.open -= 1;
  }

  #note(conversation: string, note: Note): void {
    const before = this.#noted.get(conversation);
    this.#noted.set(conversation, before === undefined || note.from < before.from ? note : before);
    this.#lastPostAt = this.#options.now();
    this.#timer ??= setTimeout(() => this.#round(), ROUND_MILLIS);
  }

  #round(): void {
    this.#timer = undefined;
    const noted = [...this.#noted];
    this.#noted.clear();
    this.#options.reader.refresh();
    const round: Round = { at: this.#options.now() - CLOCK_MILLIS, open: 0 };
    this.#rounds.push(round);
    for (const [conversation, note] of noted) this.#decide(conversation, note, round);
  }

  #decide(conversation: string, note: Note, round: Round): void {
    try {
      this.#askActors(conversation, note, round);
    } catch (error) {
      this.#options.failed(conversation, error);
    }
  }

  #askActors(conversation: string, note: Note, round: Round): void {
    const { ask, attention, registry } = this.#options;
    for (const user of this.#audience(conversation)) {
      if (!registry.has(user) || attention.isAwake(user)) continue;
      round.open += 1;
      ask(`push:${user}`, { kind: 'decide', conversation, ...note } as Tell, (answer) => {
        if (answer.ok) round.open -= 1;
        else setTimeout(() => this.#again(conversation, note, round), AGAIN_MILLIS).unref();
      });
    }
  }

  /** Those of this shard's people in a conversation whom pushes reach. */
  #audience(conversation: string): Iterable<string> {
    const kept = this.#audiences.get(conversation);
    if (kept !== undefined) return kept;
    const audience = new Set(this.#readAudience(conversation));
    const [oldest] = this.#audiences.keys();
    if (this.#audiences.size >= AUDIENCES_MAX && oldest !== undefined) this.#audiences.delete(oldest);
    this.#audiences.set(conversation, audience);
    return audience;
  }

  #readAudience(conversation: string): readonly string[] {
    const { registry } = this.#options;
    const { tables } = this.#options.laneOf(conversation);
    const record = readConversation(tables, conversation);
    if (record === undefined) return [];
    if (registry.size < record.participantCount) {
      return [...registry.people].filter((user) => readMember(tables, conversation, user) !== undefined);
    }
    return [...tables.members.getKeys(under(conversation))].map(lastPart).filter((user) => registry.has(user));
  }
}

/** The seq in the envelope of a `message.new` event, which stands before its data. */
function seqOf(event: string): number {
  const at = event.indexOf('"seq":');
  return at < 0 ? 0 : Number.parseInt(event.slice(at + '"seq":'.length, at + 24), 10);
}

/** The call that an event invites to or ends; undefined for any other stanza, such as the hundreds that connect one. */
function readCallStep(event: string): (CallDetail & { readonly step: 'invite' | 'over' }) | undefined {
  const mayBe = event.includes('"kind":"call"') && /"step":"(?:invite|end|cancel)"/.test(event);
  if (!mayBe) return undefined;
  const { conv, data } = JSON.parse(event) as {
    conv?: string;
    data: { kind?: string; step?: string; call?: string; sender?: string; body?: { video?: boolean } };
  };
  const { body, call, kind, sender, step } = data;
  if (kind !== 'call' || call === undefined) return undefined;
  const detail = { call, conversation: conv ?? null, host: sender ?? '', video: body?.video === true };
  if (step === 'invite') return { ...detail, step };
  // With a sender it is the step of one of many; without one the server says that it is over, here or altogether.
  return sender === undefined && (step === 'end' || step === 'cancel') ? { ...detail, step: 'over' } : undefined;
}
