/** A call actor on a clock of the test's own, and what every device hears of it. */
import { makeCallActor } from '#actors/call/call.ts';
import type { CallScope } from '#actors/call/call-scope.ts';
import { CallBoard } from '#actors/call/call-board.ts';
import type { CallMessage, CallStep } from '#actors/call/call.messages.ts';
import { STEP_WAIT_MILLIS } from '#actors/call/step-order.ts';
import type { Actor, Effect, Tell } from '#actors/runtime/actor.ts';

/** 2026-11-21T08:00:00Z, in milliseconds. */
export const NOW = 1_795_248_000_000;
export const RING_MILLIS = 45_000;
export const LOST_MILLIS = 30_000;

export interface Heard {
  readonly sender?: string;
  readonly step: string;
  readonly to: string;
  readonly conv?: string;
  readonly call: string;
  readonly body: { readonly reason?: string; readonly into?: string };
}

/** `ann/1` is the first device of ann. */
export type Device = `${string}/${number}`;

export interface SceneOptions {
  /** A room's id, or two usernames with a bar between. */
  readonly scope: string;
  readonly devices: readonly Device[];
  /** Who takes part in a room; by default everybody with a device. */
  readonly members?: readonly string[];
}

export class Scene {
  readonly board = new CallBoard();
  readonly heard = new Map<Device, Heard[]>();
  /** Tells to other actors. */
  readonly told: { readonly to: string; readonly message: Tell }[] = [];
  /** Devices without a connection: they hear nothing and are found absent. */
  readonly offline = new Set<Device>();
  readonly removed = new Set<string>();
  readonly actor: Actor<CallScope, CallMessage>;
  state: CallScope;
  /** Monotonic milliseconds. */
  clock = 1_000;
  /** What a wall clock shows beside the monotonic one. */
  wall = NOW;
  readonly #options: SceneOptions;
  readonly #alarms: { readonly at: number; readonly message: CallMessage }[] = [];
  readonly #held = new Map<string, (answer: string) => void>();
  readonly #seqs = new Map<string, number>();

  constructor(options: SceneOptions) {
    this.#options = options;
    this.actor = makeCallActor({
      board: this.board,
      ring: RING_MILLIS,
      lost: LOST_MILLIS,
      monotonic: () => this.clock,
      takesPart: (_scope, user) => !this.removed.has(user),
    });
    this.state = this.actor.start(options.scope);
    for (const device of options.devices) this.heard.set(device, []);
  }

  /** A step with the device's next seq, or the given one. Answers `ok`, the code of a refusal, `moved`, or `held`. */
  step(device: Device, name: string, more: Partial<CallStep> = {}): string {
    return this.#ask(this.stanza(device, name, more)).answer;
  }

  /** A step whose answer is waited for as long as a missing step is. */
  patientStep(device: Device, name: string, more: Partial<CallStep> = {}): string {
    const asked = this.#ask(this.stanza(device, name, more));
    if (asked.answer === 'held') this.advance(STEP_WAIT_MILLIS + 10);
    return asked.answer;
  }

  /** A step whose answer may come later. */
  later(device: Device, name: string, more: Partial<CallStep> = {}): Promise<string> {
    return this.#ask(this.stanza(device, name, more)).settled;
  }

