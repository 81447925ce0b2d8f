/** The calendar under kills: acknowledged writes of both doors keep their etag, and deltas from any earlier cursor are exact. */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { basic, call, defaultCalendar, eventText } from '#test/calendar/service/calling.ts';
import type { SeededRandom } from '#test/support/random.ts';
import { request, type Person, type TestServer } from '#test/support/server.ts';
import { bare, ChangeFollower, type Snapshot } from './change-follower.ts';
import { accepted, answered, type Lose, type Part, type PartOptions } from './part.ts';

const OWNER = 'kim';
/** Who writes as an app does, and who as a calendar program. */
const JSON_WRITERS = 2;
const DAV_WRITERS = 2;
const BREATH_MILLIS_MAX = 12;

/** One entry as its only writer knows it. */
interface Entry {
  readonly id: string;
  /** Where a calendar program has it; undefined of one that an app made. */
  readonly path: string | undefined;
  /** The etag that was acknowledged; undefined once it was deleted. */
  etag: string | undefined;
  /** What was put, byte for byte. */
  text: string | undefined;
  /** A write that nobody answered. */
  isOpen: boolean;
}

export class CalendarPart implements Part {
  readonly environment = {};
  readonly #random: SeededRandom;
  readonly #lose: Lose;
  readonly #entries = new Map<string, Entry>();
  #follower: ChangeFollower | undefined;
  #owner: Person | undefined;
  #headers: Record<string, string> = {};
  #calendar = '';
  #names = 0;
  #writes = 0;

  constructor({ random, lose }: PartOptions) {
    this.#random = random;
    this.#lose = lose;
  }

  get figures(): Record<string, number> {
    const { deltas = 0, snapshots = [] } = this.#follower ?? {};
    return { writes: this.#writes, entries: this.#entries.size, cursors: snapshots.length, deltas };
  }

  async settle(server: TestServer): Promise<void> {
    this.#owner = await server.person(OWNER);
    const { token } = this.#owner.session;
    const made = await request<{ password: string }>('POST', `${server.coordinator}/v1/app-passwords`, {
      ...{ token, body: { name: 'crash' } },
    });
    this.#headers = { ...basic(OWNER, made.body.password), 'content-type': 'text/calendar' };
    this.#calendar = (await defaultCalendar(server, this.#owner)).id;
    this.#follower = new ChangeFollower({
      ...{ reader: this.#owner, calendar: this.#calendar, random: this.#random.fork(), lose: this.#lose },
    });
    await this.#follower.compare(server);
  }

