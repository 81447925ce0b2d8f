/** Who is there already, for a client that has only just come: presence as events tell it, in one answer. */
import { readPeers } from '#storage/conversations/presence-peers.ts';
import { askShards, type Handler } from '../http/caller.ts';

/** Answers for the people whose presence the caller is told of, and whom they may see; a bot's in its conversations. */
export const readPresence: Handler = async (request) => {
  const { access, lanes, pushes } = request.service;
  for (const environment of lanes.environments) environment.refresh();
  const people = access.visibleTo(request.user, readPeers(lanes.environments, request.user, request.reach));
  const elsewhere = await askShards(request, 'presence.list', { users: people });
  const items = [...pushes.attention.announced(people), ...elsewhere.flat()];
  return { status: 200, json: JSON.stringify({ items, next: null }) };
};
