import assert from 'node:assert/strict';
import { test } from 'node:test';
import { USE_AUDITED_MILLIS, USE_STORED_MILLIS } from '#src/identity/vendor-token-use.ts';
import { ADDRESS, openConsole, openConsoleOn, OWNER } from './console-fixture.ts';
import { HandClock } from './coordinator-fixture.ts';

const FORM = { name: 'Support', vendor: 'parley', purpose: 'A case', term_days: 365 } as const;

test('VND-13 a use is audited by vendor:<id> with path and address, once an hour at most', async (context) => {
  const { clock, trail, use, vendorTokens } = await openConsole(context);
  const { id } = (await vendorTokens.issue(OWNER, FORM, ADDRESS)).record;
  await use.used(id, '/admin/api/me', '198.51.100.4');
  clock.advance(USE_AUDITED_MILLIS / 1000 - 1);
  await use.used(id, '/admin/api/overview', '198.51.100.5');
  const [entry, ...more] = trail('vendor_token.used');
  assert.equal(more.length, 0);
  assert.deepEqual(
    [entry?.actor, entry?.subject, entry?.address, entry?.details],
    [`vendor:${id}`, `vendor:${id}`, '198.51.100.4', { path: '/admin/api/me' }],
  );
  clock.advance(1);
  await use.used(id, '/admin/api/alerts', ADDRESS);
  assert.deepEqual(
    trail('vendor_token.used').map(({ details }) => details),
    [{ path: '/admin/api/me' }, { path: '/admin/api/alerts' }],
  );
});

test('VND-13 the hour holds across a restart', async (context) => {
  const { accounts, folder, use, vendorTokens } = await openConsole(context);
  const { id } = (await vendorTokens.issue(OWNER, FORM, ADDRESS)).record;
  await use.used(id, '/admin/api/me', ADDRESS);
  await accounts.close();
  const clock = new HandClock();
  clock.advance(3_599);
  const again = await openConsoleOn(folder, clock);
  await again.use.used(id, '/admin/api/me', ADDRESS);
  assert.equal(again.trail('vendor_token.used').length, 1);
  clock.advance(1);
  await again.use.used(id, '/admin/api/me', ADDRESS);
  assert.equal(again.trail('vendor_token.used').length, 2);
  await again.accounts.close();
});

test('VND-13 of uses that arrive together one is audited, and each token has its own hour', async (context) => {
  const { trail, use, vendorTokens } = await openConsole(context);
  const one = (await vendorTokens.issue(OWNER, FORM, ADDRESS)).record.id;
  const other = (await vendorTokens.issue(OWNER, FORM, ADDRESS)).record.id;
  const ids = [one, one, other, one, other];
  await Promise.all(ids.map((id) => use.used(id, '/admin/api/me', ADDRESS)));
  assert.deepEqual(
    trail('vendor_token.used').map(({ actor }) => actor),
    [`vendor:${one}`, `vendor:${other}`],
  );
});

test('VND-04 the list shows the last use and its address', async (context) => {
  const { accounts, clock, use, vendorTokens } = await openConsole(context);
  const { id } = (await vendorTokens.issue(OWNER, FORM, ADDRESS)).record;
  await use.used(id, '/admin/api/me', '198.51.100.4');
  const last = () => {
    const [item] = vendorTokens.list(undefined, 10).items;
    return [item?.last_used_at, item?.last_used_address];
  };
  assert.deepEqual(last(), ['2026-11-21T08:00:00.000Z', '198.51.100.4']);
  clock.advance(1);
  await use.used(id, '/admin/api/me', '198.51.100.5');
  // A change behind that of the use is answered after it.
  await accounts.change(() => undefined);
  assert.deepEqual(last(), ['2026-11-21T08:00:01.000Z', '198.51.100.5']);
  clock.advance(USE_STORED_MILLIS / 1000);
  await use.used(id, '/admin/api/me', '198.51.100.5');
  await accounts.change(() => undefined);
  assert.deepEqual(last(), ['2026-11-21T08:01:01.000Z', '198.51.100.5']);
});

test('uses of one address within a minute cost no commit', async (context) => {
  const { accounts, clock, use, vendorTokens } = await openConsole(context);
  const { id } = (await vendorTokens.issue(OWNER, FORM, ADDRESS)).record;
  await use.used(id, '/admin/api/me', ADDRESS);
  let changes = 0;
  const change = accounts.change.bind(accounts);
  accounts.change = async (decide) => {
    changes += 1;
    return await change(decide);
  };
  clock.advance(59);
  await use.used(id, '/admin/api/me', ADDRESS);
  assert.equal(changes, 0);
});

test('a clock that was set back by more than an hour does not silence the trail', async (context) => {
  const { accounts, folder, use, vendorTokens } = await openConsole(context);
  const { id } = (await vendorTokens.issue(OWNER, FORM, ADDRESS)).record;
  await use.used(id, '/admin/api/me', ADDRESS);
  await accounts.close();
  const clock = new HandClock();
  clock.advance(-3_600);
  const again = await openConsoleOn(folder, clock);
  await again.use.used(id, '/admin/api/me', ADDRESS);
  assert.equal(again.trail('vendor_token.used').length, 2);
  await again.accounts.close();
});

test('VND-13 every refusal is audited with its path and code', async (context) => {
  const { trail, use } = await openConsole(context);
  for (let times = 0; times < 3; times += 1) {
    await use.refused('0123456789abcdefghjkmn', '/admin/api/recovery', 'vendor_token_forbidden', ADDRESS);
  }
  const entries = trail('vendor_token.refused');
  assert.equal(entries.length, 3);
  assert.deepEqual(
    [entries[0]?.actor, entries[0]?.address, entries[0]?.details],
    ['vendor:0123456789abcdefghjkmn', ADDRESS, { code: 'vendor_token_forbidden', path: '/admin/api/recovery' }],
  );
});
