import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { makeLimiterMemory } from '#src/limits/bucket-table.ts';
import { HELD_MAX, HeldAnswers } from '#src/limits/held-answers.ts';
import { Limiter, PACED_MILLIS_MAX } from '#src/limits/limiter.ts';
import { makePolicies, STATED_POLICIES } from '#src/limits/policies.ts';
import { RATE_LIMITS, rateOf, weightOf } from '#src/protocol/rate-limits.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { callControl } from '#test/support/control.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { anotherDevice, assertRefused, post, say, start } from '#test/messaging/conversing.ts';

const SECOND = 1_000_000_000n;

/** A limiter whose clock the test moves; `another` counts in the same memory, as another thread does. */
function manualLimiter(times = 1): { clock: { now: bigint }; limiter: Limiter; another: Limiter } {
  const clock = { now: 5n * SECOND };
  const memory = makeLimiterMemory();
  const policies = makePolicies({ rateLimits: times, loginAttemptsPerMinute: 10, recoveriesPerMinute: 10 });
  const make = () => new Limiter(memory, policies, () => clock.now);
  return { clock, limiter: make(), another: make() };
}

void suite('the buckets', () => {
  test('as many as the burst pass at once, and one more waits for its share of a second', () => {
    const { clock, limiter } = manualLimiter();
    const { burst, perSecond } = RATE_LIMITS.post;
    for (let count = 0; count < burst; count += 1) limiter.take('post', 'ann');
    assert.throws(
      () => limiter.take('post', 'ann'),
      (error) => error instanceof Refusal && error.code === 'rate_limited' && error.retryAfter === 1,
    );
    clock.now += SECOND;
    for (let count = 0; count < perSecond; count += 1) limiter.take('post', 'ann');
    assert.equal(limiter.secondsUntil('post', 'ann'), 1);
  });

  test('who comes no faster than the bucket fills is never refused', () => {
    const { clock, limiter } = manualLimiter();
    for (let count = 0; count < 10 * RATE_LIMITS.search.burst; count += 1) {
      limiter.take('search', 'ann');
      clock.now += SECOND / BigInt(RATE_LIMITS.search.perSecond);
    }
  });

  test('what one person used up is not missing to another, nor in another bucket', () => {
    const { limiter } = manualLimiter();
    while (limiter.secondsUntil('create', 'ann') === 0);
    assert.equal(limiter.secondsUntil('create', 'ben'), 0);
    assert.equal(limiter.secondsUntil('read', 'ann'), 0);
  });

  test('threads count together', () => {
    const { limiter, another } = manualLimiter();
    let taken = 0;
    while ((taken % 2 === 0 ? limiter : another).secondsUntil('frame', 'ann') === 0) taken += 1;
    assert.equal(taken, RATE_LIMITS.frame.burst);
  });

  test('a factor multiplies every bucket, and 0 allows everything', () => {
    const { limiter } = manualLimiter(0.5);
    let taken = 0;
    while (limiter.secondsUntil('post', 'ann') === 0) taken += 1;
    assert.equal(taken, RATE_LIMITS.post.burst / 2);
    const off = manualLimiter(0).limiter;
    for (let count = 0; count < 10 * RATE_LIMITS.post.burst; count += 1) off.take('post', 'ann');
  });

  test('a route counts in the bucket it names, or by what it does', () => {
    assert.equal(rateOf({ method: 'post', rate: 'post' }), 'post');
    assert.equal(rateOf({ method: 'get' }), 'read');
    assert.equal(rateOf({ method: 'head' }), 'read');
    assert.equal(rateOf({ method: 'patch' }), 'change');
  });
});

