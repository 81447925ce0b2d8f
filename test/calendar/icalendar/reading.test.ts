/** Holds what is read as a calendar object, what is refused with which precondition and line, and what is kept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { CalendarFault } from '#src/calendar/icalendar/calendar-fault.ts';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { indexOf } from '#src/calendar/recurrence/object-index.ts';
import {
  readCalendarObject,
  MAX_ATTENDEES,
  MAX_UID_LENGTH,
  OBJECT_RICHNESS,
} from '#src/calendar/icalendar/object-reader.ts';
import { readCalendarStream, MAX_STREAM_BYTES, MAX_STREAM_OBJECTS } from '#src/calendar/icalendar/stream-reader.ts';
import {
  type Component,
  makeComponent,
  makeProperty,
  parameterOf,
  propertyOf,
  textOf,
} from '#src/calendar/icalendar/component.ts';
import {
  MAX_COMPONENT_DEPTH,
  MAX_CONTENT_LINES,
  MAX_PARAMETERS,
  readComponents,
  sourceOf,
} from '#src/calendar/icalendar/component-reader.ts';
import { writeComponent } from '#src/calendar/icalendar/component-writer.ts';
import { zoneDefinition, writeCalendar } from '#src/calendar/icalendar/generated-calendar.ts';
import { calendarText, objectOf } from '../calendar-text.ts';

const read = (text: string) => readCalendarObject(Buffer.from(text));
const EVENT = 'DTSTART:20261102T090000Z';

const REFUSED: readonly (readonly [name: string, text: string, precondition: string, line: number | undefined])[] = [
  ['an empty body', '', 'valid-calendar-data', 1],
  ['a page of HTML', '<html>\n<body>', 'valid-calendar-data', 1],
  ['JSON', '{"a":1}', 'valid-calendar-data', 1],
  ['a vCard', 'BEGIN:VCARD\r\nEND:VCARD\r\n', 'valid-calendar-data', 1],
  ['a calendar cut off', calendarText(EVENT).slice(0, 90), 'valid-calendar-data', 3],
  ['an END of another component', calendarText(EVENT).replace('END:VEVENT', 'END:VTODO'), 'valid-calendar-data', 6],
  ['a line without a colon', calendarText(`${EVENT}\nSUMMARY`), 'valid-calendar-data', 6],
  ['a parameter without a value', calendarText(`${EVENT}\nSUMMARY;X:y`), 'valid-calendar-data', 6],
  ['a NUL', calendarText(`${EVENT}\nSUMMARY:a\0b`), 'valid-calendar-data', 6],
  ['vCalendar 1.0', calendarText(EVENT).replace('VERSION:2.0', 'VERSION:1.0'), 'valid-calendar-data', 2],
  ['the 30th of February', calendarText('DTSTART:20260230T090000Z'), 'valid-calendar-data', 5],
  ['an hour 25', calendarText('DTSTART:20261102T250000Z'), 'valid-calendar-data', 5],
  ['an event without DTSTART', calendarText('SUMMARY:x'), 'valid-calendar-data', 3],
  ['a broken duration', calendarText(`${EVENT}\nDURATION:1H`), 'valid-calendar-data', 6],
  ['a broken period', calendarText(`${EVENT}\nRDATE;VALUE=PERIOD:20261102T090000Z/X`), 'valid-calendar-data', 6],
  ['a year before the calendar', calendarText('DTSTART:15000101T000000Z'), 'min-date-time', 5],
  ['nothing in it', calendarText(), 'valid-calendar-object-resource', 1],
  ['no UID', calendarText(`BEGIN:VEVENT\n${EVENT}\nEND:VEVENT`), 'valid-calendar-object-resource', 3],
  [
    'two UIDs',
    calendarText(EVENT, `BEGIN:VEVENT\nUID:other\n${EVENT}\nEND:VEVENT`),
    'valid-calendar-object-resource',
    7,
  ],
  ['two masters', calendarText(EVENT, EVENT), 'valid-calendar-object-resource', 7],
  [
    'two kinds',
    calendarText(EVENT, 'BEGIN:VTODO\nUID:series@example.org\nEND:VTODO'),
    'valid-calendar-object-resource',
    7,
  ],
  ['two calendars', calendarText(EVENT) + calendarText(EVENT), 'valid-calendar-object-resource', 8],
  [
    'a METHOD',
    calendarText(EVENT).replace('VERSION:2.0', 'VERSION:2.0\r\nMETHOD:REQUEST'),
    'valid-calendar-object-resource',
    3,
  ],
  ['free-busy alone', calendarText('BEGIN:VFREEBUSY\nUID:1\nEND:VFREEBUSY'), 'supported-calendar-component', 3],
  [
    'a UID beyond its length',
    calendarText(EVENT).replace('series@', 'x'.repeat(MAX_UID_LENGTH)),
    'valid-calendar-object-resource',
    3,
  ],
  [
    'components beyond the depth',
    'BEGIN:VCALENDAR\n' + 'BEGIN:X-A\n'.repeat(MAX_COMPONENT_DEPTH),
    'valid-calendar-data',
    MAX_COMPONENT_DEPTH + 1,
  ],
  [
    'parameters beyond their number',
    calendarText(`SUMMARY${';A=1'.repeat(MAX_PARAMETERS + 1)}:x`),
    'valid-calendar-data',
    5,
  ],
  [
    'attendees beyond their number',
    calendarText(`${EVENT}\n${'ATTENDEE:mailto:a@b\n'.repeat(MAX_ATTENDEES + 1)}`),
    'max-attendees-per-instance',
    6 + MAX_ATTENDEES,
  ],
];

for (const [name, text, precondition, line] of REFUSED) {
  test(`refused with its line: ${name}`, () => {
    assert.throws(() => read(text), { name: 'CalendarFault', precondition, line });
  });
}

test('limits are reached without a refusal', () => {
  assert.equal(read(calendarText(`${EVENT}\nSUMMARY${';A=1'.repeat(MAX_PARAMETERS)}:x`)).kind, 'event');
  assert.equal(read(calendarText(`${EVENT}\n${'ATTENDEE:mailto:a@b\n'.repeat(MAX_ATTENDEES)}`)).kind, 'event');
  const inner = MAX_COMPONENT_DEPTH - 2;
  const nested = `${'BEGIN:X-A\n'.repeat(inner)}${'END:X-A\n'.repeat(inner)}`;
  assert.equal(read(calendarText(`${EVENT}\n${nested}`)).kind, 'event');
});

test('a scheduling message has its METHOD when one is expected', () => {
  const text = calendarText(EVENT).replace('VERSION:2.0', 'VERSION:2.0\r\nMETHOD:request');
  assert.equal(readCalendarObject(Buffer.from(text), { isMessage: true }).method, 'REQUEST');
});

test('values, parameters and escapes are read as they were meant', () => {
  const { master } = objectOf(
    String.raw`DTSTART;X-A="a;b:c,d";x-b=1,"2",3;X-C=say ^'yes^'^n^^:20261102T090000Z
      SUMMARY:one\, two\; three\\ four\nfive \q`,
  );
  assert.ok(master !== undefined);
  assert.equal(textOf(master, 'SUMMARY'), 'one, two; three\\ four\nfive \\q');
  const start = propertyOf(master, 'DTSTART');
  assert.ok(start !== undefined);
  assert.deepEqual(start.parameters, [
    { name: 'X-A', values: ['a;b:c,d'] },
    { name: 'X-B', values: ['1', '2', '3'] },
    { name: 'X-C', values: ['say "yes"\n^'] },
  ]);
  assert.equal(parameterOf(start, 'X-B'), '1');
});

test('offsets in a component cut its bytes out of the source', () => {
  const { master, source } = objectOf(`${EVENT}\nSUMMARY:grün`);
  assert.ok(master !== undefined);
  const cut = Buffer.from(source.slice(master.start, master.end), 'latin1').toString();
  assert.equal(cut, `BEGIN:VEVENT\r\nUID:series@example.org\r\n${EVENT}\r\nSUMMARY:grün\r\nEND:VEVENT\r\n`);
});

const NAME = fc.stringMatching(/^[A-Z][A-Z0-9-]{0,8}$/).filter((name) => name !== 'BEGIN' && name !== 'END');
// oxlint-disable-next-line no-control-regex -- Control characters cannot be written.
const VALUE = fc.string({ unit: 'grapheme', maxLength: 120 }).map((it) => it.replace(/[\u0000-\u001F\u007F]/g, ''));
const PROPERTY = fc
  .tuple(NAME, VALUE, fc.array(fc.tuple(NAME, VALUE), { maxLength: 3 }))
  .map(([name, value, parameters]) => makeProperty(name, value, parameters));
/** Components of at most so many levels. */
function componentOf(levels: number): fc.Arbitrary<Component> {
  const inner = levels === 1 ? fc.constant([]) : fc.array(componentOf(levels - 1), { maxLength: 2 });
  return fc
    .tuple(NAME, fc.array(PROPERTY, { maxLength: 5 }), inner)
    .map(([name, properties, components]) => makeComponent(name, properties, components));
}