  stanza(device: Device, name: string, more: Partial<CallStep> = {}): CallStep {
    const [user = ''] = device.split('/');
    const { scope } = this.#options;
    const isGroup = !scope.includes('|');
    const call = more.call ?? 'k';
    const seq = more.seq ?? (this.#seqs.get(`${device} ${call}`) ?? 0) + 1;
    this.#seqs.set(`${device} ${call}`, seq);
    const peer = scope.split('|').find((other) => other !== user) ?? scope;
    return {
      kind: 'step',
      user,
      device,
      session: `s_${device}`,
      isGroup,
      conversation: isGroup ? scope : null,
      to: isGroup ? scope : peer,
      family: 'call',
      step: name,
      call,
      seq,
      body: name === 'invite' ? { video: false, room: 'r' } : {},
      mayBegin: true,
      ...more,
    };
  }

  send(message: CallMessage): string {
    return this.#ask(message).answer;
  }

  /** Lets time pass: what is due goes off in its order. */
  advance(millis: number): void {
    const end = this.clock + millis;
    for (;;) {
      const [next] = this.#alarms.toSorted((a, b) => a.at - b.at);
      if (next === undefined || next.at > end) break;
      this.#alarms.splice(this.#alarms.indexOf(next), 1);
      this.clock = Math.max(this.clock, next.at);
      this.send(next.message);
    }
    this.clock = end;
  }

  /** The actor's thread dies: state and alarms are gone, what the board shows is all that is left. */
  restart(): void {
    this.#alarms.length = 0;
    this.state = this.actor.start(this.#options.scope);
    this.send({ kind: 'tick' });
  }

  get isRoom(): boolean {
    return !this.#options.scope.includes('|');
  }

  get alarms(): number {
    return this.#alarms.length;
  }

  /** What a device heard, as `sender step reason`; a dash where the server speaks. */
  lines(device: Device): string[] {
    return (this.heard.get(device) ?? []).map(({ sender = '-', step, body }) =>
      [sender, step, ...(body.reason === undefined ? [] : [body.reason])].join(' '),
    );
  }

  /** The attempt as it is shown. */
  record(call = 'k') {
    return this.board.attemptsOf(this.#options.scope).find((record) => record.call === call);
  }

  #ask(message: CallMessage): { answer: string; settled: Promise<string> } {
    const { promise, resolve } = Promise.withResolvers<string>();
    const asked = { answer: 'none', settled: promise };
    const settle = (answer: string) => {
      asked.answer = answer;
      resolve(answer);
    };
    for (const effect of this.actor.receive(this.state, message, this.wall)) {
      const said = this.#carryOut(effect, settle);
      if (said !== undefined) asked.answer = said;
    }
    if (asked.answer !== 'held') resolve(asked.answer);
    return asked;
  }

  #carryOut(effect: Effect, resolve: (answer: string) => void): string | undefined {
    switch (effect.kind) {
      case 'answer':
        // An outcome is answered with the attempts that it may be of.
        return effect.value === null || Array.isArray(effect.value) ? 'ok' : 'moved';
      case 'refuse':
        return effect.code;
      case 'hold':
        this.#held.set(effect.token, resolve);
        return 'held';
      case 'answerHeld':
        this.#held.get(effect.token)?.(effect.answer.ok ? 'ok' : effect.answer.code);
        this.#held.delete(effect.token);
        return undefined;
      case 'wake':
        this.#alarms.push({ at: this.clock + effect.after, message: effect.message as CallMessage });
        return undefined;
      case 'tell':
        this.told.push({ to: effect.to, message: effect.message });
        this.#locate(effect.to, effect.message);
        return undefined;
      case 'publish':
        this.#deliver(undefined, effect.event, effect.except);
        return undefined;
      case 'publishTo':
        this.#deliver(effect.users, effect.event, effect.except);
        return undefined;
      default:
        throw new Error(`A call does not ${effect.kind}.`);
    }
  }

  /** The person's own actor answers at once. */
  #locate(to: string, message: Tell): void {
    if (message.kind !== 'locate') return;
    const { device, call } = message as unknown as { device: Device; call: string };
    const connected = !this.offline.has(device);
    const user = to.slice('person:'.length);
    this.#alarms.push({ at: this.clock, message: { kind: 'located', call, user, device, connected } });
  }

  #deliver(
    users: readonly string[] | undefined,
    event: string,
    except: { user?: string | undefined; device?: string | undefined } | undefined,
  ): void {
    const { conv, data } = JSON.parse(event) as { conv?: string; data: Heard };
    const members = this.#options.members;
    for (const [device, heard] of this.heard) {
      const [user = ''] = device.split('/');
      if (users === undefined ? members?.includes(user) === false || this.removed.has(user) : !users.includes(user)) {
        continue;
      }
      if (user === except?.user || device === except?.device || this.offline.has(device)) continue;
      heard.push({ ...data, ...(conv === undefined ? {} : { conv }) });
    }
  }
}
