/** Random histories of a conversation: what people might do to one room or chat, in any order, allowed or not. */
import * as fc from 'fast-check';
import type { ConversationMessage } from '#actors/conversation/conversation.messages.ts';

export const PEOPLE = ['alice', 'bob', 'carol', 'dave'] as const;

/** Mostly those who may do something, so that most of a history is not refused. */
const person = fc.oneof(
  { arbitrary: fc.constant(PEOPLE[0]), weight: 4 },
  { arbitrary: fc.constant(PEOPLE[1]), weight: 3 },
  { arbitrary: fc.constantFrom(...PEOPLE), weight: 2 },
);
const acting = { user: person, device: fc.constant('d_1') };
const seq = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 4 }), weight: 3 },
  { arbitrary: fc.integer({ min: 1, max: 14 }), weight: 1 },
);
const role = fc.constantFrom('owner', 'moderator', 'member', 'guest');
const body = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 });
const form = fc.record(
  { kind: fc.constant('text' as const), body, client_msg_id: fc.constantFrom('m1', 'm2', 'm3', 'm4', 'm5', 'm6') },
  { requiredKeys: ['kind', 'body'] },
);

const of = <Kind extends ConversationMessage['kind']>(
  kind: Kind,
  fields: {
    [
      Name in keyof Omit<Extract<ConversationMessage, { kind: Kind }>, 'kind' | 'user' | 'device'>
    ]: fc.Arbitrary<unknown>;
  },
) => fc.record({ kind: fc.constant(kind), ...fields, ...acting }) as unknown as fc.Arbitrary<ConversationMessage>;

const hash = fc.constantFrom('aa', 'bb');

const PICTURES = { 64: Buffer.from('small'), 256: Buffer.from('large') };
const described = fc.record(
  {
    title: body,
    topic: fc.option(body),
    visibility: fc.constantFrom('private', 'organisation'),
    archived: fc.boolean(),
  },
  { requiredKeys: [] },
);

/** One thing somebody does. What is not allowed is refused and must change nothing. */
export const action: fc.Arbitrary<ConversationMessage> = fc.oneof(
  { arbitrary: of('post', { form }), weight: 10 },
  { arbitrary: of('edit', { seq, body }), weight: 3 },
  { arbitrary: of('deleteMessage', { seq }), weight: 3 },
  { arbitrary: of('react', { seq, emoji: fc.constantFrom('👍', '🎉', '❤️'), added: fc.boolean() }), weight: 6 },
  { arbitrary: of('pin', { seq, pinned: fc.boolean() }), weight: 3 },
  { arbitrary: of('receipt', { state: fc.constantFrom('delivered', 'read'), seq }), weight: 5 },
  { arbitrary: of('add', { participants: fc.uniqueArray(person, { minLength: 1, maxLength: 3 }), role }), weight: 4 },
  {
    arbitrary: of('add', {
      participants: fc.uniqueArray(person, { minLength: 1, maxLength: 3 }),
      role,
      asking: fc.constant({ above: 2, guests: true, bots: [], full: [] }),
    }),
    weight: 3,
  },
  { arbitrary: of('acceptInvitation', {}), weight: 3 },
  { arbitrary: of('declineInvitation', {}), weight: 1 },
  { arbitrary: of('withdrawInvitation', { invited: person }), weight: 1 },
  { arbitrary: of('remove', { participant: person }), weight: 2 },
  { arbitrary: of('setRole', { participant: person, role }), weight: 2 },
  { arbitrary: of('describe', { form: described }), weight: 2 },
  { arbitrary: of('putAvatar', { pictures: fc.constantFrom(null, PICTURES) }), weight: 1 },
  { arbitrary: of('join', {}), weight: 2 },
  {
    arbitrary: of('makeLink', { link: fc.constant('rml_1'), hash, seconds: fc.constant(60), uses: fc.constant(2) }),
    weight: 2,
  },
  { arbitrary: of('joinByLink', { hash }), weight: 2 },
  { arbitrary: of('revokeLink', { link: fc.constant('rml_1') }), weight: 1 },
  { arbitrary: of('purgeBefore', { beforeSeq: seq }), weight: 1 },
  { arbitrary: of('retain', { seconds: fc.constantFrom(null, 3_600) }), weight: 1 },
  { arbitrary: of('draft', { body: fc.option(body) }), weight: 1 },
  { arbitrary: of('mute', { until: fc.constantFrom(null, '2027-01-01T00:00:00Z') }), weight: 1 },
  { arbitrary: of('typing', {}), weight: 1 },
);

/** `max`, because short histories hardly ever undo anything. */
export const history = fc.array(action, { minLength: 1, maxLength: 60, size: 'max' });
