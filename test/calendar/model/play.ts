/** What the cast does at random, over all doors, and what the models are told of it. */
import assert from 'node:assert/strict';
import type { SeededRandom } from '#test/support/random.ts';
import { addressOf, ATTENDEES, type Cast, DELEGATES, FIRST_DAY, GUEST, type Letter, ORGANIZER } from './cast.ts';
import { type Answer, MeetingModel, type Told, type Written, type WrittenMeeting } from './meeting-model.ts';
import {
  answeredLines,
  calendarText,
  type Event,
  eventsOf,
  isOfBerlin,
  occurrenceLines,
  personIn,
  timeLine,
  timeText,
  unfolded,
  withLines,
  writtenIn,
} from './object-text.ts';

const HOUR = 3_600_000;
const WEEK = 7 * 24 * HOUR;
const MEETINGS_MAX = 4;
const SHARES = ['none', 'free_busy', 'read', 'write', 'delegate'] as const;
const ANSWERS = ['ACCEPTED', 'DECLINED', 'TENTATIVE'] as const;
const INVITED = [...ATTENDEES, GUEST];
/** Those who organise in the organiser's name. */
const ORGANIZING = [ORGANIZER, DELEGATES[0]];

/** A meeting, and how its clients find it. */
interface Meeting {
  readonly model: MeetingModel;
  readonly isBerlin: boolean;
  /** In the organiser's calendar. */
  readonly file: string;
  /** Its id for JSON, which is the name of the copies as well. */
  readonly id: string;
  /** What a client read of it at some time, and has not read again. */
  kept?: { readonly text: string; readonly tag: string; readonly writes: number };
  /** How often its organiser's side wrote it. */
  writes: number;
}

export class Play {
  readonly #cast: Cast;
  readonly #random: SeededRandom;
  readonly #meetings: Meeting[] = [];
  readonly #letters: Letter[] = [];
  #titles = 0;
  #stamps = 0;
  /** What was done, for whoever looks at a failure. */
  readonly log: string[] = [];

  constructor(cast: Cast, random: SeededRandom) {
    this.#cast = cast;
    this.#random = random;
  }

  /** One thing that somebody does, and everybody's view of it. */
  async step(): Promise<void> {
    const random = this.#random;
    const there = this.#meetings.filter(({ model }) => !model.isGone);
    if (there.length === 0 || (there.length < MEETINGS_MAX && random.chance(0.1))) await this.#create();
    else {
      const drawn = random.unit();
      const meeting = random.pick(there);
      if (drawn < 0.45) await this.#organize(meeting);
      else if (drawn < 0.8) await this.#attend(random.pick(this.#meetings));
      else if (drawn < 0.92) await this.#reply(meeting);
      else await this.#share();
    }
    await this.agree(false);
  }

