/** The tree of components and properties of an iCalendar text (RFC 5545), with the place of each in its bytes. */

/** A parameter of a property: `TZID`, `PARTSTAT`. */
export interface Parameter {
  /** In upper case. */
  readonly name: string;
  /** Decoded, without quotes. Several values of one parameter (`MEMBER="a","b"`) are several items. */
  readonly values: readonly string[];
}

/** One content line. */
export interface Property {
  /** In upper case. */
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** As written after the colon, unfolded and not unescaped: `textOf` reads it as text. */
  readonly value: string;
  /** The number of its line in the source, from 1; 0 for what was never read. */
  readonly line: number;
  /** Byte offsets in the source of the whole line with its folds and its end of line; both 0 for what was never read. */
  readonly start: number;
  readonly end: number;
}

/** What stands between a `BEGIN` and its `END`. */
export interface Component {
  /** In upper case: `VCALENDAR`, `VEVENT`, `VALARM`. */
  readonly name: string;
  readonly properties: readonly Property[];
  readonly components: readonly Component[];
  readonly line: number;
  /** Byte offsets in the source of the `BEGIN` line's first byte and of the byte after the `END` line. */
  readonly start: number;
  readonly end: number;
}

/** The first property of that name, which is written in upper case. */
export function propertyOf(component: Component, name: string): Property | undefined {
  return component.properties.find((property) => property.name === name);
}

/** Every property of that name, in the order of the text. */
export function propertiesOf(component: Component, name: string): Property[] {
  return component.properties.filter((property) => property.name === name);
}

/** The first value of the parameter of that name, which is written in upper case. */
export function parameterOf(property: Property, name: string): string | undefined {
  return property.parameters.find((parameter) => parameter.name === name)?.values[0];
}

/** The value of the first property of that name read as text; undefined where there is none. */
export function textOf(component: Component, name: string): string | undefined {
  const property = propertyOf(component, name);
  return property === undefined ? undefined : unescapeText(property.value);
}

/** A TEXT value (RFC 5545, 3.3.11) with its escapes undone. A lone backslash stays, as many writers mean it. */
export function unescapeText(value: string): string {
  if (!value.includes('\\')) return value;
  // One native pass for each escape: half a megabyte of them costs a call for each otherwise. NUL, which no line may
  // have, keeps the place of the escaped backslash.
  return value
    .replaceAll(String.raw`\\`, '\0')
    .replaceAll(/\\n/gi, '\n')
    .replaceAll(String.raw`\;`, ';')
    .replaceAll(String.raw`\,`, ',')
    .replaceAll('\0', '\\');
}

/** The text as a TEXT value: backslash, semicolon, comma and line ends escaped. */
export function escapeText(text: string): string {
  return text.replace(/[\\;,]/g, String.raw`\$&`).replace(/\r\n|\r|\n/g, String.raw`\n`);
}

/** A property made here, of `[name, value]` parameters and a value that is escaped already where it is a text. */
export function makeProperty(
  name: string,
  value: string,
  parameters: readonly (readonly [name: string, value: string])[] = [],
): Property {
  return {
    name,
    value,
    parameters: parameters.map(([parameter, text]) => ({ name: parameter, values: [text] })),
    line: 0,
    start: 0,
    end: 0,
  };
}

/** A component made here. */
export function makeComponent(
  name: string,
  properties: readonly Property[],
  components: readonly Component[] = [],
): Component {
  return { name, properties, components, line: 0, start: 0, end: 0 };
}
