/** What is kept of an object that was expanded before: it says the same of every window and zone, whatever came first. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { type CalendarObject } from '#src/calendar/icalendar/calendar-object.ts';
import { objectOf } from '../calendar-text.ts';

const ZONES = ['Europe/Berlin', 'America/New_York', 'UTC'];
const WINDOWS = [
  ['2026-03-01', '2026-04-05'],
  ['2026-10-20', '2026-11-10'],
  ['2031-01-01', '2031-01-20'],
].map(([from = '', to = '']) => ({ from: Date.parse(from), to: Date.parse(to) }));

const DEFINED = `BEGIN:VTIMEZONE\nTZID:Far\nBEGIN:STANDARD\nDTSTART:19700101T000000
TZOFFSETFROM:+0330\nTZOFFSETTO:+0330\nEND:STANDARD\nEND:VTIMEZONE`;

const SERIES: Readonly<Record<string, readonly string[]>> = {
  floating: ['DTSTART:20260105T093000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TH\nEXDATE:20260326T093000'],
  days: ['DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=MONTHLY;BYDAY=1MO\nRDATE;VALUE=DATE:20260315'],
  zoned: [
    'DTSTART;TZID=Europe/Berlin:20260105T023000\nRRULE:FREQ=DAILY\nEXRULE:FREQ=WEEKLY;BYDAY=SU',
    'RECURRENCE-ID;TZID=Europe/Berlin:20261026T023000\nDTSTART;TZID=Europe/Berlin:20261026T120000',
  ],
  'in a zone of its own': [DEFINED, 'DTSTART;TZID=Far:20260105T093000\nRRULE:FREQ=WEEKLY'],
};

const asked = (object: CalendarObject) =>
  ZONES.flatMap((zone) =>
    WINDOWS.map((window) =>
      expand(object, window, { zone, most: 100 }).occurrences.map(({ start, end }) => [start, end]),
    ),
  );

for (const [name, components] of Object.entries(SERIES)) {
  test(`CAL-02 a series is the same however often it is asked for: ${name}`, () => {
    const kept = objectOf(...components);
    const fresh = ZONES.flatMap((zone) =>
      WINDOWS.map((window) =>
        expand(objectOf(...components), window, { zone, most: 100 }).occurrences.map(({ start, end }) => [start, end]),
      ),
    );
    assert.ok(fresh.flat().length > 9);
    assert.deepEqual(asked(kept), fresh);
    assert.deepEqual(asked(kept), fresh);
  });
}
