/**
 * Answers of the console's API in which every text that the route leaves open is hostile: drawn from the route's own statement, so
 * that a field which is added to an answer is among them without a word.
 */
import { z } from 'zod';
import type { Json } from '#src/base/json.ts';
import { consoleRoutes, CONSOLE_PREFIX } from '#src/console/route-table.ts';

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
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

/** Deeper than any answer; a schema that is made of itself ends here. */
const DEPTH_MAX = 12;
const INSTANT = '2026-11-22T10:00:00Z';
/** Fields that have an instant: one that is none is not shown, and so no attack. */
const IS_INSTANT = /(?:_at|_since|_seen|_until|_after)$|^(?:at|time|since|guest_until|renewable_until)$/;
/** Values for texts whose form is bound; the first that fits. */
const BOUND = [
  'someone',
  'grp_0000000000000000000000',
  'someone@example.org',
  'https://example.org/',
  '1.0.0',
  'a',
  '',
];

/** What a route of the console answers where all that others wrote is `word`; undefined where there is no such route. */
export function hostileAnswer(
  method: string,
  url: string,
  word: string,
): { readonly path: string; readonly body: Json } | undefined {
  const path = new URL(url).pathname.slice(CONSOLE_PREFIX.length);
  const found = consoleRoutes().find(
    ({ route }) =>
      route.method === method.toLowerCase() && new RegExp(`^${route.path.replaceAll(/:\w+/g, '[^/]+')}$`).test(path),
  );
  const schema = found?.route.replies[200];
  if (found === undefined || schema === undefined || schema === null) return undefined;
  const root = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as Schema;
  const body = new Drawing(root, word).value(root, '', 0);
  // An answer has one page: whatever `next` may be, the screen would ask for more without end.
  const isPage = typeof body === 'object' && body !== null && 'next' in body;
  return { path: found.route.path, body: isPage ? { ...body, next: null } : body };
}

class Drawing {
  readonly #root: Schema;
  readonly #word: string;

  constructor(root: Schema, word: string) {
    this.#root = root;
    this.#word = word;
  }

  value(schema: Schema, name: string, depth: number): Json {
    if (depth > DEPTH_MAX) return null;
    if (schema.$ref !== undefined) {
      return this.value(this.#root.$defs?.[schema.$ref.replace('#/$defs/', '')] ?? this.#root, name, depth + 1);
    }
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return schema.enum[0] ?? null;
    const several = schema.anyOf ?? schema.oneOf;
    if (several !== undefined) {
      // What is there says more than what is not.
      return this.value(several.find(({ type }) => type !== 'null') ?? {}, name, depth + 1);
    }
    if (schema.allOf !== undefined) {
      return Object.assign({}, ...schema.allOf.map((each) => this.value(each, name, depth + 1))) as Json;
    }
    return this.#plain(schema, name, depth);
  }

  #plain(schema: Schema, name: string, depth: number): Json {
    const { items = {}, minimum = 0, prefixItems } = schema;
    switch (schema.type) {
      case 'boolean':
        return true;
      case 'integer':
      case 'number':
        return Math.max(1, minimum);
      case 'string':
        return this.#text(schema, name);
      case 'array':
        return (prefixItems ?? [items]).map((item) => this.value(item, name, depth + 1));
      case 'object':
        return this.#object(schema, depth);
      default:
        // Anything may stand here: details of the trail, fields of a line of the log.
        return this.#word;
    }
  }

  #text({ format, maxLength = Number.POSITIVE_INFINITY, pattern = '' }: Schema, name: string): string {
    if (IS_INSTANT.test(name)) return INSTANT;
    const fits = (text: string) => new RegExp(pattern, 'u').test(text);
    const cut = this.#word.slice(0, maxLength).toWellFormed();
    if (fits(cut) && (format === undefined || format === 'uri')) return cut;
    return BOUND.find(fits) ?? cut;
  }

  #object({ additionalProperties, properties = {}, propertyNames = {} }: Schema, depth: number): Json {
    const fixed = Object.entries(properties).map(([key, inner]): [string, Json] => [
      key,
      this.value(inner, key, depth + 1),
    ]);
    if (typeof additionalProperties !== 'object') return Object.fromEntries(fixed);
    const key = this.value({ type: 'string', ...propertyNames }, '', depth + 1);
    return Object.fromEntries([
      ...fixed,
      [typeof key === 'string' ? key : 'a', this.value(additionalProperties, '', depth + 1)],
    ]);
  }
}