/** What a component says, without where it stood. */
function saidBy({ name, properties, components }: Component): unknown {
  return [
    name,
    properties.map(({ name: property, parameters, value }) => [property, parameters, value]),
    components.map(saidBy),
  ];
}

test('what is written is read the same, whatever is in it, and no line is longer than 75 octets', () => {
  fc.assert(
    fc.property(fc.array(componentOf(3), { maxLength: 3 }), (components) => {
      const calendar = makeComponent('VCALENDAR', [], components);
      const text = writeComponent(calendar);
      for (const line of text.split('\r\n')) assert.ok(Buffer.byteLength(line) <= 75);
      const [back] = readComponents(sourceOf(Buffer.from(text)));
      assert.ok(back !== undefined);
      assert.deepEqual(saidBy(back), saidBy(calendar));
    }),
    { numRuns: 200 },
  );
});

const FULL = calendarText(
  'BEGIN:VTIMEZONE\nTZID:Mine\nBEGIN:STANDARD\nDTSTART:19701025T030000\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\nTZOFFSETFROM:+0200\nTZOFFSETTO:+005328\nEND:STANDARD\nEND:VTIMEZONE',
  'DTSTART;TZID=Mine:20261102T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=5\nEXDATE;TZID=Mine:20261109T090000\nATTENDEE;PARTSTAT=ACCEPTED;CN="A, B":mailto:a@example.org\nSUMMARY:grün',
  'RECURRENCE-ID:20261116T080000Z\nDTSTART:20261116T100000Z\nDTEND:20261116T110000Z',
);