void suite('refusals over and over', () => {
  test('QUO-02 thirty of a caller are told at once, then one every ten seconds; the others are told late', () => {
    const { clock, limiter } = manualLimiter();
    const refuse = (who: string): boolean => {
      try {
        while (true) limiter.take('create', who);
      } catch (error) {
        assert.ok(error instanceof Refusal && error.code === 'rate_limited');
        return error.isHeld;
      }
    };
    const { burst, perSecond } = STATED_POLICIES.refusal;
    assert.deepEqual([burst, perSecond], [30, 0.1]);
    for (let count = 0; count < burst; count += 1) assert.equal(refuse('ann'), false);
    assert.equal(refuse('ann'), true);
    assert.equal(refuse('ben'), false, 'of nobody else');
    clock.now += 10n * SECOND;
    assert.deepEqual([refuse('ann'), refuse('ann')], [false, true]);
  });

  test('so many wait on one listener, and one more is answered at once', () => {
    const held = new HeldAnswers();
    let answered = 0;
    const hold = (isHeld: boolean) => held.hold({ isHeld }, () => (answered += 1));
    for (let count = 0; count < HELD_MAX; count += 1) hold(true);
    assert.equal(answered, 0);
    hold(true);
    hold(false);
    assert.equal(answered, 2);
  });

  test('QUO-02 a request counts as often as it weighs, and passes after some quiet whatever it weighs', () => {
    assert.deepEqual([0, 1, 4_096, 4_097, 49_152, 49_153].map(weightOf), [1, 1, 1, 2, 12, 13]);
    const { clock, limiter } = manualLimiter();
    const { burst, perSecond } = RATE_LIMITS.post;
    limiter.take('post', 'ann');
    limiter.takeMore('post', 'ann', burst - 3);
    assert.throws(
      () => limiter.takeMore('post', 'ann', 3),
      (error) => error instanceof Refusal && error.code === 'rate_limited' && error.retryAfter === 1,
    );
    limiter.takeMore('post', 'ann', 2);
    assert.equal(limiter.left('post', 'ann'), 0);
    clock.now += (BigInt(burst) * SECOND) / BigInt(perSecond);
    limiter.take('post', 'ann');
    limiter.takeMore('post', 'ann', 10 * burst);
    assert.equal(limiter.left('post', 'ann'), 0);
  });

  test('who is paced waits for their turn up to five seconds, and is refused beyond', () => {
    const { clock, limiter } = manualLimiter();
    const { burst, perSecond } = STATED_POLICIES.calendar_write;
    for (let count = 0; count < burst; count += 1) assert.equal(limiter.pace('calendar_write', 'ann'), 0);
    const waits = Array.from({ length: (PACED_MILLIS_MAX / 1000) * perSecond }, () =>
      limiter.pace('calendar_write', 'ann'),
    );
    assert.deepEqual([waits[0], waits.at(-1)], [1000 / perSecond, PACED_MILLIS_MAX]);
    assert.throws(
      () => limiter.pace('calendar_write', 'ann'),
      (error) =>
        error instanceof Refusal && error.code === 'rate_limited' && error.retryAfter === PACED_MILLIS_MAX / 1000 + 1,
    );
    assert.equal(limiter.pace('calendar_write', 'ben'), 0);
    clock.now += BigInt(PACED_MILLIS_MAX / 1000 + 1) * SECOND;
    assert.equal(limiter.pace('calendar_write', 'ann'), 0);
  });
});

/** Posts until one is refused; how many were taken. */
async function postUntilRefused(server: TestServer, conversation: string, who: Parameters<typeof post>[1]) {
  for (let taken = 0; ; taken += 1) {
    const reply = await post(server, who, conversation, { kind: 'text', body: 'again' });
    if (reply.status !== 201) return { taken, reply };
  }
}

/** Five requests of somebody else, one after the other, that no limit counts. */
async function others(origin: string): Promise<'others'> {
  for (let count = 0; count < 5; count += 1) {
    assert.equal((await fetch(`${origin}/nowhere`)).status, 404);
  }
  return 'others';
}

/** Asks again and again, until five requests of somebody else are answered before, three times in a row. */
async function loopUntilLate(url: string, headers: Record<string, string>): Promise<Response> {
  let inTurn = 0;
  for (let refused = 0; refused < 3 * STATED_POLICIES.refusal.burst;) {
    const asked = fetch(url, { headers });
    const first = await Promise.race([asked, others(new URL(url).origin)]);
    const reply = await asked;
    // Between them there is room for one now and then.
    if (reply.status !== 429) continue;
    refused += 1;
    inTurn = first === 'others' ? inTurn + 1 : 0;
    if (inTurn === 3) return reply;
  }
  return assert.fail(`${url} is answered at once for ever`);
}

