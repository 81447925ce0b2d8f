/** Calendar objects of the benches: events of an hour, spread over a year, some of them weekly without end. */

const two = (value: number): string => String(value).padStart(2, '0');

/** The object of that number; every `seriesEvery`-th is a series. */
export function calendarObject(number: number, seriesEvery: number): { readonly name: string; readonly text: string } {
  const [month, day, hour] = [1 + (number % 12), 1 + (number % 28), 8 + (number % 9)];
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Parley//Bench//EN',
    'BEGIN:VEVENT',
    `UID:bench-${number}@example.org`,
    'DTSTAMP:20260101T000000Z',
    'CREATED:20260101T000000Z',
    'LAST-MODIFIED:20260101T000000Z',
    `DTSTART;TZID=Europe/Berlin:2026${two(month)}${two(day)}T${two(hour)}0000`,
    `DTEND;TZID=Europe/Berlin:2026${two(month)}${two(day)}T${two(hour + 1)}0000`,
    `SUMMARY:Meeting number ${number} about the matters of the day`,
    'LOCATION:Room 4',
    `DESCRIPTION:What there is to say of meeting ${number}\\, in a line or two.`,
    ...(number % seriesEvery === 0 ? ['RRULE:FREQ=WEEKLY'] : []),
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ];
  return { name: `bench-${number}.ics`, text: lines.join('\r\n') };
}

/** A word that one object of the large calendar has. */
export const LARGE_WORD = 'quincunx';
const WORD_AT = 99;

export function largeUid(number: number): string {
  return `large-${number}@example.org`;
}

/**
 * A file with the objects of these numbers: events of an hour spread over ten years from 2021 on, every tenth of them weekly
 * without end, as `calendarObject` has them.
 */
export function largeCalendar(first: number, count: number): string {
  const events = Array.from({ length: count }, (_, at) => {
    const number = first + at;
    const { text } = calendarObject(number, 10);
    const year = 2021 + (Math.floor(number / 12) % 10);
    return text
      .slice(text.indexOf('BEGIN:VEVENT'), text.indexOf('END:VCALENDAR'))
      .replace(/^UID:.*$/m, `UID:${largeUid(number)}`)
      .replaceAll('Berlin:2026', `Berlin:${year}`)
      .replace('SUMMARY:Meeting', number === WORD_AT ? `SUMMARY:${LARGE_WORD}` : 'SUMMARY:Meeting');
  });
  return `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Parley//Bench//EN\r\n${events.join('')}END:VCALENDAR\r\n`;
}
