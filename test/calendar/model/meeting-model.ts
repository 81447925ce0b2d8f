/**
 * A meeting as RFC 5546 and RFC 6638 have it, small: what its organiser's object says, what each attendee answered to which
 * occurrence, and what of it each copy shows. It knows nothing of the server, and time is hours on a grid.
 */

export type Answer = 'NEEDS-ACTION' | 'ACCEPTED' | 'TENTATIVE' | 'DECLINED';

/** What is said of a series, or of one occurrence that has a component of its own. */
export interface Written {
  /** Milliseconds. Everything lasts an hour. */
  readonly start: number;
  readonly title: string;
  /** Everybody but the organiser. */
  readonly people: ReadonlySet<string>;
}

/** An object as somebody who may say so writes it. */
export interface WrittenMeeting {
  readonly whole: Written;
  /** Original start → the occurrence. */
  readonly singles: ReadonlyMap<number, Written>;
  /** Original starts that are left out. */
  readonly left: ReadonlySet<number>;
  /** Of a series, how often it takes place. */
  readonly weeks: number;
}

/** The same with what is answered. */
export interface Part {
  readonly start: number;
  readonly title: string;
  readonly answers: ReadonlyMap<string, Answer>;
  /** Counts how often it took place at another time: an answer to an earlier one is to what was before. */
  readonly moves: number;
}

export interface Occurrence {
  readonly start: number;
  readonly title: string;
  readonly answer: Answer;
}

/** What somebody is invited to: `whole` or the original start → what is asked of them. */
export type View = ReadonlyMap<string, { readonly start: number; readonly title: string; readonly moves: number }>;

/** A copy of somebody of the installation. */
export interface Copy {
  standing: 'there' | 'cancelled' | 'removed';
  /** Original starts that its owner took out. */
  readonly hidden: Set<number>;
}

/** What a change sends to somebody outside. */
export type Told = 'REQUEST' | 'CANCEL' | undefined;

const WEEK = 7 * 86_400_000;
export const WEEKS = 4;
const UNANSWERED: Answer = 'NEEDS-ACTION';

export class MeetingModel {
  readonly uid: string;
  readonly isSeries: boolean;
  whole: Part;
  /** Of a series, how often it takes place. */
  weeks = WEEKS;
  readonly singles = new Map<number, Part>();
  readonly left = new Set<number>();
  isGone = false;
  /** Who wrote it last in the organiser's name. */
  sentBy: string | undefined;
  readonly copies = new Map<string, Copy>();
  /** Those of them who have answered an occurrence by itself, by mail: `person start`. */
  readonly #alone = new Set<string>();

  /** @param uid of the object. Everybody who is written in is unanswered. */
  constructor(uid: string, { start, title, people }: Written, isSeries: boolean) {
    this.uid = uid;
    this.isSeries = isSeries;
    this.whole = { start, title, answers: new Map([...people].map((one) => [one, UNANSWERED])), moves: 0 };
    for (const person of people) this.#deliver(person, false);
  }

  /** Original starts that take place. */
  get starts(): number[] {
    const all = Array.from({ length: this.isSeries ? this.weeks : 1 }, (_, week) => this.whole.start + week * WEEK);
    return all.filter((start) => !this.left.has(start));
  }

  partOf(start: number): Part {
    return this.singles.get(start) ?? { ...this.whole, start };
  }

  /** What an occurrence is to somebody; undefined where they are not invited to it. */
  occurrenceOf(person: string, start: number): Occurrence | undefined {
    const { answers, ...part } = this.partOf(start);
    const answer = answers.get(person);
    return answer === undefined ? undefined : { start: part.start, title: part.title, answer };
  }

  /** What somebody's copy shows, by original start. */
  shownTo(person: string): Map<number, Occurrence> {
    const copy = this.copies.get(person);
    const shown = new Map<number, Occurrence>();
    for (const start of copy?.standing === 'there' ? this.starts : []) {
      const occurrence = copy?.hidden.has(start) === true ? undefined : this.occurrenceOf(person, start);
      if (occurrence !== undefined) shown.set(start, occurrence);
    }
    return shown;
  }

  /** Whether the copy waits for an answer, to the series or to one of its occurrences. */
  isAwaited(person: string): boolean {
    const copy = this.copies.get(person);
    if (copy?.standing !== 'there') return false;
    const singles = [...this.singles].filter(([start]) => !copy.hidden.has(start)).map(([, part]) => part);
    return [this.whole, ...singles].some(({ answers }) => answers.get(person) === UNANSWERED);
  }

