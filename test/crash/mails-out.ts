/** Invitations to people outside: each mail that follows from a stored change arrives, under one Message-ID, in order. */
import { setTimeout as pause } from 'node:timers/promises';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { allEntries, call, defaultCalendar } from '#test/calendar/service/calling.ts';
import { calendarOf, type MailServer } from '#test/mail/mail-server.ts';
import type { AskConsole } from '#test/support/console.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { accepted, type Lose, type PartOptions } from './part.ts';

const ORGANISERS = ['ines', 'igor', 'ilse'] as const;
const GUESTS = ['zoe@outside.test', 'yan@outside.test'] as const;
/** Keeps what one person sends within an hour's budget, which begins anew at each start. */
const BREATH_MILLIS_MIN = 20;
const BREATH_MILLIS_MAX = 60;
/** A mail that was turned away is tried again after some seconds; one person's mails wait for it. */
const ARRIVAL_MILLIS = 120_000;

/** What the mail about a change says; every title is given once. */
const mailName = (method: 'REQUEST' | 'CANCEL', title: string) => `${method} ${title}`;

/** An entry as its only writer knows it; gone when the title is undefined. */
interface Entry {
  readonly id: string;
  title: string | undefined;
}

/** A change that nobody answered. */
interface Open {
  /** Of an entry that was there before; undefined for one that was being made. */
  readonly entry: Entry | undefined;
  /** The title that it was given; undefined where it was removed. */
  readonly title: string | undefined;
}

class Organiser {
  readonly name: string;
  readonly entries = new Map<string, Entry>();
  /** Mails that have to arrive at each guest, in this order. */
  readonly due: string[] = [];
  open: Open | undefined;
  person: Person | undefined;
  calendar = '';

  constructor(name: string) {
    this.name = name;
  }
}

export class MailsOut {
  readonly #random: SeededRandom;
  readonly #lose: Lose;
  readonly #mails: MailServer;
  readonly #organisers = ORGANISERS.map((name) => new Organiser(name));
  /** What was noted already. */
  readonly #lost = new Set<string>();
  /** Guest and mail → its Message-ID, in the order of their first arrival. */
  readonly #arrived = new Map<string, string>();
  #seen = 0;
  #titles = 0;
  #changes = 0;
  #repeats = 0;

  constructor({ lose, random }: PartOptions, mails: MailServer) {
    this.#lose = lose;
    this.#random = random;
    this.#mails = mails;
  }

