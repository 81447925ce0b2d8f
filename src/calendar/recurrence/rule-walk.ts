/** Walks a rule's instances between two wall times, in order, from the period that the first of them lies in. */
import { civilOf, dayNumber, DAY_SECONDS, daysInMonth, mod, weekdayOf } from './civil.ts';
import { DayFilter } from './day-filter.ts';
import { type Rule } from './rule.ts';
import { StepBudget } from './step-budget.ts';
import { MAX_YEAR } from '../icalendar/values.ts';

const LAST_WALL = dayNumber(MAX_YEAR, 12, 31) * DAY_SECONDS + DAY_SECONDS - 1;

/** Takes one wall time; false ends the walk. */
export type Visit = (wall: number) => boolean;

/** Where a walk begins and ends, in wall seconds, both inclusive. */
export interface WallRange {
  readonly from: number;
  readonly to: number;
}

/** Visits what the rule makes after its first instance, which the series has by itself, within the range. */
export function walkRule(rule: Rule, start: number, range: WallRange, budget: StepBudget, visit: Visit): void {
  const walk = new RuleWalk(rule, start, range, budget, visit);
  walk.run();
}

/**
 * The last wall time of a rule with a COUNT whose periods all have one instance: it needs no walk. Undefined where the
 * rule has no COUNT or its periods differ.
 */
export function lastByCount(rule: Rule, start: number): number | undefined {
  if (rule.count === undefined || !isEven(rule)) return undefined;
  return Math.min(start + (rule.count - 1) * rule.interval * PERIOD_SECONDS[rule.frequency], LAST_WALL);
}

/** A rule with the last wall second that it includes by its UNTIL. */
export interface EndingRule {
  readonly rule: Rule;
  readonly until: number;
}

/**
 * Whether all instances of a rule are among those of another, which differs from it in nothing but where it ends. What takes too many
 * steps to tell is not.
 */
export function endsWithin({ rule, until }: EndingRule, other: EndingRule, start: number): boolean {
  const [count, most] = [rule.count ?? Infinity, other.rule.count ?? Infinity];
  if (until <= other.until && count <= most) return true;
  if (until === Infinity && count === Infinity) return false;
  // One ends by a number and the other by a time, or between the same two instances.
  const budget = new StepBudget();
  let [number, isWithin] = [1, start <= other.until];
  walkRule(rule, start, { from: start, to: until }, budget, (wall) => {
    number += 1;
    isWithin &&= number <= most && wall <= other.until;
    return isWithin;
  });
  return isWithin && !budget.isSpent;
}

const PERIOD_SECONDS = {
  SECONDLY: 1,
  MINUTELY: 60,
  HOURLY: 3600,
  DAILY: DAY_SECONDS,
  WEEKLY: 7 * DAY_SECONDS,
  MONTHLY: 0,
  YEARLY: 0,
};

/** Whether one instance follows the other at one distance. */
function isEven(rule: Rule): boolean {
  const lists = [
    rule.byMonth,
    rule.byWeekNumber,
    rule.byYearDay,
    rule.byMonthDay,
    rule.byDay,
    rule.byHour,
    rule.byMinute,
    rule.bySecond,
    rule.bySetPosition,
  ];
  return PERIOD_SECONDS[rule.frequency] > 0 && lists.every((list) => list.length === 0);
}

class RuleWalk {
  readonly #rule: Rule;
  readonly #start: number;
  readonly #from: number;
  readonly #to: number;
  readonly #budget: StepBudget;
  readonly #visit: Visit;
  readonly #days: DayFilter;
  readonly #hours: readonly number[];
  readonly #minutes: readonly number[];
  readonly #seconds: readonly number[];
  /** Instances that COUNT still allows after the first. */
  #left: number;
  /** Whether every instance since the start must be met, because they are counted. */
  readonly #isCounting: boolean;
  #isOver = false;

  constructor(rule: Rule, start: number, range: WallRange, budget: StepBudget, visit: Visit) {
    const last = lastByCount(rule, start);
    this.#rule = rule;
    this.#start = start;
    this.#from = Math.max(range.from, start + 1);
    this.#to = Math.min(range.to, last ?? Infinity, LAST_WALL);
    this.#budget = budget;
    this.#visit = visit;
    this.#isCounting = rule.count !== undefined && last === undefined;
    this.#left = this.#isCounting ? (rule.count ?? 1) - 1 : Infinity;
    const ofDay = mod(start, DAY_SECONDS);
    this.#days = new DayFilter(rule, Math.floor(start / DAY_SECONDS));
    this.#hours = orElse(rule.byHour, Math.floor(ofDay / 3600));
    this.#minutes = orElse(rule.byMinute, Math.floor(ofDay / 60) % 60);
    this.#seconds = orElse(rule.bySecond, ofDay % 60);
  }

