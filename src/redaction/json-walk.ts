/** JSON values walked by their structure, so that no field is forgotten when an answer grows. */
import type { KeyClass } from './keys.ts';
import { marker } from './spans.ts';

/** What the walk asks of the engine. */
export interface ValueRules {
  classOf(key: string): KeyClass;
  /** A string under a key of a class. */
  string(text: string, keyClass: KeyClass): string;
  /** A number under a key of a class: itself, or what takes its place. */
  number(value: number, keyClass: KeyClass): number | string;
}

/** Deeper values are replaced as a whole; `JSON.parse` of a hostile text goes deeper than a stack does. */
export const DEPTH_MAX = 64;

/** Classes that everything below a key belongs to. */
export const INHERITED: ReadonlySet<KeyClass> = new Set<KeyClass>([
  'password',
  'secret',
  'authorization',
  'cookie',
  'text',
  'phone',
]);

/** Classes of names that say less than the key they stand below. */
const WEAK: ReadonlySet<KeyClass> = new Set<KeyClass>(['none', 'id', 'audit', 'pair-name', 'pair-value', 'people']);

/** A copy of a JSON value without what is personal. */
export function walkValue(rules: ValueRules, value: unknown, outerClass: KeyClass, depth = 0): unknown {
  const keyClass = outerClass === 'people' ? (Array.isArray(value) ? 'user' : 'none') : outerClass;
  if (typeof value === 'string') return walkString(rules, value, keyClass, depth);
  if (typeof value === 'number' || typeof value === 'bigint') return rules.number(Number(value), keyClass);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return marker('text');
  if (Array.isArray(value)) return walkArray(rules, value, keyClass, depth);
  if (value instanceof Date) return value.toJSON();
  const entries: [string, unknown][] = [];
  const names = new Set<string>();
  const paired = pairedClass(rules, value as Readonly<Record<string, unknown>>);
  for (const [key, inner] of Object.entries(value)) {
    const said = rules.classOf(key);
    const own = said === 'pair-value' ? paired : said === 'pair-name' ? 'none' : said;
    const name = freeName(rules.string(key, 'none'), names);
    names.add(name);
    entries.push([name, walkValue(rules, inner, innerClass(own, keyClass, key), depth + 1)]);
  }
  return Object.fromEntries(entries);
}

/** What the name of a pair says of the value beside it: `{"name": "DB_PASSWORD", "value": "…"}`. */
function pairedClass(rules: ValueRules, entries: Readonly<Record<string, unknown>>): KeyClass {
  for (const [key, name] of Object.entries(entries)) {
    const isPatched = key === 'path' && Object.hasOwn(entries, 'op');
    if (typeof name !== 'string' || !(isPatched || /^name$/i.test(key) || rules.classOf(key) === 'pair-name')) continue;
    const keyClass = rules.classOf(isPatched ? name.slice(name.lastIndexOf('/') + 1) : name);
    if (!WEAK.has(keyClass)) return keyClass;
  }
  return 'none';
}

/** The class of a value by its own key and by the class of what it is in. */
export function innerClass(own: KeyClass, outer: KeyClass, key: string): KeyClass {
  if (INHERITED.has(outer) && WEAK.has(own)) return outer;
  // `{"sender": {"name": "alice"}}`: the name of whoever the outer key names.
  return outer === 'user' && (key === 'name' || key === 'id' || key === 'title') ? 'user' : own;
}

/** Two keys that read alike afterwards stay two. */
function freeName(name: string, names: ReadonlySet<string>): string {
  if (!names.has(name)) return name;
  for (let number = 2; ; number += 1) if (!names.has(`${name} (${number})`)) return `${name} (${number})`;
}

/** A copy of a list; a list of bytes is read as the text that it holds. */
export function walkArray(rules: ValueRules, values: readonly unknown[], keyClass: KeyClass, depth: number): unknown {
  if (
    values.length > 3 &&
    values.every((value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255)
  ) {
    // journald writes a message that is no UTF-8 as an array of bytes.
    const text = Buffer.from(values as number[]).toString('utf8');
    const clean = rules.string(text, keyClass);
    return clean === text ? values : [...Buffer.from(clean)];
  }
  return values.map((value) => walkValue(rules, value, keyClass, depth + 1));
}

/** A string; one that holds JSON is walked by its structure. */
export function walkString(rules: ValueRules, text: string, keyClass: KeyClass, depth: number): string {
  if (keyClass === 'none' && depth < DEPTH_MAX && isJsonText(text)) {
    const parsed = parse(text);
    if (parsed !== undefined) {
      const walked = JSON.stringify(walkValue(rules, parsed, 'none', depth + 1));
      // Unchanged text keeps its own spelling.
      return walked === JSON.stringify(parsed) ? text : walked;
    }
  }
  return rules.string(text, keyClass);
}

function isJsonText(text: string): boolean {
  const first = text.charCodeAt(0);
  const last = text.charCodeAt(text.length - 1);
  return (first === 123 && last === 125) || (first === 91 && last === 93 && text.length > 2);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
