/** `chat-mix`: rooms of ten in which people post, read and type at once, beside Socket.IO doing the same without storing. */
import { bySize, interleave, latencyMillis, withSubjects, type Bench, type BenchContext } from '../harness/bench.ts';
import { Chat, type ChatResult, type MixOrder } from '../harness/chat.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import type { Room, Subject } from '../harness/subject.ts';

const MEMBERS = 10;
const RECEIPTS_PER_MESSAGE = 3;
/** A server accepts a person's typing once in three seconds, so nobody here types more often than every four. */
const TYPING_SECONDS = 4;

interface Stage {
  subject: Subject;
  chat: Chat;
  next: number;
}

export const chatMix: Bench = {
  name: 'chat-mix',
  say: 'rooms of 10; messages, receipts and typing together at a fixed rate',
  async run(context) {
    const rooms = bySize(context, { smoke: 2, default: 50, full: 200 });
    const messagesPerSecond = bySize(context, { smoke: 20, default: 100, full: 300 });
    const typingPerSecond = (rooms * MEMBERS) / TYPING_SECONDS;
    context.recorder.parameters({
      rooms,
      members: MEMBERS,
      shards: context.shards,
      'messages/s': messagesPerSecond,
      'receipts per message': RECEIPTS_PER_MESSAGE,
      'typing/s': typingPerSecond,
    });
    const size = { people: rooms * MEMBERS, rooms, members: MEMBERS };
    await withSubjects(context, ['parley', 'Socket.IO'], size, async (subjects) => {
      const stages: Stage[] = [];
      try {
        for (const subject of subjects) {
          // oxlint-disable-next-line no-await-in-loop -- Handshakes of one subject at a time.
          const chat = await seatChat(context, subject, subject.world.rooms);
          stages.push({ subject, chat, next: 0 });
        }
        await runStages(context, stages, { messagesPerSecond, typingPerSecond });
      } finally {
        await Promise.all(stages.map((stage) => stage.chat.stop()));
      }
    });
  },
};

/** A person may be in several seeded rooms; each seat of a room is played by one who is in no other seat. */
export async function seatChat(context: BenchContext, subject: Subject, rooms: readonly Room[]): Promise<Chat> {
  const { host, port, dialect, world } = subject;
  const people = new Map(world.people.map((person) => [person.username, person]));
  const seats = rooms.flatMap((room, index) =>
    room.members.map((member) => ({ person: people.get(member)!, room: index })),
  );
  if (new Set(seats.map((seat) => seat.person)).size !== seats.length)
    throw new Error('the seeded rooms share members');
  const chat = await Chat.connect(
    {
      host,
      port,
      dialect,
      people: seats.map(({ person, room }) => ({ path: subject.socketPath(person), token: person.token, room })),
      rooms: rooms.map((room, index) => ({
        id: room.id,
        people: seats.flatMap((seat, i) => (seat.room === index ? [i] : [])),
      })),
    },
    context.pins.generator,
  );
  await chat.settle();
  return chat;
}

async function runStages(
  context: BenchContext,
  stages: readonly Stage[],
  rates: { messagesPerSecond: number; typingPerSecond: number },
): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
  const seconds = bySize(context, { smoke: 0.5, default: 4, full: 10 });
  const messages = Math.round(rates.messagesPerSecond * seconds);
  await interleave(context, rounds, stages, async (stage, round, isWarmUp) => {
    const mix: MixOrder = {
      run: 'mix',
      first: stage.next,
      messages,
      receiptsPerMessage: RECEIPTS_PER_MESSAGE,
      ...rates,
    };
    stage.next += messages;
    await stage.chat.prepare();
    const before = cpuMicros(stage.subject.pid);
    const result = await stage.chat.run(mix);
    const cpu = cpuMicros(stage.subject.pid) - before;
    check(context, stage.subject.name, mix, result);
    if (isWarmUp || result.toLast.length === 0) return;
    const delivered = result.delivered.messages + result.delivered.receipts + result.delivered.typings;
    const ack = latencyMillis(result.ack);
    const last = latencyMillis(result.toLast);
    recorder.round({
      case: 'mix',
      subject: stage.subject.name,
      round,
      values: {
        'CPU µs/delivery': cpu / delivered,
        'ack p50 ms': ack['p50 ms'] ?? 0,
        'ack p99 ms': ack['p99 ms'] ?? 0,
        'to last p50 ms': last['p50 ms'] ?? 0,
        'to last p99 ms': last['p99 ms'] ?? 0,
        deliveries: delivered,
      },
      ns: percentilesOf(result.toLast),
    });
  });
  for (const metric of ['CPU µs/delivery', 'ack p99 ms', 'to last p99 ms'])
    recorder.ratio('mix', metric, 'parley', 'Socket.IO');
  recorder.note(
    'Socket.IO stores nothing and acknowledges at once; parley acknowledges messages and receipts after they are on disk',
  );
}

/** Messages and receipts must reach all ten of a room; typing the nine others, or fewer, as it may be dropped. */
function check(context: BenchContext, subject: string, mix: MixOrder, result: ChatResult): void {
  const { recorder } = context;
  const refused = Object.entries(result.statuses).filter(([status]) => !status.startsWith('2'));
  if (refused.length > 0) recorder.fail(`mix: ${subject} answered ${JSON.stringify(result.statuses)}`);
  const { delivered, sent } = result;
  const wanted = {
    messages: mix.messages * MEMBERS,
    receipts: sent.receipts * MEMBERS,
    typings: sent.typings * (MEMBERS - 1),
  };
  if (
    delivered.messages !== wanted.messages ||
    delivered.receipts !== wanted.receipts ||
    delivered.typings > wanted.typings
  ) {
    recorder.fail(
      `mix: ${subject} delivered ${JSON.stringify(delivered)}, due were ${JSON.stringify(wanted)}; ${result.closed} sockets closed`,
    );
  }
  if (delivered.typings < wanted.typings)
    recorder.note(
      `mix, ${subject}: ${wanted.typings - delivered.typings} typing hints were dropped, which they may be`,
    );
  recorder.checkLag('mix', subject, result.lag);
}