  async traffic(server: TestServer): Promise<void> {
    const apps = Array.from({ length: JSON_WRITERS }, () => this.#writeAsApp(server, this.#random.fork()));
    const programs = Array.from({ length: DAV_WRITERS }, () => this.#writeAsProgram(server, this.#random.fork()));
    await Promise.all([...apps, ...programs, this.#follower?.run(server)]);
  }

  async verify(server: TestServer): Promise<void> {
    const whole = await this.#follower?.compare(server);
    if (whole === undefined) return;
    this.#compareEntries(whole);
    for (const entry of this.#entries.values()) {
      if (entry.path !== undefined && entry.text !== undefined && !entry.isOpen)
        await this.#compareBytes(server, entry);
    }
    // What landed unanswered is left as it is from here on: its writer does not know its etag.
    for (const [id, entry] of this.#entries) if (entry.isOpen) this.#entries.delete(id);
  }

  async close(): Promise<void> {
    // Nothing runs beside the server.
  }

  async #writeAsApp(server: TestServer, random: SeededRandom): Promise<void> {
    const path = `/v1/calendars/${this.#calendar}/entries`;
    for (;;) {
      const form = { title: `Talk ${this.#nextName()}`, start_at: '2026-11-23T09:00:00Z' };
      const made = await accepted(call<EntryView>(server, this.#owner, 'POST', path, form), this.#lose);
      if (made === undefined) return;
      this.#writes += 1;
      const { id, etag } = made.body;
      const entry: Entry = { id, path: undefined, etag, text: undefined, isOpen: false };
      this.#entries.set(id, entry);
      if (random.chance(0.5)) {
        entry.isOpen = true;
        const change = { title: `Moved ${this.#nextName()}`, etag };
        const changed = await accepted(
          call<EntryView>(server, this.#owner, 'PATCH', `${path}/${id}`, change),
          this.#lose,
        );
        if (changed === undefined) return;
        Object.assign(entry, { etag: changed.body.etag, isOpen: false });
      }
      if (random.chance(0.2)) {
        entry.isOpen = true;
        const gone = await accepted(call(server, this.#owner, 'DELETE', `${path}/${id}`), this.#lose);
        if (gone === undefined) return;
        Object.assign(entry, { etag: undefined, isOpen: false });
      }
      await pause(random.whole(0, BREATH_MILLIS_MAX));
    }
  }

  /** Puts, changes under the etag that it has, and deletes. */
  async #writeAsProgram(server: TestServer, random: SeededRandom): Promise<void> {
    for (;;) {
      const uid = `uid-${this.#nextName()}`;
      const id = createHash('sha256').update(uid).digest('base64url');
      const path = `/dav/calendars/${OWNER}/default/${uid}.ics`;
      const entry: Entry = { id, path, etag: undefined, text: undefined, isOpen: false };
      this.#entries.set(id, entry);
      const text = eventText(uid, [`LOCATION:${random.whole(0, 1e9)}`]);
      if (!(await this.#put(server, entry, text, { 'if-none-match': '*' }))) return;
      const changed = eventText(uid, [`LOCATION:changed ${random.whole(0, 1e9)}`]);
      const condition = { 'if-match': entry.etag ?? '' };
      if (random.chance(0.5) && !(await this.#put(server, entry, changed, condition))) return;
      if (random.chance(0.2) && !(await this.#remove(server, entry))) return;
      await pause(random.whole(0, BREATH_MILLIS_MAX));
    }
  }

  async #put(server: TestServer, entry: Entry, text: string, condition: Record<string, string>): Promise<boolean> {
    entry.isOpen = true;
    const reply = await this.#dav(server, 'PUT', entry.path ?? '', condition, text);
    if (reply === undefined) return false;
    const etag = reply.headers.get('etag');
    if (reply.status >= 300 || etag === null) this.#lose(`PUT ${entry.path} answered ${reply.status}, etag ${etag}.`);
    Object.assign(entry, { etag: etag ?? undefined, text, isOpen: false });
    this.#writes += 1;
    return true;
  }

  async #remove(server: TestServer, entry: Entry): Promise<boolean> {
    entry.isOpen = true;
    const reply = await this.#dav(server, 'DELETE', entry.path ?? '');
    if (reply === undefined) return false;
    if (reply.status !== 204) this.#lose(`DELETE ${entry.path} answered ${reply.status}.`);
    Object.assign(entry, { etag: undefined, text: undefined, isOpen: false });
    return true;
  }

  /** A request as a calendar program makes it, read to its end; undefined when the server was killed. */
  async #dav(server: TestServer, method: string, path: string, headers: Record<string, string> = {}, body?: string) {
    const init = { method, headers: { ...this.#headers, ...headers }, ...(body === undefined ? {} : { body }) };
    return await answered(
      fetch(`${server.calendar}${path}`, init).then(async (reply) => {
        return { status: reply.status, headers: reply.headers, text: await reply.text() };
      }),
    );
  }

  #compareEntries({ etags }: Snapshot): void {
    for (const { etag, id, isOpen, path } of this.#entries.values()) {
      if (isOpen) continue;
      const [expected, actual] = [etag === undefined ? undefined : bare(etag), etags.get(id)];
      if (actual !== expected) this.#lose(`${path ?? id} was acknowledged as ${expected}, and is ${actual}.`);
    }
  }

  async #compareBytes(server: TestServer, { etag, path, text }: Entry): Promise<void> {
    const reply = await this.#dav(server, 'GET', path ?? '');
    if (reply?.text === text && reply?.headers.get('etag') === etag) return;
    this.#lose(`${path} answers ${reply?.status} ${reply?.headers.get('etag')}; ${etag} was acknowledged.`);
  }

  #nextName(): string {
    this.#names += 1;
    return String(this.#names);
  }
}
