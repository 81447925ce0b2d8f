/** Turns the zod schemas of the protocol into JSON Schema with shared components, for both API documents. */
import { z } from 'zod';

/** A JSON Schema, or any part of a document made of JSON. */
export type JsonObject = { [key: string]: unknown };

/** `in` is what a client sends, `out` is what it reads. */
export type Direction = 'in' | 'out';

/**
 * Collects the named schemas (`.meta({ id })`) of everything converted, so that each stands once under
 * `components/schemas` and is referred to from everywhere else.
 */
export class SchemaCollector {
  readonly #components = new Map<string, JsonObject>();

  /** The schema with references to components. Throws when one name would stand for two shapes. */
  convert(schema: z.ZodType, direction: Direction): JsonObject {
    const whole = z.toJSONSchema(schema, { io: direction === 'in' ? 'input' : 'output' });
    const { $schema: _, $defs: named = {}, ...root } = rewrite(whole, direction) as JsonObject;
    for (const [name, shape] of Object.entries(named as Record<string, JsonObject>)) this.#add(name, shape);
    return root;
  }

  /** The components met so far, by name. */
  components(): Record<string, JsonObject> {
    return Object.fromEntries([...this.#components].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  #add(name: string, shape: JsonObject): void {
    const known = this.#components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(shape)) {
      throw new Error(`The schema name ${name} stands for two different shapes.`);
    }
    this.#components.set(name, shape);
  }
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
