/** Bots in the console, and what they did in the audit trail (CRD-04). */
import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import { BotAudit } from '#src/integrations/bot-audit.ts';
import { botRecords, readBotSnapshot, type BotRecord } from '#src/integrations/bot-records.ts';
import { Bots } from '#src/integrations/bots.ts';
import { BOT_CONVERSATIONS_MAX, BOTS_MAX, type BotFact, type BotSnapshot } from '#src/protocol/bots/bots.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { holding, makeBot, type MadeBot } from '#test/support/bots.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { assertRefused } from '#test/messaging/conversing.ts';
import { refusal } from './console-fixture.ts';
import { HandClock, START, temporaryFolder } from './coordinator-fixture.ts';

let running: ConsoleServer;
before(async () => {
  running = await startConsoleServer({ shards: 2 });
});
after(async () => await running.stop());

const ROOM = `c_${'0'.repeat(22)}`;
const NOBODY = '0'.repeat(22);
const TOKEN = /^bot_[0-9abcdefghjkmnpqrstvwxyz]{22}_[A-Za-z0-9_-]{43}$/;
const BY = { actor: 'user:root', address: '192.0.2.7' };

async function openBots(context: TestContext) {
  const folder = temporaryFolder(context);
  openFolder(folder, 4, '2026-11-21T08:00:00.000Z');
  const accounts = await Accounts.open(folder);
  context.after(() => accounts.close());
  const announced: BotSnapshot[] = [];
  const clock = new HandClock();
  const announce = async (snapshot: BotSnapshot) => void announced.push(snapshot);
  const directoryChanged = () => undefined;
  return { accounts, announced, bots: new Bots({ accounts, clock, announce, directoryChanged }), clock };
}

const form = (name: string) => ({ name, display_name: 'A bot', scopes: [], conversations: [] });

test('CRD-04 a bot is made, read, changed and revoked; its token is shown once', async () => {
  const { console } = running;
  const made = await console<MadeBot & { state: string; created_by: string }>('POST', '/bots', {
    name: 'helper',
    display_name: 'The helper',
    scopes: ['messages:write', 'messages:read', 'messages:read'],
    conversations: [ROOM],
  });
  assert.equal(made.status, 201, made.text);
  assert.match(made.body.token, TOKEN);
  const { token, ...shown } = made.body;
  assert.deepEqual([shown.user, shown.state, shown.created_by], ['bot.helper', 'active', 'user:root']);
  const path = `/bots/${made.body.id}`;
  assert.deepEqual((await console('GET', path)).body, shown);
  const changed = await console('PATCH', path, { scopes: [], display_name: 'Nobody in particular' });
  assert.deepEqual(changed.body, { ...shown, scopes: [], display_name: 'Nobody in particular' });
  const revoked = await console('POST', `${path}/revoke`);
  assert.deepEqual([revoked.body['state'], revoked.body['revoked_by']], ['revoked', 'user:root']);
  for (const [method, below, body] of [
    ['POST', '/revoke', undefined],
    ['POST', '/token', undefined],
    ['PATCH', '', { scopes: [] }],
  ] as const) {
    assertRefused(await console(method, `${path}${below}`, body), 409, 'bot_not_active');
    assertRefused(await console(method, `/bots/${NOBODY}${below}`, body), 404, 'bot_not_found');
  }
  assertRefused(await console('GET', `/bots/${NOBODY}`), 404, 'bot_not_found');
  const listed = await console<{ items: { id: string }[] }>('GET', '/bots');
  assert.ok(listed.body.items.some(({ id }) => id === made.body.id));
  const secret = token.split('_').slice(2).join('_');
  const trail = await console<{ items: { event: string }[] }>('GET', `/audit?about=bot:${made.body.id}`);
  assert.deepEqual(
    trail.body.items.map(({ event }) => event),
    ['bot.revoked', 'bot.changed', 'bot.made'],
  );
  for (const text of [listed.text, trail.text]) assert.ok(!text.includes(secret));
});

test('CRD-04 a name is one bot’s for good, and what is wrong in a form is named', async () => {
  const { console } = running;
  const first = await makeBot(running, 'only', [], []);
  await console('POST', `/bots/${first.id}/revoke`);
  assertRefused(await console('POST', '/bots', form('only')), 409, 'bot_name_taken', 'name');
  const wrong: [object, string][] = [
    [{ name: 'Upper' }, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'n'.repeat(61) }, 'name'],
    [{ display_name: ' ' }, 'display_name'],
    [{ scopes: ['messages:all'] }, 'scopes.0'],
    [{ conversations: ['c_nothing'] }, 'conversations.0'],
    [{ conversations: Array.from({ length: BOT_CONVERSATIONS_MAX + 1 }, () => ROOM) }, 'conversations'],
  ];
  for (const [fields, field] of wrong) {
    assertRefused(await console('POST', '/bots', { ...form('faulty'), ...fields }), 400, 'field_invalid', field);
  }
  assertRefused(await console('POST', '/bots', { ...form('faulty'), token: 'mine' }), 400, 'field_unknown', 'token');
  const longest = { ...form('n'.repeat(60)), conversations: Array.from({ length: BOT_CONVERSATIONS_MAX }, () => ROOM) };
  assert.equal((await console('POST', '/bots', longest)).status, 201);
  const unchanged = await console('PATCH', `/bots/${first.id}`, {});
  assert.deepEqual([unchanged.status, unchanged.body['code']], [400, 'field_invalid']);
});

