/** `push-decision`: what it costs the fan-out to decide on pushes, with nobody registered and with everybody. */
import { createECDH, randomBytes } from 'node:crypto';
import { bySize, interleave, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import { Receivers } from '../harness/receivers.ts';
import { Requests, type Target } from '../harness/requests.ts';
import type { Server } from '../harness/server.ts';
import { messagesPath, type Person, type Room } from '../harness/subject.ts';

/** Connections that post. */
const POSTERS = 32;
/** Deciding on pushes may add so much to the CPU of a delivered frame. */
const COST_RATIO_MAX = 1.05;
const REGISTRATIONS_AT_ONCE = 32;

/** One server with its room, its sockets, and its poster. */
interface Stage {
  readonly name: 'without' | 'with';
  readonly server: Server;
  readonly receivers: Receivers;
  readonly poster: Requests;
  readonly targets: Target[];
  next: number;
}

export const pushDecision: Bench = {
  name: 'push-decision',
  say: 'CPU of fan-out to N awake sockets, with a push registration of every member and without any',
  async run(context) {
    const members = bySize(context, { smoke: 8, default: 500, full: 1_000 });
    const perSecond = bySize(context, { smoke: 20, default: 60, full: 60 });
    const seconds = bySize(context, { smoke: 0.5, default: 4, full: 6 });
    const rounds = bySize(context, { smoke: 1, default: 5, full: 9 });
    context.recorder.parameters({ members, 'messages/s': perSecond, shards: context.shards });
    const stages: Stage[] = [];
    try {
      // oxlint-disable-next-line no-await-in-loop -- One after the other, so that seeding disturbs nobody.
      for (const name of ['without', 'with'] as const) stages.push(await setStage(context, name, members));
      await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
        await measure(context, stage, { round, isWarmUp, perSecond, posts: Math.round(perSecond * seconds) });
      });
    } finally {
      for (const { poster, receivers, server } of stages) {
        // oxlint-disable-next-line no-await-in-loop -- A stop that fails must not leave the others running.
        await Promise.allSettled([poster.stop(), receivers.stop(), server.stop()]);
      }
    }
    const ratio = context.recorder.ratio('fan-out', 'CPU µs/frame', 'with', 'without');
    context.recorder.bar('fan-out', 'CPU µs/frame, with registrations / without', ratio, '≤', COST_RATIO_MAX);
  },
};

async function setStage(context: BenchContext, name: Stage['name'], members: number): Promise<Stage> {
  const server = await startParley(context, { people: members, rooms: 1, members });
  const { host, port, world } = server;
  const { generator } = context.pins;
  const people = world.people;
  if (name === 'with') await registerAll(server, people);
  const receivers = await Receivers.connect(
    { host, port, dialect: server.dialect, paths: people.map((person) => server.socketPath(person)) },
    generator,
  );
  await receivers.settle();
  const poster = await Requests.open({ host, port, connections: POSTERS }, generator);
  const path = messagesPath(world.rooms[0] as Room);
  const targets = people
    .slice(0, POSTERS)
    .map((person): Target => ({ method: 'POST', path, token: person.token, expect: 'message' }));
  return { name, server, receivers, poster, targets, next: 0 };
}

/** Everybody is awake, so nothing is ever sent: what is measured is the decision alone. */
async function registerAll(server: Server, people: readonly Person[]): Promise<void> {
  const pair = createECDH('prime256v1');
  const p256dh = pair.generateKeys('base64url');
  for (let start = 0; start < people.length; start += REGISTRATIONS_AT_ONCE) {
    const batch = people.slice(start, start + REGISTRATIONS_AT_ONCE);
    // oxlint-disable-next-line no-await-in-loop -- A batch at a time.
    const replies = await Promise.all(
      batch.map((person) =>
        fetch(`http://${server.host}:${server.port}/v1/push`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            provider: 'webpush',
            endpoint: `https://push.example.org/${person.username}`,
            keys: { p256dh, auth: randomBytes(16).toString('base64url') },
          }),
        }),
      ),
    );
    const refused = replies.find((reply) => !reply.ok);
    if (refused !== undefined) throw new Error(`A registration was answered ${refused.status}.`);
  }
}

async function measure(
  context: BenchContext,
  stage: Stage,
  plan: { readonly round: number; readonly isWarmUp: boolean; readonly perSecond: number; readonly posts: number },
): Promise<void> {
  const { recorder } = context;
  const { name, poster, receivers, server, targets } = stage;
  const first = stage.next;
  stage.next += plan.posts;
  await receivers.reset(plan.posts);
  await poster.prepare();
  const before = cpuMicros(server.pid);
  const { perSecond, posts } = plan;
  const result = await poster.run({ run: 'push', first, count: posts, targets, perSecond, verifyEvery: 16 });
  await receivers.allDelivered();
  const cpu = cpuMicros(server.pid) - before;
  const received = await receivers.received();
  recorder.checkRequests('fan-out', name, result);
  if (received.wrongSockets > 0) {
    recorder.fail(`fan-out: ${name} delivered ${received.messages} of ${posts * received.sockets}`);
    return;
  }
  if (plan.isWarmUp) return;
  const values = { 'CPU µs/frame': cpu / received.messages, 'frames/read': received.messages / received.reads };
  recorder.round({ case: 'fan-out', subject: name, round: plan.round, values });
}
