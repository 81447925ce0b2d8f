/** Invitations as the conversation decides on them: how long they are good, how many there may be, and what ends them. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ConversationMessage } from '#actors/conversation/conversation.messages.ts';
import { INVITATION_DECLINED_MILLIS, ROOM_INVITATION_MILLIS, ROOM_INVITATIONS_MAX } from '#src/protocol/limits.ts';
import { checkFolder } from '#storage/check/check.ts';
import { type ActorHost, makeRoom, openHost } from './actor-host.ts';

const ROOM = 'c_0000000000000000000001';
const as = (user: string) => ({ user, device: `d_${user}` });
const ALWAYS = { above: 1, guests: true, bots: ['bot.echo'], full: ['busy'] };

const add = (user: string, ...participants: string[]): ConversationMessage => ({
  ...{ kind: 'add', participants, role: 'member', asking: ALWAYS },
  ...as(user),
});
const accept = (user: string): ConversationMessage => ({ kind: 'acceptInvitation', ...as(user) });
const decline = (user: string): ConversationMessage => ({ kind: 'declineInvitation', ...as(user) });
const withdraw = (user: string, invited: string): ConversationMessage => ({
  ...{ kind: 'withdrawInvitation', invited },
  ...as(user),
});

/** The status of an answer, or the code and the field of a refusal. */
async function said(host: ActorHost, message: ConversationMessage): Promise<unknown> {
  const answer = await host.converse(ROOM, message);
  if (answer.ok) return (answer.value as { status: number }).status;
  return answer.field === undefined ? answer.code : `${answer.code} ${answer.field}`;
}

async function open(t: TestContext): Promise<ActorHost> {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  return host;
}

/** Events of invitations: what was done, by whom, and who was told. */
const told = (host: ActorHost) =>
  host.said.flatMap((effect) => {
    if (effect.kind !== 'publishTo' || effect.type !== 'membership') return [];
    const { data, rev } = JSON.parse(effect.event) as { data: { action: string; user: string }; rev?: number };
    return [[data.action, data.user, effect.users.join(' '), rev]];
  });

test('POL-01 an invitation is good for 14 days less a millisecond, and then there is none', async (t) => {
  const host = await open(t);
  assert.equal(await said(host, add('alice', 'carol', 'dave')), 200);
  host.now += ROOM_INVITATION_MILLIS - 1;
  assert.equal(await said(host, accept('carol')), 200);
  host.now += 1;
  assert.equal(await said(host, accept('dave')), 'invitation_not_found');
  assert.equal(await said(host, decline('dave')), 'invitation_not_found');
  assert.equal(await said(host, withdraw('alice', 'dave')), 'invitation_not_found');
  // Once it is over they are asked anew, and told.
  assert.equal(await said(host, add('alice', 'dave')), 200);
  assert.equal(told(host).filter(([action, , to]) => action === 'invited' && to === 'dave').length, 1);
  assert.equal(await said(host, accept('dave')), 200);
});

test('POL-01 whoever declined is not asked by the same person for 30 days, and may be by another', async (t) => {
  const host = await open(t);
  await said(host, add('alice', 'carol'));
  assert.equal(await said(host, decline('carol')), 204);
  assert.equal(await said(host, accept('carol')), 'invitation_not_found');
  assert.equal(await said(host, add('alice', 'dave', 'carol')), 'invitation_declined participants.1');
  assert.equal(await said(host, accept('dave')), 'invitation_not_found', 'a refused add asks nobody');
  assert.equal(await said(host, add('bob', 'carol')), 200);
  assert.equal(await said(host, decline('carol')), 204);
  host.now += INVITATION_DECLINED_MILLIS - 1;
  assert.equal(await said(host, add('alice', 'carol')), 'invitation_declined participants.0');
  host.now += 1;
  assert.equal(await said(host, add('alice', 'carol')), 200);
  assert.equal(await said(host, accept('carol')), 200);
});

test('POL-01 an invitation ends with what its inviter may, and a withdrawn one is asked again without being heard again', async (t) => {
  const host = await open(t);
  const role = (participant: string, to: 'guest' | 'member' | 'moderator'): ConversationMessage => ({
    ...{ kind: 'setRole', participant, role: to },
    ...as('alice'),
  });
  await said(host, add('bob', 'carol'));
  await said(host, role('bob', 'guest'));
  assert.equal(await said(host, accept('carol')), 'invitation_not_found');
  await said(host, role('bob', 'member'));
  assert.equal(await said(host, withdraw('bob', 'carol')), 204);
  assert.equal(await said(host, accept('carol')), 'invitation_not_found');
  assert.equal(await said(host, add('bob', 'carol')), 200);
  assert.deepEqual(told(host), [
    ['invited', 'bob', 'carol', undefined],
    ['withdrawn', 'bob', 'carol', undefined],
  ]);
  assert.equal(
    await said(host, { ...(add('bob', 'dave') as object), role: 'moderator' } as never),
    'right_missing role',
  );
  assert.equal(await said(host, accept('carol')), 200);
});

