/** Handlers of links into rooms: made, listed, taken away, and used to come in. */
import { isId, makeId } from '#src/base/ids.ts';
import { hashSecret, makeSecret, SECRET_PATTERN } from '#src/identity/credentials/opaque-secrets.ts';
import type { MakeRoomLink } from '#src/protocol/conversations/room-link-routes.ts';
import { rightsIn } from '#src/protocol/conversations/rights.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { readRoomLinks, roomLinkView, type StoredRoomLink } from '#storage/conversations/room-links.ts';
import {
  ask,
  askConversation,
  pathConversation,
  readable,
  type ClientRequest,
  type Handler,
  type Reply,
} from '../http/caller.ts';
import { reaches } from './invitation-handlers.ts';

/** The room's id without its prefix, then the secret. */
const LINK = new RegExp(`^([0-9a-z]{22})(${SECRET_PATTERN})$`);

export const makeRoomLink: Handler = async (request) => {
  const { seconds, uses } = request.body as MakeRoomLink;
  const secret = makeSecret();
  const id = makeId('rml', request.service.now());
  const message = { kind: 'makeLink', link: id, hash: hashSecret(secret), seconds, uses } as const;
  const { json, status } = await askConversation(request, message);
  const link = `${pathConversation(request).slice('c_'.length)}${secret}`;
  return { status, json: `${json.slice(0, -1)},"link":${JSON.stringify(link)}}` };
};

export const readLinks: Handler = (request) => {
  const { member, record, tables } = readable(request);
  const rights = rightsIn(record.kind, member.role);
  const seesAll = rights.includes('participant.remove');
  if (!seesAll && !rights.includes('participant.add')) throw new Refusal('right_missing');
  const { epoch, now } = request.service;
  const links = readRoomLinks(tables, record.id, epoch, now());
  const items = links.filter(({ by }) => seesAll || by === request.user).map(roomLinkView);
  return { status: 200, json: JSON.stringify({ items, next: null }) };
};

export const revokeRoomLink: Handler = async (request) => {
  const { link = '' } = request.params;
  readable(request);
  if (!isId('rml', link)) throw new Refusal('room_link_not_found');
  return await askConversation(request, { kind: 'revokeLink', link });
};

/** Counted before it is looked at, so that guesses at the same time cannot share what is left; given back where it is one. */
export const joinByRoomLink: Handler = async (request) => {
  const { device, service, user } = request;
  service.rates.take('room_link_guess', user);
  const [, id = '', secret = ''] = LINK.exec(request.params['link'] ?? '') ?? [];
  if (secret === '') throw new Refusal('room_link_not_found');
  const conversation = `c_${id}`;
  const hash = hashSecret(secret);
  const link = findLink(request, conversation, hash);
  if (link === undefined || !reaches(request, { by: link.by, user })) throw new Refusal('room_link_not_found');
  service.rates.spend('room_link_guess', user, -1);
  return await ask<Reply>(request, `conversation:${conversation}`, { kind: 'joinByLink', hash, user, device });
};

function findLink({ service }: ClientRequest, conversation: string, hash: string): StoredRoomLink | undefined {
  const environment = service.lanes.read(conversation);
  environment.refresh();
  const links = readRoomLinks(environment.tables, conversation, service.epoch, service.now());
  return links.find((one) => one.hash === hash);
}