test('a valid object that is cut, changed or spliced anywhere is read, or refused with a CalendarFault', () => {
  const bytes = Buffer.from(FULL);
  const window = { from: Date.parse('2026-01-01'), to: Date.parse('2027-01-01') };
  const attempt = (changed: Uint8Array) => {
    try {
      const object = readCalendarObject(changed);
      assert.ok(expand(object, window, { zone: 'UTC', most: 100 }).occurrences.length <= 100);
      indexOf(object, 'UTC');
    } catch (error) {
      assert.ok(error instanceof CalendarFault, String(error));
    }
  };
  for (let end = 0; end <= bytes.length; end += 1) attempt(bytes.subarray(0, end));
  const place = fc.nat(bytes.length - 1);
  fc.assert(
    fc.property(place, place, place, fc.uint8Array({ maxLength: 4 }), (from, length, to, inserted) => {
      const rest = Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + (length % 40))]);
      attempt(Buffer.concat([rest.subarray(0, to), inserted, rest.subarray(to)]));
    }),
    { numRuns: 2_000 },
  );
});

test('an import file is split by UID with the zones that each object names, and every fault has its line', () => {
  const stream = calendarText(
    'BEGIN:VTIMEZONE\nTZID:Mine\nEND:VTIMEZONE',
    'BEGIN:VEVENT\nUID:one\nDTSTART;TZID=Mine:20261102T090000\nRRULE:FREQ=DAILY\nEND:VEVENT',
    'BEGIN:VTODO\nUID:two\nSUMMARY:do\nEND:VTODO',
    'BEGIN:VEVENT\nUID:three\nSUMMARY:without a start\nEND:VEVENT',
    'BEGIN:VEVENT\nDTSTART:20261102T090000Z\nEND:VEVENT',
    'BEGIN:VEVENT\nUID:one\nRECURRENCE-ID;TZID=Mine:20261103T090000\nDTSTART;TZID=Mine:20261103T100000\nEND:VEVENT',
  ).replace('VERSION:2.0', 'VERSION:2.0\r\nMETHOD:PUBLISH');
  const { objects, faults } = readCalendarStream(Buffer.from(stream));
  assert.deepEqual(
    objects.map(({ uid, kind }) => [uid, kind]),
    [
      ['one', 'event'],
      ['two', 'todo'],
    ],
  );
  const [one, two] = objects.map(({ bytes }) => readCalendarObject(bytes));
  assert.deepEqual([one?.overrides.length, [...(one?.zones.keys() ?? [])], two?.zones.size], [1, ['Mine'], 0]);
  assert.deepEqual(
    faults.map(({ uid, fault }) => [uid, fault.precondition, fault.line]),
    [
      ['three', 'valid-calendar-data', 16],
      [undefined, 'valid-calendar-object-resource', 20],
    ],
  );
  assert.throws(() => readCalendarStream(Buffer.from('no calendar')), { precondition: 'valid-calendar-data' });
});