test('POL-01 members withdraw what they asked, moderators what anybody asked, and guests nothing', async (t) => {
  const host = await open(t);
  await host.reply(ROOM, { kind: 'add', participants: ['mo'], role: 'moderator', ...as('alice') });
  await host.reply(ROOM, { kind: 'add', participants: ['gus'], role: 'guest', ...as('alice') });
  await said(host, add('alice', 'carol', 'dave'));
  assert.equal(await said(host, withdraw('bob', 'carol')), 'right_missing');
  assert.equal(await said(host, withdraw('gus', 'carol')), 'right_missing');
  assert.equal(await said(host, withdraw('mallory', 'carol')), 'conversation_forbidden');
  assert.equal(await said(host, withdraw('mo', 'carol')), 204);
  assert.equal(await said(host, withdraw('alice', 'dave')), 204);
  assert.equal(await said(host, withdraw('alice', 'dave')), 'invitation_not_found');
  // An owner asks an owner; who is no owner any more has asked nobody to be one.
  const owner = (user: string, invited: string): ConversationMessage => ({
    ...{ kind: 'add', participants: [invited], role: 'owner', asking: ALWAYS },
    ...as(user),
  });
  await said(host, owner('alice', 'eve'));
  assert.equal(await said(host, accept('eve')), 200);
  await said(host, owner('eve', 'frank'));
  await said(host, { kind: 'setRole', participant: 'eve', role: 'member', ...as('alice') });
  assert.equal(await said(host, accept('frank')), 'invitation_not_found');
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('POL-01 a room remembers 1,000 invitations, people who are asked too much are not, and bots are not asked', async (t) => {
  const host = await open(t);
  const crowd = Array.from({ length: ROOM_INVITATIONS_MAX - 1 }, (_, number) => `p${number}`);
  assert.equal(await said(host, add('alice', 'busy')), 'invitations_full participants.0');
  assert.equal(await said(host, add('alice', ...crowd)), 200);
  assert.equal(await said(host, add('alice', 'carol', 'dave')), 'invitations_full participants');
  assert.equal(await said(host, add('alice', 'carol', ...crowd)), 200, 'who waits already counts once');
  assert.equal(await said(host, add('alice', 'dave')), 'invitations_full participants');
  assert.equal(await said(host, add('alice', 'bot.echo')), 200);
  assert.equal(await said(host, accept('p0')), 200);
  assert.equal(await said(host, add('alice', 'dave')), 200);
  host.now += ROOM_INVITATION_MILLIS;
  assert.equal(await said(host, add('alice', 'eve')), 200);
  const reply = await host.reply(ROOM, add('alice', 'eve'));
  assert.deepEqual((reply.body as { invited: string[]; participant_count: number }).invited, ['eve']);
  assert.equal((reply.body as { participant_count: number }).participant_count, 4);
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('POL-01 a room that is deleted, and a person who is erased, take invitations along', async (t) => {
  const host = await open(t);
  const rows = () => (['roomInvitations', 'invited'] as const).map((table) => [...host.tables[table].getKeys()].length);
  await said(host, add('alice', 'carol', 'dave'));
  await said(host, add('bob', 'eve'));
  await said(host, decline('dave'));
  await host.lane.settle();
  assert.deepEqual(rows(), [3, 3]);
  await host.converse(ROOM, { kind: 'erase', user: 'dave', afterSeq: 0 });
  await host.converse(ROOM, { kind: 'erase', user: 'bob', afterSeq: 0 });
  await host.lane.settle();
  assert.deepEqual(rows(), [1, 1]);
  await host.reply(ROOM, { kind: 'delete', ...as('alice') });
  assert.equal(await said(host, accept('carol')), 'invitation_not_found');
  for (let block = 0; block < 5; block += 1) host.system.deliver(`conversation:${ROOM}`, { kind: 'purge' });
  await said(host, accept('carol'));
  await host.lane.settle();
  assert.deepEqual(rows(), [0, 0]);
});
