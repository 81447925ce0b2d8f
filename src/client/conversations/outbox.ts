/**
 * Messages on their way: each under one client_msg_id from the first attempt to the last, in order per conversation,
 * kept in a store so that a reload loses none. The server makes a repeat harmless (MSG-03), so an attempt whose
 * answer was lost is simply made again.
 */
import { randomSymbols } from '#src/base/ids.ts';
import type { ForwardMessage, PostMessage } from '#src/protocol/conversations/messages.ts';
import { backoffMillis } from '../connection/backoff.ts';
import { Gate } from '../connection/gate.ts';
import { clientError, isTransient, isUnauthorized, type ParleyError, toParleyError } from '../parley-error.ts';
import { type ChatMessage, isRecord } from './records.ts';
import type { Random, Timers } from '../connection/timers.ts';

/**
 * Messages that may wait: more than anybody types on a journey. Beyond it `post` fails with `outbox_full` and
 * everything that waits stays.
 */
export const OUTBOX_LENGTH_MAX = 1_000;

/** Messages in flight at once, of different conversations: what a browser opens connections for. */
export const OUTBOX_IN_FLIGHT_MAX = 6;

/** 130 random bits: no two messages of a person ever share one. */
const CLIENT_MSG_ID_SYMBOLS = 26;

/** What is sent: a message as a client may post it, without its id, which the outbox keeps. */
export type MessageForm = PostMessage | ForwardMessage extends infer Form
  ? Form extends { client_msg_id?: unknown }
    ? Omit<Form, 'client_msg_id'>
    : never
  : never;

/** A message that waits, as it is stored. */
export interface OutboxEntry {
  /** Whose it is: another person who signs in on the same store must not send it. */
  user: string;
  conv: string;
  clientMsgId: string;
  form: MessageForm;
  /** When it was posted, in milliseconds. */
  postedAt: number;
}

/**
 * Where the outbox lives over a reload. `save` gets the whole list each time, never twice at once. One store serves
 * one client at a time: two would overwrite each other's lists.
 */
export interface OutboxStore {
  /** What was saved last, or undefined when nothing was. Entries that are none are left out. */
  load(): unknown;
  save(entries: readonly OutboxEntry[]): Promise<void> | void;
}

export type OutboxReport = { conv: string; clientMsgId: string } & (
  | { state: 'waiting'; error: ParleyError }
  | { state: 'sent'; message: ChatMessage }
  /** The server will not have it: `error.code` says why. It is out of the outbox; show it and let the person decide. */
  | { state: 'refused'; error: ParleyError }
);

export interface OutboxOptions {
  readonly me: string;
  readonly send: (entry: OutboxEntry) => Promise<ChatMessage>;
  readonly store: OutboxStore | undefined;
  readonly timers: Timers;
  readonly random: Random;
  readonly onReport: (report: OutboxReport) => void;
  readonly onTrouble: (error: unknown) => void;
}

interface Pending {
  readonly entry: OutboxEntry;
  readonly answer: PromiseWithResolvers<ChatMessage>;
  failures: number;
}