test('CRD-04 another token is another secret for the same bot', async () => {
  const bot = await makeBot(running, 'twice', [], []);
  const issued = await running.console<MadeBot>('POST', `/bots/${bot.id}/token`);
  assert.match(issued.body.token, TOKEN);
  assert.notEqual(issued.body.token, bot.token);
  const { id, username, session } = holding(issued.body);
  assert.deepEqual([id, username, session.device_id], [bot.id, bot.username, bot.session.device_id]);
});

test('BOT-01 the threads are handed every bot before an answer, and hold no secret', async (context) => {
  const { announced, accounts, bots, clock } = await openBots(context);
  const { bot, token } = await bots.make({ ...form('first'), scopes: ['messages:read'] }, BY);
  await bots.change(bot.id, { conversations: [ROOM] }, BY);
  clock.advance(1);
  const { bot: other } = await bots.make(form('second'), BY);
  await bots.revoke(bot.id, BY);
  assert.deepEqual(
    announced.map((snapshot) => snapshot.map(({ user, isActive, conversations }) => [user, isActive, conversations])),
    [
      [['bot.first', true, []]],
      [['bot.first', true, [ROOM]]],
      [
        ['bot.first', true, [ROOM]],
        ['bot.second', true, []],
      ],
      [
        ['bot.first', false, [ROOM]],
        ['bot.second', true, []],
      ],
    ],
  );
  assert.deepEqual(readBotSnapshot(accounts), announced.at(-1));
  assert.ok(!JSON.stringify(announced).includes(token.slice(-43)));
  assert.deepEqual(bots.list(undefined, 1).next, bot.id);
  assert.deepEqual(
    bots.list(bot.id, 10).items.map(({ id }) => id),
    [other.id],
  );
});

test('BOT-01 two bots of one name at once: one is made', async (context) => {
  const { bots } = await openBots(context);
  const both = await Promise.allSettled([bots.make(form('same'), BY), bots.make(form('same'), BY)]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('BOT-01 beyond BOTS_MAX no bot is made', async (context) => {
  const { accounts, bots } = await openBots(context);
  await bots.make(form('bot-1'), BY);
  // As many as there may be but one: each made by itself would announce all of those before it.
  await accounts.change((draft) => {
    const document = accounts.documents(botRecords)[0]?.document as BotRecord;
    for (let number = 2; number < BOTS_MAX; number += 1) {
      draft.putDocument(botRecords, `${number}`.padStart(22, '0'), { ...document, user: `bot.bot-${number}` });
    }
  });
  await bots.make(form('the-last'), BY);
  assert.equal(accounts.documents(botRecords).length, BOTS_MAX);
  await assert.rejects(bots.make(form('one-more'), BY), refusal('bots_full'));
});

test('CRD-04 a batch that is handed over twice is written once; the last use stays the last', async (context) => {
  const { accounts, bots, clock } = await openBots(context);
  const { bot } = await bots.make(form('busy'), BY);
  const audit = new BotAudit(accounts, clock);
  const fact = (at: number, address: string, rest: Partial<BotFact> = {}): BotFact => ({
    event: 'bot.request',
    bot: bot.id,
    at,
    address,
    method: 'GET',
    route: '/v1/inbox',
    conversation: null,
    status: 200,
    code: null,
    count: 1,
    ...rest,
  });
  const batch = { source: 'one', number: 1, facts: [fact(START + 5_000, '192.0.2.1')] };
  await Promise.all([audit.write(batch), audit.write(batch)]);
  await audit.write(batch);
  const limited = { method: '', route: '', status: 429, code: 'rate_limited', count: 9 };
  await audit.write({
    source: 'two',
    number: 1,
    facts: [fact(START, '192.0.2.2', { ...limited, conversation: ROOM })],
  });
  const entries = accounts.auditEntries({ limit: 10 }).filter(({ event }) => event === 'bot.request');
  assert.deepEqual(
    entries.map(({ actor, address, subject, details }) => ({ actor, address, subject, details })),
    [
      {
        actor: `bot:${bot.id}`,
        address: '192.0.2.2',
        subject: `conversation:${ROOM}`,
        details: { at: '2026-11-21T08:00:00.000Z', status: 429, code: 'rate_limited', count: 9 },
      },
      {
        actor: `bot:${bot.id}`,
        address: '192.0.2.1',
        subject: null,
        details: { at: '2026-11-21T08:00:05.000Z', method: 'GET', route: '/v1/inbox', status: 200 },
      },
    ],
  );
  assert.equal(bots.read(bot.id).last_used_address, '192.0.2.1');
});
