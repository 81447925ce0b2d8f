import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import {
  RECOVERY_ATTEMPTS_MAX,
  RECOVERY_ATTEMPTS_SECONDS,
  RECOVERY_CODE_SECONDS,
  RECOVERY_PAUSE_SECONDS,
  RECOVERY_PLACES_MAX,
  Recovery,
} from '#src/directory/recovery.ts';
import { limiterBy } from '#test/support/limiter.ts';
import { PASSWORD, START, startCoordinator } from './coordinator-fixture.ts';

const BY = { actor: 'user:root', address: '127.0.0.1' };
const PHONE = '+79161234567';
const NOBODY = '+79160000000';
const NEW_PASSWORD = 'another long password';
const FAILED = { code: 'recovery_failed', error: 'The code is wrong or no longer valid.' };

/** Whence a confirmation comes: an address that the proxy names, a device that the caller says it is. */
interface From {
  readonly address?: string;
  readonly device_id?: string;
}

const BEHIND_PROXY = { PARLEY_TRUSTED_PROXIES: '127.0.0.1' };

async function withGuest(context: TestContext, settings: Record<string, string> = {}) {
  const coordinator = await startCoordinator(context, { PARLEY_RECOVERIES_PER_MINUTE: '1000000', ...settings });
  const { enrollment, people, post, recovery } = coordinator;
  await people.add('alice', PASSWORD);
  const guest_until = formatInstant(START + 100 * 86_400_000);
  const { path } = await enrollment.invite({ kind: 'guest', phone: PHONE, guest_until }, 'alice', BY);
  await post(path, { username: 'visitor', password: PASSWORD });
  const recover = async (phone: string) => {
    const answer = await post('/v1/auth/recover', { phone });
    await recovery.settle();
    return answer;
  };
  const confirm = async (code: string, phone = PHONE, { address = '127.0.0.1', ...more }: From = {}) =>
    await post(
      '/v1/auth/recover/confirm',
      { phone, code, new_password: NEW_PASSWORD, ...more },
      { 'x-forwarded-for': address },
    );
  const codeNow = async () => (await recovery.read(BY))[0]?.code ?? '';
  return { ...coordinator, recover, confirm, codeNow };
}

/** A code that is not the one there is. */
function wrong(code: string): string {
  return code === '000000000000' ? '000000000001' : '000000000000';
}

test('GST-02 a known and an unknown number have one answer: status, body and headers', async (context) => {
  const { recover } = await withGuest(context);
  const [known, unknown] = [await recover(PHONE), await recover(NOBODY)];
  assert.deepEqual([known.status, known.text], [200, '{"status":"ok"}']);
  assert.deepEqual([unknown.status, unknown.text], [200, '{"status":"ok"}']);
  const headers = (answer: typeof known) => [...answer.headers].filter(([name]) => name !== 'date');
  assert.deepEqual(headers(known), headers(unknown));
});

test('GST-02 the times of known and unknown numbers cannot be told apart', async (context) => {
  const { post, recovery, clock } = await withGuest(context);
  const millis: Record<string, number[]> = { [PHONE]: [], [NOBODY]: [] };
  // Interleaved, and each waits for the work behind the answer before, so that neither pays for the other's.
  for (let round = 0; round < 200; round += 1) {
    for (const phone of round % 2 === 0 ? [PHONE, NOBODY] : [NOBODY, PHONE]) {
      clock.advance(RECOVERY_PAUSE_SECONDS);
      const began = performance.now();
      await post('/v1/auth/recover', { phone });
      await recovery.settle();
      millis[phone]?.push(performance.now() - began);
    }
  }
  const share = likelihoodOfLess(millis[PHONE] as number[], millis[NOBODY] as number[]);
  // Of two like distributions of 200 the share is 0.5 ± 0.03; at 0.35 or 0.65 an observer would begin to learn.
  assert.ok(share > 0.35 && share < 0.65, `A known number is answered sooner in ${share} of all pairs.`);
});

