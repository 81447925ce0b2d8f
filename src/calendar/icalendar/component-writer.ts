/** Writes components as iCalendar text: escaped, folded, with CRLF. */
import { type Component, type Parameter, type Property } from './component.ts';

/** Octets of a line without its end (RFC 5545, 3.1). */
export const MAX_LINE_OCTETS = 75;

/** A component with all that is in it, each line ended by CRLF. */
export function writeComponent(component: Component): string {
  const lines: string[] = [];
  collect(component, lines);
  return lines.join('');
}

/** One content line, folded and ended by CRLF. */
export function writeProperty({ name, parameters, value }: Property): string {
  // A raw value has no line ends: they would begin a line of somebody else's making.
  return fold(`${name}${parameters.map(writeParameter).join('')}:${value.replace(/[\r\n]+/g, ' ')}`);
}

function collect(component: Component, lines: string[]): void {
  lines.push(`BEGIN:${component.name}\r\n`);
  for (const property of component.properties) lines.push(writeProperty(property));
  for (const inner of component.components) collect(inner, lines);
  lines.push(`END:${component.name}\r\n`);
}

/** RFC 6868 writes what quotes cannot hold; control characters have no way to be written and are left out. */
function writeParameter({ name, values }: Parameter): string {
  const written = values.map((value) => {
    const coded = value
      .replace(/\^/g, '^^')
      .replace(/\r\n|\r|\n/g, '^n')
      .replace(/"/g, "^'")
      // oxlint-disable-next-line no-control-regex -- They are what is left out.
      .replace(/[\u0000-\u0008\u000B-\u001F\u007F]/g, '');
    return /[:;,]/.test(coded) ? `"${coded}"` : coded;
  });
  return `;${name}=${written.join(',')}`;
}

/** Breaks a line so that none has more than 75 octets, never inside a character. */
function fold(line: string): string {
  if (line.length <= MAX_LINE_OCTETS / 3 || Buffer.byteLength(line) <= MAX_LINE_OCTETS) return `${line}\r\n`;
  const parts: string[] = [];
  let part = '';
  let octets = 0;
  for (const character of line) {
    const size = octetsOf(character);
    if (octets + size > MAX_LINE_OCTETS) {
      parts.push(part);
      [part, octets] = ['', 1];
    }
    part += character;
    octets += size;
  }
  return `${[...parts, part].join('\r\n ')}\r\n`;
}

function octetsOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x1_00_00 ? 3 : 4;
}
