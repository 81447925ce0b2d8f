/**
 * The list of messages under somebody who reads in it: nothing moves under their eyes but by their own hand, whatever comes above or
 * below, and however slowly the machine draws. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { TIMELINE_KEPT_MAX } from '#src/web/chat/state/timeline.ts';
import { openRow, signIn } from './app-page.ts';
import { CHROMIUM, People, restingTop } from './browser.ts';
import { buildApp } from './built-app.ts';

/** More than are held for scrolling, so that the far side leaves. */
const MANY = TIMELINE_KEPT_MAX + 150;
const AT_ONCE = 25;
const STEPS = 10;

let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer({ environment: { PARLEY_RATE_LIMITS: '0' } });
});
after(async () => await server?.stop());

describe('the list of messages in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let bob: Page;
  let accounts: Record<'alice' | 'bob', Person>;
  let room = '';

  let posted = 0;
  let newest = 0;
  const post = async (body: string) => {
    posted += 1;
    const message = { kind: 'text', body, client_msg_id: `posted-${posted}` };
    const reply = await server.api<{ seq: number }>(
      accounts.alice,
      'POST',
      `/v1/conversations/${room}/messages`,
      message,
    );
    assert.equal(reply.status, 201, reply.text);
    newest = Math.max(newest, reply.body.seq);
    return reply.body.seq;
  };
  const list = () => bob.getByRole('log', { name: 'Messages' });
  const rowOf = (seq: number) => bob.locator(`article[data-seq="${seq}"]`);
  /** Once ten pictures in a row have the list where it is. */
  const rest = async () =>
    await list().evaluate(async (element) => {
      let [last, still] = [Number.NaN, 0];
      while (still < 10) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        still = element.scrollTop === last ? still + 1 : 0;
        last = element.scrollTop;
      }
    });
  /** How far the list is from both of its ends, in pixels. */
  const place = async () =>
    await list().evaluate(({ clientHeight, scrollHeight, scrollTop: above }) => ({
      above,
      below: scrollHeight - clientHeight - above,
    }));
  const turn = async (pixels: number) => {
    const start = await place();
    await bob.mouse.wheel(0, pixels);
    // A busy browser takes the wheel later than it says that it did.
    if ((pixels < 0 ? start.above : start.below) > 1)
      await until(async () => (await place()).above !== start.above, 'a movement by the wheel');
    await rest();
  };
  /** The first row that is wholly in sight. */
  const firstInSight = async () => {
    const seq = await list().evaluate((element) => {
      const { top } = element.getBoundingClientRect();
      const rows = [...element.querySelectorAll<HTMLElement>('article')];
      return rows.find((row) => row.getBoundingClientRect().top >= top)?.dataset['seq'];
    });
    return Number(seq);
  };
  /** Whether any part of a row is in sight. */
  const isInSight = async (seq: number) => {
    const row = rowOf(seq);
    if ((await row.count()) === 0) return false;
    return await row.evaluate((article) => {
      const sight = article.closest('[role="log"]')?.getBoundingClientRect();
      const { bottom, top } = article.getBoundingClientRect();
      return sight !== undefined && bottom > sight.top && top < sight.bottom;
    });
  };
  /** Pages of the history that the app asked for and does not get yet. */
  const held: (() => Promise<void>)[] = [];
  let isHolding = false;
  const release = async () => {
    while (held.length > 0) await held.shift()?.();
  };
  /** How far what is in sight moves while something is done that is not the reader's doing, in pixels. */
  const movedBy = async (happen: () => Promise<void>) => {
    const seq = await firstInSight();
    const stood = await restingTop(rowOf(seq));
    await happen();
    // What the list of conversations shows came after all that happened before.
    const last = `Mark ${posted}`;
    await post(last);
    await bob.getByRole('navigation').getByRole('link').filter({ hasText: last }).waitFor();
    return (await restingTop(rowOf(seq))) - stood;
  };
  const openAtEnd = async () => {
    isHolding = false;
    await release();
    await openRow(bob, 'Elsewhere');
    await openRow(bob, 'Archive');
    const button = bob.getByRole('button', { name: 'To the newest message' });
    await until(async () => {
      // Pressed as it is found: a list that comes to its end by itself takes the button away.
      await button.evaluateAll((found) => (found as HTMLElement[])[0]?.click());
      return await isInSight(newest);
    }, 'the newest message in sight');
    await list().hover();
    isHolding = true;
  };

  before(async () => {
    accounts = await server.people('alice', 'bob');
    const rooms = ['Archive', 'Elsewhere'].map(async (title) => {
      const form = { kind: 'room', title, participants: ['bob'] };
      return (await server.api<{ id: string }>(accounts.alice, 'POST', '/v1/conversations', form)).body.id;
    });
    [room = ''] = await Promise.all(rooms);
    for (let first = 1; first <= MANY; first += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, async (_, index) => await post(linesOf(first + index))));
    people = await People.start();
    bob = await people.person();
    await signIn(server, bob, 'bob');
    await bob.route(/\/messages\?.*(before|after)_seq=/u, async (route) => {
      if (!isHolding) return await route.continue();
      const { promise, resolve } = Promise.withResolvers<void>();
      held.push(async () => {
        const answered = bob.waitForResponse((response) => response.request() === route.request());
        resolve();
        await answered;
      });
      await promise;
      await route.continue();
    });
  });
  after(async () => await people?.stop());
  afterEach(() => assert.deepEqual(people.complaints.splice(0), []));

  test('an older page moves nothing, also for whoever went down again while it was on its way', async () => {
    await openAtEnd();
    for (const down of [0, 60, 200]) {
      await until(async () => {
        await bob.mouse.wheel(0, -600);
        return held.length > 0 && (await list().evaluate(({ scrollTop }) => scrollTop)) === 0;
      }, 'the oldest message that is here');
      await rest();
      if (down > 0) {
        await bob.mouse.wheel(0, down);
        await until(async () => (await list().evaluate(({ scrollTop }) => scrollTop)) > 0, 'the way down');
      }
      const moved = await movedBy(release);
      assert.ok(Math.abs(moved) <= 1, `${down} px below the top it moved by ${moved}`);
    }
  });

  test('on a machine that draws a picture in a tenth of a second an older page moves nothing', async () => {
    await openAtEnd();
    await until(async () => {
      await bob.mouse.wheel(0, -600);
      return held.length > 0 && (await list().evaluate(({ scrollTop }) => scrollTop)) === 0;
    }, 'the oldest message that is here');
    await bob.evaluate(() => {
      const burn = () => {
        const end = performance.now() + 100;
        while (performance.now() < end);
        if (document.documentElement.dataset['burning'] !== 'no') requestAnimationFrame(burn);
      };
      requestAnimationFrame(burn);
    });
    const moved = await movedBy(release);
    await bob.evaluate(() => void (document.documentElement.dataset['burning'] = 'no'));
    assert.ok(Math.abs(moved) <= 1, `it moved by ${moved}`);
  });

  test('whatever comes above and below, nothing moves under the eyes but by the hand', async (t) => {
    const random = new SeededRandom(Number(process.env['SEED'] ?? freshSeed()));
    t.diagnostic(`SEED=${random.seed}`);
    await openAtEnd();
    /** A message of which nothing is in sight, mostly one near it: others are not even loaded. */
    const unseen = async () =>
      await until(async () => {
        const far = random.chance(0.2);
        const seq = far ? random.whole(1, MANY) : (await firstInSight()) + random.whole(-60, 80);
        if (seq < 1 || seq > MANY) return false;
        return !(await isInSight(seq)) && seq;
      }, 'a message out of sight');
    const events = {
      edit: async () => {
        const body = linesOf(random.whole(1, MANY), random.pick([1, 1, 2, 9]));
        const path = `/v1/conversations/${room}/messages/${await unseen()}`;
        assert.equal((await server.api(accounts.alice, 'PATCH', path, { body })).status, 200);
      },
      react: async () => {
        const path = `/v1/conversations/${room}/messages/${await unseen()}/reactions/${encodeURIComponent('👍')}`;
        assert.equal((await server.api(accounts.alice, 'PUT', path)).status, 200);
      },
      post: async () => void (await post(linesOf(posted, random.whole(1, 5)))),
      page: release,
    };
    for (let step = 1; step <= STEPS; step += 1) {
      await turn(random.pick([-4_000, -1_500, -700, -120, 90, 500, 2_000]));
      if (!(await bob.getByRole('button', { name: 'To the newest message' }).isVisible())) {
        await turn(-1_500);
        await bob.getByRole('button', { name: 'To the newest message' }).waitFor();
      }
      const all = Object.keys(events) as (keyof typeof events)[];
      const happening = [random.pick(all), random.pick(all)];
      // A page comes before, between or behind them.
      happening.splice(random.whole(0, 2), 0, 'page');
      const moved = await movedBy(async () => {
        for (const one of happening) await events[one]();
      });
      const what = `SEED=${random.seed}: at step ${step} ${happening.join(', ')} moved it by ${moved}`;
      assert.ok(Math.abs(moved) <= 1, what);
    }
  });

  test('what leaves on the far side moves nothing, and is there again on the way back', async () => {
    await openAtEnd();
    const shown = async () => Number(await list().locator('article').first().getAttribute('data-seq'));
    await until(async () => {
      await turn(-3_000);
      if (held.length > 0) {
        const moved = await movedBy(release);
        assert.ok(Math.abs(moved) <= 1, `before ${await shown()} it moved by ${moved}`);
      }
      return (await shown()) === 1;
    }, 'the first message');
    await until(async () => {
      await turn(3_000);
      if (held.length > 0) {
        const moved = await movedBy(release);
        assert.ok(Math.abs(moved) <= 1, `behind ${await shown()} it moved by ${moved}`);
      }
      return await isInSight(newest);
    }, 'the newest message');
  });

  test('a message can be pointed at while the list moves, as it does for as long as others write', async () => {
    await openAtEnd();
    const pointedAt = await list().evaluate(async (element) => {
      const { height, left, top, width } = element.getBoundingClientRect();
      const moved = new Promise((resolve) => element.addEventListener('scroll', resolve, { once: true }));
      element.dispatchEvent(new WheelEvent('wheel', { bubbles: true, deltaY: -200 }));
      element.scrollTop -= 200;
      await moved;
      const drawn = new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      await drawn;
      return document.elementFromPoint(left + width / 2, top + height / 2)?.closest('article') !== null;
    });
    assert.ok(pointedAt, 'the rows do not take the mouse');
  });
});

/** One line, or several: rows are not of one height. */
function linesOf(at: number, count = at % 7 === 0 ? 4 : 1): string {
  return Array.from({ length: count }, (_, line) => `Line ${at}.${line}`).join('\n');
}
