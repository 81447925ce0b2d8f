/** The credential of a tab: kept there, forgotten with it, and over when its time has passed. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Credentials } from '#src/web/console/session/credentials.ts';

const KEPT_AS = 'parley.console.credential';

function makeStorage(entries: Record<string, string> = {}) {
  const map = new Map(Object.entries(entries));
  return {
    map,
    getItem: (key: string) => map.get(key) ?? null,
    setItem: (key: string, value: string) => void map.set(key, value),
    removeItem: (key: string) => void map.delete(key),
  };
}

const useTimers = (t: TestContext) => t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 });

test('a reload of the tab finds its credential, and signing out leaves nothing', (t) => {
  useTimers(t);
  const storage = makeStorage();
  new Credentials(storage, () => undefined).set({ token: 'adm_1', idleSeconds: 60, expiresAt: null });
  const again = new Credentials(storage, () => undefined);
  assert.equal(again.token, 'adm_1');
  again.clear();
  assert.equal(again.token, undefined);
  assert.equal(storage.map.size, 0);
});

test('what is no credential is none', () => {
  for (const text of ['', '{', 'null', '{"token":1}', '"adm_1"']) {
    assert.equal(new Credentials(makeStorage({ [KEPT_AS]: text }), () => undefined).token, undefined);
  }
});

test('CRD-08 a session that is idle for its time is over, and every use begins it anew', (t) => {
  useTimers(t);
  let over = 0;
  const credentials = new Credentials(makeStorage(), () => (over += 1));
  credentials.set({ token: 'adm_1', idleSeconds: 60, expiresAt: null });
  t.mock.timers.tick(59_999);
  credentials.used();
  t.mock.timers.tick(59_999);
  assert.equal(over, 0);
  t.mock.timers.tick(1);
  assert.equal(over, 1);
});

test('CRD-08 a session ends at its end however busy it is', (t) => {
  useTimers(t);
  let over = 0;
  const credentials = new Credentials(makeStorage(), () => (over += 1));
  credentials.set({ token: 'adm_1', idleSeconds: 60, expiresAt: '1970-01-01T00:01:30Z' });
  t.mock.timers.tick(50_000);
  credentials.used();
  t.mock.timers.tick(40_000);
  assert.equal(over, 1);
});

test('a vendor token has no idle time here: its term is for the server to say', (t) => {
  useTimers(t);
  let over = 0;
  const credentials = new Credentials(makeStorage(), () => (over += 1));
  credentials.set({ token: 'svc_vst_1', idleSeconds: null, expiresAt: null });
  t.mock.timers.tick(10 * 24 * 3_600_000);
  assert.equal(over, 0);
});
