/** Who may do what in a conversation: every kind of change, by every role, over the real actor (MSG-10, MSG-11). */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ConversationMessage, Reply } from '#actors/conversation/conversation.messages.ts';
import type { Answer } from '#actors/runtime/actor.ts';
import { makeRoom, openHost, post, type ActorHost } from './actor-host.ts';

const ROOM = 'c_0000000000000000000001';
const ACTORS = ['owner', 'moderator', 'member', 'guest', 'stranger'] as const;
type Actor = (typeof ACTORS)[number];

/** A room with one person of each role, named after it, beside alice, who owns it; each has posted one message. */
async function openRoom(t: TestContext): Promise<ActorHost> {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  for (const role of ['owner', 'moderator', 'member', 'guest'] as const) {
    await host.reply(ROOM, { kind: 'add', participants: [role], role, user: 'alice', device: 'd' });
  }
  await host.reply(ROOM, post('alice', 'of alice'));
  for (const role of ['owner', 'moderator', 'member', 'guest'] as const)
    await host.reply(ROOM, post(role, `of ${role}`));
  return host;
}

const OWN: Readonly<Record<Actor, number>> = { owner: 2, moderator: 3, member: 4, guest: 5, stranger: 1 };
type Act = (actor: Actor) => ConversationMessage;
const by = (user: Actor) => ({ user, device: 'd' });
const F = 'right_missing';

/** What is done → the act, and what owner, moderator, member and guest are answered. Strangers are always forbidden. */
const TABLE: Readonly<Record<string, readonly [Act, readonly (number | string)[]]>> = {
  post: [(user) => post(user, 'x'), [201, 201, 201, 201]],
  'edit one’s own message': [
    (user) => ({ kind: 'edit', seq: OWN[user], body: 'x', ...by(user) }),
    [200, 200, 200, 200],
  ],
  'edit somebody else’s message': [(user) => ({ kind: 'edit', seq: 1, body: 'x', ...by(user) }), [F, F, F, F]],
  'delete one’s own message': [
    (user) => ({ kind: 'deleteMessage', seq: OWN[user], ...by(user) }),
    [200, 200, 200, 200],
  ],
  'delete somebody else’s message': [(user) => ({ kind: 'deleteMessage', seq: 1, ...by(user) }), [200, 200, F, F]],
  react: [(user) => ({ kind: 'react', seq: 1, emoji: '👍', added: true, ...by(user) }), [200, 200, 200, 200]],
  pin: [(user) => ({ kind: 'pin', seq: 1, pinned: true, ...by(user) }), [204, 204, 204, F]],
  rename: [(user) => ({ kind: 'describe', form: { title: 'x' }, ...by(user) }), [200, 200, F, F]],
  picture: [(user) => ({ kind: 'putAvatar', pictures: null, ...by(user) }), [204, 204, F, F]],
  'add a member': [(user) => ({ kind: 'add', participants: ['new'], role: 'member', ...by(user) }), [200, 200, 200, F]],
  'add a guest': [(user) => ({ kind: 'add', participants: ['new'], role: 'guest', ...by(user) }), [200, 200, 200, F]],
  'add a moderator': [
    (user) => ({ kind: 'add', participants: ['new'], role: 'moderator', ...by(user) }),
    [200, F, F, F],
  ],
  'add an owner': [(user) => ({ kind: 'add', participants: ['new'], role: 'owner', ...by(user) }), [200, F, F, F]],
  'remove a member': [(user) => ({ kind: 'remove', participant: 'bob', ...by(user) }), [204, 204, F, F]],
  'remove an owner': [(user) => ({ kind: 'remove', participant: 'alice', ...by(user) }), [204, F, F, F]],
  'remove somebody who is not there': [
    (user) => ({ kind: 'remove', participant: 'nobody', ...by(user) }),
    ['participant_not_found', 'participant_not_found', F, F],
  ],
  leave: [(user) => ({ kind: 'remove', participant: user, ...by(user) }), [204, 204, 204, 204]],
  'change a role': [
    (user) => ({ kind: 'setRole', participant: 'bob', role: 'moderator', ...by(user) }),
    [200, F, F, F],
  ],
  'delete the room': [(user) => ({ kind: 'delete', ...by(user) }), [204, F, F, F]],
  confirm: [(user) => ({ kind: 'receipt', state: 'read', seq: 1, ...by(user) }), [200, 200, 200, 200]],
  'keep a draft': [(user) => ({ kind: 'draft', body: 'x', ...by(user) }), [200, 200, 200, 200]],
  mute: [(user) => ({ kind: 'mute', until: null, ...by(user) }), [200, 200, 200, 200]],
};