  get figures(): Record<string, number> {
    return { changes: this.#changes, mails: this.#arrived.size, repeats: this.#repeats };
  }

  async settle(server: TestServer, console: AskConsole): Promise<void> {
    for (const organiser of this.#organisers) {
      const { name } = organiser;
      organiser.person = await server.person(name);
      const reply = await console('PATCH', `/users/${name}`, { email: `${name}@example.org` });
      if (reply.status !== 200) throw new Error(`An address was refused: ${reply.text}`);
      organiser.calendar = (await defaultCalendar(server, organiser.person)).id;
    }
  }

  async traffic(server: TestServer): Promise<void> {
    await Promise.all(this.#organisers.map(async (one) => await this.#organise(server, one, this.#random.fork())));
  }

  async verify(server: TestServer): Promise<void> {
    for (const organiser of this.#organisers) await this.#compareEntries(server, organiser);
    const missing = () => (this.#take(), this.#wanted().filter((name) => !this.#arrived.has(name)));
    await until(() => missing().every((name) => this.#lost.has(name)), 'the mails', ARRIVAL_MILLIS).catch(() => {
      for (const name of missing()) this.#loseOnce(name, `The mail ${name} did not arrive.`);
    });
    this.#compareOrder();
    for (const organiser of this.#organisers) await this.#compareStatuses(server, organiser);
    // Behind the statuses nothing is on its way: what arrived beyond what was wanted follows from nothing.
    this.#take();
    const wanted = new Set(this.#wanted());
    for (const name of this.#arrived.keys()) {
      if (!wanted.has(name)) this.#loseOnce(name, `The mail ${name} is of a change that was not stored.`);
    }
  }

  async #organise(server: TestServer, organiser: Organiser, random: SeededRandom): Promise<void> {
    for (;;) {
      const entry = organiser.entries.size > 0 ? random.pick([...organiser.entries.values()]) : undefined;
      const isNew = entry?.title === undefined || random.chance(0.5);
      const isRemoved = !isNew && random.chance(0.3);
      this.#titles += 1;
      const title = isRemoved ? undefined : `Talk ${this.#titles} of ${organiser.name}`;
      organiser.open = { entry: isNew ? undefined : entry, title };
      if (!(await this.#change(server, organiser, organiser.open))) return;
      organiser.open = undefined;
      this.#changes += 1;
      await pause(random.whole(BREATH_MILLIS_MIN, BREATH_MILLIS_MAX));
    }
  }

  /** Makes, changes or removes an entry; false when the server was killed. */
  async #change(server: TestServer, organiser: Organiser, { entry, title }: Open): Promise<boolean> {
    const path = `/v1/calendars/${organiser.calendar}/entries`;
    const { person } = organiser;
    if (entry === undefined) {
      const attendees = GUESTS.map((guest) => `mailto:${guest}`);
      const form = { title, start_at: '2027-03-29T09:00:00Z', attendees };
      const made = await accepted(call<EntryView>(server, person, 'POST', path, form), this.#lose);
      if (made !== undefined) this.#note(organiser, { id: made.body.id, title: undefined }, title);
      return made !== undefined;
    }
    const sent =
      title === undefined
        ? call(server, person, 'DELETE', `${path}/${entry.id}`)
        : call(server, person, 'PATCH', `${path}/${entry.id}`, { title });
    const changed = await accepted(sent, this.#lose);
    if (changed !== undefined) this.#note(organiser, entry, title);
    return changed !== undefined;
  }

  /** A change that is stored, and the mail that follows from it. */
  #note(organiser: Organiser, entry: Entry, title: string | undefined): void {
    organiser.due.push(title === undefined ? mailName('CANCEL', entry.title ?? '') : mailName('REQUEST', title));
    entry.title = title;
    if (title === undefined) organiser.entries.delete(entry.id);
    else organiser.entries.set(entry.id, entry);
  }

  /** Holds the calendar against what was acknowledged, and learns whether what was not answered is stored. */
  async #compareEntries(server: TestServer, organiser: Organiser): Promise<void> {
    const { calendar, entries, name, open, person } = organiser;
    const stored = new Map((await allEntries(server, person, calendar)).map(({ id, title }) => [id, title]));
    organiser.open = undefined;
    if (open !== undefined) {
      const made = [...stored].find(([, title]) => title === open.title)?.[0];
      const isStored = open.title === undefined ? !stored.has(open.entry?.id ?? '') : made !== undefined;
      const entry = open.entry ?? { id: made ?? '', title: undefined };
      if (isStored) this.#note(organiser, entry, open.title);
    }
    for (const id of new Set([...entries.keys(), ...stored.keys()])) {
      const [expected, actual] = [entries.get(id)?.title, stored.get(id)];
      if (expected !== actual) this.#loseOnce(id, `${id} of ${name} is ${actual} instead of ${expected}.`);
    }
  }

  /** Takes note of what arrived since. */
  #take(): void {
    for (const mail of this.#mails.mails.slice(this.#seen)) {
      this.#seen += 1;
      const text = calendarOf(mail);
      const [, method = ''] = /^METHOD:(.*)$/m.exec(text) ?? [];
      const [, title = ''] = /^SUMMARY:(.*)$/m.exec(text) ?? [];
      const name = `${method} ${title} to ${mail.to.join()}`;
      const id = mail.email.messageId ?? '';
      const before = this.#arrived.get(name);
      if (before === undefined) this.#arrived.set(name, id);
      else if (before === id) this.#repeats += 1;
      else this.#loseOnce(id, `The mail ${name} came as ${before} and as ${id}.`);
    }
  }

  #wanted(): string[] {
    return this.#organisers.flatMap(({ due }) => due.flatMap((name) => GUESTS.map((guest) => `${name} to ${guest}`)));
  }

  /** What one person here sent to one outside arrived in the order of the changes. */
  #compareOrder(): void {
    const places = new Map([...this.#arrived.keys()].map((name, at) => [name, at]));
    for (const { due } of this.#organisers) {
      for (const guest of GUESTS) {
        let latest = -1;
        for (const name of due.map((one) => `${one} to ${guest}`)) {
          const place = places.get(name);
          if (place !== undefined && place < latest)
            this.#loseOnce(`order ${name}`, `The mail ${name} came too early.`);
          latest = Math.max(latest, place ?? latest);
        }
      }
    }
    const ids = [...this.#arrived.values()];
    if (new Set(ids).size < ids.length) this.#loseOnce('ids', 'Two mails have the same Message-ID.');
  }

  async #compareStatuses(server: TestServer, { calendar, name, person }: Organiser): Promise<void> {
    const url = `${server.calendar}/v1/calendars/${calendar}/export`;
    const headers = { authorization: `Bearer ${person?.session.token}` };
    const wrong = async () => {
      const text = (await (await fetch(url, { headers })).text()).replaceAll(/\r\n[ \t]/g, '');
      const lines = text.split('\r\n').filter((line) => GUESTS.some((guest) => line.includes(guest)));
      return lines.filter((line) => line.startsWith('ATTENDEE') && !line.includes('SCHEDULE-STATUS=1.1'));
    };
    await until(async () => (await wrong()).length === 0, 'the statuses').catch(async () => {
      const lines = await wrong();
      this.#loseOnce(`${name} ${lines.length}`, `${lines.length} mails of ${name} end as ${lines[0]}.`);
    });
  }

  #loseOnce(what: string, sentence: string): void {
    if (!this.#lost.has(what)) this.#lose(sentence);
    this.#lost.add(what);
  }
}
