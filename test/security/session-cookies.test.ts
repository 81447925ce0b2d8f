/**
 * What renews the app's session lies in a cookie that no script reads (CRD-08), and what others could do with it: another page
 * that rides on it, another device, a copy from before, a call of the API with nothing else.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { PASSWORD, startCoordinator, type Answer } from '#test/coordinator/coordinator-fixture.ts';

const ELSEWHERE = 'https://elsewhere.example.org';

/** A browser without scripts of its own: what it was told to keep, sent where its path says. */
class Browser {
  readonly cookies = new Map<string, string>();
  readonly headers: Record<string, string>;
  readonly #post: (path: string, body: unknown, headers: Record<string, string>) => Promise<Answer>;

  constructor(post: Browser['post'], headers: Record<string, string>) {
    this.#post = post;
    this.headers = headers;
  }

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const cookie: Record<string, string> = this.cookie === '' ? {} : { cookie: this.cookie };
    const answer = await this.#post(path, body, { ...cookie, ...this.headers, ...headers });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = '', seconds] = /^([^=]+)=([^;]*); .*Max-Age=(\d+);/.exec(line) ?? [];
      if (seconds === '0') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  async signIn(username: string): Promise<Session> {
    const answer = await this.post('/v1/auth/login', { username, password: PASSWORD, session_cookie: true });
    assert.equal(answer.status, 200, answer.text);
    return answer.json as Session;
  }

  async renew({ device_id }: Session, headers: Record<string, string> = {}): Promise<Answer> {
    return await this.post('/v1/auth/renew', { session_cookie: true, device_id }, headers);
  }
}

async function start(context: TestContext, settings: Record<string, string> = {}) {
  const coordinator = await startCoordinator(context, settings);
  await coordinator.people.add('alice', PASSWORD);
  const origin = `http://127.0.0.1:${coordinator.port}`;
  const browser = (headers: Record<string, string> = { origin }) => new Browser(coordinator.post, headers);
  return { ...coordinator, browser, origin };
}

const bearer = ({ token }: Session) => ({ authorization: `Bearer ${token}` });

test('CRD-08 what renews a session of the app is in a cookie of its device, its path and its host, and in no answer', async (context) => {
  const { browser } = await start(context, { PARLEY_COORDINATOR_URL: 'https://chat.example.org/parley' });
  const plain = browser();
  const session = await plain.signIn('alice');
  assert.deepEqual(Object.keys(session).toSorted(), ['device_id', 'exp', 'iat', 'rnw', 'token', 'user']);
  const renewed = await plain.renew(session);
  assert.equal(renewed.status, 200, renewed.text);
  assert.match(
    renewed.headers.getSetCookie().join(),
    new RegExp(
      `^parley-session-${session.device_id}=rft~alice~[^;]+; Path=/v1/auth; Max-Age=2592000; HttpOnly; SameSite=Strict$`,
    ),
  );
  assert.ok(!renewed.text.includes('rft~'), renewed.text);

  // Over TLS, also where that ends in front of the server and gives it a path.
  const secure = browser({ origin: 'https://chat.example.org', 'sec-fetch-site': 'same-origin' });
  const { device_id } = await secure.signIn('alice');
  const cookie = (await secure.renew({ ...session, device_id })).headers.getSetCookie().join();
  assert.match(cookie, new RegExp(`^__Secure-parley-session-${device_id}=rft~[^;]+; Path=/parley/v1/auth; `));
  assert.match(cookie, /; HttpOnly; SameSite=Strict; Secure$/);
});

