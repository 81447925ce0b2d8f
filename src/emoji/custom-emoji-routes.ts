/** The routes of the installation’s own emoji on the coordinator: bytes in, WebP out. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bearerOf, NO_QUERY, sendMade, type Authenticate } from '#src/http/client-routes.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { CUSTOM_EMOJI_ROUTES } from '#src/protocol/conversations/custom-emoji-routes.ts';
import { isEmojiName } from '#src/protocol/conversations/custom-emoji.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { EMOJI_BYTES_MAX } from '#src/protocol/limits.ts';
import type { CustomEmojis } from './custom-emoji.ts';

/** Pictures for emoji that are taken in at once, one of a person: each is in memory whole. [busy] */
export const EMOJI_AT_ONCE_MAX = 4;

/** Its name is of its bytes. A day, so that one that was taken away is gone from caches the day after. */
const KEPT_A_DAY = 'private, max-age=86400, immutable';

export interface CustomEmojiRoutesOptions {
  readonly authenticate: Authenticate;
  readonly customEmojis: CustomEmojis;
  readonly limiter: Limiter;
  /** Whether somebody may make emoji, and take theirs away. */
  readonly mayMake: (user: string) => boolean;
}

type Params = { readonly name: string; readonly picture: string };

export async function addCustomEmojiRoutes(app: FastifyInstance, options: CustomEmojiRoutesOptions): Promise<void> {
  const { authenticate, customEmojis, limiter, mayMake } = options;
  const users = new WeakMap<FastifyRequest, string>();
  const userOf = (request: FastifyRequest) => users.get(request) ?? '';
  const requireRight = (user: string) => {
    if (!mayMake(user)) throw new Refusal('right_missing');
  };
  const enter = (name: keyof typeof CUSTOM_EMOJI_ROUTES) => async (request: FastifyRequest) => {
    const user = authenticate(bearerOf(request));
    const isRead = CUSTOM_EMOJI_ROUTES[name].method === 'get';
    limiter.take(isRead ? 'route_read' : 'route_write', `${name} ${user}`);
    users.set(request, user);
    // Before the first byte of a body.
    if (!isRead) requireRight(user);
  };
  const takenIn = new Set<string>();
  const takePlace = async (request: FastifyRequest, reply: FastifyReply) => {
    const user = userOf(request);
    if (!isEmojiName((request.params as Params).name)) throw new Refusal('field_invalid', { field: 'name' });
    if (takenIn.has(user) || takenIn.size >= EMOJI_AT_ONCE_MAX) throw new Refusal('busy', { retryAfter: 1 });
    takenIn.add(user);
    reply.raw.once('close', () => void takenIn.delete(user));
  };
  const byOf = (request: FastifyRequest) => ({ actor: `user:${userOf(request)}`, address: request.ip });
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
    scope.route<{ Params: Params }>({
      method: 'PUT',
      url: CUSTOM_EMOJI_ROUTES.putEmoji.path,
      bodyLimit: EMOJI_BYTES_MAX,
      schema: { querystring: NO_QUERY },
      onRequest: [enter('putEmoji'), takePlace],
      handler: async (request, reply) => {
        if (!(request.body instanceof Buffer)) throw new Refusal('emoji_invalid');
        const isStillLet = () => requireRight(userOf(request));
        const made = await customEmojis.make(request.params.name, request.body, byOf(request), isStillLet);
        return await reply.code(201).send(made);
      },
    });
    scope.route<{ Params: Params }>({
      method: 'DELETE',
      url: CUSTOM_EMOJI_ROUTES.removeEmoji.path,
      schema: { querystring: NO_QUERY },
      onRequest: enter('removeEmoji'),
      handler: async (request, reply) => {
        await customEmojis.remove(request.params.name, byOf(request), true);
        return await reply.code(204).send();
      },
    });
    scope.route({
      method: 'GET',
      url: CUSTOM_EMOJI_ROUTES.listEmoji.path,
      schema: { querystring: NO_QUERY },
      onRequest: enter('listEmoji'),
      handler: async (request, reply) => await sendMade(request, reply, customEmojis.list()),
    });
    scope.route<{ Params: Params }>({
      method: 'GET',
      url: CUSTOM_EMOJI_ROUTES.readEmoji.path,
      schema: { querystring: NO_QUERY },
      onRequest: enter('readEmoji'),
      handler: async (request, reply) => {
        const { name, picture } = request.params;
        const bytes = customEmojis.read(name, picture);
        void reply.headers({ 'cache-control': KEPT_A_DAY, 'x-content-type-options': 'nosniff' });
        return await reply.type('image/webp').send(Buffer.from(bytes));
      },
    });
  });
}
