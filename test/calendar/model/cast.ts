/** Who plays in the model test, by which doors, and what can be seen of it from outside. */
import assert from 'node:assert/strict';
import { startConsoleServer } from '#test/support/console.ts';
import { request, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { calendarOf, mailSettings, MailServer, trusting, type Ending } from '#test/mail/mail-server.ts';
import { AUTHSERV, MAIL_ENVIRONMENT } from '../mail/mailing.ts';
import { appPassword, call } from '../service/calling.ts';
import { type Answer, type MeetingModel, type Occurrence, type Told, type View } from './meeting-model.ts';
import { eventsOf, type ReadEvent, weeksOf } from './object-text.ts';

export const ORGANIZER = 'alice';
/** Of the installation. */
export const ATTENDEES = ['bob', 'carol'] as const;
/** By mail alone: `zoe@outside.test`. */
export const GUEST = 'zoe';
/**
 * Who may write in the organiser's calendar: the first of them organises there in the organiser's name and answers in that of
 * the first attendee, the other one changes what is there.
 */
export const DELEGATES = ['dave', 'erin'] as const;
const NAMES = [ORGANIZER, ...ATTENDEES, ...DELEGATES];
export type Name = (typeof NAMES)[number];

/** Everything that is drawn lies in these days, in winter. */
export const FIRST_DAY = Date.UTC(2027, 0, 4);
const WINDOW = { from: '2027-01-01T00:00:00Z', to: '2027-03-02T00:00:00Z' };
const WEEK = 7 * 86_400_000;
const HOUR = 3_600_000;

export const addressOf = (name: string): string => `${name}@${name === GUEST ? 'outside.test' : 'example.org'}`;

/** What was mailed to the guest. */
export interface Letter {
  readonly uid: string;
  readonly told: Told;
  /** What was asked of them by it. */
  readonly view: View;
}

export class Cast {
  readonly server: TestServer;
  readonly mails: MailServer;
  readonly people: Readonly<Record<string, Person>>;
  readonly passwords: Readonly<Record<string, Record<string, string>>>;
  /** Name → id of the calendar that they have. */
  readonly ids: Readonly<Record<string, string>>;
  /** Name → path of the organiser's calendar in their home. */
  readonly paths: Record<string, string> = {};
  readonly #sequences = new Map<string, { readonly sequence: number; readonly moves: number }>();

  private constructor(options: Pick<Cast, 'ids' | 'mails' | 'passwords' | 'people' | 'server'>) {
    this.server = options.server;
    this.mails = options.mails;
    this.people = options.people;
    this.passwords = options.passwords;
    this.ids = options.ids;
  }

  static async open(t: Ending): Promise<Cast> {
    const mails = await MailServer.open(t);
    const environment = { ...trusting({ after: (end) => t.after(async () => end()) }), ...MAIL_ENVIRONMENT };
    const { console, server, stop } = await startConsoleServer({ environment });
    t.after(stop);
    const settings = await console('PUT', '/settings/mail', {
      ...mailSettings(mails.port),
      trusted_authserv_id: AUTHSERV,
    });
    assert.equal(settings.status, 200, settings.text);
    const people = await server.people(...NAMES);
    const [ids, passwords]: [Record<string, string>, Record<string, Record<string, string>>] = [{}, {}];
    for (const name of NAMES) {
      const patched = await console('PATCH', `/users/${name}`, { email: addressOf(name) });
      assert.equal(patched.status, 200, patched.text);
      passwords[name] = await appPassword(server, people[name] as Person);
      const listed = await call<{ items: { id: string; is_default: boolean }[] }>(
        server,
        people[name],
        'GET',
        '/v1/calendars',
      );
      ids[name] = listed.body.items.find((one) => one.is_default)?.id as string;
    }
    const cast = new Cast({ server, mails, people, passwords, ids });
    for (const [delegate, access] of [
      ['dave', 'delegate'],
      ['erin', 'write'],
    ] as const) {
      await cast.ask(ORGANIZER, 'PUT', `/v1/calendars/${ids[ORGANIZER]}/shares/${delegate}`, { access });
    }
    await cast.ask(ATTENDEES[0], 'PUT', `/v1/calendars/${ids[ATTENDEES[0]]}/shares/${DELEGATES[0]}`, {
      access: 'delegate',
    });
    for (const name of [ORGANIZER, ...DELEGATES]) {
      const { body } = await cast.ask<{ items: { id: string; name: string }[] }>(name, 'GET', '/v1/calendars');
      const own = body.items.find(({ id }) => id === ids[ORGANIZER])?.name;
      cast.paths[name] = `/dav/calendars/${name}/${own}/`;
    }
    for (const name of ATTENDEES) cast.paths[name] = `/dav/calendars/${name}/default/`;
    return cast;
  }

  /** A request over JSON, which succeeds. */
  async ask<T = Record<string, unknown>>(name: string, method: string, path: string, body?: unknown) {
    const reply = await call<T>(this.server, this.people[name], method, path, body);
    assert.ok(reply.status < 300, `${name} ${method} ${path} ${JSON.stringify(body)}: ${reply.status} ${reply.text}`);
    return reply;
  }

  /** A request over JSON, whatever becomes of it. */
  async send(name: string, method: string, path: string, body?: unknown) {
    return await call(this.server, this.people[name], method, path, body);
  }

  /** The calendar in a mail that the guest got. */
  letter(number: number): string {
    return calendarOf(this.mails.mails[number] as (typeof this.mails.mails)[number]);
  }

  /** A request over DAV for a file of a calendar of theirs. */
  async dav(name: string, method: string, file: string, more: Record<string, string> = {}, body?: string) {
    const headers = { ...this.passwords[name], 'content-type': 'text/calendar', ...more };
    const given = body === undefined ? {} : { body };
    const reply = await fetch(`${this.server.calendar}${this.paths[name]}${file}`, { method, headers, ...given });
    return { status: reply.status, tag: reply.headers.get('schedule-tag') ?? '', text: await reply.text() };
  }

  /** A mail of the guest to the organiser; what became of it. */
  async mail(text: string): Promise<string> {
    const mail = [
      `Authentication-Results: ${AUTHSERV}; dmarc=pass (p=reject) header.from=outside.test`,
      ...[`From: Zoe <${addressOf(GUEST)}>`, `To: ${addressOf(ORGANIZER)}`, 'Subject: Answer', 'MIME-Version: 1.0'],
      ...['Content-Type: text/calendar; charset=utf-8; method=REPLY', '', text],
    ].join('\r\n');
    const headers = { 'content-type': 'message/rfc822', 'x-recipients': addressOf(ORGANIZER) };
    const options = {
      body: Buffer.from(mail),
      headers,
      token: JSON.parse(MAIL_ENVIRONMENT.PARLEY_SERVICE_TOKENS).mail,
    };
    const reply = await request<{ items: { outcome: string }[] }>('POST', `${this.server.calendar}/v1/mail`, options);
    assert.equal(reply.status, 200, reply.text);
    return reply.body.items[0]?.outcome ?? '';
  }

  /** The events of somebody's calendar, by UID. */
  async events(name: string): Promise<Map<string, ReadEvent[]>> {
    const headers = { authorization: `Bearer ${this.people[name]?.session.token}` };
    const reply = await fetch(`${this.server.calendar}/v1/calendars/${this.ids[name]}/export`, { headers });
    const text = await reply.text();
    assert.equal(reply.status, 200, text);
    return Map.groupBy(eventsOf(text), ({ uid }) => uid);
  }

  /** Waits until everything that can be seen is what the models say. */
  async agree(models: readonly MeetingModel[], letters: readonly Letter[], isShown: boolean): Promise<void> {
    const expected = expectedOf(models, letters, isShown);
    let seen: unknown;
    try {
      await until(
        async () => {
          seen = await this.#see(isShown);
          return JSON.stringify(seen) === JSON.stringify(expected);
        },
        'agreement',
        // Answers of the others are gathered for ten seconds.
        isShown ? 40_000 : 20_000,
      );
    } catch {
      assert.fail(differences(seen, expected));
    }
    for (const [at, { told, uid, view }] of letters.entries()) {
      const sent = eventsOf(this.letter(at));
      if (told === 'REQUEST') {
        const says = sent.map((one) => `${one.at ?? 'whole'} ${one.start} ${one.title}`).toSorted();
        const asked = [...view].map(([key, { start, title }]) => `${key} ${start} ${title}`).toSorted();
        assert.deepEqual([sent[0]?.uid, says], [uid, asked], 'what the guest was mailed');
      }
    }
    const events = await this.events(ORGANIZER);
    this.#assertSequences(models, events);
    this.#assertSpeakers(models, events);
  }

  /** SENT-BY says who wrote last in the organiser's name, and that only one delegate answers, for one person. */
  #assertSpeakers(models: readonly MeetingModel[], events: ReadonlyMap<string, readonly ReadEvent[]>): void {
    for (const { sentBy, uid } of models) {
      for (const event of events.get(uid) ?? []) {
        assert.equal(event.sentBy.get(ORGANIZER), sentBy, `who wrote ${uid} for its organiser`);
        for (const [name, by] of event.sentBy) {
          if (name === ORGANIZER || by === undefined) continue;
          assert.deepEqual([name, by], [ATTENDEES[0], DELEGATES[0]], `who answered ${uid}`);
          assert.notEqual(
            event.answers.get(name),
            'NEEDS-ACTION',
            'what is to be answered anew was answered by nobody',
          );
        }
      }
    }
  }

  /** SEQUENCE never goes back, and what takes place at another time has a higher one (RFC 5546, 2.1.4). */
  #assertSequences(models: readonly MeetingModel[], events: ReadonlyMap<string, readonly ReadEvent[]>): void {
    for (const { uid, whole } of models) {
      const sequence = events.get(uid)?.find(({ at }) => at === undefined)?.sequence;
      if (sequence === undefined) continue;
      const before = this.#sequences.get(uid) ?? { sequence: 0, moves: 0 };
      const least = whole.moves > before.moves ? before.sequence + 1 : before.sequence;
      assert.ok(sequence >= least, `SEQUENCE ${sequence} of ${uid}, at least ${least}`);
      this.#sequences.set(uid, { sequence, moves: whole.moves });
    }
  }

  async #see(isShown: boolean): Promise<unknown> {
    const own = await this.events(ORGANIZER);
    const copies = await Promise.all(ATTENDEES.map(async (name) => await this.events(name)));
    const waiting = ATTENDEES.map(async (name) => {
      const { body } = await this.ask<{ items: { entry: { uid: string } }[] }>(
        name,
        'GET',
        '/v1/invitations?limit=200',
      );
      return body.items.map(({ entry }) => entry.uid).toSorted();
    });
    const question = { users: [ORGANIZER, ...ATTENDEES], ...WINDOW };
    type Busy = { items: { busy: { start_at: string; end_at: string; tentative: boolean }[] }[] };
    const { body } = await this.ask<Busy>(ORGANIZER, 'POST', '/v1/free-busy', question);
    return {
      organizer: sorted([...own].map(([uid, events]) => [uid, shownOf(events, undefined, true)])),
      copies: copies.map((all, at) =>
        sorted([...all].map(([uid, events]) => [uid, shownOf(events, ATTENDEES[at] as string, isShown)])),
      ),
      waiting: await Promise.all(waiting),
      busy: body.items.map(({ busy }) =>
        busy
          .flatMap(({ end_at: end, start_at: start, tentative }) =>
            hoursBetween(Date.parse(start), Date.parse(end), tentative),
          )
          .toSorted(),
      ),
      mails: this.mails.mails.map((mail) => {
        const text = calendarOf(mail);
        return `${/METHOD:(\w+)/.exec(text)?.[1]} ${eventsOf(text)[0]?.uid}`;
      }),
    };
  }
}

