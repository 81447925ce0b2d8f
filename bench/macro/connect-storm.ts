/** `connect-storm`: the server restarts; everyone comes back at once and asks what was missed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CLOSE_CODES } from '#src/protocol/sockets/close-codes.ts';
import { bySize, interleave, latencyMillis, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { waitFor } from '../harness/deadline.ts';
import { startPeer } from '../harness/peer.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import { Requests } from '../harness/requests.ts';
import { Returning, type CameBack } from '../harness/returning.ts';
import type { Server } from '../harness/server.ts';
import { messagesPath, type Subject, type WorldSize } from '../harness/subject.ts';

const BACK_SECONDS_MAX = 15;
const MEMBERS = 10;
/** About the bytes of an inbox with one conversation, which the peer answers without looking anything up. */
const INBOX_BYTES = 900;
/** After the storm the server must come to rest: below this share of a core … */
const CALM_SHARE = 0.1;
/** … or the bench says that it did not within this time. */
const CALM_SECONDS = 60;

export const connectStorm: Bench = {
  name: 'connect-storm',
  say: 'everyone returns after a restart and catches up; time until the last is there',
  async run(context) {
    const clients = bySize(context, { smoke: 20, default: 2_000, full: 10_000 });
    const rounds = bySize(context, { smoke: 1, default: 3, full: 3 });
    context.recorder.parameters({ clients, shards: context.shards, 'members per room': MEMBERS });
    const size = { people: clients, rooms: Math.ceil(clients / MEMBERS), members: MEMBERS };
    const server = await startParley(context, size);
    try {
      const parley = new ParleyStorm(context, server);
      const subjects = [
        (round: number, warm: boolean) => parley.round(round, warm),
        (round: number, warm: boolean) => stormPeer(context, size, round, warm),
      ];
      await interleave(context, rounds, subjects, async (subject, round, isWarmUp) => await subject(round, isWarmUp));
    } finally {
      await server.stop();
    }
    const { recorder } = context;
    recorder.ratio('storm', 'all back s', 'parley', 'bare uWS');
    recorder.bar('storm', 'all back s', recorder.median('storm', 'parley', 'all back s'), '≤', BACK_SECONDS_MAX);
    recorder.note(
      'clients come without jitter, each with a new connection for its catch-up: the worst case, not what the client SDK does',
    );
  },
};

class ParleyStorm {
  readonly #context: BenchContext;
  readonly #server: Server;
  #posted = 0;

  constructor(context: BenchContext, server: Server) {
    this.#context = context;
    this.#server = server;
  }

  /** Everyone is there with a cursor; a message goes to each room; the server restarts; everyone returns. */
  async round(round: number, isWarmUp: boolean): Promise<void> {
    const server = this.#server;
    const returning = new Returning(server.world.people.length, this.#context.pins.generator);
    try {
      this.#expect('first visit', await returning.bringBack(this.#order()));
      await this.#postEverywhere();
      const stopBegan = performance.now();
      const code = await server.down('SIGTERM');
      const stopSeconds = (performance.now() - stopBegan) / 1000;
      await this.#checkClosed(returning, code);
      const startBegan = performance.now();
      await server.up();
      const startSeconds = (performance.now() - startBegan) / 1000;
      const before = cpuMicros(server.pid);
      const back = await returning.bringBack({ ...this.#order(), missedSeq: this.#posted });
      const cpu = cpuMicros(server.pid) - before;
      this.#expect('return', back);
      const calm = await this.#calmSeconds();
      if (isWarmUp) return;
      record(this.#context, server, round, back, cpu, {
        'stop s': stopSeconds,
        'start s': startSeconds,
        'calm after s': calm,
      });
    } finally {
      await returning.stop();
    }
  }

  #order() {
    const { host, port, world } = this.#server;
    const clients = world.people.map((person) => ({
      socketPath: this.#server.socketPath(person),
      token: person.token,
    }));
    return { host, port, clients, reads: 'inbox' };
  }

  async #postEverywhere(): Promise<void> {
    const { host, port, world } = this.#server;
    const tokens = new Map(world.people.map((person) => [person.username, person.token]));
    const poster = await Requests.open({ host, port, connections: 16 }, this.#context.pins.generator);
    try {
      const targets = world.rooms.map((room) => ({
        method: 'POST' as const,
        path: messagesPath(room),
        token: tokens.get(room.members[0]!)!,
        expect: 'message' as const,
      }));
      const first = this.#posted * targets.length;
      this.#context.recorder.checkRequests(
        'storm',
        'parley',
        await poster.run({ run: 'storm', first, count: targets.length, targets, verifyEvery: 1 }),
      );
      this.#posted += 1;
    } finally {
      await poster.stop();
    }
  }