const said = (answer: Answer) => (answer.ok ? (answer.value as Reply).status : answer.code);

for (const [what, [act, expected]] of Object.entries(TABLE)) {
  test(`in a room, who may ${what}`, async (t) => {
    const answers = [];
    for (const actor of ACTORS) answers.push(said(await (await openRoom(t)).converse(ROOM, act(actor))));
    assert.deepEqual(answers, [...expected, 'conversation_forbidden']);
  });
}

test('MSG-11 a conversation that does not exist answers as one that is not the caller’s', async (t) => {
  const host = await openRoom(t);
  const nowhere = 'c_0000000000000000000009';
  for (const [act] of Object.values(TABLE)) {
    const [absent, foreign] = [
      await host.converse(nowhere, act('stranger')),
      await host.converse(ROOM, act('stranger')),
    ];
    assert.deepEqual(absent, foreign);
  }
});

type Said = number | string;

const PAIR_TABLE: Readonly<Record<string, readonly [ConversationMessage, Said | Record<'direct' | 'secret', Said>]>> = {
  post: [post('bob', 'x'), 201],
  'edit the other’s message': [{ kind: 'edit', seq: 1, body: 'x', user: 'bob', device: 'd' }, F],
  'delete the other’s message': [{ kind: 'deleteMessage', seq: 1, user: 'bob', device: 'd' }, F],
  react: [{ kind: 'react', seq: 1, emoji: '👍', added: true, user: 'bob', device: 'd' }, 200],
  pin: [{ kind: 'pin', seq: 1, pinned: true, user: 'bob', device: 'd' }, 204],
  rename: [{ kind: 'describe', form: { title: 'x' }, user: 'bob', device: 'd' }, F],
  picture: [{ kind: 'putAvatar', pictures: null, user: 'bob', device: 'd' }, F],
  'add somebody': [
    { kind: 'add', participants: ['carol'], role: 'member', user: 'bob', device: 'd' },
    'participants_fixed',
  ],
  'remove the other': [{ kind: 'remove', participant: 'alice', user: 'bob', device: 'd' }, 'participants_fixed'],
  leave: [{ kind: 'remove', participant: 'bob', user: 'bob', device: 'd' }, 'participants_fixed'],
  'change a role': [
    { kind: 'setRole', participant: 'bob', role: 'owner', user: 'bob', device: 'd' },
    'participants_fixed',
  ],
  'say how long it keeps': [
    { kind: 'retain', seconds: 60, user: 'bob', device: 'd' },
    { direct: F, secret: 200 },
  ],
  'take away what was said': [
    { kind: 'purgeBefore', beforeSeq: 2, user: 'bob', device: 'd' },
    { direct: F, secret: 204 },
  ],
  'delete the chat': [
    { kind: 'delete', user: 'bob', device: 'd' },
    { direct: F, secret: 204 },
  ],
};

for (const kind of ['direct', 'secret'] as const) {
  test(`what either of two may do in a ${kind} chat`, async (t) => {
    for (const [what, [message, expected]] of Object.entries(PAIR_TABLE)) {
      const host = openHost(t);
      await host.reply(ROOM, { kind: 'create', conversation: kind, participants: ['bob'], user: 'alice', device: 'd' });
      await host.reply(ROOM, post('alice', 'one'));
      const answer = typeof expected === 'object' ? expected[kind] : expected;
      assert.equal(said(await host.converse(ROOM, message)), answer, what);
    }
  });
}

test('a refused act changes nothing and tells nobody', async (t) => {
  const host = await openRoom(t);
  host.said.splice(0);
  const { commits } = host.environment;
  for (const [act, expected] of Object.values(TABLE)) {
    if (expected[3] === F) await host.converse(ROOM, act('guest'));
    await host.converse(ROOM, act('stranger'));
  }
  await host.lane.settle();
  assert.deepEqual(host.said, []);
  assert.equal(host.environment.commits, commits);
});
