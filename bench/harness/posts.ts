/** Posts into a subject's rooms by so many who each wait for the answer, or on a schedule; and what a post costs. */
import { latencyMillis, type BenchContext } from './bench.ts';
import { cpuMicros } from './process-cost.ts';
import { percentilesOf } from './percentiles.ts';
import { Requests, type RunOrder, type Target } from './requests.ts';
import { messagesPath, type Subject } from './subject.ts';

/** A generator busier than this was the bottleneck, so the rates say less than the CPU per post does. */
const GENERATOR_BUSY_MAX = 0.95;

/** A subject, and who posts to it. */
export interface PostStage {
  readonly name: string;
  readonly subject: Subject;
  readonly poster: Requests;
  readonly targets: Target[];
  /** The number of the next post. */
  next: number;
}

/** Opens connections to a subject, one for each poster, and names where they post: everybody in all of their rooms. */
export async function openPosts(
  context: BenchContext,
  { name, posters, subject }: { readonly name: string; readonly posters: number; readonly subject: Subject },
): Promise<PostStage> {
  const { host, port, world } = subject;
  const poster = await Requests.open({ host, port, connections: posters }, context.pins.generator);
  const people = new Map(world.people.map((person) => [person.username, person]));
  const targets = world.rooms.flatMap((room) =>
    room.members.map((member): Target => {
      return { method: 'POST', path: messagesPath(room), token: people.get(member)!.token, expect: 'message' };
    }),
  );
  return { name, subject, poster, targets, next: 0 };
}

export interface PostPlan {
  readonly name: string;
  readonly round: number;
  readonly isWarmUp: boolean;
  readonly seconds: number;
  /** On a schedule; each waits for its answer by default. */
  readonly perSecond?: number;
}

/** Posts as planned, and records posts a second, latencies and CPU a post. */
export async function measurePosts(context: BenchContext, stage: PostStage, plan: PostPlan): Promise<void> {
  const { name, subject, poster, targets } = stage;
  const order: RunOrder =
    plan.perSecond === undefined
      ? {
          run: 'post',
          first: stage.next,
          count: Number.MAX_SAFE_INTEGER,
          seconds: plan.seconds,
          targets,
          verifyEvery: 64,
        }
      : {
          run: 'post',
          first: stage.next,
          count: Math.round(plan.perSecond * plan.seconds),
          perSecond: plan.perSecond,
          targets,
          verifyEvery: 64,
        };
  await poster.prepare();
  const serverBefore = cpuMicros(subject.pid);
  const posterBefore = cpuMicros(poster.pid);
  const result = await poster.run(order);
  const cpu = cpuMicros(subject.pid) - serverBefore;
  const busy = (cpuMicros(poster.pid) - posterBefore) / 1e6 / result.seconds;
  stage.next += result.count;
  context.recorder.checkRequests(plan.name, name, result);
  if (plan.isWarmUp) return;
  if (plan.perSecond === undefined && busy > GENERATOR_BUSY_MAX) {
    context.recorder.note(
      `${plan.name}, ${name}: the generator used ${(busy * 100).toFixed(0)} % of a core, so the server may answer more than it was asked`,
    );
  }
  context.recorder.round({
    case: plan.name,
    subject: name,
    round: plan.round,
    values: {
      'posts/s': result.count / result.seconds,
      ...latencyMillis(result.latency),
      'CPU µs/post': cpu / result.count,
      'generator busy %': busy * 100,
    },
    ns: percentilesOf(result.latency),
  });
}
