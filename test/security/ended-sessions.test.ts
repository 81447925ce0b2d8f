/**
 * How sessions end, and with them whatever they opened. Somebody copied what a device keeps of its session: whoever renews second,
 * the thief or the person, ends it for both, and the installation is told; nobody who is honest is signed out by an answer that was
 * lost. Whoever is blocked, has a session ended in the console or gets another password is out on every service.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { GRACE_MILLIS, TOKEN_ALONE_SECONDS } from '#src/identity/credentials/refresh-tokens.ts';
import type { Session, SessionClaims } from '#src/protocol/sessions/sessions.ts';
import { Accounts, AccountsReader } from '#storage/accounts/accounts.ts';
import { basic, defaultCalendar } from '#test/calendar/service/calling.ts';
import { attach, upload } from '#test/messaging/attaching.ts';
import { readAnywhere } from '#test/support/bots.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { callControl } from '#test/support/control.ts';
import { request, startServer, type Person, type Reply, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

let running: ConsoleServer;
before(async () => {
  running = await startConsoleServer({
    shards: 2,
    environment: { PARLEY_RECOVERY_WEBHOOK: 'http://127.0.0.1:9/codes' },
  });
});
after(async () => await running.stop());

/** Connections enough that the kernel gives some to each of two shards. */
const CONNECTIONS = 12;

async function renew(
  { coordinator }: Pick<TestServer, 'coordinator'>,
  form: object | undefined,
  token?: string,
): Promise<Reply<Session & { readonly code?: string }>> {
  return await request('POST', `${coordinator}/v1/auth/renew`, { body: form, token });
}

/** Renews by a refresh token alone, which succeeds. */
async function renewed(server: TestServer, { refresh_token }: Session): Promise<Session> {
  const reply = await renew(server, { refresh_token });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

/** What the messaging service answers to a token on connections of their own. */
async function answersTo(server: TestServer, { token }: Session): Promise<Set<number>> {
  const asked = Array.from({ length: CONNECTIONS }, async () => await readAnywhere(server, token, '/v1/inbox'));
  return new Set(await Promise.all(asked));
}

function claimsOf({ token }: Session): SessionClaims {
  return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as SessionClaims;
}

/** Has the grace begin later, so that a machine that is slow to start a server does not end it. */
async function postponeGrace(folder: string, username: string): Promise<void> {
  const accounts = await Accounts.open(folder);
  await accounts.change((draft) => {
    const devices = draft.devices(username);
    for (const { session } of devices) {
      assert.ok(session?.refresh?.rotated !== undefined, 'the rotation is on disk');
      session.refresh.rotated.at = Date.now() + 60_000;
    }
    draft.putDevices(username, devices);
  });
  await accounts.close();
}

const ALL_OPEN = {
  ...{ inbox: '200', directory: '200', calendars: '200', download: '200', renewal: '200' },
  ...{ link: '200', app: '207', feed: '200' },
};
/** What goes with the session itself. */
const ALL_CLOSED = {
  inbox: '401 session_revoked',
  directory: '401 session_revoked',
  calendars: '401 session_revoked',
  download: '401 session_revoked',
  renewal: '401 session_revoked',
};

/** A socket, and one of each thing that a person may have opened for later. */
async function openAll(server: TestServer, who: Person, host: Person = who) {
  const ask = async <T>(
    service: 'coordinator' | 'messaging' | 'calendar',
    method: string,
    path: string,
    body?: unknown,
    as: Person = who,
  ) => {
    const reply = await request<T>(method, `${server[service]}${path}`, { token: as.session.token, body });
    assert.ok(reply.status < 300, reply.text);
    return reply.body;
  };
  // A guest makes no room, and takes part in somebody's.
  const form = { kind: 'room', participants: host === who ? [] : [who.username] };
  const room = await ask<{ id: string }>('messaging', 'POST', '/v1/conversations', form, host);
  const attachment = await upload(server, who, Buffer.from('a file'));
  assert.equal((await attach(server, who, room.id, attachment)).status, 201);
  const download = `/v1/attachments/${attachment}?conversation=${room.id}`;
  const link = await ask<{ path: string }>('messaging', 'GET', download.replace('?', '/link?'));
  const app = await ask<{ password: string }>('coordinator', 'POST', '/v1/app-passwords', { name: 'phone' });
  const calendar = await defaultCalendar(server, who);
  const feed = await ask<{ path: string }>('calendar', 'POST', `/v1/calendars/${calendar.id}/feeds`, {});
  return { socket: await connect(server, who), download, link: link.path, password: app.password, feed: feed.path };
}

/** What each of these answers now: the status, and the code of a refusal. */
async function knock(server: TestServer, who: Person, opened: Omit<Awaited<ReturnType<typeof openAll>>, 'socket'>) {
  const own = { authorization: `Bearer ${who.session.token}` };
  const answered = async (url: string, init: RequestInit = {}) => {
    const reply = await fetch(url, init);
    return [reply.status, /^\{"code":"(\w+)"/.exec(await reply.text())?.[1]].filter(Boolean).join(' ');
  };
  const { refresh_token } = who.session;
  const form = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ refresh_token }),
  };
  return {
    inbox: await answered(`${server.messaging}/v1/inbox`, { headers: own }),
    directory: await answered(`${server.coordinator}/v1/directory`, { headers: own }),
    calendars: await answered(`${server.calendar}/v1/calendars`, { headers: own }),
    download: await answered(`${server.messaging}${opened.download}`, { headers: own }),
    renewal: await answered(`${server.coordinator}/v1/auth/renew`, form),
    link: await answered(`${server.messaging}${opened.link}`),
    app: await answered(`${server.calendar}/dav/`, {
      method: 'PROPFIND',
      headers: { ...basic(who.username, opened.password), depth: '0' },
    }),
    // On a busy machine the work of a feed may be paced, which is not what these tests are about.
    feed: await until(async () => {
      const answer = await answered(`${server.calendar}${opened.feed}`);
      return answer.startsWith('429') ? undefined : answer;
    }, 'the feed'),
  };
}

