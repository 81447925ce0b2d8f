/** Every route of every listener under requests that its own table draws: a new one is among them without a word. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startConsoleServer } from '#test/console/console-server.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { everyRoute, RouteFuzzer } from './route-fuzzer.ts';

const SEED = Number(process.env['SEED'] ?? freshSeed());
/** How often each route is asked, one round after the other: what one round made is read by the next. */
const ROUNDS = 6;
/** Faults that are shown; the first says most. */
const SHOWN = 10;

test(`ERR-01 ERR-04 every route answers by its own statement (SEED=${SEED})`, async (t) => {
  const server = await startConsoleServer({ PARLEY_SESSION_SECONDS: '86400' });
  t.after(async () => await server.stop());
  const random = new SeededRandom(SEED);
  const fuzzer = new RouteFuzzer(server);
  const routes = everyRoute();
  const faults: string[] = [];
  for (let round = 0; round < ROUNDS && faults.length < SHOWN; round += 1) {
    for (const route of routes) {
      const fault = await fuzzer.shoot(route, random);
      if (fault !== undefined) faults.push(fault);
    }
  }
  t.diagnostic(`${routes.length} routes, ${fuzzer.succeeded.size} of them with success`);
  assert.deepEqual(faults.slice(0, SHOWN), []);
  assert.deepEqual(
    server.server.output.filter((line) => /"level":"(?:error|fatal)"/.test(line)),
    [],
  );
  assert.equal(server.server.isRunning, true);
});