  /** @param isShown whether copies are to show the answers of the others as well, which comes late. */
  async agree(isShown: boolean): Promise<void> {
    await this.#cast.agree(
      this.#meetings.map(({ model }) => model),
      this.#letters,
      isShown,
    );
  }

  #hour(): number {
    return FIRST_DAY + this.#random.whole(0, 6) * 24 * HOUR + this.#random.whole(7, 17) * HOUR;
  }

  /** How often a series takes place from now on, with one date at least. */
  #weeks({ left, whole }: MeetingModel): number {
    const isOne = (weeks: number) =>
      Array.from({ length: weeks }, (_, at) => at).some((at) => !left.has(whole.start + at * WEEK));
    return this.#random.pick([1, 2, 3, 4, 5].filter(isOne));
  }

  #title(): string {
    return `Talk ${(this.#titles += 1)}`;
  }

  async #create(): Promise<void> {
    const random = this.#random;
    const people = new Set(INVITED.filter(() => random.chance(0.75)));
    if (people.size === 0) people.add(random.pick(INVITED));
    const [isSeries, isBerlin] = [random.chance(0.6), random.chance(0.5)];
    const written = { start: this.#hour(), title: this.#title(), people };
    const isJson = random.chance(0.5);
    const by = random.pick(ORGANIZING);
    this.log.push(
      `create ${written.title} ${isSeries ? 'series' : 'single'} ${[...people].join()} by ${by}, ${isJson ? 'json' : 'dav'}`,
    );
    const { file, id, uid } = isJson
      ? await this.#createByJson(by, written, isSeries, isBerlin)
      : await this.#createByDav(by, written, isSeries, isBerlin);
    const model = new MeetingModel(uid, written, isSeries);
    model.sentBy = actingFor(by);
    model.copies.delete(GUEST);
    this.#meetings.push({ model, isBerlin, file, id, writes: 0 });
    if (people.has(GUEST)) this.#told(model, 'REQUEST');
  }

  async #createByJson(by: string, { people, start, title }: Written, isSeries: boolean, isBerlin: boolean) {
    const form = {
      title,
      ...this.#times(start, isBerlin),
      ...(isSeries ? { rule: { frequency: 'weekly', count: 4 } } : {}),
      attendees: [...people].map(attendeeOf),
    };
    const path = `/v1/calendars/${this.#cast.ids[ORGANIZER]}/entries`;
    const { body } = await this.#cast.ask<{ id: string; uid: string }>(by, 'POST', path, form);
    return { id: body.id, uid: body.uid, file: `${body.uid}.ics` };
  }

  async #createByDav(by: string, { people, start, title }: Written, isSeries: boolean, isBerlin: boolean) {
    const uid = `model-${this.#titles}-${this.#random.seed}`;
    const lines = [
      ...[`UID:${uid}`, 'DTSTAMP:20261123T080000Z', `SUMMARY:${title}`],
      ...[timeLine('DTSTART', start, isBerlin), timeLine('DTEND', start + HOUR, isBerlin)],
      ...(isSeries ? ['RRULE:FREQ=WEEKLY;COUNT=4'] : []),
      ...[`ORGANIZER:mailto:${addressOf(ORGANIZER)}`, attendeeLine(ORGANIZER, 'ACCEPTED')],
      ...[...people].map((one) => attendeeLine(one, 'NEEDS-ACTION')),
    ];
    const file = `${uid}.ics`;
    const { status, text } = await this.#cast.dav(by, 'PUT', file, {}, calendarText([lines]));
    assert.ok(status < 300, text);
    const path = `/v1/calendars/${this.#cast.ids[ORGANIZER]}/changes?limit=200`;
    const { body } = await this.#cast.ask<{ items: { id: string; uid: string }[] }>(ORGANIZER, 'GET', path);
    return { id: body.items.find((one) => one.uid === uid)?.id as string, uid, file };
  }

  #times(start: number, isBerlin: boolean) {
    if (!isBerlin) return { start_at: instantText(start), end_at: instantText(start + HOUR), tz: 'UTC' };
    const local = (at: number) => instantText(at + HOUR).slice(0, 19);
    return { local_start: local(start), local_end: local(start + HOUR), tz: 'Europe/Berlin' };
  }

  /** The organiser, or somebody who may write in their calendar, changes a meeting. */
  async #organize(meeting: Meeting): Promise<void> {
    const random = this.#random;
    const drawn = random.unit();
    if (drawn < 0.08) await this.#remove(meeting);
    else if (drawn < 0.3) await (meeting.kept === undefined ? this.#keep(meeting) : this.#writeStale(meeting));
    else if (random.chance(0.5)) await this.#changeByJson(meeting);
    else await this.#changeByDav(meeting);
  }

  async #remove({ file, id, model }: Meeting): Promise<void> {
    const by = this.#random.pick([ORGANIZER, ...DELEGATES]);
    this.log.push(`remove ${model.uid} by ${by}`);
    if (by === ORGANIZER && this.#random.chance(0.5)) {
      await this.#cast.ask(by, 'DELETE', `/v1/calendars/${this.#cast.ids[ORGANIZER]}/entries/${id}`);
    } else assert.equal((await this.#cast.dav(by, 'DELETE', file)).status, 204);
    this.#told(model, model.remove([GUEST]).get(GUEST));
  }

  async #changeByJson(meeting: Meeting): Promise<void> {
    const { id, isBerlin, model } = meeting;
    const random = this.#random;
    const path = `/v1/calendars/${this.#cast.ids[ORGANIZER]}/entries/${id}`;
    const now = writtenOf(model);
    const kind = random.pick(['retitle', 'move', 'people', 'one', 'one', 'leave', 'end'] as const);
    const at = model.starts.length === 0 || !model.isSeries ? undefined : random.pick(model.starts);
    const by = random.pick(ORGANIZING);
    const patch = async (form: object) => await this.#cast.ask(by, 'PATCH', path, form);
    this.log.push(`json ${kind} by ${by} ${model.uid} ${at === undefined ? '' : instantText(at)}`);
    if (kind === 'leave' && at !== undefined && model.starts.length > 1) {
      await this.#cast.ask(by, 'DELETE', `${path}?scope=this&recurrence_id=${timeText(at, isBerlin)}`);
      const singles = new Map([...now.singles].filter(([start]) => start !== at));
      return this.#write(meeting, by, { ...now, singles, left: new Set([...now.left, at]) });
    }
    if (kind === 'one' && at !== undefined) {
      const before = now.singles.get(at) ?? { ...now.whole, start: at };
      const isMove = random.chance(0.5);
      const next = isMove
        ? { ...before, start: before.start + random.pick([-2, -1, 1, 2]) * HOUR }
        : { ...before, title: this.#title() };
      const form = isMove ? this.#times(next.start, isBerlin) : { title: next.title };
      await patch({ scope: 'this', recurrence_id: timeText(at, isBerlin), ...form });
      return this.#write(meeting, by, { ...now, singles: new Map(now.singles).set(at, next) });
    }
    if (kind === 'end' && model.isSeries) {
      const weeks = this.#weeks(model);
      await patch({ rule: { frequency: 'weekly', count: weeks } });
      this.log.push(`  ${weeks} times`);
      const singles = [...now.singles].filter(([start]) => start < now.whole.start + weeks * WEEK);
      return this.#write(meeting, by, { ...now, weeks, singles: new Map(singles) });
    }
    if (kind === 'people') {
      const who = random.pick(INVITED);
      const isIn = now.whole.people.has(who);
      if (isIn && now.whole.people.size === 1) return undefined;
      const people = isIn ? [...now.whole.people].filter((one) => one !== who) : [...now.whole.people, who];
      await patch({ attendees: people.map(attendeeOf) });
      this.log.push(`  ${isIn ? 'without' : 'with'} ${who}`);
      return this.#write(meeting, by, withPeople(now, who, !isIn));
    }
    if (kind === 'move') {
      const start = this.#hour();
      await patch(this.#times(start, isBerlin));
      return this.#write(meeting, by, { ...now, whole: { ...now.whole, start }, singles: new Map(), left: new Set() });
    }
    const title = this.#title();
    await patch({ title });
    const singles = [...now.singles].map(
      ([start, one]) => [start, one.title === now.whole.title ? { ...one, title } : one] as const,
    );
    return this.#write(meeting, by, { ...now, whole: { ...now.whole, title }, singles: new Map(singles) });
  }

  async #changeByDav(meeting: Meeting): Promise<void> {
    const by = this.#random.pick([ORGANIZER, ...DELEGATES]);
    const read = await this.#cast.dav(by, 'GET', meeting.file);
    assert.equal(read.status, 200, read.text);
    const events = this.#edited(
      eventsOf(read.text).map(({ lines }) => lines),
      meeting.model,
    );
    this.log.push(`dav ${meeting.model.uid} by ${by}: ${this.log.pop()}`);
    if (events !== undefined) await this.#put(meeting, by, events, read.tag);
  }

  /** A client reads it, and goes by that for a while. */
  async #keep(meeting: Meeting): Promise<void> {
    this.log.push(`keep ${meeting.model.uid}`);
    meeting.kept = { ...(await this.#cast.dav(ORGANIZER, 'GET', meeting.file)), writes: meeting.writes };
  }

  /**
   * Writes what was read a while ago, with new words: what was answered since is no conflict and is not lost by it, and what the
   * organiser's side wrote since is one (RFC 6638, 3.2.10).
   */
  async #writeStale(meeting: Meeting): Promise<void> {
    const { tag, text, writes } = meeting.kept as NonNullable<Meeting['kept']>;
    const events = eventsOf(text).map(({ at, lines }) =>
      at === undefined ? withLines(lines, ['SUMMARY'], [`SUMMARY:${this.#title()}`]) : lines,
    );
    this.log.push(`stale ${meeting.model.uid}, ${meeting.writes - writes} writings later`);
    delete meeting.kept;
    await this.#put(meeting, ORGANIZER, events, tag, meeting.writes > writes);
  }

  async #put(meeting: Meeting, by: string, events: readonly Event[], tag: string, isStale = false): Promise<void> {
    const text = calendarText(events.map((lines) => this.#forged(lines)));
    const headers = { 'if-schedule-tag-match': tag };
    const { status, text: said } = await this.#cast.dav(by, 'PUT', meeting.file, headers, text);
    assert.equal(status, isStale ? 412 : 204, `${said}\n${text}`);
    if (!isStale) this.#write(meeting, by, writtenIn(text, ORGANIZER));
  }

  /** What a client says of the answers of others is nobody's answer. */
  #forged(lines: Event): Event {
    const who = this.#random.pick(ATTENDEES);
    return this.#random.chance(0.3) ? answeredLines(lines, who, this.#random.pick(ANSWERS)) : lines;
  }

  /** A change as a client makes it in its text. */
  #edited(events: readonly Event[], model: MeetingModel): Event[] | undefined {
    const random = this.#random;
    const whole = events.find((lines) => !isSingle(lines)) as Event;
    const singles = new Map(events.filter(isSingle).map((lines) => [startOf(lines, 'RECURRENCE-ID'), lines]));
    const isBerlin = isOfBerlin(whole);
    const at = model.isSeries && model.starts.length > 0 ? random.pick(model.starts) : undefined;
    const kind = random.pick(['retitle', 'move', 'people', 'one', 'one', 'leave', 'end'] as const);
    this.log.push(`${kind} ${at === undefined ? '' : instantText(at)}`);
    if (kind === 'leave' && model.left.size > 0 && random.chance(0.5)) {
      this.log.push(`${this.log.pop()} taken back`);
      return [withLines(whole, ['EXDATE'], []), ...singles.values()];
    }
    if (kind === 'leave' && at !== undefined && model.starts.length > 1) {
      singles.delete(at);
      return [[...whole, timeLine('EXDATE', at, isBerlin)], ...singles.values()];
    }
    if (kind === 'one' && at !== undefined) {
      const before = singles.get(at) ?? occurrenceLines(whole, at);
      const start = startOf(before, 'DTSTART') + random.pick([-2, -1, 1, 2]) * HOUR;
      singles.set(
        at,
        random.chance(0.5)
          ? moved(before, start, isBerlin)
          : withLines(before, ['SUMMARY'], [`SUMMARY:${this.#title()}`]),
      );
      return [whole, ...singles.values()];
    }
    if (kind === 'end' && model.isSeries) {
      const weeks = this.#weeks(model);
      this.log.push(`${this.log.pop()} ${weeks} times`);
      const kept = [...singles].filter(([start]) => start < model.whole.start + weeks * WEEK).map(([, lines]) => lines);
      return [withLines(whole, ['RRULE'], [`RRULE:FREQ=WEEKLY;COUNT=${weeks}`]), ...kept];
    }
    if (kind === 'people') {
      const who = random.pick(INVITED);
      const isIn = model.whole.answers.has(who);
      if (isIn && model.whole.answers.size === 1) return undefined;
      this.log.push(`${this.log.pop()} ${isIn ? 'without' : 'with'} ${who}`);
      if (isIn)
        return events.map((lines) => lines.filter((line) => !line.startsWith('ATTENDEE') || personIn(line) !== who));
      const isAll = random.chance(0.5);
      const has = (lines: Event) => lines.some((line) => line.startsWith('ATTENDEE') && personIn(line) === who);
      return events.map((lines) =>
        (isAll || !isSingle(lines)) && !has(lines) ? [...lines, attendeeLine(who, 'NEEDS-ACTION')] : lines,
      );
    }
    if (kind === 'move') return [withLines(moved(whole, this.#hour(), isBerlin), ['EXDATE'], [])];
    return [withLines(whole, ['SUMMARY'], [`SUMMARY:${this.#title()}`]), ...singles.values()];
  }

  #write(meeting: Meeting, by: string, next: WrittenMeeting): void {
    const { model } = meeting;
    model.sentBy = actingFor(by);
    meeting.writes += 1;
    this.#told(model, model.write(next, [GUEST]).get(GUEST));
  }

  #told(model: MeetingModel, told: Told): void {
    if (told !== undefined) this.#letters.push({ uid: model.uid, told, view: model.viewOf(GUEST) });
  }

  /** Somebody of the installation answers, or takes away what they are invited to. */
  async #attend(meeting: Meeting): Promise<void> {
    const random = this.#random;
    const { model } = meeting;
    const name = random.pick(ATTENDEES);
    const copy = model.copies.get(name);
    if (copy === undefined || copy.standing === 'removed') return;
    const drawn = random.unit();
    if (drawn < 0.12) {
      this.log.push(`${name} takes ${model.uid} away`);
      assert.equal((await this.#cast.dav(name, 'DELETE', `${meeting.id}.ics`)).status, 204);
      return model.takeAway(name);
    }
    if (copy.standing !== 'there') return;
    const answer = random.pick(ANSWERS);
    if (drawn < 0.4) {
      this.log.push(`${name} answers all of ${model.uid} by json: ${answer}`);
      await this.#answerByJson(name, meeting, answer);
      return model.answerAll(name, answer);
    }
    await this.#attendByDav(name, meeting, answer);
  }

  /** Somebody answers, or their delegate does in their name. */
  async #answerByJson(name: string, { id }: Meeting, answer: Answer): Promise<void> {
    const path = `/v1/invitations/${this.#cast.ids[name]}/${id}/answer`;
    const by = name === ATTENDEES[0] && this.#random.chance(0.5) ? DELEGATES[0] : name;
    this.log.push(`  by ${by}`);
    await this.#cast.ask(by, 'PUT', path, { answer: answer.toLowerCase() });
  }

  async #attendByDav(name: string, { id, model }: Meeting, answer: Answer): Promise<void> {
    const random = this.#random;
    const file = `${id}.ics`;
    const read = await this.#cast.dav(name, 'GET', file);
    assert.equal(read.status, 200, read.text);
    const events = eventsOf(read.text).map(({ lines }) => lines);
    const whole = events.find((lines) => !isSingle(lines));
    if (whole === undefined) return;
    const singles = new Map(events.filter(isSingle).map((lines) => [startOf(lines, 'RECURRENCE-ID'), lines]));
    const put = async (...all: Event[]) => {
      const { status, text } = await this.#cast.dav(
        name,
        'PUT',
        file,
        { 'if-schedule-tag-match': read.tag },
        calendarText(all),
      );
      return { status, text };
    };
    const shown = [...model.shownTo(name).keys()];
    const at = model.isSeries && shown.length > 0 ? random.pick(shown) : undefined;
    const kind = random.pick(['series', 'one', 'one', 'hide', 'forge'] as const);
    this.log.push(`${name} ${kind} ${model.uid} ${at === undefined ? '' : instantText(at)} ${answer}`);
    if (kind === 'forge') {
      const forged = random.chance(0.5)
        ? moved(whole, this.#hour() + 12 * HOUR, isOfBerlin(whole))
        : withLines(whole, ['SUMMARY'], ['SUMMARY:Other']);
      assert.equal((await put(forged, ...singles.values())).status, 403);
    } else if (kind === 'series') {
      assert.ok((await put(answeredLines(whole, name, answer), ...singles.values())).status < 300);
      model.answerAll(name, answer, new Set(singles.keys()));
    } else if (at !== undefined && kind === 'hide' && shown.length > 1) {
      singles.delete(at);
      const left = timeLine('EXDATE', at, isOfBerlin(whole));
      assert.ok((await put([...whole, left], ...singles.values())).status < 300);
      model.hide(name, at);
    } else if (at !== undefined && kind === 'one') {
      singles.set(at, answeredLines(singles.get(at) ?? occurrenceLines(whole, at), name, answer));
      const { status, text } = await put(whole, ...singles.values());
      assert.ok(status < 300, text);
      model.answerOne(name, at, answer);
    }
  }

  /** The guest answers one of the last mails. */
  async #reply({ model }: Meeting): Promise<void> {
    const random = this.#random;
    const at = this.#letters.map(({ told, uid }) => told === 'REQUEST' && uid === model.uid);
    const numbers = at.flatMap((isOne, number) => (isOne ? [number] : [])).slice(-2);
    if (numbers.length === 0) return;
    const number = random.pick(numbers);
    const letter = this.#letters[number] as Letter;
    const answer = random.pick(ANSWERS);
    const key = random.pick([...letter.view.keys()]);
    const mail = eventsOf(this.#cast.letter(number));
    const asked = mail.find((one) => `${one.at ?? 'whole'}` === key);
    const whole = mail.find((one) => one.at === undefined);
    const starts =
      model.isSeries && whole !== undefined ? model.starts.filter((start) => !whole.left.includes(start)) : [];
    const single = key === 'whole' && starts.length > 0 && random.chance(0.4) ? random.pick(starts) : undefined;
    const lines =
      asked === undefined
        ? []
        : single === undefined
          ? asked.lines
          : (mail.find((one) => one.at === single)?.lines ?? occurrenceLines(asked.lines, single));
    const stamp = instantText(FIRST_DAY - 30 * 24 * HOUR + (this.#stamps += 1) * 1000).replaceAll(/[-:]|\.000/g, '');
    const own = answeredLines(lines, GUEST, answer).filter(
      (line) => !line.startsWith('ATTENDEE') || personIn(line) === GUEST,
    );
    const text = calendarText([withLines(own, ['DTSTAMP'], [`DTSTAMP:${stamp}`])], 'REPLY');
    this.log.push(
      `guest answers ${model.uid} ${key} ${single === undefined ? '' : instantText(single)} ${answer} to mail ${number}`,
    );
    const outcome = await this.#cast.mail(unfolded(text));
    const start = single ?? (key === 'whole' ? undefined : Number(key));
    const isTaken =
      start === undefined
        ? model.replyAll(GUEST, answer, letter.view)
        : model.starts.includes(start) && model.replyOne(GUEST, start, answer, letter.view);
    this.log.push(`  ${outcome}, ${isTaken ? 'taken' : 'not taken'}`);
  }

  async #share(): Promise<void> {
    const random = this.#random;
    const one = random.pick(ATTENDEES);
    const [owner, sharee] = random.chance(0.5) ? [ORGANIZER, one] : [one, ORGANIZER];
    const access = random.pick(SHARES);
    this.log.push(`${owner} shares ${access} with ${sharee}`);
    const path = `/v1/calendars/${this.#cast.ids[owner]}/shares/${sharee}`;
    const reply =
      access === 'none'
        ? await this.#cast.send(owner, 'DELETE', path)
        : await this.#cast.send(owner, 'PUT', path, { access });
    assert.ok([200, 201, 204, 404].includes(reply.status), reply.text);
  }
}

