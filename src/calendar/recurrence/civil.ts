/** The proleptic Gregorian calendar in whole numbers: days and seconds of wall time since 1970-01-01T00:00:00. */

export const DAY_SECONDS = 86_400;

/** Day number of a date, `month` from 1; day and month may lie outside their ranges by any amount. */
export function dayNumber(year: number, month: number, day: number): number {
  // Years begin in March, so that the leap day is the last: then months have fixed places within a year.
  const monthIndex = month + 9;
  const shifted = year + Math.floor(monthIndex / 12) - 1;
  const march = mod(monthIndex, 12);
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * march + 2) / 5);
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468 + day - 1;
}

/** The date of a day number. */
export function civilOf(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const march = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * march + 2) / 5) + 1;
  const month = march < 10 ? march + 3 : march - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

/** 0 for Monday to 6 for Sunday. */
export function weekdayOf(days: number): number {
  return mod(days + 3, 7);
}

export function isLeapYear(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

export function daysInYear(year: number): number {
  return isLeapYear(year) ? 366 : 365;
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** The remainder that is never negative. */
export function mod(value: number, by: number): number {
  return value - Math.floor(value / by) * by;
}
