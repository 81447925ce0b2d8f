/** `idle-sockets`: what a socket costs that nobody talks to: memory beyond the base, and CPU for its pings. */
import { setTimeout as sleep } from 'node:timers/promises';
import { bySize, withSubjects, type Bench, type BenchContext } from '../harness/bench.ts';
import { cpuMicros, residentBytes } from '../harness/process-cost.ts';
import { Receivers } from '../harness/receivers.ts';
import type { Subject } from '../harness/subject.ts';

/** Resident memory per socket; a tuned server of another project publishes 10.9 KB, an untuned one 27. */
const SOCKET_KIBIBYTES_MAX = 11;
/** The same source gives 2.2 µs of CPU a second for each socket pinged every 25 s. */
const SOCKET_CPU_MICROS_MAX = 2.5;
const MEMBERS = 10;

export const idleSockets: Bench = {
  name: 'idle-sockets',
  say: 'sockets that are sent nothing but pings; memory and CPU of each',
  async run(context) {
    const sockets = bySize(context, { smoke: 50, default: 2_000, full: 10_000 });
    // A silent peer is dead after 50 s, so two such spans see every socket pinged at least twice.
    const seconds = bySize(context, { smoke: 1, default: 60, full: 100 });
    const rounds = context.rounds ?? bySize(context, { smoke: 1, default: 1, full: 3 });
    context.recorder.parameters({ sockets, seconds, shards: context.shards, 'members per room': MEMBERS });
    const size = { people: sockets, rooms: Math.max(1, sockets / MEMBERS), members: MEMBERS };
    for (let round = 0; round < rounds; round += 1) {
      // oxlint-disable-next-line no-await-in-loop -- Each round has processes of its own, as memory only grows.
      await withSubjects(context, ['parley', 'bare uWS', 'ws', 'Socket.IO'], size, async (subjects) => {
        await runRound(context, subjects, round, seconds);
      });
    }
    const { recorder } = context;
    const kibibytes = recorder.median('idle', 'parley', 'KiB/socket');
    const micros = recorder.median('idle', 'parley', 'CPU µs/s per socket');
    recorder.bar('idle', 'KiB/socket', kibibytes, '≤', SOCKET_KIBIBYTES_MAX);
    recorder.bar('idle', 'CPU µs/s per socket', micros, '≤', SOCKET_CPU_MICROS_MAX);
    for (const peer of ['bare uWS', 'ws', 'Socket.IO']) {
      recorder.ratio('idle', 'KiB/socket', 'parley', peer);
      recorder.ratio('idle', 'CPU µs/s per socket', 'parley', peer);
    }
    recorder.note('kernel memory of a socket (some 4 KB) is in no process and not counted');
  },
};

async function runRound(
  context: BenchContext,
  subjects: readonly Subject[],
  round: number,
  seconds: number,
): Promise<void> {
  const stages: {
    subject: Subject;
    receivers: Receivers;
    base: number;
    baseCpu: number;
    connectSeconds: number;
    before: number;
  }[] = [];
  try {
    // What a process does on its own is no socket's cost: its CPU is measured before the first one comes.
    const baseSeconds = bySize(context, { smoke: 0.2, default: 5, full: 10 });
    const befores = subjects.map((subject) => cpuMicros(subject.pid));
    await sleep(baseSeconds * 1000);
    const baseCpus = subjects.map((subject, i) => (cpuMicros(subject.pid) - (befores[i] ?? 0)) / baseSeconds);
    for (const [i, subject] of subjects.entries()) {
      const { host, port, dialect, world } = subject;
      const base = residentBytes(subject.pid);
      const began = performance.now();
      const paths = world.people.map((person) => subject.socketPath(person));
      // oxlint-disable-next-line no-await-in-loop -- Handshakes of one subject at a time.
      const receivers = await Receivers.connect({ host, port, dialect, paths }, context.pins.generator);
      const connectSeconds = (performance.now() - began) / 1000;
      stages.push({ subject, receivers, base, baseCpu: baseCpus[i] ?? 0, connectSeconds, before: 0 });
    }
    await Promise.all(stages.map((stage) => stage.receivers.settle()));
    for (const stage of stages) stage.before = cpuMicros(stage.subject.pid);
    await sleep(seconds * 1000);
    for (const { subject, receivers, base, baseCpu, connectSeconds, before } of stages) {
      const sockets = receivers.sockets;
      const cpu = cpuMicros(subject.pid) - before;
      context.recorder.round({
        case: 'idle',
        subject: subject.name,
        round,
        values: {
          'base MiB': base / 2 ** 20,
          'base CPU µs/s': baseCpu,
          'KiB/socket': (residentBytes(subject.pid) - base) / 1024 / sockets,
          'CPU µs/s per socket': (cpu / seconds - baseCpu) / sockets,
          'connects/s': sockets / connectSeconds,
        },
      });
      // oxlint-disable-next-line no-await-in-loop -- One short ask per subject.
      const closed = await receivers.closed();
      if (Object.keys(closed).length > 0)
        context.recorder.fail(`idle: ${subject.name} closed sockets: ${JSON.stringify(closed)}`);
    }
  } finally {
    await Promise.all(stages.map((stage) => stage.receivers.stop()));
  }
}
