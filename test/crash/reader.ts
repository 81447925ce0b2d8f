/** A person who only reads: a socket, a copy of every conversation, and catching up after each break. */
import type { Person, TestServer } from '#test/support/server.ts';
import { connect, type TestEvent, type TestSocket } from '#test/support/socket.ts';
import { readHistory } from './history.ts';
import type { Ledger } from './ledger.ts';
import { Mirror } from './mirror.ts';

interface InboxPage {
  readonly items: readonly { conversation?: { id: string; rev: number } }[];
  readonly next: string | null;
  readonly sync: string;
}

interface Changes {
  readonly complete: boolean;
  readonly items: readonly TestEvent[];
  readonly rev: number;
}

export class Reader {
  readonly person: Person;
  readonly mirrors = new Map<string, Mirror>();
  readonly #ledger: Ledger;
  #server: TestServer | undefined;
  #socket: TestSocket | undefined;
  #sync: string | undefined;

  constructor(person: Person, ledger: Ledger) {
    this.person = person;
    this.#ledger = ledger;
  }

  /** Connects to a server that has just started, and reads what was missed: first the inbox, then the changes. */
  async connect(server: TestServer): Promise<void> {
    for (const mirror of this.mirrors.values()) mirror.isBehind = true;
    this.#server = server;
    this.#socket = await connect(server, this.person);
    this.#socket.raw.on('message', (data) => this.#receive(JSON.parse((data as Buffer).toString()) as TestEvent));
    await this.#walk();
  }

  async #walk(): Promise<void> {
    let cursor = this.#sync;
    let sync: string | undefined;
    const changed = new Set<string>();
    for (let more = true; more;) {
      const after = cursor === undefined ? '' : `&after=${encodeURIComponent(cursor)}`;
      const page = await this.#get<InboxPage>(`/v1/inbox?limit=50${after}`);
      for (const { conversation } of page.items) {
        if (conversation === undefined) continue;
        const { id, rev } = conversation;
        changed.add(id);
        const known = this.#mirror(id).rev;
        if (known > rev) this.#ledger.lose(`${this.#name} saw rev ${known} of ${id}, and the server is at ${rev}.`);
      }
      sync ??= page.sync;
      cursor = page.next ?? undefined;
      more = page.next !== null;
    }
    this.#sync = sync;
    for (const conv of changed) await this.#readChanges(conv);
    // What the inbox does not name has not changed; its copy goes on from where it was.
    for (const [conv, mirror] of this.mirrors) {
      if (!changed.has(conv) && !mirror.resume()) await this.#readChanges(conv);
    }
  }

  async #readChanges(conv: string): Promise<void> {
    const mirror = this.#mirror(conv);
    do {
      const changes = await this.#get<Changes>(`/v1/conversations/${conv}/changes?after_rev=${mirror.rev}`);
      if (changes.complete) mirror.readChanges(changes.items);
      else await this.#startAfresh(conv, mirror, changes.rev);
    } while (!mirror.resume());
  }

  /** The history may hold more than the rev it was asked at; the changes since then are read once more over it. */
  async #startAfresh(conv: string, mirror: Mirror, rev: number): Promise<void> {
    const verified = this.#ledger.conversations.get(conv)?.verified ?? 0;
    const messages = await readHistory(this.#server as TestServer, this.person, conv, verified);
    mirror.startAfresh(messages, rev);
  }

  #receive(event: TestEvent): void {
    if (event.conv === undefined || event.rev === undefined) return;
    const isKnown = this.mirrors.has(event.conv);
    const isWhole = this.#mirror(event.conv).receive(event);
    // While the inbox is walked every copy is behind, and the walk reads the changes of those it names.
    if (!isWhole || !isKnown) void this.#readChanges(event.conv).catch(() => undefined);
  }

  #mirror(conv: string): Mirror {
    const known = this.mirrors.get(conv);
    if (known !== undefined) return known;
    const mirror = new Mirror();
    this.mirrors.set(conv, mirror);
    return mirror;
  }

  get #name(): string {
    return `The reader ${this.person.username}`;
  }

  async #get<T>(path: string): Promise<T> {
    const reply = await (this.#server as TestServer).api<T>(this.person, 'GET', path);
    if (reply.status !== 200) throw new Error(`GET ${path} was refused: ${reply.text}`);
    return reply.body;
  }
}
