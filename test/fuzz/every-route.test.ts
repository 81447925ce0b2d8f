/** Every route of every listener under requests that its own table draws: a new one is among them without a word. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startConsoleServer } from '#test/console/console-server.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { everyRoute, RouteFuzzer } from './route-fuzzer.ts';
import { SCIM_ROUTE_NAMES, ScimFuzzer } from './scim-fuzzer.ts';

const SEED = Number(process.env['SEED'] ?? freshSeed());
/** How often each route of SCIM is: a client is let in 500 times at once. */
const SCIM_ROUNDS = 20;
/** How often each route is asked, one round after the other: what one round made is read by the next. */
const ROUNDS = 6;
/** Faults that are shown; the first says most. */
const SHOWN = 10;

const server = await startConsoleServer({ PARLEY_SESSION_SECONDS: '86400' }, { shards: 2 });
after(async () => await server.stop());

test(`ERR-01 every route of SCIM answers by its own statement, in the form of SCIM (SEED=${SEED})`, async () => {
  const made = await server.call<{ token: string }>('owner', 'POST', '/scim-clients', { body: { name: 'fuzz' } });
  assert.equal(made.status, 201, made.text);
  const random = new SeededRandom(SEED);
  const fuzzer = new ScimFuzzer(server.server, [made.body.token]);
  const faults: string[] = [];
  for (let round = 0; round < SCIM_ROUNDS && faults.length < SHOWN; round += 1) {
    for (const name of SCIM_ROUTE_NAMES) {
      const fault = await fuzzer.shoot(name, random);
      if (fault !== undefined) faults.push(fault);
    }
  }
  assert.deepEqual(faults.slice(0, SHOWN), []);
  assert.deepEqual([...fuzzer.answered.keys()], SCIM_ROUTE_NAMES);
});

test(`ERR-01 ERR-04 every route answers by its own statement (SEED=${SEED})`, async (t) => {
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
