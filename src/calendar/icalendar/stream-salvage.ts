/** Takes the items that cannot be read out of an import file, so that everything around them can be. */
import { CalendarFault } from './calendar-fault.ts';
import { readComponents } from './component-reader.ts';

/** An item of the file that could not be read. */
export interface BrokenItem {
  /** Where it begins in the file. */
  readonly start: number;
  readonly uid: string | undefined;
  readonly fault: CalendarFault;
}

/** Where components begin and end that stand directly in a calendar and never inside one another. */
const ITEM_LINE = /^(BEGIN|END):(VEVENT|VTODO|VJOURNAL|VTIMEZONE|VFREEBUSY)[ \t]*$/gim;

/** Items that cannot be read; a file with more is none. */
const MAX_BROKEN_ITEMS = 20_000;

interface OpenItem {
  readonly name: string;
  readonly start: number;
  readonly line: number;
}

/**
 * The file with its broken items blanked out, line by line, so that every other place in it stays where it was. A file
 * that ends too early is ended. Throws CalendarFault where more than MAX_BROKEN_ITEMS are broken.
 */
export function salvage(source: string): { readonly source: string; readonly broken: readonly BrokenItem[] } {
  const broken: BrokenItem[] = [];
  const parts: string[] = [];
  let kept = 0;
  const drop = ({ start, line }: Omit<OpenItem, 'name'>, end: number, fault: CalendarFault) => {
    if (broken.length >= MAX_BROKEN_ITEMS) throw fault;
    const text = source.slice(start, end);
    const uid = /^UID[^:\r\n]*:(.*)$/im.exec(text)?.[1]?.trim();
    const message = fault.message.replace(/^Line \d+: /, '');
    // The wrapper that it was read in is one line.
    const at = fault.line === undefined ? line : line + Math.max(0, fault.line - 2);
    broken.push({ start, uid, fault: new CalendarFault(fault.precondition, message, at) });
    parts.push(source.slice(kept, start), blanked(text));
    kept = end;
  };
  const count = lineCounter(source);
  let open: OpenItem | undefined;
  for (const match of source.matchAll(ITEM_LINE)) {
    const [text, word = '', name = ''] = match;
    const here = { name: name.toUpperCase(), start: match.index, line: count(match.index) };
    if (word.toUpperCase() === 'BEGIN') {
      if (open !== undefined) drop(open, here.start, unended(open));
      open = here;
    } else if (open?.name === here.name) {
      const end = here.start + text.length;
      const fault = faultOf(source.slice(open.start, end));
      if (fault !== undefined) drop(open, end, fault);
      open = undefined;
    } else if (open === undefined) {
      drop(here, here.start + text.length, unended(here));
    }
  }
  if (open !== undefined) {
    const end = source.toUpperCase().indexOf('END:VCALENDAR', open.start);
    drop(open, end === -1 ? source.length : end, unended(open));
  }
  const text = [...parts, source.slice(kept)].join('');
  const [begun, ended] = [/^BEGIN:VCALENDAR[ \t]*$/gim, /^END:VCALENDAR[ \t]*$/gim].map((it) => text.match(it)?.length);
  return { source: (ended ?? 0) < (begun ?? 0) ? `${text}\r\nEND:VCALENDAR\r\n` : text, broken };
}

function faultOf(item: string): CalendarFault | undefined {
  try {
    readComponents(`BEGIN:VCALENDAR\r\n${item}\r\nEND:VCALENDAR\r\n`);
    return undefined;
  } catch (error) {
    if (error instanceof CalendarFault) return error;
    throw error;
  }
}

function unended({ name }: OpenItem | { readonly name?: string }): CalendarFault {
  return new CalendarFault('valid-calendar-data', `${name ?? 'a component'} has no BEGIN or no END`);
}

/** Lines that say nothing, each as long as it was. */
function blanked(text: string): string {
  return text.replace(/[^\r\n]+/g, (line) => (line.length < 2 ? ' ' : `X:${'x'.repeat(line.length - 2)}`));
}

/** Counts lines up to places that only go forward. */
function lineCounter(source: string): (place: number) => number {
  const ends = /\r\n|\n|\r/g;
  let line = 1;
  let next = ends.exec(source);
  return (place) => {
    while (next !== null && next.index < place) {
      line += 1;
      next = ends.exec(source);
    }
    return line;
  };
}
