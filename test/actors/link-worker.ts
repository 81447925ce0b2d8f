/** The other side of a link under test, in a thread of its own: answers by the name it is asked under. */
import { workerData, type MessagePort } from 'node:worker_threads';
import { refused } from '#actors/runtime/actor.ts';
import { PortLink, type IncomingAsk } from '#actors/runtime/port-link.ts';

const { port, gate } = workerData as { port: MessagePort; gate: Int32Array<SharedArrayBuffer> };
const held: IncomingAsk[] = [];
const told: unknown[] = [];
let tells = 0;
let overruns = 0;

const link: PortLink = new PortLink(port, {
  ask: (to, body, ask) => {
    switch (to) {
      case '@echo':
        return ask.settle({ ok: true, value: body });
      case '@refuse':
        return ask.settle(refused('rate_limited', 'x', 7));
      case '@hold':
        return void held.push(ask);
      case '@release':
        for (const one of held.splice(0)) one.settle({ ok: true, value: 'released' });
        return ask.settle({ ok: true, value: null });
      case '@state': {
        const cancelled = held.filter((one) => one.cancelled).length;
        return ask.settle({ ok: true, value: { held: held.length, cancelled, tells, overruns, last: told.at(-1) } });
      }
      case '@block':
        // Deaf until the test opens the gate: what is told meanwhile is not read.
        Atomics.wait(gate, 0, 0);
        return ask.settle({ ok: true, value: null });
      case '@close':
        return link.close();
      default:
        process.exit(1);
    }
  },
  tell: (_to, body) => {
    tells += 1;
    if (tells % 1_000 === 1) told.push(body);
  },
  overrun: () => (overruns += 1),
  timedOut: () => undefined,
  dropped: () => undefined,
  closed: () => undefined,
});
