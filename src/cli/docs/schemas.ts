/** Turns the zod schemas of the protocol into JSON Schema with shared components, for both API documents. */
import { z } from 'zod';

/** A JSON Schema, or any part of a document made of JSON. */
export type JsonObject = { [key: string]: unknown };

/** `in` is what a client sends, `out` is what it reads. */
export type Direction = 'in' | 'out';

/**
 * Collects the named schemas (`.meta({ id })`) of everything converted, so that each stands once under
 * `components/schemas` and is referred to from everywhere else. A schema that is both sent and read may differ by
 * direction, since only a sender may not invent fields: what is read then stands under its name with `Shown` behind it.
 */
export class SchemaCollector {
  readonly #components = new Map<string, JsonObject>();

  /** The schema with references to components. Throws when one name would stand for two shapes in one direction. */
  convert(schema: z.ZodType, direction: Direction): JsonObject {
    const whole = z.toJSONSchema(schema, { io: direction === 'in' ? 'input' : 'output' });
    const { $schema: _, $defs: named = {}, ...root } = rewrite(whole, direction) as JsonObject;
    const shapes = named as Record<string, JsonObject>;
    const shown = direction === 'out' ? this.#differing(shapes) : new Set<string>();
    for (const [name, shape] of Object.entries(shapes)) {
      this.#add(shown.has(name) ? shownName(name) : name, referToShown(shape, shown));
    }
    return referToShown(root, shown);
  }

  /** The components met so far, by name. */
  components(): Record<string, JsonObject> {
    return Object.fromEntries([...this.#components].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Names that stand for another shape already, and those that refer to such a name. */
  #differing(shapes: Readonly<Record<string, JsonObject>>): Set<string> {
    const found = new Set<string>();
    for (let before = -1; before !== found.size;) {
      before = found.size;
      for (const [name, shape] of Object.entries(shapes)) {
        const known = this.#components.get(name);
        const isOther = known !== undefined && JSON.stringify(known) !== JSON.stringify(referToShown(shape, found));
        if (isOther) found.add(name);
      }
    }
    return found;
  }

  #add(name: string, shape: JsonObject): void {
    const known = this.#components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(shape)) {
      throw new Error(`The schema name ${name} stands for two different shapes.`);
    }
    this.#components.set(name, shape);
  }
}

const REFERENCE = '#/components/schemas/';

function shownName(name: string): string {
  return `${name}Shown`;
}

/** The shape with its references to these names turned to what is read under them. */
function referToShown(shape: JsonObject, names: ReadonlySet<string>): JsonObject {
  if (names.size === 0) return shape;
  return JSON.parse(JSON.stringify(shape), (key, value: unknown) => {
    const name = key === '$ref' && typeof value === 'string' ? value.slice(REFERENCE.length) : '';
    return names.has(name) ? `${REFERENCE}${shownName(name)}` : value;
  }) as JsonObject;
}

function rewrite(value: unknown, direction: Direction): unknown {
  if (Array.isArray(value)) return value.map((item) => rewrite(item, direction));
  if (typeof value !== 'object' || value === null) return value;
  const rewritten: JsonObject = {};
  for (const [key, inner] of Object.entries(value)) {
    // A reader ignores fields it does not know, so that the server may add some; only a sender may not invent any.
    if (key === 'additionalProperties' && inner === false && direction === 'out') continue;
    if (key === '$ref' && typeof inner === 'string') {
      rewritten[key] = inner.replace('#/$defs/', '#/components/schemas/');
    } else {
      rewritten[key] = rewrite(inner, direction);
    }
  }
  return rewritten;
}

/** Every `$ref` in a document that leads nowhere. */
export function danglingReferences(document: JsonObject): string[] {
  const dangling: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === '$ref' && typeof inner === 'string' && !resolves(document, inner)) dangling.push(inner);
      visit(inner);
    }
  };
  visit(document);
  return dangling;
}

function resolves(document: JsonObject, reference: string): boolean {
  if (!reference.startsWith('#/')) return false;
  let at: unknown = document;
  for (const part of reference.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as JsonObject)[key];
  }
  return true;
}
