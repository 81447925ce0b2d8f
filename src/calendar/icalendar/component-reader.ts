/** Reads iCalendar bytes into a tree, in one pass, within limits, keeping the place of everything in the bytes. */
import { CalendarFault } from './calendar-fault.ts';
import { type Component, type Parameter, type Property } from './component.ts';

/** Components inside components: VCALENDAR, VEVENT, VALARM is three; no standard goes deeper than four. */
export const MAX_COMPONENT_DEPTH = 8;

/** Content lines of one text: what an import file of 16 MiB of events has at the very most. */
export const MAX_CONTENT_LINES = 1_000_000;
/** Parameters of one text, all lines together. */
const MAX_TEXT_PARAMETERS = 2_000_000;

/** How rich a text may be; its cost follows lines and parameters, not bytes. */
export interface RichnessLimits {
  readonly lines: number;
  readonly parameters: number;
}

/** Parameters of one property; RFC 5545 defines fewer than twenty, and each is looked through by name. */
export const MAX_PARAMETERS = 64;

const NAME = /[A-Za-z0-9-]+/y;
/** A value of a parameter: quoted, or free of quotes and separators. A lone quote inside is met and let stand. */
const PARAMETER_VALUE = /"([^"]*)"|([^;:,]*)/y;
const CARET = { n: '\n', "'": '"', '^': '^' } as const;

interface OpenComponent extends Component {
  readonly properties: Property[];
  readonly components: Component[];
  end: number;
}

/** A content line without its folds. */
interface ContentLine {
  readonly text: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

/** The bytes as one character per byte, so that an offset in the text is an offset in the bytes. */
export function sourceOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** The bytes of a source. */
export function bytesOf(source: string): Uint8Array {
  return Buffer.from(source, 'latin1');
}

/** The VCALENDARs of a text, most often one; throws CalendarFault `valid-calendar-data` with the line. */
export function readComponents(
  source: string,
  limits: RichnessLimits = { lines: MAX_CONTENT_LINES, parameters: MAX_TEXT_PARAMETERS },
): Component[] {
  const roots: Component[] = [];
  const open: OpenComponent[] = [];
  let count = 0;
  let parameters = 0;
  for (const line of contentLines(source)) {
    count += 1;
    if (count > limits.lines) throw fault(`there are more than ${limits.lines} content lines`, line.line);
    const property = readProperty(line);
    parameters += property.parameters.length;
    if (parameters > limits.parameters) throw fault(`there are more than ${limits.parameters} parameters`, line.line);
    if (property.name === 'BEGIN') {
      open.push(opened(property, open));
      continue;
    }
    const current = open.at(-1);
    if (current === undefined) throw fault('this is not iCalendar: BEGIN:VCALENDAR is expected', line.line);
    if (property.name !== 'END') {
      current.properties.push(property);
      continue;
    }
    const name = property.value.trim().toUpperCase();
    if (name !== current.name) throw fault(`END:${clip(name)} does not end the open ${current.name}`, line.line);
    current.end = property.end;
    open.pop();
    (open.at(-1)?.components ?? roots).push(current);
  }
  const unended = open.at(-1);
  if (unended !== undefined) throw fault(`${unended.name} has no END`, unended.line);
  if (roots.length === 0) throw fault('this is not iCalendar: BEGIN:VCALENDAR is expected', 1);
  return roots;
}

function opened(begin: Property, open: readonly OpenComponent[]): OpenComponent {
  const name = begin.value.trim().toUpperCase();
  if (open.length === 0 && name !== 'VCALENDAR')
    throw fault('this is not iCalendar: BEGIN:VCALENDAR is expected', begin.line);
  if (!/^[A-Z0-9-]+$/.test(name)) throw fault('a component has no proper name', begin.line);
  if (open.length >= MAX_COMPONENT_DEPTH) throw fault(`components nest deeper than ${MAX_COMPONENT_DEPTH}`, begin.line);
  return { name, properties: [], components: [], line: begin.line, start: begin.start, end: begin.end };
}

/** Lines end in CRLF, LF or CR; a line that begins with a space or a tab continues the one before it. */
function* contentLines(source: string): Generator<ContentLine> {
  const ends = /\r\n|\n|\r|$/g;
  let at = source.startsWith('\u00EF\u00BB\u00BF') ? 3 : 0;
  let line = 1;
  while (at < source.length) {
    const start = at;
    const first = line;
    const parts: string[] = [];
    do {
      ends.lastIndex = at;
      const stop = ends.exec(source)?.index ?? source.length;
      parts.push(source.slice(parts.length === 0 ? at : at + 1, stop));
      at = source.charCodeAt(stop) === 13 && source.charCodeAt(stop + 1) === 10 ? stop + 2 : stop + 1;
      line += 1;
    } while (source[at] === ' ' || source[at] === '\t');
    at = Math.min(at, source.length);
    const text = parts.length === 1 ? (parts[0] ?? '') : parts.join('');
    // Blank lines stand for nothing; writers leave them between components and at the end.
    if (text.trim() !== '') yield { text: decoded(text, first), line: first, start, end: at };
  }
}

/** Unfolded first and decoded then: a fold may stand inside a character of several bytes (RFC 5545, 3.1). */
function decoded(text: string, line: number): string {
  // oxlint-disable-next-line no-control-regex -- These bytes are what it looks for.
  if (!/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u0080-\u00FF]/.test(text)) return text;
  if (text.includes('\0')) throw fault('a line has a NUL', line);
  return Buffer.from(text, 'latin1').toString('utf8');
}

function readProperty({ text, line, start, end }: ContentLine): Property {
  NAME.lastIndex = 0;
  const name = NAME.exec(text)?.[0];
  if (name === undefined) throw fault('a line begins without a property name', line);
  let at = name.length;
  // Grouped properties (`item1.NAME`) belong to vCard and are not met in calendars.
  const parameters: Parameter[] = [];
  while (text[at] === ';') {
    if (parameters.length >= MAX_PARAMETERS)
      throw fault(`${clip(name)} has more than ${MAX_PARAMETERS} parameters`, line);
    NAME.lastIndex = at + 1;
    const parameter = NAME.exec(text)?.[0];
    if (parameter === undefined || text[at + 1 + parameter.length] !== '=')
      throw fault(`a parameter of ${clip(name)} has no name or no value`, line);
    at += 1 + parameter.length;
    const values: string[] = [];
    do {
      PARAMETER_VALUE.lastIndex = at + 1;
      const match = PARAMETER_VALUE.exec(text);
      values.push(uncaret(match?.[1] ?? match?.[2] ?? ''));
      at = PARAMETER_VALUE.lastIndex;
    } while (text[at] === ',');
    parameters.push({ name: parameter.toUpperCase(), values });
  }
  if (text[at] !== ':') throw fault(`${clip(name)} has no value`, line);
  return { name: name.toUpperCase(), parameters, value: text.slice(at + 1), line, start, end };
}

/** RFC 6868: `^n`, `^'` and `^^` in the value of a parameter. */
function uncaret(value: string): string {
  return value.includes('^') ? value.replace(/\^([n'^])/g, (_, it: keyof typeof CARET) => CARET[it]) : value;
}

function clip(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function fault(message: string, line: number): CalendarFault {
  return new CalendarFault('valid-calendar-data', message, line);
}
