/** What is left of a file that cannot be read as a whole (CAL-02). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCalendarStream, MAX_STREAM_OBJECTS } from '#src/calendar/icalendar/stream-reader.ts';

const good = (uid: string) => `BEGIN:VEVENT\r\nUID:${uid}\r\nDTSTART:20261123T090000Z\r\nSUMMARY:ü\r\nEND:VEVENT\r\n`;
const broken = 'BEGIN:VEVENT\nBAD\nEND:VEVENT\n';

function read(text: string) {
  const { objects, faults } = readCalendarStream(Buffer.from(text));
  return {
    objects: objects.map(({ index, line, uid }) => [index, line, uid]),
    faults: faults.map(({ index, uid, fault }) => [index, uid, fault.line]),
  };
}

test('CAL-02 a file that breaks off, that has items inside items, or ends without beginnings gives what can be read', () => {
  const whole = `BEGIN:VCALENDAR\r\n${good('a')}${good('b')}END:VCALENDAR\r\n`;
  assert.deepEqual(read(whole.slice(0, -60)), { objects: [[0, 2, 'a']], faults: [[1, 'b', 7]] });
  assert.deepEqual(read(whole.slice(0, -'END:VCALENDAR\r\n'.length)).objects.length, 2);
  const nested = whole.replace('SUMMARY:ü\r\nEND:VEVENT\r\n', 'SUMMARY:ü\r\n');
  assert.deepEqual(read(nested), { objects: [[1, 6, 'b']], faults: [[0, 'a', 2]] });
  const stray = whole.replace('BEGIN:VEVENT\r\nUID:b', 'END:VEVENT\r\nBEGIN:VEVENT\r\nUID:b');
  assert.deepEqual(read(stray), {
    objects: [
      [0, 2, 'a'],
      [2, 8, 'b'],
    ],
    faults: [[1, undefined, 7]],
  });
  // The bytes of what is read are those of the file, whatever stood around them.
  const [first] = readCalendarStream(Buffer.from(stray)).objects;
  assert.ok(first !== undefined && Buffer.from(first.bytes).includes(good('a')));
});

test('CAL-02 so many broken items are told, and a file with one more is none', () => {
  const text = (count: number) => `BEGIN:VCALENDAR\n${broken.repeat(count)}${good('a')}END:VCALENDAR\n`;
  const { objects, faults } = readCalendarStream(Buffer.from(text(MAX_STREAM_OBJECTS - 1)));
  assert.deepEqual([objects.length, faults.length], [1, MAX_STREAM_OBJECTS - 1]);
  assert.throws(() => readCalendarStream(Buffer.from(text(MAX_STREAM_OBJECTS + 1))), {
    precondition: 'valid-calendar-data',
  });
});
