/** Clients that talk to a scripted server over loopback, and what they tell, as lines. */
import { ParleyClient } from '#src/client/parley-client.ts';
import type { ClientOptions } from '#src/client/client-context.ts';
import { hastyTimers } from './hasty-timers.ts';
import { wireConversation } from './samples.ts';
import type { ScriptedServer } from './scripted-server.ts';

export function optionsFor(server: ScriptedServer, more: Partial<ClientOptions> = {}): ClientOptions {
  return { coordinatorUrl: server.url, messagingUrl: server.url, timers: hastyTimers, random: () => 0.5, ...more };
}

/** Alice, signed in. */
export function signInTo(server: ScriptedServer, more: Partial<ClientOptions> = {}): Promise<ParleyClient> {
  return ParleyClient.signIn({ ...optionsFor(server, more), username: 'alice', password: 'correct horse' });
}

/** What the client tells from now on, as lines in order. */
export function hear(client: ParleyClient): string[] {
  const heard: string[] = [];
  client.on('message.new', ({ data, rev }) => heard.push(`new ${data.seq} at ${rev}`));
  client.on('message.edit', ({ data, rev }) => heard.push(`edit ${data.seq} at ${rev}`));
  client.on('membership', ({ data, rev }) => heard.push(`${data.action} at ${rev}`));
  client.on('receipt', ({ data }) => heard.push(`receipt ${data.user} ${data.state} ${data.seq}`));
  client.on('afresh', ({ conv }) => heard.push(`afresh ${conv}`));
  client.on('gone', ({ conv }) => heard.push(`gone ${conv}`));
  client.on('watermarks', ({ conv }) => heard.push(`watermarks ${conv}`));
  client.on('signed-out', ({ code }) => heard.push(`signed out ${code}`));
  client.on('standing', ({ standing }) => heard.push(`standing ${standing}`));
  client.on('error', ({ data }) => heard.push(`error ${data.code}`));
  return heard;
}

/** An inbox item for a conversation, with nothing of the caller's own to say. */
export function inboxItem(more: Parameters<typeof wireConversation>[0]): object {
  return { conversation: wireConversation(more), unread: 0, delivered: 0, read: 0, muted_until: null };
}

export const inboxOf = (...items: object[]) => ({ body: { items, next: null, sync: 'sync-2' } });

/** Scripts the inbox of a first walk, and what the walks after it are told. */
export function scriptInbox(server: ScriptedServer, first: object[], since: () => object[]): void {
  server.on('GET /v1/inbox', ({ query }) => (query.get('after') === null ? inboxOf(...first) : inboxOf(...since())));
}
