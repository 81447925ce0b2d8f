/**
 * Format 3: what people use is counted. Rooms by whoever made them, in the lane's `meta`; entries and bytes of calendars
 * by their owner, in the calendar file's `meta`, and the bytes of each calendar in its record; bytes uploaded on a day by
 * all people together. Each count is worked out from what is there and written over what was, so that a second run changes
 * nothing. Messages are counted by the day, from the first one on.
 *
 * The layouts are written out here as they were then, since the records know the newest only.
 */
import { existsSync } from 'node:fs';
import { Packr } from 'msgpackr';
import { Environment, mapBytesOf, type Table } from './environment.ts';
import { folderPaths, lanePath, type Manifest } from './folder.ts';

const RECORD_VERSION = 1;
const NUMBER_BYTES = 6;
/** Rows read at a time, so that no transaction stays open for long. */
const ROWS_AT_ONCE = 1_000;
/** Values of a conversation's record. */
const [KIND, CREATED_BY, DELETED] = [1, 4, 12];
/** Values of a calendar's record; its bytes are new and stand behind the others. */
const [OWNER, SUBSCRIBED, BYTES] = [1, 16, 17];
const OBJECT_BYTES = 11;

const packr = new Packr({ useRecords: false });
const unpack = (value: Buffer): unknown[] => packr.unpack(value.subarray(1)) as unknown[];
const pack = (values: readonly unknown[]): Buffer => Buffer.concat([Buffer.of(RECORD_VERSION), packr.pack(values)]);

export async function countUses(folder: string, { lanes }: Manifest): Promise<void> {
  for (let lane = 0; lane < lanes; lane += 1) {
    await withFile(lanePath(folder, lane), ['conversations', 'meta'], countRooms);
  }
  const { attachments, calendar } = folderPaths(folder);
  await withFile(attachments, ['uploaded'], countUploads);
  await withFile(calendar, ['calendars', 'objects', 'meta'], countCalendars);
}

async function withFile<Name extends string>(
  path: string,
  names: readonly Name[],
  work: (environment: Environment<Name>) => void,
): Promise<void> {
  if (!existsSync(path)) return;
  const environment = new Environment(path, names, { mapBytes: mapBytesOf(path) });
  try {
    work(environment);
  } finally {
    await environment.close();
  }
}

function countRooms(environment: Environment<'conversations' | 'meta'>): void {
  const { conversations, meta } = environment.tables;
  const rooms = new Map<string, number>();
  for (const { value } of rowsOf(conversations)) {
    const values = unpack(value);
    if (values[KIND] !== 'room' || values[DELETED] === true) continue;
    for (const who of [values[CREATED_BY] as string, '']) rooms.set(who, (rooms.get(who) ?? 0) + 1);
  }
  environment.transact(() => {
    for (const [who, count] of rooms) void meta.put(Buffer.from(`rooms\0${who}`), numbers(count));
  });
}

/** The day stands behind the name; all people together have the empty one. */
function countUploads(environment: Environment<'uploaded'>): void {
  const { uploaded } = environment.tables;
  const days = new Map<string, number>();
  for (const { key, value } of rowsOf(uploaded)) {
    const day = key.toString('latin1', key.length - NUMBER_BYTES);
    const isSum = key.length === 1 + NUMBER_BYTES;
    if (!isSum) days.set(day, (days.get(day) ?? 0) + value.readUIntBE(0, NUMBER_BYTES));
  }
  environment.transact(() => {
    for (const [day, bytes] of days) void uploaded.put(Buffer.from(`\0${day}`, 'latin1'), numbers(bytes));
  });
}

function countCalendars(environment: Environment<'calendars' | 'objects' | 'meta'>): void {
  const { calendars, meta, objects } = environment.tables;
  const bytesOf = new Map<string, { entries: number; bytes: number }>();
  for (const { key, value } of rowsOf(objects)) {
    add(bytesOf, key.toString('latin1', 0, key.indexOf(0)), 1, unpack(value)[OBJECT_BYTES] as number);
  }
  const uses = new Map<string, { entries: number; bytes: number }>();
  const records: [Buffer, Buffer][] = [];
  for (const { key, value } of rowsOf(calendars)) {
    const { entries, bytes } = bytesOf.get(key.toString()) ?? { entries: 0, bytes: 0 };
    const values = unpack(value);
    const owner = values[OWNER] as string;
    // A calendar from before there were subscriptions says nothing of them.
    const before = Array.from({ length: BYTES }, (_, at) => values[at]);
    records.push([key, pack([...before, bytes])]);
    if (values[SUBSCRIBED] === true || entries === 0) continue;
    add(uses, owner, entries, bytes);
    add(uses, '', entries, bytes);
  }
  environment.transact(() => {
    for (const [key, record] of records) void calendars.put(key, record);
    for (const [who, { entries, bytes }] of uses) void meta.put(Buffer.from(`usage\0${who}`), numbers(entries, bytes));
  });
}

function add(
  sums: Map<string, { entries: number; bytes: number }>,
  name: string,
  entries: number,
  bytes: number,
): void {
  const sum = sums.get(name) ?? { entries: 0, bytes: 0 };
  sums.set(name, { entries: sum.entries + entries, bytes: sum.bytes + bytes });
}

/** All rows of a table, some at a time. */
function* rowsOf(table: Table): Generator<{ readonly key: Buffer; readonly value: Buffer }> {
  for (let start = Buffer.of(0); ;) {
    const some = [...table.getRange({ start, limit: ROWS_AT_ONCE })].map(({ key, value }) => ({
      key: Buffer.from(key),
      value: Buffer.from(value),
    }));
    yield* some;
    const last = some.at(-1);
    if (last === undefined) return;
    start = Buffer.concat([last.key, Buffer.of(0)]);
  }
}

function numbers(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(values.length * NUMBER_BYTES);
  values.forEach((value, at) => buffer.writeUIntBE(value, at * NUMBER_BYTES, NUMBER_BYTES));
  return buffer;
}
