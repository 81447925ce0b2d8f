/** Valid requests of every route: what the fuzzer starts from. */
import type { Json } from '#src/base/json.ts';
import { MESSAGING_ROUTES, SESSION_ROUTES } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';
import type { SeededRandom } from '#test/support/random.ts';

export interface World {
  /** Conversations of the fuzzing people, and one of strangers. */
  readonly conversations: readonly string[];
  /** The fuzzing people. */
  readonly names: readonly string[];
}

export type RouteName = keyof typeof MESSAGING_ROUTES | keyof typeof SESSION_ROUTES;
export const ROUTES: Readonly<Record<RouteName, Route>> = { ...MESSAGING_ROUTES, ...SESSION_ROUTES };
export const ROUTE_NAMES = Object.keys(ROUTES) as RouteName[];

export function isSessionRoute(name: RouteName): boolean {
  return Object.hasOwn(SESSION_ROUTES, name);
}

type Draw = (world: World, random: SeededRandom) => Json;

const BODIES: Readonly<Partial<Record<RouteName, Draw>>> = {
  createConversation: ({ names }, random) => {
    const kind = random.pick(['direct', 'secret', 'room']);
    if (kind !== 'room') return { kind, participants: [random.pick(names)] };
    return { kind, title: 'A room', participants: [...names] };
  },
  changeConversation: () => ({ title: 'Another title' }),
  addParticipants: ({ names }, random) => ({ participants: [random.pick(names)], role: 'member' }),
  changeParticipant: (_world, random) => ({ role: random.pick(['owner', 'moderator', 'member', 'guest']) }),
  postMessage: ({ conversations }, random) =>
    random.chance(0.1)
      ? { forward: { conversation_id: random.pick(conversations), seq: random.whole(1, 4) } }
      : random.pick(MESSAGES),
  editMessage: (_world, random) => ({ body: random.pick(MESSAGES)['body'] as Json }),
  putRetention: (_world, random) => ({ seconds: random.pick([null, 3_600, 86_400]) }),
  putDraft: () => ({ body: 'Not finished' }),
  putHidden: (_world, random) => ({ seq: random.pick([null, 1, 1_000_000]) }),
  putMute: (_world, random) => ({ until: random.pick([null, '2027-01-01T00:00:00Z', '2020-01-01T00:00:00.5Z']) }),
  postReceipt: (_world, random) => ({ state: random.pick(['delivered', 'read']), seq: random.whole(1, 4) }),
  postSignal: ({ conversations, names }, random) => ({
    to: random.pick([...conversations, ...names]),
    ...random.pick<{ [key: string]: Json }>([
      { kind: 'call', step: 'invite', call: 'attempt', seq: 0, body: { video: true, room: 'room' } },
      { kind: 'call', step: 'join', call: 'attempt', seq: 1, body: {} },
      { kind: 'webrtc', step: 'offer', call: 'attempt', seq: 2, body: { sdp: 'v=0' } },
      { kind: 'sub', step: 'subscribe', body: { what: ['presence'] } },
    ]),
  }),
  login: ({ names }, random) => ({
    username: random.pick(names),
    password: 'not the password',
    device: { name: 'Fuzz', platform: 'test' },
  }),
  exchangeInvitation: ({ names }, random) => ({ username: random.pick(names), password: 'a long enough password' }),
};

const MESSAGES: readonly { [key: string]: Json }[] = [
  { kind: 'text', body: 'Hello', client_msg_id: 'again' },
  { kind: 'text', body: '👩‍👩‍👧‍👦 \u202E' },
  { kind: 'text', body: '@all a reply', mentions: [{ all: true, offset: 0, length: 4 }], reply_to: 1 },
  { kind: 'text', body: 'to nobody', mentions: [{ username: 'nobody', offset: 0, length: 2 }] },
  { kind: 'media', body: { attachment: 'att_1', name: 'a.png', type: 'image/png', size: 1, width: 1, height: 1 } },
  { kind: 'location', body: { latitude: 1.5, longitude: -179.5, accuracy: 3 } },
  { kind: 'contact', body: { name: 'Somebody', phones: ['+1'], emails: ['a@b'] } },
  { kind: 'call', body: { outcome: { result: 'missed', duration: 0, flags: ['video'] } } },
  { kind: 'system', body: { outcome: { result: 'completed', duration: 1.5, flags: [] } } },
];

const QUERIES: Readonly<Partial<Record<RouteName, Draw>>> = {
  readParticipants: () => ({ limit: '10' }),
  readMessages: (_world, random) => random.pick([{ after_seq: '0' }, { before_seq: '9', limit: '3' }, {}]),
  readChanges: () => ({ after_rev: '0' }),
  readInbox: () => ({ limit: '20' }),
  readMentions: () => ({ limit: '20' }),
  readReplies: () => ({ after_seq: '0', limit: '3' }),
  readReadBy: () => ({ limit: '3' }),
  searchMessages: () => ({ q: 'plan "for today"', kind: 'text', limit: '5' }),
};

/** A valid body for the route, or undefined where it takes none. */
export function validBody(name: RouteName, world: World, random: SeededRandom): Json | undefined {
  return BODIES[name]?.(world, random);
}

/** Valid query parameters for the route. */
export function validQuery(name: RouteName, world: World, random: SeededRandom): Record<string, string> {
  return (QUERIES[name]?.(world, random) ?? {}) as Record<string, string>;
}

/** The route's path with its parameters filled in. */
export function validPath(name: RouteName, { conversations, names }: World, random: SeededRandom): string {
  const values: Readonly<Record<string, () => string>> = {
    id: () => random.pick(conversations),
    username: () => random.pick(names),
    seq: () => String(random.whole(1, 4)),
    emoji: () => encodeURIComponent(random.pick(['👍', '🎉', '❤️'])),
    invitation: () => 'inv_0000000000000000000000',
  };
  return ROUTES[name].path.replaceAll(/:([a-z]+)/g, (_all, param: string) => values[param]?.() ?? 'x');
}
