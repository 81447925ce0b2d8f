/**
 * SeededRandom histories of calls (SIG-07, SIG-08): several people with several devices take any step at any time, lose and
 * regain their connections, and threads die. Whatever happens, nobody is in a call on two devices, nothing rings for
 * ever, and everybody who was there from the start believes the same of it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stateOf } from '#actors/call/call-record.ts';
import { SeededRandom } from '#test/support/random.ts';
import { LOST_MILLIS, RING_MILLIS, Scene, type Device, type Heard } from './call-scene.ts';

const HISTORIES = 300;
const STEPS = 60;
const NAMES = ['invite', 'join', 'join', 'decline', 'cancel', 'end', 'hold', 'transfer'];

/** What a client makes of what it hears and of its own steps that were taken. */
class View {
  isOver = false;
  readonly inside = new Set<string>();
  #transferBy: string | undefined;
  #target: string | undefined;

  take(sender: string | undefined, step: string, target?: string): void {
    if (sender === undefined) {
      if (step === 'end') this.isOver = true;
      return;
    }
    // A thread that died knows no ended attempts, so one may begin again under the same id.
    if (this.isOver && (step === 'invite' || step === 'join')) this.#reset();
    if (step === 'invite' || step === 'join') this.inside.add(sender);
    if (step === 'transfer') [this.#transferBy, this.#target] = [sender, target];
    if (step === 'cancel' && this.#transferBy === sender) this.#transferBy = undefined;
    else if (step === 'cancel' || step === 'end') this.#leave(sender);
    if ((step === 'join' || step === 'decline') && sender === this.#target) this.#transferBy = undefined;
  }

  endOffer(): void {
    this.#transferBy = undefined;
  }

  #reset(): void {
    this.isOver = false;
    this.inside.clear();
    this.#transferBy = undefined;
  }

  #leave(user: string): void {
    this.inside.delete(user);
    if (this.#transferBy === user) this.#transferBy = undefined;
  }
}

class History {
  readonly scene: Scene;
  readonly calls: readonly string[];
  readonly #random: SeededRandom;
  readonly #devices: readonly Device[];
  readonly #views = new Map<string, View>();
  readonly #read = new Map<Device, number>();
  readonly #out = new Set<string>();
  /** Devices that have heard everything. */
  readonly #attentive: Set<Device>;

  constructor(random: SeededRandom, scope: string, people: readonly string[]) {
    this.#random = random;
    this.#devices = people.flatMap((user) => [`${user}/1`, `${user}/2`] as Device[]);
    this.scene = new Scene({ scope, devices: this.#devices });
    this.calls = ['a', 'b'];
    this.#attentive = new Set(this.#devices);
  }

  act(): void {
    const device = this.#random.pick(this.#devices);
    const chance = this.#random.whole(0, 99);
    if (chance < 4) this.#lose(device);
    else if (chance < 8) this.scene.offline.delete(device);
    else if (chance < 10) this.scene.restart();
    else if (chance < 25) this.scene.advance(this.#random.whole(0, RING_MILLIS));
    else if (!this.scene.offline.has(device)) this.#step(device);
    this.#catchUp();
    this.#check();
  }

  /** Lets everything that is due happen. */
  settle(): void {
    this.scene.advance(2 * RING_MILLIS + 2 * LOST_MILLIS);
    this.#catchUp();
    this.#check();
  }

  /** Nothing rings, and whoever heard everything knows who is in it. */
  assertSettled(isOutside: (user: string) => boolean): void {
    for (const call of this.calls) {
      const record = this.scene.record(call);
      if (record !== undefined) {
        assert.ok(['joined', 'held'].includes(stateOf(record)), `${call} is ${stateOf(record)}`);
      }
      const known = this.scene.state.ended.has(call) || record !== undefined;
      if (!known) continue;
      for (const device of this.#attentive) {
        const [user = ''] = device.split('/');
        if (isOutside(user) || (!this.scene.isRoom && this.#out.has(`${user} ${call}`))) continue;
        const view = this.#view(device, call);
        assert.equal(view.isOver, record === undefined, `${device} of ${call}`);
        if (record === undefined) continue;
        const inside = record.parties.map((party) => party.user);
        assert.deepEqual([...view.inside].toSorted(), inside.toSorted(), `${device} of ${call}`);
      }
    }
  }

  #lose(device: Device): void {
    this.scene.offline.add(device);
    this.#attentive.delete(device);
  }

  #step(device: Device): void {
    const call = this.#random.pick(this.calls);
    const name = this.#random.pick(NAMES);
    const target = this.#random.pick(this.#devices).split('/')[0] ?? '';
    const [user = ''] = device.split('/');
    if (this.#random.chance(0.25)) {
      // Two candidates that overtake each other.
      const first = this.scene.stanza(device, 'candidate', { family: 'webrtc', call });
      const second = this.scene.stanza(device, 'candidate', { family: 'webrtc', call });
      for (const one of [second, first]) this.scene.send(one);
      this.scene.advance(600);
      this.#catchUp();
    }
    const body = name === 'invite' ? { video: false, room: 'r' } : name === 'transfer' ? { target } : {};
    if (name === 'transfer' && target === user) return;
    const was = this.scene.record(call)?.parties.find((party) => party.user === user);
    const answer = this.scene.patientStep(device, name, { call, body });
    if (answer !== 'ok') return;
    this.#view(device, call).take(user, name, target);
    if (name !== 'join') return;
    assert.equal(was, undefined, 'a join was taken of somebody who is in it');
    const party = this.scene.record(call)?.parties.find((one) => one.user === user);
    assert.ok(party === undefined || party.device === device);
  }

  #check(): void {
    for (const call of this.calls) {
      const users = this.scene.record(call)?.parties.map(({ user }) => user) ?? [];
      assert.equal(new Set(users).size, users.length, 'one person is in a call twice');
    }
  }

  #catchUp(): void {
    for (const device of this.#devices) {
      const heard = this.scene.heard.get(device) ?? [];
      for (const event of heard.slice(this.#read.get(device) ?? 0)) this.#hear(device, event);
      this.#read.set(device, heard.length);
    }
  }

  #hear(device: Device, event: Heard): void {
    const view = this.#view(device, event.call);
    if (event.body.reason === 'transfer_unanswered') view.endOffer();
    // Of its own person a device hears what another device of theirs settled.
    const [user = ''] = device.split('/');
    if (event.body.reason === 'answered_elsewhere') view.take(user, 'join');
    if (event.body.reason === 'declined_elsewhere') view.take(user, 'decline');
    // Whoever handed a pair's call over hears no more of it.
    if (event.body.reason === 'transferred' && event.sender === user) this.#out.add(`${user} ${event.call}`);
    view.take(event.sender, event.step, (event.body as { target?: string }).target);
  }

  #view(device: Device, call: string): View {
    const name = `${device} ${call}`;
    const view = this.#views.get(name) ?? new View();
    this.#views.set(name, view);
    return view;
  }
}

for (const [scope, people, outside] of [
  ['ann|ben', ['ann', 'ben', 'cyn'], ['cyn']],
  ['c_1', ['ann', 'ben', 'cyn', 'dan'], []],
] as const) {
  test(`SIG-07 SIG-08 every history of calls in ${scope} has one winner, an end of ringing and one truth`, () => {
    let lived = 0;
    for (let seed = 1; seed <= HISTORIES; seed += 1) {
      const history = new History(new SeededRandom(seed), scope, people);
      try {
        for (let count = 0; count < STEPS; count += 1) history.act();
        history.settle();
        history.assertSettled((user) => (outside as readonly string[]).includes(user));
        if (history.scene.board.list(10).length > 0) lived += 1;
      } catch (error) {
        throw new Error(`History ${seed} of ${scope}.`, { cause: error });
      }
    }
    // Histories that always end say nothing about who is in a call.
    assert.ok(lived > HISTORIES / 20, `${lived} calls outlived their history`);
  });
}
