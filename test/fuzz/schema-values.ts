/** Values that a zod schema takes, or nearly: drawn from its JSON Schema, so that a new route is fuzzed without a word. */
import { z } from 'zod';
import type { Json } from '#src/base/json.ts';
import type { SeededRandom } from '#test/support/random.ts';

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

/** What answers of the server have had under each name: ids, names, cursors. */
export class Harvest {
  readonly #byName = new Map<string, Set<string>>();

  /** Keeps the texts of an answer. */
  take(value: unknown, name = ''): void {
    if (typeof value === 'string' && value.length > 0 && value.length < 300) {
      const known = this.#byName.get(name) ?? new Set<string>();
      if (known.size < PER_NAME_MAX) this.#byName.set(name, known.add(value));
    } else if (Array.isArray(value)) {
      for (const item of value.slice(0, PER_NAME_MAX)) this.take(item, name);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) this.take(inner, key);
    }
  }

  /** One of them. A parameter or field is looked up by its own name, by that of the thing it names, then among all ids. */
  draw(name: string, random: SeededRandom): string | undefined {
    const known = [name, `${name}_id`, name.replace(/_id$|s$/, ''), 'id'].map((key) => this.#byName.get(key));
    const found = known.find((texts) => texts !== undefined && (texts.size > 1 || random.chance(0.7)));
    return found === undefined ? undefined : random.pick([...found]);
  }
}

const PER_NAME_MAX = 40;
/** Deeper than any body; a schema that is made of itself ends here. */
const DEPTH_MAX = 6;
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  'date-time': ['2026-11-22T10:00:00Z', '2027-02-28T23:59:59.5Z'],
  date: ['2026-11-22'],
  email: ['somebody@example.org'],
  uri: ['https://example.org/hook', 'http://127.0.0.1:9/'],
};
const TEXTS = [
  'a text',
  'someone',
  'Europe/Berlin',
  '2026-11-22T10:00:00Z',
  'https://example.org/',
  '+49 30 1234',
  'x',
];

/** A value for a schema; `name` is the field's, by which what was harvested is found. */
export function drawFrom(schema: z.ZodType, harvest: Harvest, random: SeededRandom): Json {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;
  return new Drawing(root, harvest, random).value(root, '', 0);
}

class Drawing {
  readonly #root: Schema;
  readonly #harvest: Harvest;
  readonly #random: SeededRandom;

  constructor(root: Schema, harvest: Harvest, random: SeededRandom) {
    this.#root = root;
    this.#harvest = harvest;
    this.#random = random;
  }

  value(schema: Schema, name: string, depth: number): Json {
    if (depth > DEPTH_MAX) return null;
    if (schema.$ref !== undefined) {
      const target = this.#root.$defs?.[schema.$ref.replace('#/$defs/', '')] ?? this.#root;
      return this.value(target, name, depth + 1);
    }
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return this.#random.pick(schema.enum);
    const several = schema.anyOf ?? schema.oneOf;
    if (several !== undefined) return this.value(this.#random.pick(several), name, depth + 1);
    if (schema.allOf !== undefined) return this.#all(schema.allOf, name, depth);
    return this.#plain(schema, name, depth);
  }

  #all(schemas: readonly Schema[], name: string, depth: number): Json {
    const values = schemas.map((schema) => this.value(schema, name, depth + 1));
    const isObject = (value: Json) => typeof value === 'object' && value !== null && !Array.isArray(value);
    return values.every(isObject) ? (Object.assign({}, ...values) as Json) : (values[0] ?? null);
  }

  #plain(schema: Schema, name: string, depth: number): Json {
    switch (schema.type) {
      case 'boolean':
        return this.#random.chance(0.5);
      case 'integer':
      case 'number':
        return this.#number(schema);
      case 'string':
        return this.#text(schema, name);
      case 'array':
        return this.#array(schema, name, depth);
      case 'object':
        return this.#object(schema, depth);
      default:
        return null;
    }
  }

  #number({ exclusiveMinimum, maximum = 1_000, minimum }: Schema): number {
    const least = minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + 1);
    const most = Math.max(least, Math.min(maximum, least + 1_000));
    return this.#random.chance(0.2) ? least : this.#random.whole(Math.ceil(least), Math.floor(most));
  }

  #text({ format = '', minLength = 0, pattern }: Schema, name: string): string {
    const random = this.#random;
    const known = this.#harvest.draw(name, random);
    if (known !== undefined && random.chance(0.7)) return known;
    const fitting =
      FORMATS[format] ?? TEXTS.filter((text) => pattern === undefined || new RegExp(pattern, 'u').test(text));
    return random.pick(fitting.length === 0 ? TEXTS : fitting).padEnd(Math.min(minLength, 1_000), 'x');
  }

  #array({ items = {}, minItems = 0, prefixItems }: Schema, name: string, depth: number): Json[] {
    if (prefixItems !== undefined) return prefixItems.map((item) => this.value(item, name, depth + 1));
    const length = Math.max(minItems, this.#random.whole(0, 2));
    return Array.from({ length }, () => this.value(items, name, depth + 1));
  }

  #object({ additionalProperties, properties = {}, propertyNames = {}, required = [] }: Schema, depth: number): Json {
    const kept = Object.entries(properties).filter(([key]) => required.includes(key) || this.#random.chance(0.5));
    const fixed = kept.map(([key, inner]): [string, Json] => [key, this.value(inner, key, depth + 1)]);
    const more =
      typeof additionalProperties === 'object' && this.#random.chance(0.7) ? additionalProperties : undefined;
    const drawn = this.value({ type: 'string', ...propertyNames }, '', depth + 1);
    const key = typeof drawn === 'string' ? drawn : 'x';
    return Object.fromEntries([...fixed, ...(more === undefined ? [] : [[key, this.value(more, key, depth + 1)]])]);
  }
}
