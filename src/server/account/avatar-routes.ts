/** The routes of people’s pictures on the coordinator: bytes in, WebP out. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Avatars } from '#src/directory/avatars.ts';
import type { OwnProfiles } from '#src/directory/own-profiles.ts';
import { bearerOf, matchesTag, NO_QUERY, type Authenticate } from '#src/http/client-routes.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { AVATAR_ROUTES } from '#src/protocol/account/avatar-routes.ts';
import { AVATAR_REV, type AvatarSize } from '#src/protocol/account/avatars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { AVATAR_BYTES_MAX } from '#src/protocol/limits.ts';

/** Pictures that are taken in at once, one of a person: each is in memory whole, and all of them are opened in turn. [busy] */
export const AVATARS_AT_ONCE_MAX = 4;

/** Under its number a picture never changes, but who may see it does: readers keep it, and ask each time. */
const ASKED_EACH_TIME = 'private, no-cache';

export interface AvatarRoutesOptions {
  readonly authenticate: Authenticate;
  readonly avatars: Avatars;
  readonly limiter: Limiter;
  readonly profiles: Pick<OwnProfiles, 'assertMayChange'>;
}

export async function addAvatarRoutes(app: FastifyInstance, options: AvatarRoutesOptions): Promise<void> {
  const { authenticate, avatars, limiter, profiles } = options;
  const users = new WeakMap<FastifyRequest, string>();
  const enter = (name: keyof typeof AVATAR_ROUTES) => async (request: FastifyRequest) => {
    const user = authenticate(bearerOf(request));
    limiter.take(name === 'readAvatar' ? 'route_read' : 'route_write', `${name} ${user}`);
    users.set(request, user);
    // Before the first byte of a body.
    if (name !== 'readAvatar') profiles.assertMayChange(user, 'avatar');
  };
  const takenIn = new Set<string>();
  const takePlace = async (request: FastifyRequest, reply: FastifyReply) => {
    const user = users.get(request) ?? '';
    if (takenIn.has(user) || takenIn.size >= AVATARS_AT_ONCE_MAX) throw new Refusal('busy', { retryAfter: 1 });
    takenIn.add(user);
    reply.raw.once('close', () => void takenIn.delete(user));
  };
  await app.register(async (pictures) => {
    pictures.removeAllContentTypeParsers();
    pictures.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
    pictures.route({
      method: 'PUT',
      url: AVATAR_ROUTES.putAvatar.path,
      bodyLimit: AVATAR_BYTES_MAX,
      schema: { querystring: NO_QUERY },
      onRequest: [enter('putAvatar'), takePlace],
      handler: async (request) => {
        if (!(request.body instanceof Buffer)) throw new Refusal('avatar_invalid');
        return { avatar: await avatars.put(users.get(request) ?? '', request.body) };
      },
    });
    pictures.route({
      method: 'DELETE',
      url: AVATAR_ROUTES.removeAvatar.path,
      schema: { querystring: NO_QUERY },
      onRequest: enter('removeAvatar'),
      handler: async (request, reply) => {
        await avatars.remove(users.get(request) ?? '');
        return await reply.code(204).send();
      },
    });
    pictures.route<{ Params: { username: string; avatar: string }; Querystring: { size: '64' | '256' } }>({
      method: 'GET',
      url: AVATAR_ROUTES.readAvatar.path,
      schema: { querystring: AVATAR_ROUTES.readAvatar.query },
      onRequest: enter('readAvatar'),
      handler: async (request, reply) => {
        const { avatar, username } = request.params;
        const size = Number(request.query.size) as AvatarSize;
        if (!AVATAR_REV.test(avatar)) throw new Refusal('avatar_not_found');
        const picture = avatars.read(users.get(request) ?? '', username, Number(avatar), size);
        const etag = `"${avatar}-${size}"`;
        void reply.headers({ etag, 'cache-control': ASKED_EACH_TIME, 'x-content-type-options': 'nosniff' });
        if (matchesTag(request.headers['if-none-match'], etag)) return await reply.code(304).send();
        return await reply.type('image/webp').send(Buffer.from(picture));
      },
    });
  });
}
