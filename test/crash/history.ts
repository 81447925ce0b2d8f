/** A message in the form in which a reader's copy and the server's history are compared. */
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { Person, TestServer } from '#test/support/server.ts';

const PAGE = 200;

export type Histories = Map<number, Message>;

/** The messages behind a seq, read page by page. @throws Error when a page is refused or makes no progress. */
export async function readHistory(server: TestServer, who: Person, conv: string, after: number): Promise<Message[]> {
  const items: Message[] = [];
  for (let last = after; ;) {
    const path = `/v1/conversations/${conv}/messages?after_seq=${last}&limit=${PAGE}`;
    const page = await server.api<{ items: Message[] }>(who, 'GET', path);
    if (page.status !== 200) throw new Error(`The history of ${conv} was refused: ${page.text}`);
    items.push(...page.body.items);
    if (page.body.items.length < PAGE) return items;
    const next = page.body.items.at(-1)?.seq ?? last;
    if (next <= last) throw new Error(`The history of ${conv} does not get beyond seq ${last}.`);
    last = next;
  }
}

/** The message with its parts in one order, so that equal ones are equal texts. */
export function canonical(message: Message): string {
  const reactions = (message.reactions ?? [])
    .map(({ emoji, count, users }) => [emoji, count, users.toSorted()] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const { seq, kind, body, sender, client_msg_id, created_at, edited_at, deleted_at } = message;
  const { reply_to, root_seq, mentions } = message;
  const links = [reply_to, root_seq, mentions];
  return JSON.stringify([seq, kind, body, sender, client_msg_id, created_at, edited_at, deleted_at, links, reactions]);
}