test('GST-03 a code is exchanged once for a new password and ends every session', async (context) => {
  const { recover, confirm, codeNow, login, post, announced, accounts } = await withGuest(context);
  const before = await login('visitor');
  await recover(PHONE);
  const code = await codeNow();
  assert.match(code, /^\d{12}$/);
  assert.deepEqual((await confirm(code)).json, { status: 'ok' });
  const last = announced.at(-1);
  assert.equal(last?.what, 'revoked');
  assert.equal((await post('/v1/auth/login', { username: 'visitor', password: PASSWORD })).json.code, 'login_failed');
  const after = await post('/v1/auth/login', { username: 'visitor', password: NEW_PASSWORD });
  assert.notEqual(after.json.token, before.token);
  assert.deepEqual((await confirm(code)).json, FAILED);
  assert.equal(accounts.auditEntries({ limit: 1 })[0]?.event, 'recovery.confirmed');
});

test('GST-03 a code works up to its tenth minute', async (context) => {
  const { recover, confirm, codeNow, clock } = await withGuest(context);
  await recover(PHONE);
  const first = await codeNow();
  clock.advance(RECOVERY_CODE_SECONDS);
  assert.deepEqual((await confirm(first)).json, FAILED);
  assert.equal(await codeNow(), '');
  await recover(PHONE);
  const second = await codeNow();
  clock.advance(RECOVERY_CODE_SECONDS - 1);
  assert.equal((await confirm(second)).status, 200);
});

test('GST-03 of many who come with one code at once one gets in', async (context) => {
  const { recover, confirm, codeNow } = await withGuest(context);
  await recover(PHONE);
  const code = await codeNow();
  const answers = await Promise.all(Array.from({ length: RECOVERY_ATTEMPTS_MAX }, () => confirm(code)));
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 403, 403, 403, 403],
  );
});

test('GST-04 five attempts count for the number at one place, and a new request adds none', async (context) => {
  const { recover, confirm, codeNow, clock } = await withGuest(context);
  await recover(PHONE);
  const first = await codeNow();
  for (let attempt = 0; attempt < 3; attempt += 1) assert.deepEqual((await confirm(wrong(first))).json, FAILED);
  clock.advance(RECOVERY_PAUSE_SECONDS);
  await recover(PHONE);
  for (let attempt = 0; attempt < 2; attempt += 1) assert.deepEqual((await confirm(wrong(first))).json, FAILED);
  assert.deepEqual((await confirm(await codeNow())).json, FAILED);
  clock.advance(RECOVERY_ATTEMPTS_SECONDS - RECOVERY_PAUSE_SECONDS - 1);
  await recover(PHONE);
  assert.deepEqual((await confirm(await codeNow())).json, FAILED);
  clock.advance(1);
  assert.equal((await confirm(await codeNow())).status, 200);
});

test('GST-04 wrong codes of a stranger at several addresses shut the guest out nowhere else', async (context) => {
  const { recover, confirm, codeNow, clock } = await withGuest(context, BEHIND_PROXY);
  await recover(PHONE);
  const code = await codeNow();
  for (const address of ['203.0.113.7', '203.0.113.8', '2001:db8:7::1']) {
    for (let attempt = 0; attempt < RECOVERY_ATTEMPTS_MAX; attempt += 1) {
      assert.deepEqual((await confirm(wrong(code), PHONE, { address })).json, FAILED);
    }
    // The place has used its attempts up, for the right code too.
    assert.deepEqual((await confirm(code, PHONE, { address })).json, FAILED);
    clock.advance(30);
  }
  assert.deepEqual((await confirm(code, PHONE, { address: '2001:db8:7::ffff' })).json, FAILED);
  assert.equal((await confirm(code, PHONE, { address: '198.51.100.1' })).status, 200);
});

