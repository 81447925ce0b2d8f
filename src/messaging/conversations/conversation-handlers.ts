/** Handlers of conversations and who takes part in them. */
import { createHmac } from 'node:crypto';
import type { z } from 'zod';
import { makeId, toSymbols } from '#src/base/ids.ts';
import type * as forms from '#src/protocol/conversations/conversations.ts';
import type { PolicyAction } from '#src/protocol/directory/policy-decision.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { USERNAME } from '#src/protocol/names.ts';
import { rightsAmong } from '#src/protocol/conversations/rights.ts';
import {
  conversationView,
  isHidden,
  readLastCommonRead,
  readMember,
  readParticipants,
  readPersonal,
} from '#storage/conversations/conversation-reader.ts';
import { askingFor } from './invitation-handlers.ts';
import {
  ask,
  askConversation,
  pathConversation,
  pathUsername,
  readable,
  type ClientRequest,
  type Handler,
  type Reply,
  type Service,
} from '../http/caller.ts';

/** Whoever brings somebody into a room speaks to them there. */
const INVITING: readonly PolicyAction[] = ['invite', 'message'];

export const createConversation: Handler = async (request) => {
  const form = request.body as z.infer<typeof forms.createConversation>;
  const { kind, participants } = form;
  const [other] = participants;
  request.service.rights.require(
    `conversation.create.${kind}`,
    request.user,
    kind === 'room' ? undefined : 'participants.0',
  );
  if (kind !== 'room' && other === request.user) throw new Refusal('participant_unknown', { field: 'participants.0' });
  requireReachable(request, kind === 'room' ? INVITING : ['message'], participants);
  const id =
    kind === 'direct' && other !== undefined
      ? directId(request.service, request.user, other)
      : makeId('c', request.service.now());
  if (kind === 'room') request.service.quotas.requireRoom(request.user);
  const others = [...new Set(participants)].filter((person) => person !== request.user);
  const asking = kind === 'room' ? await askingFor(request, id, others, 1) : undefined;
  return await ask<Reply>(request, `conversation:${id}`, {
    kind: 'create',
    conversation: kind,
    title: kind === 'room' ? form.title : undefined,
    ...(form.kind === 'room' ? { visibility: form.visibility, topic: form.topic, purpose: form.purpose } : {}),
    participants,
    asking,
    user: request.user,
    device: request.device,
  });
};

/**
 * The id of a pair's direct conversation: derived, so that whoever of the two creates it first, on whatever shard,
 * means the same one, and keyed, so that nobody can compute it from two names.
 */
function directId(service: Service, one: string, other: string): string {
  const pair = [one, other].toSorted().join('\0');
  return `c_${toSymbols(createHmac('sha256', service.idKey).update(pair).digest(), 22)}`;
}

/**
 * One answer for a person who does not exist, one who left or whose term is over, and one whom the access policies keep
 * from the caller (ERR-05, POL-01). @throws Refusal participant_unknown.
 */
function requireReachable(request: ClientRequest, actions: readonly PolicyAction[], people: readonly string[]): void {
  const { access, accounts, bots } = request.service;
  const isActive = (person: string) => accounts.isActive(person) || bots.isActive(person);
  const mayReach = (person: string) => actions.every((action) => access.allows(action, request.user, person));
  const index = people.findIndex((person) => !isActive(person) || access.isOver(person) || !mayReach(person));
  if (index !== -1) throw new Refusal('participant_unknown', { field: `participants.${index}` });
}

export const readConversation: Handler = (request) => {
  const { tables, record } = readable(request);
  const view = conversationView(tables, record, request.service.epoch);
  const last_common_read = readLastCommonRead(tables, record, request.user);
  const hidden = isHidden(record, readPersonal(tables, record.id, request.user)) ? { hidden: true } : {};
  return { status: 200, json: JSON.stringify({ ...view, last_common_read, ...hidden }) };
};

export const changeConversation: Handler = (request) => {
  const form = request.body as z.infer<typeof forms.changeConversation>;
  request.service.access.requireMessage(request, pathConversation(request));
  return askConversation(request, { kind: 'describe', form });
};

export const deleteConversation: Handler = (request) => {
  request.service.access.requireMessage(request, pathConversation(request));
  return askConversation(request, { kind: 'delete' });
};

export const listParticipants: Handler = (request) => {
  const { tables, record } = readable(request);
  const { after, limit } = request.query as z.infer<typeof forms.participantsQuery>;
  if (after !== undefined && !USERNAME.test(after)) throw new Refusal('cursor_invalid', { field: 'after' });
  // One more than asked tells whether there is a next page.
  const found = readParticipants(tables, record.id, limit + 1, after);
  const { access } = request.service;
  const items = found.slice(0, limit).map(({ user, role }) => ({ user, role: access.isGuest(user) ? 'guest' : role }));
  const next = found.length > limit ? (items.at(-1)?.user ?? null) : null;
  return { status: 200, json: JSON.stringify({ items, next }) };
};

export const addParticipants: Handler = async (request) => {
  const { participants, role } = request.body as z.infer<typeof forms.addParticipants>;
  // Who may not look inside must not learn who exists.
  const { record, tables } = readable(request);
  requireReachable(request, INVITING, participants);
  const isNew = (person: string) => readMember(tables, record.id, person) === undefined;
  const people = [...new Set(participants)].filter(isNew);
  const asking = await askingFor(request, record.id, people, record.participantCount);
  return await askConversation(request, { kind: 'add', participants, role, asking });
};

export const changeParticipant: Handler = (request) => {
  const { role } = request.body as z.infer<typeof forms.changeParticipant>;
  const participant = pathUsername(request);
  return askConversation(request, { kind: 'setRole', participant, role });
};

export const removeParticipant: Handler = (request) =>
  askConversation(request, { kind: 'remove', participant: pathUsername(request) });

export const readRights: Handler = (request) => {
  const { record, member } = readable(request);
  const rights = request.service.access.grantedOf(
    request,
    record.id,
    rightsAmong(record.kind, member.role, record.participantCount),
  );
  return { status: 200, json: JSON.stringify({ rights }) };
};

export const readCapabilities: Handler = ({ service, user }) => ({
  status: 200,
  json: JSON.stringify({ rights: service.rights.of(user) }),
});