test('CRD-08 a page of another origin rides on no cookie, whatever it is allowed besides, and gives nobody one', async (context) => {
  const { browser, call, clock, origin } = await start(context, { PARLEY_ALLOWED_ORIGINS: ELSEWHERE });
  const alice = browser();
  const session = await alice.signIn('alice');
  const before = alice.cookie;
  clock.advance(60);
  const pages: Record<string, string>[] = [
    { origin: ELSEWHERE },
    { origin: 'null' },
    { origin: '' },
    { origin: `${origin}, ${ELSEWHERE}` },
    { origin, 'sec-fetch-site': 'cross-site' },
    // A name beside this one, over which somebody else may have the say.
    { origin, 'sec-fetch-site': 'same-site' },
    { origin, 'sec-fetch-site': 'none' },
  ];
  for (const page of pages) {
    const forms: [string, object][] = [
      ['renew', { session_cookie: true, device_id: session.device_id }],
      ['logout', { session_cookie: true, device_id: session.device_id }],
      ['login', { username: 'alice', password: PASSWORD, session_cookie: true }],
    ];
    for (const [path, form] of forms) {
      const answer = await alice.post(`/v1/auth/${path}`, form, page);
      assert.deepEqual([answer.status, answer.json.code], [403, 'origin_forbidden'], `${path} ${JSON.stringify(page)}`);
      assert.deepEqual(answer.headers.getSetCookie(), []);
    }
  }
  // Nobody who states no origin is a browser that posts.
  const silent = browser({});
  silent.cookies.set(...([...alice.cookies][0] as [string, string]));
  assert.equal((await silent.renew(session)).json.code, 'origin_forbidden');
  // What a form of another page can send without being asked for leave first.
  const headers = { cookie: before, origin: ELSEWHERE };
  for (const path of ['renew', 'logout']) {
    const simple = await call('POST', `/v1/auth/${path}`, {
      headers: { ...headers, 'content-type': 'text/plain' },
      body: '{}',
    });
    assert.equal(simple.json.code, 'body_not_json');
    assert.equal((await call('POST', `/v1/auth/${path}`, { headers })).json.code, 'token_missing');
  }
  assert.equal(alice.cookie, before);
  assert.equal((await alice.renew(session)).status, 200, 'and its own page goes on');
});

test('CRD-01 the cookie opens nothing of the API, and renews nothing for a form that does not ask for it', async (context) => {
  const { browser, call, origin } = await start(context);
  const alice = browser();
  const { device_id } = await alice.signIn('alice');
  const headers = { cookie: alice.cookie, origin, 'sec-fetch-site': 'same-origin' };
  for (const [method, path] of [
    ['GET', '/v1/directory'],
    ['GET', '/v1/app-passwords'],
    ['POST', '/v1/auth/renew'],
    ['POST', '/v1/auth/logout'],
  ] as const) {
    const answer = await call(method, path, { headers });
    assert.deepEqual([answer.status, answer.json.code], [401, 'token_missing'], path);
  }
  for (const form of [{ session_cookie: true }, { device_id }, { session_cookie: false, device_id }]) {
    for (const path of ['renew', 'logout']) {
      const answer = await alice.post(`/v1/auth/${path}`, form);
      assert.deepEqual([answer.status, answer.json.code, answer.json.field], [400, 'field_invalid', 'device_id']);
    }
  }
});

test('CRD-08 a cookie of one device is none of another’s, nor beside another’s token; both sessions go on', async (context) => {
  const { browser, clock } = await start(context);
  const [desk, phone] = [browser(), browser()];
  const [atDesk, onPhone] = [await desk.signIn('alice'), await phone.signIn('alice')];
  assert.notEqual(atDesk.device_id, onPhone.device_id);
  clock.advance(60);
  const [name, value] = [...desk.cookies][0] ?? assert.fail('there is no cookie');
  const thief = browser();
  const refusals = [
    // The one cookie under the other's name, and as it is.
    async () => {
      thief.cookies.set(name.replace(atDesk.device_id, onPhone.device_id), value);
      return await thief.renew(onPhone);
    },
    async () => await desk.renew(onPhone),
    async () => await desk.renew(atDesk, bearer(onPhone)),
    async () => await thief.post('/v1/auth/logout', { session_cookie: true, device_id: onPhone.device_id }),
    async () => {
      thief.cookies.set(`parley-session-${atDesk.device_id}`, 'no refresh token');
      return await thief.renew(atDesk);
    },
  ];
  for (const refused of refusals) {
    const answer = await refused();
    assert.deepEqual([answer.status, answer.json.code], [401, 'session_cookie_invalid']);
  }
  assert.equal((await desk.renew(atDesk, bearer(atDesk))).status, 200);
  assert.equal((await phone.renew(onPhone)).status, 200);
});