  viewOf(person: string): View {
    const invited = [['whole', this.whole] as const, ...[...this.singles].map(([at, one]) => [`${at}`, one] as const)];
    return new Map(
      invited
        .filter(([, { answers }]) => answers.has(person))
        .map(([key, { start, title, moves }]) => [key, { start, title, moves }]),
    );
  }

  /** The organiser, or who writes in their calendar, writes the object. Answers with what each person outside is told. */
  write(next: WrittenMeeting, outside: readonly string[]): Map<string, Told> {
    const [before, people] = [this.#signatures(outside), new Set([...this.#invited()])];
    const prior = { whole: this.whole, singles: new Map(this.singles) };
    // Dates that are added were not answered; where a series ends sooner, all that are left were.
    const isAnother = next.whole.start !== prior.whole.start || next.weeks > this.weeks;
    this.weeks = next.weeks;
    this.whole = answered(next.whole, prior.whole, prior.whole, isAnother);
    this.singles.clear();
    for (const [start, written] of next.singles) {
      const known = prior.singles.get(start);
      const isMoved = written.start !== (known?.start ?? start);
      this.singles.set(start, answered(written, known ?? { ...prior.whole, start }, prior.whole, isMoved));
    }
    this.left.clear();
    for (const start of next.left) this.left.add(start);
    this.#keepAnswers(prior);
    for (const person of new Set([...people, ...this.#invited()]))
      if (!outside.includes(person)) this.#deliver(person, !isAnother);
    const after = this.#signatures(outside);
    return new Map(outside.map((one) => [one, toldBy(before.get(one) ?? '', after.get(one) ?? '')]));
  }

  /** The organiser removes it. */
  remove(outside: readonly string[]): Map<string, Told> {
    const told = outside.map((one): [string, Told] => [one, this.viewOf(one).size > 0 ? 'CANCEL' : undefined]);
    this.isGone = true;
    for (const copy of this.copies.values()) if (copy.standing === 'there') copy.standing = 'cancelled';
    return new Map(told);
  }

  /** Somebody answers all that their copy shows, or the series with what it has no component of its own for. */
  answerAll(person: string, answer: Answer, except: ReadonlySet<number> = new Set()): void {
    // What they took out of their copy while they had declined all of it stays declined, and is an answer of its own from now on.
    for (const start of this.copies.get(person)?.hidden ?? [])
      if (!this.singles.has(start) && this.starts.includes(start) && answer !== 'DECLINED')
        this.singles.set(start, { ...this.whole, start });
    this.#say('whole', person, answer);
    for (const start of this.singles.keys()) {
      const isHidden = this.copies.get(person)?.hidden.has(start) === true;
      if (!isHidden && !except.has(start)) this.#say(start, person, answer);
    }
  }

  /** Somebody answers one occurrence. */
  answerOne(person: string, start: number, answer: Answer): void {
    if (this.occurrenceOf(person, start)?.answer === answer) return;
    if (!this.singles.has(start)) this.singles.set(start, { ...this.whole, start });
    this.#say(start, person, answer);
  }

  /** Somebody takes one occurrence out of their copy, which declines it. */
  hide(person: string, start: number): void {
    this.answerOne(person, start, 'DECLINED');
    this.copies.get(person)?.hidden.add(start);
  }

  /** Somebody takes their copy away, which declines what it shows. */
  takeAway(person: string): void {
    const copy = this.copies.get(person) as Copy;
    if (copy.standing === 'there') this.answerAll(person, 'DECLINED');
    copy.standing = 'removed';
    copy.hidden.clear();
  }

  /** Somebody outside answers what a mail said. False where it was moved since, so that nothing comes of it. */
  replyAll(person: string, answer: Answer, mail: View): boolean {
    if ((mail.get('whole')?.moves ?? -1) < this.whole.moves || !this.whole.answers.has(person)) return false;
    const before = this.whole.answers.get(person);
    this.#say('whole', person, answer);
    // An occurrence that takes place when the series has it, and was not answered by itself, is answered with the series.
    for (const [start, part] of this.singles) {
      const isAlone = this.#alone.has(`${person} ${start}`) || part.answers.get(person) !== before;
      if (!isAlone && part.start === start) this.#say(start, person, answer);
    }
    return true;
  }

  /** As `replyAll`, to one occurrence. */
  replyOne(person: string, start: number, answer: Answer, mail: View): boolean {
    const known = mail.get(`${start}`) ?? mail.get('whole');
    const part = this.partOf(start);
    if (known === undefined || known.moves < part.moves || !part.answers.has(person)) return false;
    this.answerOne(person, start, answer);
    if (this.singles.has(start)) this.#alone.add(`${person} ${start}`);
    return true;
  }

  #invited(): string[] {
    return [this.whole, ...this.singles.values()].flatMap(({ answers }) => [...answers.keys()]);
  }

  #say(key: number | 'whole', person: string, answer: Answer): void {
    const part = key === 'whole' ? this.whole : (this.singles.get(key) as Part);
    if (!part.answers.has(person)) return;
    const next = { ...part, answers: new Map(part.answers).set(person, answer) };
    if (key === 'whole') this.whole = next;
    else this.singles.set(key, next);
  }

  /** Answers to single occurrences that the writer did not know of come back, as long as there is that occurrence at that time. */
  #keepAnswers(prior: { readonly whole: Part; readonly singles: ReadonlyMap<number, Part> }): void {
    for (const [start, part] of prior.singles) {
      if (this.singles.has(start) || part.start !== start || !this.starts.includes(start)) continue;
      const own = [...part.answers].filter(([person, answer]) => {
        const series = prior.whole.answers.get(person);
        const now = this.whole.answers.get(person);
        return series !== undefined && series !== answer && now !== undefined && now !== answer;
      });
      if (own.length === 0) continue;
      this.singles.set(start, { ...this.whole, start, answers: new Map([...this.whole.answers, ...own]) });
    }
  }

  /** What a copy becomes by what there is now. @param isSame whether the series is the one of before, or ends sooner. */
  #deliver(person: string, isSame: boolean): void {
    const parts = [...this.viewOf(person).keys()].map((key) =>
      key === 'whole' ? this.whole : (this.singles.get(Number(key)) as Part),
    );
    const copy = this.copies.get(person);
    if (parts.length === 0) {
      if (copy?.standing === 'there') copy.standing = 'cancelled';
      return;
    }
    const isDeclined = parts.every(({ answers }) => answers.get(person) === 'DECLINED');
    if (copy === undefined || copy.standing !== 'there') {
      if (isDeclined) return;
      this.copies.set(person, { standing: 'there', hidden: new Set() });
      return;
    }
    for (const start of copy.hidden) {
      // What the organiser left out meanwhile is the organiser's word, and not theirs.
      const isThere = isSame && !this.left.has(start);
      const isStill = isThere && this.occurrenceOf(person, start)?.answer === 'DECLINED';
      if (!isStill) copy.hidden.delete(start);
    }
  }