/** The loops come last: they use up what the address has. */
void suite('a twentieth of the rates', () => {
  let server: TestServer;
  before(async () => {
    const environment = { PARLEY_RATE_LIMITS: '0.05', PARLEY_ADD_UNASKED: '3' };
    server = await startServer({ shards: 2, environment });
  });
  after(() => server.stop());

  test('ERR-06 who posts or asks people into rooms too often is refused with rate_limited, and only they: sockets and others go on', async () => {
    const { ann, ben, cat } = await server.people('ann', 'ben', 'cat');
    const { id } = await start(server, ann, 'room', ['ben', 'cat']);
    const socket = await connect(server, ann);
    const { taken, reply } = await postUntilRefused(server, id, ann);
    assertRefused(reply, 429, 'rate_limited');
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    // Half a message a second comes on top; without a common count over both shards there would be twice as many.
    const burst = RATE_LIMITS.post.burst * 0.05;
    assert.ok(taken >= burst && taken < burst * 1.8, `${taken} posts were taken`);
    // A message of 47 KB counts for twelve, or for all that there is here.
    const long = { kind: 'text', body: '€'.repeat(16_000) };
    assert.equal((await post(server, cat, id, long)).status, 201);
    assertRefused(await post(server, cat, id, { kind: 'text', body: 'short' }), 429, 'rate_limited');
    const { seq } = await say(server, ben, id, 'from somebody else');
    await socket.event((event) => event.type === 'message.new' && event.seq === seq);
    assert.equal(socket.closed, undefined);
    const asked = RATE_LIMITS.invite.burst * 0.05;
    const seeded = await callControl(server.folder, 'seed', { people: asked + 1, rooms: 0, members: 1 });
    const crowd = seeded.people.map(({ username }) => username);
    const add = async (participants: string[]) =>
      await server.api(ann, 'POST', `/v1/conversations/${id}/participants`, { participants });
    const tooMany = await add(crowd);
    assertRefused(tooMany, 429, 'rate_limited');
    assert.equal(tooMany.headers.get('retry-after'), '1');
    assert.equal((await add(crowd.slice(0, asked))).body['participant_count'], 3);
    assertRefused(await add(crowd.slice(-1)), 429, 'rate_limited');

    const ring = async (who: Person, call: string, step = 'invite') => {
      const body = step === 'invite' ? { video: false, room: 'r' } : {};
      const place = step === 'invite' ? 1 : 2;
      return await server.api(who, 'POST', '/v1/signal', { to: id, kind: 'call', step, call, seq: place, body });
    };
    let rung = await ring(cat, 'first');
    assert.equal(rung.status, 202, rung.text);
    for (let more = 0; rung.status === 202 && more < 10; more += 1) rung = await ring(cat, `more-${more}`);
    assertRefused(rung, 429, 'rate_limited');
    // Who rings too often hangs up all the same, and others ring.
    assert.equal((await ring(cat, 'first', 'cancel')).status, 202);
    assert.equal((await ring(ben, 'his')).status, 202);
  });

  void suite('a loop', () => {
    test('QUO-02 is told late on every listener after thirty refusals, and nobody waits behind it', async () => {
      const { lou } = await server.people('lou');
      const authorization = `Bearer ${lou.session.token}`;
      const looped: readonly [string, Record<string, string>][] = [
        [`${server.messaging}/v1/search?q=hello`, { authorization }],
        [`${server.coordinator}/v1/directory`, { authorization }],
        [`${server.messaging}/healthz`, {}],
      ];
      for (const [url, headers] of looped) {
        const late = await loopUntilLate(url, headers);
        assert.deepEqual([late.status, ((await late.json()) as { code: string }).code], [429, 'rate_limited'], url);
        assert.ok(Number(late.headers.get('retry-after')) >= 1, url);
      }
      // All listeners count an address together, and one may have become free by now.
      const more = await Promise.all([1, 2, 3].map(async () => (await fetch(`${server.calendar}/healthz`)).status));
      assert.ok(more.includes(429), more.join());
    });

    test('QUO-02 of calendar requests waits its turn over DAV and JSON together, and is refused beyond two seconds', async () => {
      const { mia } = await server.people('mia');
      const headers = { authorization: `Bearer ${mia.session.token}` };
      const ask = async () => (await fetch(`${server.calendar}/v1/calendars`, { headers })).status;
      const made = await request<{ password: string }>('POST', `${server.coordinator}/v1/app-passwords`, {
        body: { name: 'calendar' },
        token: mia.session.token,
      });
      const authorization = `Basic ${Buffer.from(`mia:${made.body.password}`).toString('base64')}`;
      const burst = STATED_POLICIES.calendar_read.burst * 0.05;
      assert.deepEqual(new Set(await Promise.all(Array.from({ length: burst }, ask))), new Set([200]));
      // The next one waits a second, and one more, by the other door, behind it: both are served, and others before them.
      const next = ask();
      const late = fetch(`${server.calendar}/dav/`, { method: 'PROPFIND', headers: { authorization, depth: '0' } });
      assert.equal(await Promise.race([late, others(server.calendar)]), 'others');
      assert.deepEqual([await next, (await late).status], [200, 207]);
      const answers = await Promise.all(Array.from({ length: PACED_MILLIS_MAX / 1000 + 4 }, ask));
      assert.deepEqual(new Set(answers), new Set([200, 429]));
    });
  });
});