test('CRD-08 a cookie that was replaced is taken for thirty seconds; after that it ends the session and is told of', async (context) => {
  const { announced, browser, clock } = await start(context);
  const alice = browser();
  const session = await alice.signIn('alice');
  clock.advance(60);
  const thief = browser();
  for (const [name, value] of alice.cookies) thief.cookies.set(name, value);
  assert.equal((await alice.renew(session)).status, 200);
  const next = alice.cookie;
  // The page did not hear the answer, and asks again; or a second tab did.
  for (const [name, value] of thief.cookies) alice.cookies.set(name, value);
  assert.equal((await alice.renew(session)).status, 200);
  assert.equal(alice.cookie, next);
  clock.advance(30);
  const reused = await thief.renew(session);
  assert.deepEqual([reused.status, reused.json.code], [401, 'session_reused']);
  assert.deepEqual(
    announced.slice(-2).map(({ what }) => what),
    ['revoked', 'reused'],
  );
  assert.equal((await alice.renew(session)).json.code, 'session_revoked');
});

test('CRD-08 signing out takes the cookie away and ends its session, also without a token and when it had ended', async (context) => {
  const { accounts, browser, clock } = await start(context);
  const alice = browser();
  const session = await alice.signIn('alice');
  const stolen = browser();
  for (const [name, value] of alice.cookies) stolen.cookies.set(name, value);
  const form = { session_cookie: true, device_id: session.device_id };
  clock.advance(3_600);
  const left = await alice.post('/v1/auth/logout', form);
  assert.deepEqual([left.status, left.json], [200, { status: 'ok' }]);
  assert.match(
    left.headers.getSetCookie().join(),
    new RegExp(`^parley-session-${session.device_id}=; Path=/v1/auth; Max-Age=0; HttpOnly; SameSite=Strict$`),
  );
  assert.equal(alice.cookie, '');
  assert.equal(accounts.devices('alice')[0]?.session, undefined);
  assert.equal((await stolen.renew(session)).json.code, 'session_revoked');
  assert.equal((await stolen.post('/v1/auth/logout', form)).status, 200);
  assert.equal(stolen.cookie, '', 'a browser that comes later is rid of it too');

  // Without the cookie the token says whose session it is; without both there is nothing to end.
  const again = await alice.signIn('alice');
  alice.cookies.clear();
  const own = { session_cookie: true, device_id: again.device_id };
  assert.equal((await alice.post('/v1/auth/logout', own)).json.code, 'token_missing');
  assert.equal((await alice.post('/v1/auth/logout', own, bearer(again))).status, 200);
  assert.equal(
    accounts.devices('alice').some((device) => device.session !== undefined),
    false,
  );
});

test('CRD-08 a refresh token that a page kept moves into the cookie at its next renewal, and its old place is worth nothing', async (context) => {
  const { announced, browser, clock, login } = await start(context);
  const session = await login('alice');
  const { device_id, refresh_token } = session;
  clock.advance(60);
  const alice = browser();
  const form = { session_cookie: true, device_id, refresh_token };
  assert.equal(
    (await alice.post('/v1/auth/renew', { ...form, device_id: 'd_0123456789abcdefghjkmn' })).json.code,
    'session_cookie_invalid',
  );
  const moved = await alice.post('/v1/auth/renew', form, bearer(session));
  assert.equal(moved.status, 200, moved.text);
  assert.equal(moved.json.refresh_token, undefined);
  assert.match(alice.cookie, new RegExp(`^parley-session-${device_id}=rft~alice~`));
  assert.ok(!alice.cookie.includes(refresh_token as string));
  clock.advance(60);
  assert.equal((await alice.renew(session)).status, 200);
  assert.equal((await alice.post('/v1/auth/renew', { refresh_token })).json.code, 'session_reused');
  assert.equal(announced.at(-1)?.what, 'reused');
});