const actingFor = (by: string): string | undefined => (by === ORGANIZER ? undefined : by);
const instantText = (at: number): string => new Date(at).toISOString();
const attendeeOf = (name: string): string => (name === GUEST ? `mailto:${addressOf(name)}` : name);
const attendeeLine = (name: string, answer: Answer): string => `ATTENDEE;PARTSTAT=${answer}:mailto:${addressOf(name)}`;
const isSingle = (lines: Event): boolean => lines.some((line) => line.startsWith('RECURRENCE-ID'));

function startOf(lines: Event, name: 'DTSTART' | 'RECURRENCE-ID'): number {
  const [event] = eventsOf(calendarText([lines]));
  return (name === 'DTSTART' ? event?.start : event?.at) as number;
}

function moved(lines: Event, start: number, isBerlin: boolean): string[] {
  const end = lines.some((line) => line.startsWith('DTEND')) ? [timeLine('DTEND', start + HOUR, isBerlin)] : [];
  return withLines(lines, ['DTSTART', 'DTEND'], [timeLine('DTSTART', start, isBerlin), ...end]);
}

function writtenOf({ left, singles, weeks, whole }: MeetingModel): WrittenMeeting {
  const written = ({ answers, start, title }: MeetingModel['whole']) => ({
    start,
    title,
    people: new Set(answers.keys()),
  });
  return {
    whole: written(whole),
    left: new Set(left),
    weeks,
    singles: new Map([...singles].map(([at, one]) => [at, written(one)])),
  };
}

/** Somebody who is added or taken out for all of it is so in what has a component of its own as well. */
function withPeople({ left, singles, weeks, whole }: WrittenMeeting, who: string, isIn: boolean): WrittenMeeting {
  const changed = (one: Written): Written => {
    const people = new Set(one.people);
    if (isIn) people.add(who);
    else people.delete(who);
    return { ...one, people };
  };
  return { left, weeks, whole: changed(whole), singles: new Map([...singles].map(([at, one]) => [at, changed(one)])) };
}
