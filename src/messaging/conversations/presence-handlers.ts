/** Who is there already, for a client that has only just come: presence as events tell it, in one answer. */
import { readAudience } from '#storage/conversations/presence-peers.ts';
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

/** How many of a conversation are there, and the newest of them whom the caller may see. */
export const readConversationPresence: Handler = async (request) => {
  const { access, presence } = request.service;
  const { record } = readable(request);
  const { count, newest } = await presence.read(record.id);
  const visible = new Set(
    access.visibleTo(
      request.user,
      newest.map(({ user }) => user),
    ),
  );
  const sample = newest.filter(({ user }) => visible.has(user)).map(({ state, user }) => ({ user, state }));
  return { status: 200, json: JSON.stringify({ count, sample }) };
};