describe('sessions', { concurrency: true }, () => {
  test('CRD-08 a refresh token that was replaced ends the session on every thread, once its grace is over', async () => {
    const { server } = running;
    const ann = await server.person('ann');
    const socket = await connect(server, ann);
    const stolen = ann.session;
    // Tokens of one second are one token: the next one has another.
    await until(() => Date.now() >= (stolen.iat + 1) * 1_000, 'the next second');
    // Every thread has verified the token and goes by what it remembers, so that it has to be told; it would look anew for the next one.
    assert.deepEqual(await answersTo(server, stolen), new Set([200]));
    const own = await renewed(server, stolen);
    assert.notEqual(own.refresh_token, stolen.refresh_token);
    assert.deepEqual([own.rnw, own.device_id], [stolen.rnw, stolen.device_id]);
    const since = Date.now();
    assert.deepEqual(await answersTo(server, stolen), new Set([200]));
    // A repeat within the grace gets the same answer, whoever of two tabs it is, and so does the one that is good.
    for (const session of [stolen, own]) {
      assert.equal((await renewed(server, session)).refresh_token, own.refresh_token);
    }

    await until(
      async () => (await readAnywhere(server, stolen.token, '/v1/inbox')) === 401,
      'the token before to end',
      GRACE_MILLIS + 15_000,
    );
    assert.ok(Date.now() - since >= GRACE_MILLIS - 2_000, 'it was good for its grace');
    assert.deepEqual(await answersTo(server, stolen), new Set([401]));
    const refused = await request('GET', `${server.coordinator}/v1/directory`, { token: stolen.token });
    assert.deepEqual([refused.status, refused.body['code']], [401, 'token_expired']);
    assert.deepEqual(await answersTo(server, own), new Set([200]));
    assert.equal(socket.closed, undefined);

    await until(() => Date.now() - since >= GRACE_MILLIS, 'the grace to end');
    const reused = await renew(server, { refresh_token: stolen.refresh_token });
    assert.deepEqual([reused.status, reused.body.code], [401, 'session_reused'], reused.text);
    assert.deepEqual(await socket.closing(), { code: 4401, reason: 'revoked' });
    assert.deepEqual(await answersTo(server, own), new Set([401]));
    for (const { refresh_token } of [own, stolen]) {
      assert.equal((await renew(server, { refresh_token })).body.code, 'session_revoked');
    }
    const { body: trail } = await running.console<{ items: Record<string, unknown>[] }>(
      'GET',
      '/audit?event=session.reused',
    );
    const { sid } = claimsOf(own);
    const details = { session: sid, device: own.device_id };
    const entry = trail.items.find(({ about }) => about === 'user:ann');
    assert.deepEqual([entry?.['actor'], entry?.['details']], ['server', details]);
    const alerts = await running.console<{ items: Record<string, unknown>[] }>('GET', '/alerts');
    const alert = alerts.body.items.find(({ kind }) => kind === 'session_reused');
    assert.deepEqual([alert?.['about'], alert?.['state']], ['server', 'open']);
    const metrics = await fetch(`${server.coordinator}/healthz`, { headers: { accept: 'text/plain' } });
    assert.match(
      await metrics.text(),
      /parley_protocol_refusals_total\{code="session_reused",surface="coordinator"\} [1-9]/,
    );
  });

  test('CRD-02 a token alone renews until a refresh token was used, and none that was over for long', async () => {
    const { server } = running;
    const bea = await server.person('bea');
    const alone = await renew(server, undefined, bea.session.token);
    assert.deepEqual([alone.status, alone.body.refresh_token], [200, undefined]);
    assert.equal((await renew(server, {}, alone.body.token)).status, 200);

    // A token that this server signed, and that was lying about for a day and a second; and one for a second less.
    const accounts = new AccountsReader(server.folder);
    const tokens = new SessionTokens(accounts.signingKeys('session_keys'));
    await accounts.close();
    const now = Math.floor(Date.now() / 1_000);
    const endedAt = (exp: number) => tokens.sign({ ...claimsOf(bea.session), iat: exp - 900, exp });
    const late = await renew(server, undefined, endedAt(now - TOKEN_ALONE_SECONDS - 1));
    assert.deepEqual([late.status, late.body.code], [401, 'session_over']);
    assert.equal((await renew(server, undefined, endedAt(now - TOKEN_ALONE_SECONDS + 60))).status, 200);

    const own = await renewed(server, bea.session);
    const thief = await renew(server, undefined, own.token);
    assert.deepEqual([thief.status, thief.body.code], [401, 'refresh_token_missing']);
    assert.equal((await renew(server, { refresh_token: own.refresh_token })).status, 200);
  });

  test('CRD-09 what is no refresh token of a session renews nothing and ends nothing', async () => {
    const { server } = running;
    const { cid, dora } = await server.people('cid', 'dora');
    const given = cid.session.refresh_token as string;
    const parts = given.split('~');
    const other = (dora.session.refresh_token as string).split('~');
    const swapped = (at: number, text = other[at] as string) => parts.with(at, text).join('~');
    for (const [what, text, code] of [
      ['nothing', '', 'token_invalid'],
      ['a word', 'hello', 'token_invalid'],
      ['a token', cid.session.token.slice(0, 256), 'token_invalid'],
      ['a family of somebody else', swapped(3), 'token_invalid'],
      ['a made-up family', swapped(3, 'A'.repeat(43)), 'token_invalid'],
      ['a session of somebody else', swapped(2), 'session_over'],
      ['another name', swapped(1), 'session_over'],
      ['nobody', swapped(1, 'nobody'), 'session_revoked'],
      ['a name that is a path', swapped(1, '../cid'), 'token_invalid'],
    ] as const) {
      const reply = await renew(server, { refresh_token: text });
      assert.deepEqual([reply.status, reply.body.code], [401, code], what);
    }
    for (const [body, code] of [
      [{ refresh_token: 1 }, 'field_invalid'],
      [{ refresh_token: 'x'.repeat(257) }, 'field_invalid'],
      [{ refresh: given }, 'field_unknown'],
    ] as const) {
      const reply = await renew(server, body);
      assert.deepEqual([reply.status, reply.body.code], [400, code], JSON.stringify(body));
    }
    assert.equal((await renew(server, undefined)).body.code, 'token_missing');
    const nothing = await request('POST', `${server.coordinator}/v1/auth/renew`, { body: 'null' });
    assert.deepEqual([nothing.status, nothing.body['code']], [400, 'field_invalid']);
    await renewed(server, cid.session);
    // Who has the family has had a refresh token: a secret that is none of it is one that was replaced.
    const own = await renewed(server, dora.session);
    const guessed = (own.refresh_token as string).split('~').with(4, 'A'.repeat(43)).join('~');
    assert.equal((await renew(server, { refresh_token: guessed })).body.code, 'session_reused');
  });

  test('CRD-02 of many renewals at once with one refresh token all get the same next one', async () => {
    const { server } = running;
    const eve = await server.person('eve');
    const all = await Promise.all(Array.from({ length: 20 }, async () => await renewed(server, eve.session)));
    assert.equal(new Set(all.map((session) => session.refresh_token)).size, 1);
    await renewed(server, all[0] as Session);
  });

  test('CRD-08 keys rotate under a running server: nobody is signed out, and a key that there is not signs nothing', async () => {
    const { server } = running;
    const { hal, ida } = await server.people('hal', 'ida');
    const kidOf = ({ token }: Session) =>
      (JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()) as { kid: string }).kid;
    const socket = await connect(server, hal);
    const earlier = hal.session;
    assert.deepEqual(await answersTo(server, earlier), new Set([200]));
    const rotation = await callControl(server.folder, 'keys.rotate', { at_once: false });
    assert.notEqual(rotation.session_key, kidOf(earlier));
    // Verified anew on every thread, under a key that signs no more.
    assert.deepEqual(await answersTo(server, earlier), new Set([200]));
    assert.equal((await request('GET', `${server.coordinator}/v1/directory`, { token: earlier.token })).status, 200);
    const own = await renewed(server, earlier);
    assert.equal(kidOf(own), rotation.session_key);
    assert.deepEqual(await answersTo(server, own), new Set([200]));
    assert.equal(socket.closed, undefined);
    // Nor does a client that knows of no refresh token lose its session.
    assert.equal((await renew(server, undefined, ida.session.token)).status, 200);

    const accounts = new AccountsReader(server.folder);
    const [present, retired] = accounts.signingKeys('session_keys');
    await accounts.close();
    assert.deepEqual([present.id, retired?.id], [rotation.session_key, kidOf(earlier)]);
    const forge = (id: string, key: Uint8Array, claims: Partial<SessionClaims>) =>
      new SessionTokens([{ id, key, retired: null }]).sign({ ...claimsOf(own), ...claims });
    const stolen = retired as typeof present;
    const soon = Math.floor(Date.now() / 1_000) + 60;
    for (const [what, token] of [
      ['an unknown key id', forge('unknown0', present.key, {})],
      ['no key id', forge('', present.key, {})],
      ['the key of another id', forge(present.id, stolen.key, {})],
      [
        'a stolen key that was retired, for what it signs now',
        forge(stolen.id, stolen.key, { iat: soon, exp: soon + 60 }),
      ],
    ] as const) {
      const refused = await server.api({ ...hal, session: { ...own, token } }, 'GET', '/v1/inbox');
      assert.deepEqual([refused.status, refused.body['code']], [401, 'token_invalid'], what);
      const elsewhere = await request('GET', `${server.coordinator}/v1/directory`, { token });
      assert.deepEqual([elsewhere.status, elsewhere.body['code']], [401, 'token_invalid'], what);
    }
    await socket.close();
  });

  test('CRD-08 whoever is blocked is out: socket, requests, downloads, links, feeds and calendar apps', async () => {
    const { server } = running;
    const jan = await server.person('jan');
    const opened = await openAll(server, jan);
    assert.deepEqual(await knock(server, jan, opened), ALL_OPEN);
    await callControl(server.folder, 'user.block', { username: 'jan' });
    assert.deepEqual(await opened.socket.closing(), { code: 4401, reason: 'revoked' });
    const link = '401 attachment_link_invalid';
    assert.deepEqual(await knock(server, jan, opened), { ...ALL_CLOSED, link, app: '401', feed: '404 feed_not_found' });
  });

  test('CRD-08 a session that is ended in the console is out everywhere, and the person’s other credentials are not', async () => {
    const { server } = running;
    const kim = await server.person('kim');
    const other = { ...kim, session: await server.signIn('kim', kim.password) };
    const opened = await openAll(server, kim);
    const { sid } = claimsOf(kim.session);
    assert.equal((await running.console('DELETE', `/users/kim/sessions/${sid}`)).status, 204);
    assert.deepEqual(await opened.socket.closing(), { code: 4401, reason: 'revoked' });
    assert.deepEqual(await knock(server, kim, opened), { ...ALL_OPEN, ...ALL_CLOSED });
    assert.deepEqual(await knock(server, other, opened), ALL_OPEN);
  });

  test('GST-03 another password ends the sessions of before and what calendar apps sign in with', async () => {
    const { server } = running;
    const phone = '+79161234567';
    const guestUntil = new Date(Date.now() + 864e6).toISOString();
    const invited = await running.console<{ url: string }>('POST', '/enroll', {
      kind: 'guest',
      phone,
      guest_until: guestUntil,
    });
    const password = 'the password of before';
    await request('POST', invited.body.url, { body: { username: 'lea', password } });
    const lea = { username: 'lea', password, session: await server.signIn('lea', password) };
    const opened = await openAll(server, lea, await server.person('max'));
    assert.deepEqual(await knock(server, lea, opened), ALL_OPEN);
    await request('POST', `${server.coordinator}/v1/auth/recover`, { body: { phone } });
    const code = await until(async () => {
      const { body } = await running.console<{ items: { code: string }[] }>('GET', '/recovery');
      return body.items[0]?.code;
    }, 'the code');
    const form = { phone, code, new_password: 'the password of now' };
    const confirmed = await request('POST', `${server.coordinator}/v1/auth/recover/confirm`, { body: form });
    assert.equal(confirmed.status, 200, confirmed.text);
    assert.deepEqual(await opened.socket.closing(), { code: 4401, reason: 'revoked' });
    // A link of five minutes is of the person; a feed is revoked by itself.
    assert.deepEqual(await knock(server, lea, opened), { ...ALL_OPEN, ...ALL_CLOSED, app: '401' });
  });
});

// The last one: it ends the server of all.
test('CRD-02 a renewal whose answer was lost with the server is asked for again, and the session goes on', async () => {
  const first = running.server;
  let second: TestServer | undefined;
  try {
    const { fay, gil } = await first.people('fay', 'gil');
    // What it answered, nobody has read.
    const lost = await renewed(first, fay.session);
    await first.end('SIGKILL');
    await postponeGrace(first.folder, 'fay');
    second = await startServer({ shards: 2, folder: first.folder });
    const again = await renewed(second, fay.session);
    assert.equal(again.refresh_token, lost.refresh_token);
    assert.equal((await second.api({ ...fay, session: again }, 'GET', '/v1/inbox')).status, 200);
    assert.equal((await renewed(second, again)).refresh_token, again.refresh_token);
    // And one whose request was lost with it.
    await renewed(second, gil.session);
  } finally {
    await second?.stop();
  }
});