test('GST-04 a device that the guest signed in on before comes in from the very address of the stranger', async (context) => {
  const { recover, confirm, codeNow, login } = await withGuest(context, { PARLEY_RECOVERIES_PER_MINUTE: '10' });
  const { device_id } = await login('visitor');
  const { device_id: another } = await login('alice');
  await recover(PHONE);
  const code = await codeNow();
  for (let attempt = 0; attempt < 10; attempt += 1) await confirm(wrong(code));
  assert.equal((await confirm(wrong(code))).json.code, 'rate_limited');
  // Another person's device, and one of nobody, are none of the guest's.
  for (const made of [another, makeId('d', START)])
    assert.equal((await confirm(code, PHONE, { device_id: made })).status, 429);
  for (let attempt = 1; attempt < RECOVERY_ATTEMPTS_MAX; attempt += 1) {
    assert.deepEqual((await confirm(wrong(code), PHONE, { device_id })).json, FAILED);
  }
  assert.equal((await confirm(code, PHONE, { device_id })).status, 200);
});

test('GST-04 a device of the guest has five attempts as any place has, and no more', async (context) => {
  const { recover, confirm, codeNow, login } = await withGuest(context);
  const { device_id } = await login('visitor');
  await recover(PHONE);
  const code = await codeNow();
  for (let attempt = 0; attempt < RECOVERY_ATTEMPTS_MAX; attempt += 1) await confirm(wrong(code), PHONE, { device_id });
  assert.deepEqual((await confirm(code, PHONE, { device_id })).json, FAILED);
});

test('GST-04 a stranger who asks for codes over and over leaves the guest the one that they have', async (context) => {
  const { recover, confirm, codeNow, clock } = await withGuest(context);
  await recover(PHONE);
  const code = await codeNow();
  for (let minute = 1; minute < RECOVERY_CODE_SECONDS / RECOVERY_PAUSE_SECONDS; minute += 1) {
    clock.advance(RECOVERY_PAUSE_SECONDS);
    await recover(PHONE);
    assert.equal(await codeNow(), code);
  }
  clock.advance(RECOVERY_PAUSE_SECONDS - 1);
  assert.equal((await confirm(code)).status, 200);
});

test('GST-04 a place that goes on guessing waits a quarter of an hour, then twice as long', async (context) => {
  const { recover, confirm, codeNow, clock } = await withGuest(context);
  // Without a code there is nothing to guess, and nothing to use up.
  for (let attempt = 0; attempt < 2 * RECOVERY_ATTEMPTS_MAX; attempt += 1) await confirm('123456');
  clock.advance(600);
  const useUp = async () => {
    await recover(PHONE);
    const code = await codeNow();
    for (let attempt = 0; attempt < RECOVERY_ATTEMPTS_MAX; attempt += 1) {
      assert.deepEqual((await confirm(wrong(code))).json, FAILED);
    }
    assert.deepEqual((await confirm(code)).json, FAILED);
  };
  const isOpenAfter = async (seconds: number) => {
    clock.advance(seconds - 1);
    await recover(PHONE);
    assert.deepEqual((await confirm(await codeNow())).json, FAILED);
    clock.advance(1);
  };
  await useUp();
  await isOpenAfter(RECOVERY_ATTEMPTS_SECONDS);
  await useUp();
  await isOpenAfter(2 * RECOVERY_ATTEMPTS_SECONDS);
  assert.equal((await confirm(await codeNow())).status, 200);
});

test('GST-04 guesses at a number are held up as those at a name are, whether it is a guest’s or nobody’s', async (context) => {
  const { confirm, recover } = await withGuest(context, BEHIND_PROXY);
  await recover(PHONE);
  for (const phone of [PHONE, NOBODY]) {
    const address = phone === PHONE ? '203.0.113.7' : '203.0.113.8';
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 11; attempt += 1) {
      statuses.push((await confirm('000000000000', phone, { address })).status);
    }
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 403), 429]);
  }
});

