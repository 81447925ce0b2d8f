/** `call-setup`: how long until a call rings on the last of eight devices, while rooms chat. */
import { bySize, interleave, latencyMillis, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { Callers } from '../harness/callers.ts';
import type { Chat } from '../harness/chat.ts';
import { percentilesOf } from '../harness/percentiles.ts';
import type { Server } from '../harness/server.ts';
import { seatChat } from './chat-mix.ts';

const MEMBERS = 10;
const DEVICES = 8;
const RECEIPTS_PER_MESSAGE = 3;
const TYPING_SECONDS = 4;

export const callSetup: Bench = {
  name: 'call-setup',
  say: 'an invite until it rings on the last of 8 devices, and a join until the others are told, under chat',
  async run(context) {
    const rooms = bySize(context, { smoke: 2, default: 50, full: 200 });
    const messagesPerSecond = bySize(context, { smoke: 20, default: 100, full: 300 });
    const callsPerSecond = bySize(context, { smoke: 10, default: 10, full: 20 });
    context.recorder.parameters({
      rooms,
      members: MEMBERS,
      shards: context.shards,
      devices: DEVICES,
      'messages/s': messagesPerSecond,
      'calls/s': callsPerSecond,
    });
    // The members of one room more call each other, and chat with nobody.
    const server = await startParley(context, { people: (rooms + 1) * MEMBERS, rooms: rooms + 1, members: MEMBERS });
    try {
      const chat = await seatChat(context, server, server.world.rooms.slice(0, -1));
      try {
        await measure(context, server, chat, { messagesPerSecond, callsPerSecond });
      } finally {
        await chat.stop();
      }
    } finally {
      await server.stop();
    }
    const p99 = context.recorder.median('call', 'parley', 'ring p99 ms');
    context.recorder.bar('call', 'ring p99 ms', p99, '≤', 50);
  },
};

/** Every other member calls the one behind them, who has eight devices. */
async function connectCallers(context: BenchContext, server: Server): Promise<Callers> {
  const members = server.world.rooms.at(-1)?.members ?? [];
  const people = new Map(server.world.people.map((person) => [person.username, person]));
  const pairs = [];
  for (let i = 0; i + 1 < bySize(context, { smoke: 2, default: MEMBERS, full: MEMBERS }); i += 2) {
    const caller = people.get(members[i]!)!;
    const callee = members[i + 1]!;
    // oxlint-disable-next-line no-await-in-loop -- A password hash takes a core for a while.
    const devices = await Promise.all(Array.from({ length: DEVICES }, () => server.addDevice(callee)));
    pairs.push({
      caller: caller.username,
      token: caller.token,
      path: server.socketPath(caller),
      callee,
      devices: devices.map((device) => ({ path: server.socketPath(device), token: device.token })),
    });
  }
  return await Callers.connect({ host: server.host, port: server.port, pairs }, context.pins.generator);
}

async function measure(
  context: BenchContext,
  server: Server,
  chat: Chat,
  rates: { readonly messagesPerSecond: number; readonly callsPerSecond: number },
): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
  const seconds = bySize(context, { smoke: 0.5, default: 6, full: 20 });
  const messages = Math.round(rates.messagesPerSecond * seconds);
  const calls = Math.round(rates.callsPerSecond * seconds);
  const typingPerSecond = ((server.world.rooms.length - 1) * MEMBERS) / TYPING_SECONDS;
  const callers = await connectCallers(context, server);
  let next = 0;
  try {
    await interleave(context, rounds, [server], async (_subject, round, isWarmUp) => {
      await chat.prepare();
      const mix = { run: 'calls', first: next, messages, receiptsPerMessage: RECEIPTS_PER_MESSAGE, typingPerSecond };
      next += messages;
      const [result, chatted] = await Promise.all([
        callers.run({ run: `round${round}`, calls, callsPerSecond: rates.callsPerSecond }),
        chat.run({ ...mix, messagesPerSecond: rates.messagesPerSecond }),
      ]);
      const refused = Object.keys(result.statuses).filter((status) => status !== '202');
      if (refused.length > 0) recorder.fail(`call: answered ${JSON.stringify(result.statuses)}`);
      if (chatted.delivered.messages !== messages * MEMBERS)
        recorder.fail('call: chat messages were lost beside calls');
      if (isWarmUp) return;
      recorder.checkLag('call', server.name, result.lag);
      const ring = latencyMillis(result.ring);
      const settle = latencyMillis(result.settle);
      recorder.round({
        case: 'call',
        subject: server.name,
        round,
        values: {
          'ring p50 ms': ring['p50 ms'] ?? 0,
          'ring p99 ms': ring['p99 ms'] ?? 0,
          'others told p50 ms': settle['p50 ms'] ?? 0,
          'others told p99 ms': settle['p99 ms'] ?? 0,
          calls,
        },
        ns: percentilesOf(result.ring),
      });
    });
  } finally {
    await callers.stop();
  }
}
