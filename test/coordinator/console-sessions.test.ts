import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONSOLE_SESSIONS_MAX,
  ConsoleSessions,
  endConsoleSessions,
  INDEX_LEAST,
} from '#src/identity/console/console-sessions.ts';
import { until } from '#test/support/waiting.ts';
import { HandClock } from './coordinator-fixture.ts';
import { ADDRESS, openConsole, openConsoleOn, OWNER, refusal } from './console-fixture.ts';

test('a session is over in the second in which its idle life ends, and use prolongs it', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { token } = await site.login('olga');
  site.clock.advance(1_799);
  await site.who(token);
  site.clock.advance(1_799);
  await site.who(token);
  site.clock.advance(1_800);
  await assert.rejects(site.who(token), refusal('session_over'));
});

test('a session is over after twelve hours however busy it is', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { token, expiresAt } = await site.login('olga');
  assert.equal(expiresAt, Date.parse('2026-11-21T20:00:00Z'));
  for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
    site.clock.advance(1_200);
    await site.who(token);
  }
  site.clock.advance(1_199);
  await site.who(token);
  site.clock.advance(1);
  await assert.rejects(site.who(token), refusal('session_over'));
});

test('use is stored once a minute, so that a session outlives a restart by what is left of its idle life', async (context) => {
  const { accounts, add, clock, folder, login, who } = await openConsole(context);
  await add('olga', 'owner');
  const { token } = await login('olga');
  clock.advance(1_000);
  await who(token);
  clock.advance(59);
  await who(token);
  await accounts.close();
  const later = new HandClock();
  // Stored was the first of the two uses.
  later.advance(1_000 + 1_799);
  const again = await openConsoleOn(folder, later);
  assert.equal((await again.who(token)).kind, 'person');
  await again.accounts.close();
  const latest = new HandClock();
  latest.advance(1_000 + 1_799 + 1_800);
  const last = await openConsoleOn(folder, latest);
  await assert.rejects(last.who(token), refusal('session_over'));
  await last.accounts.close();
});

test('uses within a minute cost no commit', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { token } = await site.login('olga');
  let changes = 0;
  const change = site.accounts.change.bind(site.accounts);
  site.accounts.change = async (decide) => {
    changes += 1;
    return await change(decide);
  };
  for (let seconds = 0; seconds < 59; seconds += 1) {
    site.clock.advance(1);
    await site.who(token);
  }
  assert.equal(changes, 0);
  site.clock.advance(1);
  await site.who(token);
  await site.who(token);
  assert.equal(changes, 1);
});

test('CRD-08 who is blocked, or has another password or role, is out at once', async (context) => {
  const site = await openConsole(context);
  for (const name of ['olga', 'alice', 'bob', 'carol']) await site.add(name, name === 'olga' ? 'owner' : 'viewer');
  const [alice, bob, carol] = [await site.login('alice'), await site.login('bob'), await site.login('carol')];
  await site.block('alice');
  const passwordHash = await site.passwords.hash('another password');
  await site.accounts.change((draft) => {
    const person = draft.person('bob');
    if (person !== undefined) draft.putPerson({ ...person, passwordHash });
  });
  await site.roles.set(OWNER, 'carol', 'administrator', ADDRESS);
  for (const { token } of [alice, bob, carol]) await assert.rejects(site.who(token), refusal('token_invalid'));
});

test('CRD-08 ending a person’s sessions is part of the change that asks for it', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  await site.add('vera', 'viewer');
  const [olga, vera] = [await site.login('olga'), await site.login('vera')];
  await site.accounts.change((draft) => endConsoleSessions(draft, 'vera'));
  await assert.rejects(site.who(vera.token), refusal('token_invalid'));
  assert.equal((await site.who(olga.token)).kind, 'person');
});

test('one session more than a person may have ends the one unused for longest', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const tokens: string[] = [];
  for (let number = 0; number < CONSOLE_SESSIONS_MAX; number += 1) {
    tokens.push((await site.login('olga')).token);
    site.clock.advance(1);
  }
  // The first is used again, so the second is the oldest.
  site.clock.advance(60);
  await site.who(tokens[0] as string);
  await until(() => site.accounts.change(() => true), 'the use to be stored');
  await site.login('olga');
  assert.equal((await site.who(tokens[0] as string)).kind, 'person');
  await assert.rejects(site.who(tokens[1] as string), refusal('token_invalid'));
  assert.equal((await site.who(tokens[2] as string)).kind, 'person');
});

test('what was never a session of ours is token_invalid', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { token } = await site.login('olga');
  const changed = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BA' : 'AA'}`;
  for (const text of ['adm_', `adm_${'A'.repeat(43)}`, changed, `${token}A`, token.slice('adm_'.length)]) {
    await assert.rejects(site.who(text), refusal('token_invalid'));
  }
});

test('sessions are found again by another reader of the same accounts', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { token, sid } = await site.login('olga');
  const config = { consoleIdleSeconds: 1_800, consoleSessionSeconds: 43_200 };
  const other = new ConsoleSessions({ accounts: site.accounts, config, log: site.log });
  assert.equal(other.read(token, ADDRESS, site.clock.now()).sid, sid);
});

test('the index does not grow with sessions that have ended', async (context) => {
  const { accounts, add, clock, login, sessions, who } = await openConsole(context);
  await add('olga', 'owner');
  const open = async (times: number) =>
    await accounts.change((draft) => {
      for (let number = 0; number < times; number += 1) {
        sessions.open(draft, 'vera', {
          signIn: 'sso',
          isFull: true,
          role: 'viewer',
          address: ADDRESS,
          now: clock.now(),
        });
      }
    });
  const { token } = await login('olga');
  await open(INDEX_LEAST - 1);
  assert.equal(sessions.known, INDEX_LEAST);
  clock.advance(60);
  await open(1);
  // Left are the owner's, those that Vera may have at once, and of these one that had to go for the new one.
  assert.equal(sessions.known, 1 + CONSOLE_SESSIONS_MAX + 1);
  assert.equal((await who(token)).kind, 'person');
});
