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
