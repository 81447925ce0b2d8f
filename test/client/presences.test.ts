/** What the client knows of who is there: asked for after each connect, and kept by events. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Emitter } from '#src/client/emitter.ts';
import type { ClientEvents, EventData, ServerEvent } from '#src/client/events.ts';
import type { MessagingApi } from '#src/client/messaging-api.ts';
import {
  PRESENCE_FIRST_MILLIS,
  PRESENCE_RETRY_MILLIS,
  PRESENCE_SPREAD_MILLIS,
  Presences,
  type Presence,
} from '#src/client/presences.ts';
import { ManualTimers, settle } from './manual-timers.ts';

const change = (data: EventData<'presence'>, conv?: string): ServerEvent<'presence'> => ({
  ...{ type: 'presence', at: 0, data },
  ...(conv === undefined ? {} : { conv }),
});

function setStage() {
  const timers = new ManualTimers();
  const emitter = new Emitter<ClientEvents>();
  const told: Presence[] = [];
  const troubles: string[] = [];
  const sent: boolean[] = [];
  emitter.on('presence', ({ data }) => void ('user' in data && told.push(data)));
  emitter.on('trouble', ({ error }) => void troubles.push(error.code));
  const asked: PromiseWithResolvers<readonly Presence[]>[] = [];
  const call = async () => {
    const answer = Promise.withResolvers<readonly Presence[]>();
    asked.push(answer);
    return { items: await answer.promise, next: null };
  };
  const api = { call } as unknown as Pick<MessagingApi, 'call'>;
  const presences = new Presences(api, { emitter, timers, random: () => 0.5 }, (isAwake) => void sent.push(isAwake));
  const answer = async (...items: Presence[]) => {
    asked.at(-1)?.resolve(items);
    await settle();
  };
  return { timers, told, troubles, sent, asked, presences, answer };
}

test('who is there is asked for a little after the socket opened, and told as events tell it', async () => {
  const { answer, asked, presences, timers, told } = setStage();
  presences.opened();
  await timers.pass(PRESENCE_FIRST_MILLIS / 2 - 1);
  assert.equal(asked.length, 0);
  await timers.pass(1);
  assert.equal(asked.length, 1);
  assert.equal(presences.of('ben'), 'offline');
  // What an event tells meanwhile is newer than an answer that is on its way.
  presences.observe(change({ user: 'cas', state: 'away' }));
  await answer({ user: 'ben', state: 'online' }, { user: 'cas', state: 'online' });
  assert.deepEqual(told, [{ user: 'ben', state: 'online' }]);
  assert.deepEqual([presences.of('ben'), presences.of('cas'), presences.of('dee')], ['online', 'away', 'offline']);
  presences.observe(change({ user: 'ben', state: 'offline' }));
  assert.equal(presences.of('ben'), 'offline');
  // A large room says how many are there, and nothing of who is no acquaintance.
  presences.observe(change({ count: 300, sample: [{ user: 'eva', state: 'online' }] }, 'c_1'));
  assert.deepEqual(
    [presences.countIn('c_1'), presences.countIn('c_2'), presences.of('eva')],
    [300, undefined, 'offline'],
  );
  presences.opened();
  assert.equal(presences.countIn('c_1'), undefined);
});

test('after a break those who went meanwhile are told of, and those who stayed are not', async () => {
  const { answer, asked, presences, sent, timers, told } = setStage();
  presences.tell(true);
  presences.opened();
  await timers.pass(PRESENCE_FIRST_MILLIS);
  await answer({ user: 'ben', state: 'online' }, { user: 'cas', state: 'online' });
  told.length = 0;
  presences.opened();
  assert.deepEqual(sent, [true, true, true]);
  // Whoever knows somebody lets the messages of all others go first.
  await timers.pass(PRESENCE_SPREAD_MILLIS / 2 - 1);
  assert.equal(asked.length, 1);
  await timers.pass(1);
  await answer({ user: 'cas', state: 'online' });
  assert.deepEqual(told, [{ user: 'ben', state: 'offline' }]);
});

test('a failure is told and asked again; an answer that comes after the next connect, or after the end, is let go', async () => {
  const { answer, asked, presences, timers, told, troubles } = setStage();
  presences.opened();
  await timers.pass(PRESENCE_FIRST_MILLIS);
  asked[0]?.reject(new Error('no network'));
  await settle();
  assert.deepEqual(troubles, ['network_failed']);
  await timers.pass(PRESENCE_RETRY_MILLIS);
  assert.equal(asked.length, 2);
  presences.opened();
  await answer({ user: 'ben', state: 'online' });
  assert.deepEqual(told, []);
  await timers.pass(PRESENCE_SPREAD_MILLIS);
  presences.close();
  await answer({ user: 'ben', state: 'online' });
  assert.deepEqual([asked.length, told.length, timers.waits.length], [3, 0, 0]);
});