  run(): void {
    if (this.#left <= 0 || this.#to < this.#from) return;
    switch (this.#rule.frequency) {
      case 'YEARLY':
        return this.#runYears();
      case 'MONTHLY':
        return this.#runMonths();
      case 'WEEKLY':
        return this.#runWeeks();
      case 'DAILY':
        return this.#runDays();
      default:
        return this.#runWithinDays();
    }
  }

  /** The wall time whose period is the first to look at. */
  get #firstWall(): number {
    return this.#isCounting ? this.#start : this.#from;
  }

  /** The number of the first period at or before a place, in the steps of the interval. */
  #firstPeriod(startPlace: number, place: number): number {
    const { interval } = this.#rule;
    return startPlace + Math.max(0, Math.floor((place - startPlace) / interval)) * interval;
  }

  #runYears(): void {
    const startYear = yearOf(this.#start);
    const lastYear = yearOf(this.#to);
    for (
      let year = this.#firstPeriod(startYear, yearOf(this.#firstWall));
      year <= lastYear;
      year += this.#rule.interval
    ) {
      const days: number[] = [];
      for (let month = 1; month <= 12; month += 1) this.#collectMonth(year, month, days);
      this.#takePeriod(days);
      if (this.#isOver) return;
    }
  }

  #runMonths(): void {
    const place = (wall: number) => {
      const { year, month } = civilOf(Math.floor(wall / DAY_SECONDS));
      return year * 12 + month - 1;
    };
    const last = place(this.#to);
    for (
      let at = this.#firstPeriod(place(this.#start), place(this.#firstWall));
      at <= last;
      at += this.#rule.interval
    ) {
      const days: number[] = [];
      this.#collectMonth(Math.floor(at / 12), mod(at, 12) + 1, days);
      this.#takePeriod(days);
      if (this.#isOver) return;
    }
  }

  #collectMonth(year: number, month: number, days: number[]): void {
    if ((this.#days.months & (1 << month)) === 0) return;
    const length = daysInMonth(year, month);
    const first = dayNumber(year, month, 1);
    const only = this.#days.onlyMonthDay;
    if (only !== undefined) {
      if (only <= length) days.push(first + only - 1);
      return;
    }
    this.#spend(length);
    for (let day = first; day < first + length; day += 1) if (this.#days.passes(day, year, month)) days.push(day);
  }

  #runWeeks(): void {
    const week = (wall: number) => {
      const day = Math.floor(wall / DAY_SECONDS);
      return Math.floor((day - mod(weekdayOf(day) - this.#rule.weekStart, 7) + 3) / 7);
    };
    const startDay = Math.floor(this.#start / DAY_SECONDS);
    // The first day of the week that has the start, and of week number zero.
    const zero = startDay - mod(weekdayOf(startDay) - this.#rule.weekStart, 7) - week(this.#start) * 7;
    const last = week(this.#to);
    for (let at = this.#firstPeriod(week(this.#start), week(this.#firstWall)); at <= last; at += this.#rule.interval) {
      this.#spend(7);
      const days: number[] = [];
      for (let day = zero + at * 7; day < zero + at * 7 + 7; day += 1) if (this.#passes(day)) days.push(day);
      this.#takePeriod(days);
      if (this.#isOver) return;
    }
  }

  #runDays(): void {
    const last = Math.floor(this.#to / DAY_SECONDS);
    const startDay = Math.floor(this.#start / DAY_SECONDS);
    const first = this.#firstPeriod(startDay, Math.floor(this.#firstWall / DAY_SECONDS));
    for (let day = first; day <= last; day += this.#rule.interval) {
      this.#takePeriod(this.#passes(day) ? [day] : []);
      if (this.#isOver) return;
    }
  }

  #passes(day: number): boolean {
    const { year, month } = civilOf(day);
    return this.#days.passes(day, year, month);
  }

  /** One period of days: BYSETPOS picks from the product of its days and times without making it. */
  #takePeriod(days: readonly number[]): void {
    this.#spend(1);
    const [minutes, seconds] = [this.#minutes.length, this.#seconds.length];
    const perDay = this.#hours.length * minutes * seconds;
    const wallAt = (index: number) => {
      const inDay = index % perDay;
      const hour = this.#hours[Math.floor(inDay / (minutes * seconds))] ?? 0;
      const minute = this.#minutes[Math.floor(inDay / seconds) % minutes] ?? 0;
      return (
        (days[Math.floor(index / perDay)] ?? 0) * DAY_SECONDS +
        hour * 3600 +
        minute * 60 +
        (this.#seconds[inDay % seconds] ?? 0)
      );
    };
    this.#takeIndexes(days.length * perDay, wallAt, perDay);
  }

  /** Takes the instances of one period of that size, in order; `skip` at once when so many lie before the range. */
  #takeIndexes(size: number, wallAt: (index: number) => number, skip: number): void {
    const positions = this.#rule.bySetPosition;
    if (positions.length > 0) {
      const indexes = positions.map((it) => (it > 0 ? it - 1 : size + it)).filter((it) => it >= 0 && it < size);
      for (const index of [...new Set(indexes)].toSorted((a, b) => a - b)) {
        this.#take(wallAt(index));
        if (this.#isOver) return;
      }
      return;
    }
    for (let index = 0; index < size; index += 1) {
      // Whole days before the range are counted, not made.
      if (skip > 1 && index % skip === 0 && wallAt(index) > this.#start && wallAt(index + skip - 1) < this.#from) {
        this.#spend(1);
        this.#left -= skip;
        index += skip - 1;
        if (this.#left <= 0) this.#isOver = true;
      } else this.#take(wallAt(index));
      if (this.#isOver) return;
    }
  }

  #take(wall: number): void {
    this.#spend(1);
    if (wall <= this.#start || this.#isOver) return;
    if (wall > this.#to) {
      this.#isOver = true;
      return;
    }
    this.#left -= 1;
    if (wall >= this.#from && !this.#visit(wall)) this.#isOver = true;
    if (this.#left <= 0) this.#isOver = true;
  }

  /** HOURLY, MINUTELY and SECONDLY: day by day, so that days that do not pass cost one step each. */
  #runWithinDays(): void {
    const last = Math.floor(this.#to / DAY_SECONDS);
    let day = Math.floor(this.#firstWall / DAY_SECONDS);
    while (day <= last && !this.#isOver) {
      this.#spend(1);
      const { year, month } = civilOf(day);
      if ((this.#days.months & (1 << month)) === 0) day = dayNumber(year, month + 1, 1);
      else {
        if (this.#days.passes(day, year, month)) this.#runDay(day);
        day += 1;
      }
    }
  }

  #runDay(day: number): void {
    const { frequency, interval, byHour, byMinute, bySecond } = this.#rule;
    const unit = PERIOD_SECONDS[frequency];
    const startPlace = Math.floor(this.#start / unit);
    const end = ((day + 1) * DAY_SECONDS) / unit;
    const aligned = (place: number) => startPlace + Math.max(0, Math.ceil((place - startPlace) / interval)) * interval;
    const minutes = unit === 3600 ? this.#minutes : [0];
    const seconds = unit === 1 ? [0] : this.#seconds;
    let place = aligned(Math.max((day * DAY_SECONDS) / unit, Math.floor(this.#firstWall / unit)));
    while (place < end && !this.#isOver) {
      const wall = place * unit;
      const hour = Math.floor(mod(wall, DAY_SECONDS) / 3600);
      const minute = Math.floor(mod(wall, 3600) / 60);
      this.#spend(1);
      if (byHour.length > 0 && !byHour.includes(hour)) place = aligned((Math.floor(wall / 3600) + 1) * (3600 / unit));
      else if (unit < 3600 && byMinute.length > 0 && !byMinute.includes(minute))
        place = aligned((Math.floor(wall / 60) + 1) * (60 / unit));
      else {
        if (unit > 1 || bySecond.length === 0 || bySecond.includes(mod(wall, 60))) {
          const wallAt = (index: number) =>
            wall + (minutes[Math.floor(index / seconds.length)] ?? 0) * 60 + (seconds[index % seconds.length] ?? 0);
          this.#takeIndexes(minutes.length * seconds.length, wallAt, 1);
        }
        place += interval;
      }
    }
  }

  #spend(steps: number): void {
    if (!this.#budget.take(steps)) this.#isOver = true;
  }
}

function orElse(list: readonly number[], value: number): readonly number[] {
  return list.length === 0 ? [value] : list;
}

function yearOf(wall: number): number {
  return civilOf(Math.floor(wall / DAY_SECONDS)).year;
}
