/** What tests of the messaging surface do all the time: people start conversations, talk, and are refused. */
import assert from 'node:assert/strict';
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import type { QuotaField } from '#src/protocol/quotas.ts';
import type { Conversation, ConversationKind } from '#src/protocol/conversations/conversations.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { callControl } from '#test/support/control.ts';
import type { Person, Reply, TestServer } from '#test/support/server.ts';
import type { TestSocket } from '#test/support/socket.ts';

/** Starts a conversation and answers its record. */
export async function start(
  server: TestServer,
  who: Person,
  kind: ConversationKind,
  participants: readonly string[],
  title?: string,
): Promise<Conversation> {
  const form = { kind, participants, ...(title === undefined ? {} : { title }) };
  const reply = await server.api<Conversation>(who, 'POST', '/v1/conversations', form);
  assert.ok(reply.status === 201 || reply.status === 200, reply.text);
  return reply.body;
}

/** Posts a text and answers the message. */
export async function say(
  server: TestServer,
  who: Person,
  conversation: string,
  body: string,
  clientMsgId?: string,
): Promise<Message> {
  const reply = await post(server, who, conversation, {
    kind: 'text',
    body,
    ...(clientMsgId === undefined ? {} : { client_msg_id: clientMsgId }),
  });
  assert.ok(reply.status === 201 || reply.status === 200, reply.text);
  return reply.body;
}

/** Posts a form as it is. */
export async function post(
  server: TestServer,
  who: Person | undefined,
  conversation: string,
  form: unknown,
): Promise<Reply<Message>> {
  return await server.api<Message>(who, 'POST', `/v1/conversations/${conversation}/messages`, form);
}

/** The whole refusal: its status, its code, the code's own sentence, and the field to blame (ERR-01). */
export function assertRefused(
  reply: { status: number; body: unknown },
  status: number,
  code: ErrorCode,
  field?: string,
): void {
  const body = { code, error: ERRORS[code].error, ...(field === undefined ? {} : { field }) };
  assert.deepEqual({ status: reply.status, body: reply.body }, { status, body });
}

/** The refusal of a quota that is used up: which, and how much it is. */
export function assertUsedUp(reply: { status: number; body: unknown }, field: QuotaField, limit: number): void {
  const body = { code: 'quota_exceeded', error: ERRORS.quota_exceeded.error, field, limit };
  assert.deepEqual({ status: reply.status, body: reply.body }, { status: 403, body });
}

/** Another device of the same person. */
export async function anotherDevice(server: TestServer, person: Person): Promise<Person> {
  return { ...person, session: await server.signIn(person.username, person.password) };
}

/** Adds people who never sign in. */
export async function addPeople(server: TestServer, usernames: readonly string[]): Promise<void> {
  // One after the other: the control socket is an operator's, and takes a handful of connections at once.
  for (const username of usernames) {
    await callControl(server.folder, 'user.add', { username, password: `password of ${username}`, role: 'person' });
  }
}

/**
 * What a socket heard of a conversation up to the next message of it. Whatever else was to come came before that
 * message, so that what is not there was not sent.
 */
export async function allHeardUpTo(
  server: TestServer,
  socket: TestSocket,
  poster: Person,
  conversation: string,
): Promise<string[]> {
  const mark = await say(server, poster, conversation, 'mark');
  await socket.event((event) => event.type === 'message.new' && event.seq === mark.seq && event.conv === conversation);
  return socket.events
    .filter((event) => event.conv === conversation && !(event.type === 'message.new' && event.seq === mark.seq))
    .map((event) => event.type);
}

/** The same without `inbox`, which a socket opened right behind the making of the conversation may still hear, or not. */
export async function heardUpTo(...of: Parameters<typeof allHeardUpTo>): Promise<string[]> {
  return (await allHeardUpTo(...of)).filter((type) => type !== 'inbox');
}
