/** Calendar messages from outside over LMTP: what was answered as applied is in the calendar, and a repeat changes nothing. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { attendee, AUTHSERV, calendarMail, lmtpPort, message, organizer } from '#test/calendar/mail/mailing.ts';
import { allEntries, defaultCalendar } from '#test/calendar/service/calling.ts';
import type { AskConsole } from '#test/support/console.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import type { Lose, PartOptions } from './part.ts';

const RECEIVER = 'jana';
/** Each writes from a domain of its own, since one domain may send so many messages a minute. */
const SENDERS = 2;
const BREATH_MILLIS_MIN = 20;
const BREATH_MILLIS_MAX = 60;
/** Messages of each sender that are sent once more after a kill, which count for its domain. */
const REPEATS = 15;

/** Events that are changed: those that were made last. */
const RECENT = 20;

/** A message, with what the calendar says once it is applied. */
interface Message {
  readonly sequence: number;
  readonly title: string;
  readonly isCancelled: boolean;
}

/** An event as its organiser outside knows it. */
interface Event {
  readonly uid: string;
  applied: Message | undefined;
  /** A message that nobody answered. */
  open: Message | undefined;
}

interface Sender {
  readonly domain: string;
  readonly events: Event[];
}

export class MailsIn {
  readonly #random: SeededRandom;
  readonly #lose: Lose;
  readonly #senders: readonly Sender[] = Array.from({ length: SENDERS }, (_, n) => {
    return { domain: `outside-${n}.test`, events: [] };
  });
  #receiver: Person | undefined;
  #calendar = '';
  #messages = 0;
  #repeated = 0;

  constructor({ lose, random }: PartOptions) {
    this.#lose = lose;
    this.#random = random;
  }

  get figures(): Record<string, number> {
    return { received: this.#messages, receivedAgain: this.#repeated };
  }

  async settle(server: TestServer, console: AskConsole): Promise<void> {
    this.#receiver = await server.person(RECEIVER);
    const reply = await console('PATCH', `/users/${RECEIVER}`, { email: `${RECEIVER}@example.org` });
    if (reply.status !== 200) throw new Error(`An address was refused: ${reply.text}`);
    this.#calendar = (await defaultCalendar(server, this.#receiver)).id;
  }

  async traffic(server: TestServer): Promise<void> {
    await Promise.all(this.#senders.map(async (one) => await this.#write(server, one, this.#random.fork())));
  }

  async verify(server: TestServer): Promise<void> {
    this.#compare(await this.#read(server));
    for (const sender of this.#senders) {
      for (const event of sender.events) {
        if (event.open === undefined) continue;
        const outcome = await this.#deliver(server, sender, event, event.open);
        // Whether it was in already, its sender does not know.
        if (outcome !== 'applied' && outcome !== 'unchanged') this.#lose(`${event.uid}, sent again, is ${outcome}.`);
        Object.assign(event, { applied: event.open, open: undefined });
      }
    }
    const before = await this.#read(server);
    this.#compare(before);
    for (const sender of this.#senders) await this.#repeatSome(server, sender);
    const after = await this.#read(server);
    for (const [uid, { etag }] of after) {
      const was = before.get(uid)?.etag;
      if (etag !== was) this.#lose(`${uid} was ${was}, and is ${etag} after its message came again.`);
    }
  }

  async #write(server: TestServer, sender: Sender, random: SeededRandom): Promise<void> {
    for (;;) {
      const number = (this.#messages += 1);
      const event = this.#eventFor(sender, number, random);
      const sequence = (event.applied?.sequence ?? -1) + 1;
      event.open = { sequence, title: `Tea ${number}`, isCancelled: sequence > 0 && random.chance(0.2) };
      const outcome = await this.#deliver(server, sender, event, event.open);
      if (outcome === undefined) return;
      if (outcome !== 'applied') return this.#lose(`A message about ${event.uid} was answered as ${outcome}.`);
      Object.assign(event, { applied: event.open, open: undefined });
      await pause(random.whole(BREATH_MILLIS_MIN, BREATH_MILLIS_MAX));
    }
  }

  /** A new event, or one of the latest that was not cancelled. */
  #eventFor({ domain, events }: Sender, number: number, random: SeededRandom): Event {
    const going = events.slice(-RECENT).filter(({ applied }) => applied?.isCancelled === false);
    if (going.length > 0 && random.chance(0.7)) return random.pick(going);
    const event: Event = { uid: `mail-${number}@${domain}`, applied: undefined, open: undefined };
    events.push(event);
    return event;
  }

  async #repeatSome(server: TestServer, sender: Sender): Promise<void> {
    const applied = sender.events.filter((event) => event.applied !== undefined);
    for (let n = 0; n < REPEATS && applied.length > 0; n += 1) {
      const event = this.#random.pick(applied);
      const outcome = await this.#deliver(server, sender, event, event.applied as Message);
      this.#repeated += 1;
      if (outcome !== 'unchanged') this.#lose(`${event.uid} was applied, and is ${outcome} when it comes again.`);
    }
  }

  /** What became of a message; undefined when the server was killed. */
  async #deliver(server: TestServer, { domain }: Sender, { uid }: Event, what: Message): Promise<string | undefined> {
    const to = `${RECEIVER}@example.org`;
    const from = `eve@${domain}`;
    const text = message(what.isCancelled ? 'CANCEL' : 'REQUEST', uid, [
      ...['DTSTAMP:20261121T080000Z', 'DTSTART:20200123T090000Z', 'DTEND:20200123T100000Z', `SUMMARY:${what.title}`],
      ...[`SEQUENCE:${what.sequence}`, organizer(from), attendee(to)],
      ...(what.isCancelled ? ['STATUS:CANCELLED'] : []),
    ]);
    const top = [`Authentication-Results: ${AUTHSERV}; dmarc=pass (p=reject) header.from=${domain}`];
    const transport = createTransport({ host: '127.0.0.1', port: lmtpPort(server), lmtp: true, ignoreTLS: true });
    try {
      const envelope = { from: `bounce@${domain}`, to: [to] };
      const { response } = await transport.sendMail({ envelope, raw: calendarMail(text, { from, top }) });
      return /^250 .*\[(\w+)\]$/.exec(response)?.[1] ?? response;
    } catch (error) {
      const { code = '', response } = error as { code?: string; response?: string };
      // A broken connection is the kill; anything else is a defect that must not pass for one.
      if (response === undefined && !['ECONNECTION', 'ESOCKET'].includes(code)) throw error;
      return response;
    } finally {
      transport.close();
    }
  }

  /** What the calendar has, by UID. */
  async #read(server: TestServer): Promise<Map<string, EntryView>> {
    const entries = await allEntries(server, this.#receiver, this.#calendar);
    return new Map(entries.map((entry) => [entry.uid, entry]));
  }

  #compare(stored: ReadonlyMap<string, EntryView>): void {
    for (const { applied, open, uid } of this.#senders.flatMap(({ events }) => events)) {
      const actual = stored.get(uid);
      if ([applied, open].some((one) => isSaid(one, actual))) continue;
      if (applied === undefined && open !== undefined && actual === undefined) continue;
      this.#lose(`${uid} was applied as ${applied?.title}, and is ${actual?.title}, ${actual?.status}.`);
    }
  }
}

/** Whether an entry says what a message said; a cancelled event keeps the words that it had. */
function isSaid(what: Message | undefined, entry: EntryView | undefined): boolean {
  if (what === undefined || entry === undefined) return false;
  return what.isCancelled ? entry.status === 'cancelled' : entry.title === what.title && entry.status !== 'cancelled';
}
