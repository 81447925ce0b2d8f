/** Two people at random in the app: `npm run test:long`, or `SEED=… STEPS=… npm test -- FILE` for a longer walk or that one again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { startServer } from '#test/support/server.ts';
import { CHROMIUM, NARROW, People, WIDE } from './browser.ts';
import { buildApp } from './built-app.ts';
import { RandomWalk, type Walker } from './random-walk.ts';

const SEED = Number(process.env['SEED'] ?? freshSeed());
const STEPS = Number(process.env['STEPS'] ?? 150);

test(
  `WEB-01 whatever two people do at random, no screen breaks, seed ${SEED}`,
  { skip: CHROMIUM === undefined && 'no Chromium on this machine' },
  async (t) => {
    buildApp();
    const server = await startServer({ shards: 2 });
    t.after(async () => await server.stop());
    const { alice } = await server.people('alice', 'bob', 'carol');
    await server.api(alice, 'POST', '/v1/conversations', { kind: 'direct', participants: ['bob'] });
    await server.api(alice, 'POST', '/v1/conversations', {
      kind: 'room',
      title: 'Harbour',
      participants: ['bob', 'carol'],
    });
    const people = await People.start();
    t.after(async () => await people.stop());
    const walkers: Walker[] = [];
    for (const [name, viewport, locale] of [
      ['alice', WIDE, 'en-GB'],
      ['bob', NARROW, 'ru-RU'],
    ] as const) {
      const page = await people.person({ viewport, locale });
      const enter = async () => {
        await page.goto(server.coordinator);
        const password = page.locator('input[type=password]');
        await page.locator('input[autocomplete~=username]').fill(name);
        await password.fill(`password of ${name}`);
        await password.press('Enter');
        await page.getByRole('navigation').first().waitFor();
      };
      await enter();
      walkers.push({ name, page, enter });
    }
    const walk = await RandomWalk.make(new SeededRandom(SEED), walkers);
    for (let steps = 0; steps < STEPS; steps += 1) await walk.step();
    await walk.compareLists();
    assert.deepEqual(walk.faults, []);
  },
);