test('GST-04 attempts are counted over a restart', async (context) => {
  const { accounts, announcer, clock, config, confirm, codeNow, log, passwords, recover } = await withGuest(context);
  await recover(PHONE);
  const code = await codeNow();
  for (let attempt = 0; attempt < RECOVERY_ATTEMPTS_MAX; attempt += 1) await confirm(wrong(code));
  const limiter = limiterBy(clock, config);
  const again = new Recovery({ accounts, announcer, clock, limiter, log, passwords, sender: undefined });
  const form = { phone: PHONE, code, new_password: NEW_PASSWORD };
  await assert.rejects(again.confirm(form, '127.0.0.1'), { code: 'recovery_failed' });
  await again.confirm(form, '127.0.0.2');
});

test('GST-04 one place more than a number keeps count of forgets the oldest, and the rest stay counted', async (context) => {
  const { recover, confirm, codeNow, clock } = await withGuest(context, BEHIND_PROXY);
  const address = (place: number) => `2001:db8:${place.toString(16)}::1`;
  await recover(PHONE);
  const code = await codeNow();
  for (const place of [0, 1]) {
    for (let attempt = 0; attempt < RECOVERY_ATTEMPTS_MAX; attempt += 1) {
      await confirm(wrong(code), PHONE, { address: address(place) });
    }
    clock.advance(30);
  }
  for (let place = 2; place <= RECOVERY_PLACES_MAX; place += 1) {
    await confirm(wrong(code), PHONE, { address: address(place) });
    // The attempts of all places are slowed down together, and forgotten with time.
    clock.advance(6);
  }
  assert.deepEqual((await confirm(code, PHONE, { address: address(1) })).json, FAILED);
  assert.equal((await confirm(code, PHONE, { address: address(0) })).status, 200);
});

test('GST-04 the fifth attempt may be the right one', async (context) => {
  const { recover, confirm, codeNow } = await withGuest(context);
  await recover(PHONE);
  const code = await codeNow();
  for (let attempt = 1; attempt < RECOVERY_ATTEMPTS_MAX; attempt += 1) await confirm(wrong(code));
  assert.equal((await confirm(code)).status, 200);
});

test('GST-02 a confirmation that fails has one answer and costs one hash, whatever the reason', async (context) => {
  const { recover, confirm, passwords, codeNow } = await withGuest(context);
  await recover(PHONE);
  const code = await codeNow();
  const verify = passwords.verify.bind(passwords);
  let hashes = 0;
  passwords.verify = async (...forms) => {
    hashes += 1;
    return await verify(...forms);
  };
  const answers = [await confirm(code, NOBODY), await confirm(wrong(code))];
  assert.deepEqual(
    answers.map(({ status, json }) => [status, json]),
    [
      [403, FAILED],
      [403, FAILED],
    ],
  );
  assert.equal(hashes, 2);
});

test('GST-05 the inviter is told, and a number that asks again within a minute keeps its code', async (context) => {
  const { recover, codeNow, announced, clock } = await withGuest(context);
  const told = () => announced.filter(({ what }) => what === 'recovery');
  await recover(PHONE);
  assert.deepEqual(told(), [{ what: 'recovery', inviter: 'alice' }]);
  const code = await codeNow();
  clock.advance(RECOVERY_PAUSE_SECONDS - 1);
  await recover(PHONE);
  await recover(NOBODY);
  assert.deepEqual([await codeNow(), told().length], [code, 1]);
  clock.advance(1);
  await recover(PHONE);
  assert.equal(told().length, 2);
});

test('a guest who is blocked or whose term is over gets no code', async (context) => {
  const { recover, codeNow, people, guests, clock } = await withGuest(context);
  await people.block('visitor');
  assert.equal((await recover(PHONE)).text, '{"status":"ok"}');
  assert.equal(await codeNow(), '');
  await people.unblock('visitor');
  await guests.end('visitor', BY);
  clock.advance(1);
  await recover(PHONE);
  assert.equal(await codeNow(), '');
});