  /** What is new to somebody is another text. */
  #signatures(people: readonly string[]): Map<string, string> {
    return new Map(
      people.map((person) => {
        const parts = [...this.viewOf(person)].map(([key, { start, title }]) => {
          const part = key === 'whole' ? this.whole : (this.singles.get(Number(key)) as Part);
          const weeks = key === 'whole' && this.isSeries ? this.weeks : 1;
          return [key, start, title, weeks, ...[...part.answers.keys()].toSorted()];
        });
        const absent = [...this.singles].filter(([, { answers }]) => !answers.has(person)).map(([start]) => start);
        const isEmpty = parts.length === 0;
        return [
          person,
          isEmpty
            ? ''
            : JSON.stringify([parts.map(String).toSorted(), [...this.left, ...absent].map(String).toSorted()]),
        ];
      }),
    );
  }
}

function toldBy(before: string, after: string): Told {
  if (before === after) return undefined;
  return after === '' ? 'CANCEL' : 'REQUEST';
}

/** What is written, with the answers that are known to it: what takes place at another time is to be answered anew. */
function answered({ people, start, title }: Written, prior: Part, series: Part, isMoved: boolean): Part {
  const known = (person: string) => prior.answers.get(person) ?? series.answers.get(person) ?? UNANSWERED;
  const answers = new Map([...people].map((one) => [one, isMoved ? UNANSWERED : known(one)]));
  return { start, title, answers, moves: isMoved ? prior.moves + 1 : prior.moves };
}
