/** Who is there already, for a client that has only just come: presence as events tell it, in one answer. */
import { HINT_PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import { readAudience, readMemberNames } from '#storage/conversations/presence-peers.ts';
import { askShards, readable, type Handler } from '../http/caller.ts';

/** Answers for the people whose presence the caller is told of, and whom they may see; a bot's in its conversations. */
export const readPresence: Handler = async (request) => {
  const { access, lanes, pushes } = request.service;
  for (const environment of lanes.environments) environment.refresh();
  const people = access.visibleTo(request.user, readAudience(lanes.environments, request.user, request.reach).people);
  const elsewhere = await askShards(request, 'presence.list', { users: people });
  const items = [...pushes.attention.announced(people), ...elsewhere.flat()];
  return { status: 200, json: JSON.stringify({ items, next: null }) };
};

/**
 * How many of a conversation are there whom the caller may see, and the newest of them. In a large room they are counted for
 * all at once whom the same rules fit.
 */
export const readConversationPresence: Handler = async (request) => {
  const { access, presence } = request.service;
  const { record, tables } = readable(request);
  const { user } = request;
  const isSmall = record.participantCount <= HINT_PARTICIPANTS_MAX;
  const sight = access.hidesSomebody() ? access.sightOf(user) : undefined;
  const { count, newest } =
    isSmall && sight !== undefined
      ? presence.among(access.visibleTo(user, readMemberNames(tables, record.id, '', HINT_PARTICIPANTS_MAX)))
      : await presence.read(record.id, sight);
  // Everybody sees themselves, also where the rules hide their like from one another.
  const isLeftOut = !isSmall && sight?.sees(user) === false && presence.isPresent(user);
  const named = newest.map((one) => one.user);
  const visible = new Set(access.visibleTo(user, named));
  const sample = newest.filter((one) => visible.has(one.user)).map((one) => ({ user: one.user, state: one.state }));
  return { status: 200, json: JSON.stringify({ count: count + Number(isLeftOut), sample }) };
};