test('the plain code is nowhere on disk and in no log, and reading it is audited', async (context) => {
  const { recover, codeNow, accounts, logged, folder } = await withGuest(context);
  await recover(PHONE);
  const code = await codeNow();
  const { readdirSync, readFileSync } = await import('node:fs');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { parentPath, name } of files) {
    // Between letters and digits of other values six digits may stand by chance; as a value of their own they do not.
    const text = readFileSync(`${parentPath}/${name}`, 'latin1');
    assert.ok(!new RegExp(`\\xa6${code}`).test(text), `${name} holds the code.`);
  }
  assert.ok(!logged.join('\n').includes(code));
  const entry = accounts.auditEntries({ limit: 1 })[0];
  assert.deepEqual([entry?.event, entry?.details], ['recovery.codes_read', { username: ['visitor'] }]);
  assert.ok(!JSON.stringify(accounts.auditEntries({ limit: 100 })).includes(`"${code}"`));
});

test('one request a minute more than an address may send is 429, whatever its number', async (context) => {
  const { post } = await withGuest(context, { PARLEY_RECOVERIES_PER_MINUTE: '2' });
  const statuses = async (path: string, form: object) => {
    const answers = [];
    for (const phone of [PHONE, NOBODY, PHONE, NOBODY]) answers.push(await post(path, { phone, ...form }));
    assert.ok(answers[2]?.headers.get('retry-after'));
    return answers.map(({ status, json }) => [status, json.code]);
  };
  const limited = [429, 'rate_limited'];
  assert.deepEqual(await statuses('/v1/auth/recover', {}), [[200, undefined], [200, undefined], limited, limited]);
  const failed = [403, 'recovery_failed'];
  assert.deepEqual(await statuses('/v1/auth/recover/confirm', { code: '123456', new_password: NEW_PASSWORD }), [
    failed,
    failed,
    limited,
    limited,
  ]);
});

test('a webhook gets the code; a redirect or a refusal is logged without it', async (context) => {
  const received: string[] = [];
  let status = 204;
  const gateway = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      received.push(text);
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
  });
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
  context.after(() => gateway.close());
  const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}/codes`;
  const { recover, codeNow, clock, logged } = await withGuest(context, { PARLEY_RECOVERY_WEBHOOK: url });
  await recover(PHONE);
  const expires_at = formatInstant(START + RECOVERY_CODE_SECONDS * 1000);
  assert.deepEqual(JSON.parse(received[0] ?? ''), { phone: PHONE, code: await codeNow(), expires_at });
  for (status of [302, 500]) {
    clock.advance(RECOVERY_PAUSE_SECONDS);
    await recover(PHONE);
  }
  assert.deepEqual([received.length, logged.length], [3, 2]);
  assert.ok(logged.every((line) => line.includes('could not be delivered') && !line.includes(PHONE)));
});

test('bad forms name their field', async (context) => {
  const { post } = await withGuest(context);
  const good = { phone: PHONE, code: '123456', new_password: NEW_PASSWORD };
  const cases: [path: string, form: object, field: string][] = [
    ['/v1/auth/recover', { phone: '89161234567' }, 'phone'],
    ['/v1/auth/recover', { phone: '+7916' }, 'phone'],
    ['/v1/auth/recover', { phone: `+${'1'.repeat(16)}` }, 'phone'],
    ['/v1/auth/recover', {}, 'phone'],
    ['/v1/auth/recover/confirm', { ...good, code: '12345' }, 'code'],
    ['/v1/auth/recover/confirm', { ...good, code: 123456 }, 'code'],
    ['/v1/auth/recover/confirm', { ...good, new_password: 'short' }, 'new_password'],
    ['/v1/auth/recover/confirm', { ...good, user: 'visitor' }, 'user'],
  ];
  for (const [path, form, field] of cases) {
    const answer = await post(path, form);
    assert.deepEqual([answer.status, answer.json.field], [400, field], JSON.stringify(form));
  }
});

/** The share of pairs in which the one is less than the other: the U statistic of Mann and Whitney over its maximum. */
function likelihoodOfLess(one: readonly number[], other: readonly number[]): number {
  const sorted = other.toSorted((a, b) => a - b);
  const wins = one.map((value) => sorted.filter((each) => each > value).length);
  return wins.reduce((sum, each) => sum + each, 0) / (one.length * other.length);
}