  async #checkClosed(returning: Returning, code: number | null): Promise<void> {
    const { recorder } = this.#context;
    if (code !== 0) recorder.fail(`storm: the server ended with ${code} on SIGTERM`);
    const people = this.#server.world.people.length;
    let closed = new Map<number, number>();
    await waitFor('every socket to be closed', 30, async () => {
      closed = await returning.closed();
      return closed.values().reduce((sum, count) => sum + count, 0) === people;
    });
    const drained = closed.get(CLOSE_CODES.draining) ?? 0;
    if (drained < people)
      recorder.note(
        `${people - drained} of ${people} sockets were closed without the draining code: ${JSON.stringify([...closed])}`,
      );
  }

  #expect(what: string, back: CameBack): void {
    if (back.failed > 0)
      this.#context.recorder.fail(`storm: ${what}: ${back.failed} clients failed: ${back.failures.join('; ')}`);
  }

  async #calmSeconds(): Promise<number> {
    const began = performance.now();
    const window = 250;
    for (;;) {
      const before = cpuMicros(this.#server.pid);
      // oxlint-disable-next-line no-await-in-loop -- A measuring window.
      await sleep(window);
      const elapsed = (performance.now() - began) / 1000;
      if ((cpuMicros(this.#server.pid) - before) / (window * 1000) < CALM_SHARE) return elapsed;
      if (elapsed > CALM_SECONDS) {
        this.#context.recorder.note(
          `the server was not below ${CALM_SHARE * 100} % of a core ${CALM_SECONDS} s after the storm`,
        );
        return elapsed;
      }
    }
  }
}

/** The floor: a new process of the peer, to which as many clients come and read as many bytes. */
async function stormPeer(context: BenchContext, size: WorldSize, round: number, isWarmUp: boolean): Promise<void> {
  const subject = await startPeer('bare uWS', size, context.pins.server);
  const returning = new Returning(size.people, context.pins.generator);
  try {
    const clients = subject.world.people.map((person) => ({
      socketPath: subject.socketPath(person),
      token: person.token,
    }));
    const before = cpuMicros(subject.pid);
    const back = await returning.bringBack({
      host: subject.host,
      port: subject.port,
      clients,
      reads: `/canned/${INBOX_BYTES}`,
    });
    const cpu = cpuMicros(subject.pid) - before;
    if (back.failed > 0)
      context.recorder.fail(`storm: bare uWS: ${back.failed} clients failed: ${back.failures.join('; ')}`);
    if (!isWarmUp) record(context, subject, round, back, cpu, {});
  } finally {
    await returning.stop();
    await subject.stop();
  }
}

function record(
  context: BenchContext,
  subject: Subject,
  round: number,
  back: CameBack,
  cpu: number,
  more: Record<string, number>,
): void {
  const latency = latencyMillis(back.tookNanos);
  context.recorder.round({
    case: 'storm',
    subject: subject.name,
    round,
    values: {
      'all back s': back.seconds,
      'client p50 ms': latency['p50 ms'] ?? 0,
      'client p99 ms': latency['p99 ms'] ?? 0,
      'CPU µs/client': cpu / back.tookNanos.length,
      ...more,
    },
    ns: percentilesOf(back.tookNanos),
  });
}