/** What one says and the other does not, a line each. */
function differences(seen: unknown, expected: unknown): string {
  const [is, should] = [new Set(linesOf(seen)), new Set(linesOf(expected))];
  const wrong = [...is].filter((line) => !should.has(line)).map((line) => `- seen     ${line}`);
  return [...wrong, ...[...should].filter((line) => !is.has(line)).map((line) => `+ expected ${line}`)].join('\n');
}

function linesOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${path}: ${String(value)}`];
  const entries = Object.entries(value);
  if (entries.length === 0) return [`${path}: nothing`];
  return entries.flatMap(([key, one]) => linesOf(one, `${path}/${key}`));
}

type Shown = Record<string, unknown>;

function sorted(entries: readonly (readonly [string, unknown])[]): Shown {
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

const hoursBetween = (start: number, end: number, isTentative: boolean): string[] =>
  Array.from({ length: (end - start) / HOUR }, (_, at) => `${hourText(start + at * HOUR)}${isTentative ? '?' : ''}`);
const hourText = (at: number): string => new Date(at).toISOString().slice(0, 13);

/** Occurrences with the answers in them: of everybody, or of the copy's owner alone. */
function shownOf(events: readonly ReadEvent[], owner: string | undefined, isAll: boolean): unknown {
  if (events.every(({ isCancelled }) => isCancelled)) return 'cancelled';
  const whole = events.find(({ at }) => at === undefined);
  const starts =
    whole === undefined ? [] : Array.from({ length: weeksOf(whole.lines) }, (_, week) => whole.start + week * WEEK);
  const singles = new Map(events.flatMap((one) => (one.at === undefined ? [] : [[one.at, one] as const])));
  const all = [...starts.filter((at) => whole?.left.includes(at) !== true), ...singles.keys()];
  return sorted(
    [...new Set(all)].flatMap((at) => {
      const single = singles.get(at);
      const event = single ?? whole;
      if (event === undefined || event.isCancelled) return [];
      const answers = [...event.answers].filter(([name]) => name !== ORGANIZER && (isAll || name === owner));
      return [[hourText(at), occurrenceText(single?.start ?? at, event.title, answers)] as const];
    }),
  );
}

const occurrenceText = (start: number, title: string, answers: readonly (readonly [string, Answer])[]): string =>
  [hourText(start), title, ...answers.map(([name, answer]) => `${name} ${answer}`).toSorted()].join(', ');

function expectedOf(models: readonly MeetingModel[], letters: readonly Letter[], isShown: boolean): unknown {
  const there = models.filter(({ isGone }) => !isGone);
  const answersAt = (model: MeetingModel, at: number) => [...model.partOf(at).answers];
  const shown = (model: MeetingModel, name: string) => {
    if (model.copies.get(name)?.standing === 'cancelled') return 'cancelled';
    const occurrences = [...model.shownTo(name)];
    return sorted(
      occurrences.map(([at, { start, title }]) => {
        const answers = answersAt(model, at).filter(([one]) => isShown || one === name);
        return [hourText(at), occurrenceText(start, title, answers)];
      }),
    );
  };
  return {
    organizer: sorted(
      there.map((model) => {
        const all = model.starts.map((at) => {
          const { start, title } = model.partOf(at);
          return [hourText(at), occurrenceText(start, title, answersAt(model, at))] as const;
        });
        return [model.uid, sorted(all)];
      }),
    ),
    copies: ATTENDEES.map((name) =>
      sorted(
        models
          .filter(({ copies }) => !['removed', undefined].includes(copies.get(name)?.standing))
          .map((model) => [model.uid, shown(model, name)]),
      ),
    ),
    waiting: ATTENDEES.map((name) =>
      models
        .filter((one) => one.isAwaited(name))
        .map(({ uid }) => uid)
        .toSorted(),
    ),
    busy: [ORGANIZER, ...ATTENDEES].map((name) =>
      [...new Set(there.flatMap((model) => busyIn(model, name)))].toSorted(),
    ),
    mails: letters.map(({ told, uid }) => `${told} ${uid}`),
  };
}

function busyIn(model: MeetingModel, name: string): string[] {
  if (name === ORGANIZER) return model.starts.map((at) => hourText(model.partOf(at).start));
  return [...model.shownTo(name).values()].flatMap(({ answer, start }: Occurrence) => {
    if (answer === 'DECLINED') return [];
    return [`${hourText(start)}${answer === 'ACCEPTED' ? '' : '?'}`];
  });
}