test('SOC-08 FRM-03 valid frames too many are dropped and counted, the presence said last holds, and no socket closes', async (t) => {
  const server = await startServer({ shards: 2, environment: { PARLEY_RATE_LIMITS: '0.1' } });
  t.after(() => server.stop());
  const { ann, ben } = await server.people('ann', 'ben');
  const { id } = await start(server, ann, 'room', ['ben']);
  const other = await anotherDevice(server, ann);
  const [mine, mineToo, his] = [await connect(server, ann), await connect(server, other), await connect(server, ben)];
  mineToo.send({ kind: 'presence', awake: false });
  for (let count = 0; count < 40; count += 1) mine.send({ kind: 'presence', awake: count % 2 === 0 });
  // The other device has a budget of its own.
  mineToo.send({ kind: 'typing', conv: id });
  await his.event('typing');
  const away = his.event((event) => event.type === 'presence' && event.data['state'] === 'away');
  const dropped = async () => {
    const text = await (await fetch(`${server.messaging}/healthz`, { headers: { accept: 'text/plain' } })).text();
    return Number(/^parley_actors_dropped_tells_total\{kind="presence"\} (\d+)/m.exec(text)?.[1]);
  };
  await until(async () => (await dropped()) >= 28, 'the frames too many');
  await away;
  const presence = async () => (await server.api<{ items: object[] }>(ben, 'GET', '/v1/presence')).body.items;
  await until(async () => JSON.stringify(await presence()).includes('{"user":"ann","state":"away"}'), 'the last word');
  for (const { closed, events } of [mine, mineToo]) {
    assert.deepEqual([closed, events.some(({ type }) => type === 'error')], [undefined, false]);
  }
});

void suite('a fiftieth of the rates', () => {
  let running: ConsoleServer;
  before(async () => {
    running = await startConsoleServer({ shards: 2, environment: { PARLEY_RATE_LIMITS: '0.02' } });
  });
  after(async () => await running.stop());

  test('a socket too many is a refused upgrade', async () => {
    const { server } = running;
    const { ben } = await server.people('ben');
    await connect(server, ben);
    await assert.rejects(connect(server, ben), /429/);
  });

  test('a client that provisions people is held to its rates, reads and writes apart, and so are tokens that are none', async () => {
    const { console, server } = running;
    const made = await console<{ token: string }>('POST', '/scim-clients', { name: 'provider' });
    const ask = async (method: string, token: string) => {
      const init = { method, headers: { authorization: `Bearer ${token}` } };
      const reply = await fetch(`${server.coordinator}/scim/v2/Users`, init);
      return { code: ((await reply.json()) as { code?: string }).code, status: reply.status, headers: reply.headers };
    };
    const untilRefused = async (method: string, token: string) => {
      for (let taken = 0; ; taken += 1) {
        const { code, headers, status } = await ask(method, token);
        if (code !== 'rate_limited') continue;
        assert.equal(status, 429);
        assert.ok(Number(headers.get('retry-after')) >= 1);
        return taken;
      }
    };
    const burst = STATED_POLICIES.scim_read.burst * 0.02;
    const reads = await untilRefused('GET', made.body.token);
    assert.ok(reads >= burst && reads < 2 * burst, `${reads} reads were taken`);
    // An empty body: each is refused for what it is, and counts.
    const writes = await untilRefused('POST', made.body.token);
    assert.ok(writes >= STATED_POLICIES.scim_write.burst * 0.02 && writes < 2 * burst, `${writes} writes were taken`);
    const guesses = await untilRefused('GET', 'scim_guess');
    assert.ok(guesses >= 1 && guesses <= 2, `${guesses} guesses were judged`);
  });

  test('requests with tokens that do not hold are counted by address, and then refused before they are judged', async () => {
    const { server } = running;
    const codes: string[] = [];
    const ask = async (path: string, token: string) => {
      const { status, body } = await request<{ code: string }>('GET', `${server.messaging}${path}`, { token });
      codes.push(`${status} ${body.code}`);
    };
    const burst = RATE_LIMITS.refused.burst * 0.02;
    // Fewer beyond it than would be answered late.
    for (let count = 0; count < burst + 20; count += 1) await ask('/v1/inbox', 'nobody');
    assert.deepEqual(new Set(codes.slice(0, burst)), new Set(['401 token_invalid']));
    // One a second is judged again.
    const refused = codes.slice(burst).filter((code) => code === '429 rate_limited');
    assert.ok(refused.length >= 10, codes.slice(burst).join());
  });
});