test('a calendar made here defines the zones that it names, under the names that it uses', () => {
  const event = makeComponent('VEVENT', [
    makeProperty('UID', '1'),
    makeProperty('DTSTART', '20261102T090000', [['TZID', 'US/Eastern']]),
  ]);
  const object = read(writeCalendar([event]));
  assert.deepEqual([...object.zones.keys()], ['US/Eastern']);
  assert.equal(object.zones.get('US/Eastern')?.components.length, 2);
  assert.equal(zoneDefinition('UTC'), undefined);
  assert.equal(zoneDefinition('Nowhere/Never'), undefined);
});

test('an object has so many lines and parameters, and one more of either is told with its line', () => {
  const { lines, parameters } = OBJECT_RICHNESS;
  // Seven lines stand around them: the calendar's own, the event's, UID and DTSTART.
  const filled = (line: string, count: number) =>
    ['BEGIN:VCALENDAR', 'VERSION:2.0', 'BEGIN:VEVENT', 'UID:1', 'DTSTART:20261121', ...Array<string>(count).fill(line)]
      .concat('END:VEVENT', 'END:VCALENDAR', '')
      .join('\n');
  assert.equal(read(filled('X:', lines - 7)).uid, '1');
  assert.throws(() => read(filled('X:', lines - 6)), { precondition: 'valid-calendar-data', line: lines + 1 });
  const four = 'X;A=1;B=2;C=3;D=4:';
  assert.equal(read(filled(four, parameters / 4)).uid, '1');
  assert.throws(() => read(filled(four, parameters / 4 + 1)), { precondition: 'valid-calendar-data' });
});

test('an import file is as large as allowed in bytes, items and lines, and one more is told', () => {
  assert.throws(() => readCalendarStream(new Uint8Array(MAX_STREAM_BYTES + 1)), { precondition: 'max-resource-size' });
  const todos = Array.from({ length: MAX_STREAM_OBJECTS + 1 }, (_, at) => `BEGIN:VTODO\nUID:${at}\nEND:VTODO\n`);
  const { objects, faults } = readCalendarStream(Buffer.from(`BEGIN:VCALENDAR\n${todos.join('')}END:VCALENDAR\n`));
  assert.equal(objects.length, MAX_STREAM_OBJECTS);
  assert.deepEqual(
    faults.map(({ uid, fault }) => [uid, fault.precondition]),
    [[String(MAX_STREAM_OBJECTS), 'max-resource-size']],
  );
  const lines = (count: number) => `BEGIN:VCALENDAR\n${'A:\n'.repeat(count - 2)}END:VCALENDAR\n`;
  assert.equal(readComponents(lines(MAX_CONTENT_LINES)).length, 1);
  assert.throws(() => readComponents(lines(MAX_CONTENT_LINES + 1)), { line: MAX_CONTENT_LINES + 1 });
});
