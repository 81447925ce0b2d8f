/** The log: JSON lines of level, time, thread, msg and fields, without secrets, on an output that never blocks. */
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { LineBuffer, type WriteLines, WRITE_BYTES_MAX, writeStandardOutput } from './line-buffer.ts';
import { safeFields, safeText, TEXT_LENGTH_MAX } from './log-fields.ts';

const LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LEVELS)[number];

/** Fields of a line. An Error under any name is written with its message and stack. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Fields of ours that a caller's may not replace; such a one is written with `_` behind its name. */
const OWN_FIELDS: readonly string[] = ['level', 'time', 'thread', 'msg'];

/** What remains of each text where a line is too long. A message alone then fits one write however it is escaped. */
const SHORT_TEXT_LENGTH = 200;

export interface LogOptions {
  /** Lines below this level are not written. */
  readonly level: LogLevel;
  readonly thread: string;
  readonly clock: Clock;
  /** Where the lines go: standard output unless a test wants them. */
  readonly write?: WriteLines;
  /** Called with every line that is written, for whoever keeps the last of them. */
  readonly keep?: ((line: string, level: LogLevel) => void) | undefined;
}

export class Log {
  readonly #rank: number;
  readonly #thread: string;
  readonly #clock: Clock;
  readonly #lines: LineBuffer;
  readonly #keep: ((line: string, level: LogLevel) => void) | undefined;

  constructor({ level, thread, clock, write = writeStandardOutput, keep }: LogOptions) {
    this.#rank = LEVELS.indexOf(level);
    this.#thread = thread;
    this.#clock = clock;
    this.#keep = keep;
    this.#lines = new LineBuffer(write, (count) => this.#line('warn', 'log lines were dropped', { dropped: count }));
  }

  /** Something failed that should not have. */
  error(msg: string, fields?: LogFields): void {
    this.#log('error', msg, fields);
  }

  /** Something an operator should look at before it fails. */
  warn(msg: string, fields?: LogFields): void {
    this.#log('warn', msg, fields);
  }

  /** Something that happens a few times a day. */
  info(msg: string, fields?: LogFields): void {
    this.#log('info', msg, fields);
  }

  /** What a developer wants to see. */
  debug(msg: string, fields?: LogFields): void {
    this.#log('debug', msg, fields);
  }

  /** Lines that the output did not take, since the beginning. */
  get droppedLines(): number {
    return this.#lines.dropped;
  }

  /** Before the process ends: resolves to true when all lines are out, to false when not within the time given. */
  drained(deadlineMillis: number): Promise<boolean> {
    return this.#lines.drained(deadlineMillis);
  }

  #log(level: LogLevel, msg: string, fields: LogFields = {}): void {
    if (LEVELS.indexOf(level) > this.#rank) return;
    const line = this.#line(level, msg, fields);
    this.#lines.add(line);
    this.#keep?.(line, level);
  }

  #line(level: LogLevel, msg: string, fields: LogFields): string {
    const time = formatInstant(this.#clock.now());
    // A line longer than one write is tried again with short texts, and at the last without its fields.
    let line = '';
    for (const [fieldsOfTry, lengthMax] of [
      [fields, TEXT_LENGTH_MAX],
      [fields, SHORT_TEXT_LENGTH],
      [{ cut: true }, SHORT_TEXT_LENGTH],
    ] as const) {
      const safe = safeFields(fieldsOfTry, lengthMax).map(([key, value]) => [
        OWN_FIELDS.includes(key) ? `${key}_` : key,
        value,
      ]);
      line = `${JSON.stringify({ level, time, thread: this.#thread, msg: safeText(msg, lengthMax), ...Object.fromEntries(safe) })}\n`;
      if (Buffer.byteLength(line) <= WRITE_BYTES_MAX) break;
    }
    return line;
  }
}