/** The messages of one conversation, of which the first is on its way. */
interface Lane {
  readonly queue: Pending[];
  isBusy: boolean;
  /** Set while the first message waits for its next attempt. */
  cancelWait: (() => void) | undefined;
  /** The server named the time to wait, so a fresh connection does not cut it short. */
  isToldToWait: boolean;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #gate = new Gate(OUTBOX_IN_FLIGHT_MAX);
  /** Entries of other people in the same store: kept, never sent. */
  #others: OutboxEntry[] = [];
  #length = 0;
  #isLoaded = false;
  #isPaused = false;
  #isClosed = false;
  #saving: Promise<void> = Promise.resolve();
  #nextSave: Promise<void> | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Everything that waits, conversation by conversation in order. */
  get entries(): OutboxEntry[] {
    return [...this.#lanes.values()].flatMap((lane) => lane.queue.map((pending) => pending.entry));
  }

  /** Loads what an earlier client left and starts sending. A store that fails is told of, and nothing waits for it. */
  async start(): Promise<void> {
    let stored: unknown;
    try {
      stored = await this.#options.store?.load();
    } catch (thrown) {
      this.#options.onTrouble(thrown);
    }
    if (this.#isClosed) return;
    const entries = Array.isArray(stored) ? stored.filter(isEntry) : [];
    this.#others = entries.filter((entry) => entry.user !== this.#options.me);
    const own = entries.filter((entry) => entry.user === this.#options.me);
    // What was posted while the store was being read comes after what it held.
    for (const entry of own.toReversed()) {
      if (this.#find(entry.conv, entry.clientMsgId) === undefined)
        this.#laneOf(entry.conv).queue.unshift(pendingOf(entry));
    }
    if (this.#length > 0) void this.#save();
    this.#length = this.entries.length;
    this.#isLoaded = true;
    for (const conv of this.#lanes.keys()) this.#pump(conv);
  }

  /**
   * Sends a message, now or when there is a network again. Answers with the stored message, which may take as long as
   * that; the same id posted again while it waits answers with the same. The answer may be left alone: what became of
   * the message is reported too.
   * @throws ParleyError `outbox_full`; the server's code when it refuses the message; `client_closed`, with which the
   * message stays in the store.
   */
  post(
    conv: string,
    form: MessageForm,
    clientMsgId: string = randomSymbols(CLIENT_MSG_ID_SYMBOLS),
  ): Promise<ChatMessage> {
    if (this.#isClosed) return Promise.reject(clientError('client_closed'));
    const known = this.#find(conv, clientMsgId);
    if (known !== undefined) return known.answer.promise;
    if (this.#length >= OUTBOX_LENGTH_MAX) return Promise.reject(clientError('outbox_full'));
    const entry = { user: this.#options.me, conv, clientMsgId, form, postedAt: this.#options.timers.now() };
    const pending = pendingOf(entry);
    this.#laneOf(conv).queue.push(pending);
    this.#length += 1;
    // The store must not be written before it was read: what it holds would be lost.
    if (this.#isLoaded) {
      void this.#save();
      this.#pump(conv);
    }
    return pending.answer.promise;
  }

  /** There is a connection, or a new token: tries everything again that is not waiting because the server said so. */
  resume(): void {
    this.#isPaused = false;
    for (const [conv, lane] of this.#lanes) {
      if (lane.cancelWait !== undefined && !lane.isToldToWait) this.#endWait(lane);
      this.#pump(conv);
    }
  }

  /** Stops. What waits stays in the store, and is sent by the next client that is given it. */
  close(): void {
    this.#isClosed = true;
    for (const lane of this.#lanes.values()) {
      this.#endWait(lane);
      for (const { answer } of lane.queue) answer.reject(clientError('client_closed'));
    }
  }

  /** Sends the first message of a conversation, unless one is on its way or must wait. */
  #pump(conv: string): void {
    const lane = this.#laneOf(conv);
    const first = lane.queue[0];
    if (first === undefined || lane.isBusy || lane.cancelWait !== undefined || !this.#mayRun()) return;
    lane.isBusy = true;
    void this.#gate
      .run(() => this.#attempt(lane, first))
      .finally(() => {
        lane.isBusy = false;
        if (lane.queue.length === 0) this.#lanes.delete(conv);
        else this.#pump(conv);
      });
  }

  async #attempt(lane: Lane, pending: Pending): Promise<void> {
    // On disk before it is on the wire: a reload in between must find the id that was used.
    await this.#saving;
    if (!this.#mayRun()) return;
    try {
      this.#settle(lane, pending, { state: 'sent', message: await this.#options.send(pending.entry) });
    } catch (thrown) {
      this.#failed(lane, pending, toParleyError(thrown));
    }
  }

  #failed(lane: Lane, pending: Pending, error: ParleyError): void {
    if (this.#isClosed) return;
    // Who speaks is not settled, or the app is too old to speak: nothing is wrong with the message.
    if (isUnauthorized(error) || error.code === 'client_too_old' || error.code === 'client_closed') {
      this.#isPaused = true;
    } else if (isTransient(error)) {
      pending.failures += 1;
      const millis = backoffMillis(pending.failures, this.#options.random, error.retryAfter);
      lane.isToldToWait = error.retryAfter !== undefined;
      lane.cancelWait = this.#options.timers.after(millis, () => {
        lane.cancelWait = undefined;
        this.#pump(pending.entry.conv);
      });
    } else {
      return this.#settle(lane, pending, { state: 'refused', error });
    }
    const { conv, clientMsgId } = pending.entry;
    this.#options.onReport({ conv, clientMsgId, state: 'waiting', error });
  }

  #settle(
    lane: Lane,
    { entry, answer }: Pending,
    outcome: { state: 'sent'; message: ChatMessage } | { state: 'refused'; error: ParleyError },
  ): void {
    lane.queue.shift();
    this.#length -= 1;
    void this.#save();
    if (outcome.state === 'sent') answer.resolve(outcome.message);
    else answer.reject(outcome.error);
    this.#options.onReport({ conv: entry.conv, clientMsgId: entry.clientMsgId, ...outcome });
  }

  /** Saves the list as it stands; saves asked for while one is under way become one. */
  #save(): Promise<void> {
    const { store, onTrouble } = this.#options;
    if (store === undefined) return this.#saving;
    this.#nextSave ??= this.#saving.then(async () => {
      this.#nextSave = undefined;
      try {
        await store.save([...this.#others, ...this.entries]);
      } catch (thrown) {
        // Sending goes on: a full store must not keep a message from leaving.
        onTrouble(thrown);
      }
    });
    return (this.#saving = this.#nextSave);
  }

  #mayRun(): boolean {
    return this.#isLoaded && !this.#isPaused && !this.#isClosed;
  }

  #endWait(lane: Lane): void {
    lane.cancelWait?.();
    lane.cancelWait = undefined;
  }

  #find(conv: string, clientMsgId: string): Pending | undefined {
    return this.#lanes.get(conv)?.queue.find(({ entry }) => entry.clientMsgId === clientMsgId);
  }

  #laneOf(conv: string): Lane {
    const lane = this.#lanes.get(conv) ?? { queue: [], isBusy: false, cancelWait: undefined, isToldToWait: false };
    this.#lanes.set(conv, lane);
    return lane;
  }
}

function pendingOf(entry: OutboxEntry): Pending {
  const answer = Promise.withResolvers<ChatMessage>();
  // Who posts and does not wait for the answer must not be ended by a refusal, which is reported as well.
  answer.promise.catch(() => {});
  return { entry, answer, failures: 0 };
}

/** Whether something from a store is an entry: an application's store may have been written by an older version. */
function isEntry(stored: unknown): stored is OutboxEntry {
  if (!isRecord(stored) || !isRecord(stored['form'])) return false;
  return [stored['user'], stored['conv'], stored['clientMsgId']].every((text) => typeof text === 'string');
}
