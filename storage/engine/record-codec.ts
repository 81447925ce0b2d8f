/**
 * How records are stored: a version byte, then MessagePack of the fields in their order, whose names would be half of each
 * record. A record is declared once by its fields; a field that came later stands behind the others, so that what was
 * stored before it is read without it.
 */
import { Packr } from 'msgpackr';

export interface Codec<T> {
  readonly encode: (record: T) => Buffer;
  readonly decode: (value: Buffer) => T;
}

/** The version of every record but those that say another one. */
export const RECORD_VERSION = 1;

// Plain maps and arrays: shared record structures would tie a value to a file written beside it.
const PACKERS = {
  /** What is undefined is stored as nil, and read as null. */
  nil: new Packr({ useRecords: false, encodeUndefinedAsNil: true }),
  /** What is undefined is stored and read as that, in objects within a record too. */
  undefined: new Packr({ useRecords: false }),
};
export type Absent = keyof typeof PACKERS;

/** A version byte, from 1 to 255, and MessagePack of a value. */
export function pack(value: unknown, absent: Absent = 'nil', version: number = RECORD_VERSION): Buffer {
  const packed = PACKERS[absent].pack(value);
  const buffer = Buffer.allocUnsafe(packed.length + 1);
  buffer[0] = version;
  packed.copy(buffer, 1);
  return buffer;
}

/** The value behind the version byte. @throws Error for a version that is not known; `noun` says of what. */
export function unpack(noun: string, value: Buffer): unknown {
  if (value[0] === RECORD_VERSION) return unpackAny(value);
  const article = /^[aeiou]/.test(noun) ? 'An' : 'A';
  throw new Error(`${article} ${noun} has version ${value[0]}; ${RECORD_VERSION} is known.`);
}

/** The value behind a version byte that somebody else judges. */
export function unpackAny(value: Buffer): unknown {
  return PACKERS.nil.unpack(value.subarray(1));
}

/** A field's name; with a question mark where nil is stored for undefined. */
type FieldOf<T> = (keyof T & string) | `${keyof T & string}?`;

export interface RecordForm<T> {
  readonly absent?: Absent;
  /** Fills in what records from before a field was added do not have. */
  readonly older?: (record: T) => void;
}

/** The codec of a record with these fields, in their order on disk. */
export function recordOf<T extends object>(
  noun: string,
  fields: readonly FieldOf<T>[],
  { absent = 'nil', older }: RecordForm<T> = {},
): Codec<T> {
  const names = fields.map((field) => field.replace('?', '') as keyof T & string);
  const isOptional = fields.map((field) => field.endsWith('?'));
  // Copied rather than begun empty: an object that has all its fields is filled in without changing its shape.
  const blank = Object.fromEntries(names.map((name) => [name, undefined]));
  return {
    encode: (record) =>
      pack(
        names.map((name) => record[name]),
        absent,
      ),
    decode(value) {
      const stored = unpack(noun, value) as unknown[];
      const record = { ...blank } as T;
      // By number: every read of a conversation comes by here, and an iterator doubled what it costs.
      for (let at = 0; at < names.length; at += 1) {
        const field = stored[at] as T[keyof T & string];
        record[names[at] as keyof T & string] =
          field === null && isOptional[at] === true ? (undefined as never) : field;
      }
      older?.(record);
      return record;
    },
  };
}
