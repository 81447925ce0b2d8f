/**
 * The last lines of the server's log, kept in memory so that the console can show them: those of the main thread at
 * every level that is written, those of the shards from `warn` up. They are gone with the process; the log itself is
 * on standard output.
 */

/**
 * Lines kept. A line has 4 KiB at most, so full of the longest it is 8 MiB; of ordinary lines, half a MiB. Beyond it
 * the oldest goes, and `forgotten` says how many went.
 */
export const RECENT_LINES_MAX = 2_000;

/** A line of the log, read back from its JSON. */
export interface RecentLine {
  /** From 1 up in the order in which the main thread got them. */
  readonly number: number;
  readonly level: string;
  /** RFC 3339. */
  readonly time: string;
  readonly thread: string;
  readonly msg: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface LineFilter {
  /** Only lines before this one. */
  readonly before?: number | undefined;
  readonly levels?: readonly string[] | undefined;
  /** What the line's JSON holds, whatever the case of its letters. */
  readonly text?: string | undefined;
  /** Only lines written at this instant or later: RFC 3339 in UTC with milliseconds, as the lines have it. */
  readonly since?: string | undefined;
  readonly limit: number;
}

export interface RecentPage {
  readonly items: RecentLine[];
  /** Where the rest starts; null where there is none. */
  readonly next: number | null;
}

/** What a reader is shown of lines: as many of them, with their numbers, in their order. */
export type ShowLines = (lines: readonly RecentLine[]) => Promise<readonly RecentLine[]>;

/** Lines shown at a time: of ordinary ones 13 ms of the redactor’s thread (2 busy cores, 2026-11-22). */
const SHOWN_STEP = 200;

export class RecentLines {
  /** A ring: the line of number n lies at n modulo its length. */
  readonly #lines: string[] = [];
  readonly #max: number;
  #last = 0;

  constructor(max = RECENT_LINES_MAX) {
    this.#max = max;
  }

  /** Takes a line as the log wrote it. */
  add(line: string): void {
    this.#last += 1;
    this.#lines[this.#last % this.#max] = line;
  }

  /** Lines that went to make room, since the process started. */
  get forgotten(): number {
    return Math.max(0, this.#last - this.#max);
  }

  /**
   * As `read`, for somebody who is not shown lines as they are: the filter is held against what `show` makes of them,
   * and nothing else is answered, so that nobody finds a line by what is kept from them (VND-16).
   */
  async readShown({ before, limit, ...filter }: LineFilter, show: ShowLines): Promise<RecentPage> {
    const items: RecentLine[] = [];
    for (let end = Math.min(this.#last + 1, before ?? Infinity); end > this.forgotten + 1;) {
      const numbers = Array.from({ length: Math.min(SHOWN_STEP, end - 1 - this.forgotten) }, (_, at) => end - 1 - at);
      const lines = numbers.map((number) => readLine(number, this.#lines[number % this.#max] as string));
      for (const line of await show(lines)) {
        if (!isWanted(line, JSON.stringify(line), filter)) continue;
        if (items.length === limit) return { items, next: line.number + 1 };
        items.push(line);
      }
      end -= numbers.length;
    }
    return { items, next: null };
  }

  /** The newest lines that pass the filter, from the newest back; `next` is where the rest starts, or null. */
  read({ before, limit, ...filter }: LineFilter): RecentPage {
    const items: RecentLine[] = [];
    for (let at = Math.min(this.#last, (before ?? Infinity) - 1); at > this.forgotten; at -= 1) {
      const json = this.#lines[at % this.#max] as string;
      const line = readLine(at, json);
      if (!isWanted(line, json, filter)) continue;
      // One more than asked for is there: the page ends and names it.
      if (items.length === limit) return { items, next: at + 1 };
      items.push(line);
    }
    return { items, next: null };
  }
}

/** @param json the line's text that is searched. */
function isWanted(
  line: RecentLine,
  json: string,
  { levels, since, text }: Omit<LineFilter, 'before' | 'limit'>,
): boolean {
  if (levels !== undefined && !levels.includes(line.level)) return false;
  if (since !== undefined && line.time < since) return false;
  return text === undefined || json.toLowerCase().includes(text.toLowerCase());
}

function readLine(number: number, json: string): RecentLine {
  const { level, time, thread, msg, ...fields } = JSON.parse(json) as Omit<RecentLine, 'number' | 'fields'>;
  return { number, level, time, thread, msg, fields: { ...fields } };
}
