/**
 * Filters of RFC 7644 (section 3.4.2.2): read, bounded, and held against resources.
 *
 *     filter := term { ("and" | "or") term }      "and" binds closer
 *     term   := path operator value | path "pr" | "not" "(" filter ")" | "(" filter ")"
 *             | path "[" filter "]" [ "." part operator value ]
 */
import type { Json } from '#src/base/json.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { NOWHERE, partOf, type Attribute, type AttributeFinder, type AttributePath } from './attributes.ts';

/** Characters of one filter: some twenty comparisons of addresses. [scim_filter_invalid] */
export const FILTER_LENGTH_MAX = 2_000;
/** Comparisons in one filter: each is made for every resource that is looked through. [scim_filter_invalid] */
export const FILTER_TERMS_MAX = 50;
/** Brackets within one another. [scim_filter_invalid] */
export const FILTER_DEPTH_MAX = 10;

const OPERATORS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
type Operator = (typeof OPERATORS)[number];
type Value = string | number | boolean | null;

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Filter[] }
  | { readonly kind: 'not'; readonly term: Filter }
  /** An element of the attribute for which the term holds. */
  | { readonly kind: 'some'; readonly attribute: Attribute; readonly term: Filter }
  | { readonly kind: 'present'; readonly path: AttributePath | typeof NOWHERE }
  | {
      readonly kind: 'compare';
      readonly path: AttributePath | typeof NOWHERE;
      readonly operator: Operator;
      readonly value: Value;
    };

/** A resource, or an element of one of its attributes. */
export type Resource = { readonly [name: string]: Json };

/** What the names in a filter may mean. */
type Scope = (name: string) => AttributePath | typeof NOWHERE | undefined;

/** Brackets, texts as JSON writes them, and everything between: each alternative begins with another character. */
const TOKEN = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/y;

/** @throws Refusal `scim_filter_invalid` for what is none or beyond its bounds. */
export function readFilter(text: string, finder: AttributeFinder): Filter {
  return new FilterReader(text).read((name) => finder.find(name));
}

/**
 * Where a change of RFC 7644 (section 3.5.2) aims: an attribute, some of its elements, a part of it; `NOWHERE` for what
 * is not kept here.
 */
export type Target = typeof NOWHERE | (AttributePath & { readonly among: Filter | undefined });

/** @throws Refusal `scim_path_invalid`. */
export function readTarget(text: string, finder: AttributeFinder): Target {
  try {
    return new FilterReader(text).readTarget((name) => finder.find(name));
  } catch (error) {
    if (error instanceof Refusal) throw new Refusal('scim_path_invalid');
    throw error;
  }
}

class FilterReader {
  readonly #tokens: string[] = [];
  #at = 0;
  #terms = 0;
  #depth = 0;

  constructor(text: string) {
    if (text.length > FILTER_LENGTH_MAX) throw new Refusal('scim_filter_invalid');
    const pattern = new RegExp(TOKEN);
    const whole = text.trimEnd();
    while (pattern.lastIndex < whole.length) {
      const found = pattern.exec(whole);
      if (found === null) throw new Refusal('scim_filter_invalid');
      this.#tokens.push(found[1] ?? found[2] ?? found[3] ?? '');
    }
  }

  read(scope: Scope): Filter {
    const filter = this.#either(scope);
    if (this.#at < this.#tokens.length) throw new Refusal('scim_filter_invalid');
    return filter;
  }

  readTarget(scope: Scope): Target {
    const path = scope(this.#next());
    if (path === undefined) throw new Refusal('scim_filter_invalid');
    let among: Filter | undefined;
    let part = path === NOWHERE ? undefined : path.part;
    if (this.#takes('[')) {
      if (path !== NOWHERE && (path.attribute.isMulti !== true || part !== undefined)) {
        throw new Refusal('scim_filter_invalid');
      }
      among = this.#either(elementsOf(path));
      this.#expect(']');
      if (this.#at < this.#tokens.length) {
        const found = elementsOf(path)(this.#afterDot());
        if (found === undefined) throw new Refusal('scim_filter_invalid');
        part = found === NOWHERE ? undefined : found.attribute;
        if (found === NOWHERE) return NOWHERE;
      }
    }
    if (this.#at < this.#tokens.length) throw new Refusal('scim_filter_invalid');
    return path === NOWHERE ? NOWHERE : { attribute: path.attribute, part, among };
  }

  #either(scope: Scope): Filter {
    const terms = [this.#both(scope)];
    while (this.#takes('or')) terms.push(this.#both(scope));
    return terms.length === 1 && terms[0] !== undefined ? terms[0] : { kind: 'or', terms };
  }

  #both(scope: Scope): Filter {
    const terms = [this.#term(scope)];
    while (this.#takes('and')) terms.push(this.#term(scope));
    return terms.length === 1 && terms[0] !== undefined ? terms[0] : { kind: 'and', terms };
  }

  #term(scope: Scope): Filter {
    if (this.#takes('not')) {
      this.#expect('(');
      return { kind: 'not', term: this.#within(')', scope) };
    }
    if (this.#takes('(')) return this.#within(')', scope);
    const path = scope(this.#next());
    if (path === undefined) throw new Refusal('scim_filter_invalid');
    if (!this.#takes('[')) return this.#comparison(path);
    if (path !== NOWHERE && (path.attribute.isMulti !== true || path.part !== undefined)) {
      throw new Refusal('scim_filter_invalid');
    }
    const elements = elementsOf(path);
    const inner = this.#within(']', elements);
    const term = this.#peek()?.startsWith('.') === true ? this.#alsoPart(inner, elements) : inner;
    // Nobody has what is not kept.
    return path === NOWHERE ? { kind: 'present', path } : { kind: 'some', attribute: path.attribute, term };
  }

  /** `emails[type eq "work"].value eq "…"`: what was read holds, and so does the comparison, of one element. */
  #alsoPart(inner: Filter, elements: Scope): Filter {
    const part = elements(this.#afterDot());
    if (part === undefined) throw new Refusal('scim_filter_invalid');
    return { kind: 'and', terms: [inner, this.#comparison(part)] };
  }

  #within(end: ')' | ']', scope: Scope): Filter {
    this.#depth += 1;
    if (this.#depth > FILTER_DEPTH_MAX) throw new Refusal('scim_filter_invalid');
    const filter = this.#either(scope);
    this.#expect(end);
    this.#depth -= 1;
    return filter;
  }

  #comparison(path: AttributePath | typeof NOWHERE): Filter {
    this.#terms += 1;
    if (this.#terms > FILTER_TERMS_MAX) throw new Refusal('scim_filter_invalid');
    const word = this.#next().toLowerCase();
    if (word === 'pr') return { kind: 'present', path };
    const operator = OPERATORS.find((each) => each === word);
    if (operator === undefined) throw new Refusal('scim_filter_invalid');
    const value = readValue(this.#next());
    if (!isComparable(path, operator, value)) throw new Refusal('scim_filter_invalid');
    return { kind: 'compare', path, operator, value };
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #next(): string {
    const token = this.#peek();
    if (token === undefined) throw new Refusal('scim_filter_invalid');
    this.#at += 1;
    return token;
  }

  #takes(word: string): boolean {
    if (this.#peek()?.toLowerCase() !== word) return false;
    this.#at += 1;
    return true;
  }

  #expect(word: string): void {
    if (!this.#takes(word)) throw new Refusal('scim_filter_invalid');
  }

  #afterDot(): string {
    const word = this.#next();
    if (!word.startsWith('.')) throw new Refusal('scim_filter_invalid');
    return word.slice(1);
  }
}

/** Within brackets the parts of the attribute stand as if they were attributes themselves. */
function elementsOf(path: AttributePath | typeof NOWHERE): Scope {
  if (path === NOWHERE) return () => NOWHERE;
  return (name) => {
    const part = partOf(path.attribute, name);
    return part === undefined ? undefined : { attribute: part, part: undefined };
  };
}

function readValue(text: string): Value {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as Value;
  } catch {
    // Some clients write True and False.
    if (/^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  }
  throw new Refusal('scim_filter_invalid');
}

/** Parts of texts are looked for in texts, and of truths and of nothing none is greater (section 3.4.2.2). */
function isComparable(path: AttributePath | typeof NOWHERE, operator: Operator, value: Value): boolean {
  if (operator === 'eq' || operator === 'ne') return true;
  if (['co', 'sw', 'ew'].includes(operator)) return typeof value === 'string';
  const isTruth = path !== NOWHERE && comparedOf(path).type === 'boolean';
  return !isTruth && (typeof value === 'string' || typeof value === 'number');
}

/** The attribute whose values are compared: of a complex one without a part, its `value`. */
function comparedOf({ attribute, part }: AttributePath): Attribute {
  return part ?? partOf(attribute, 'value') ?? attribute;
}

/** Whether a resource is one that the filter means. */
export function matches(filter: Filter, resource: Resource): boolean {
  if (filter.kind === 'not') return !matches(filter.term, resource);
  if (filter.kind === 'present') return valuesAt(filter.path, resource).some((value) => value !== null && value !== '');
  if (filter.kind === 'compare') return holds(filter, valuesAt(filter.path, resource));
  if (filter.kind === 'some') {
    const elements = listOf(resource[filter.attribute.name]);
    return elements.some((element) => isObject(element) && matches(filter.term, element));
  }
  if (filter.kind === 'and') return filter.terms.every((term) => matches(term, resource));
  return filter.terms.some((term) => matches(term, resource));
}

function holds({ operator, path, value }: Filter & { kind: 'compare' }, found: readonly Json[]): boolean {
  const attribute = path === NOWHERE ? undefined : comparedOf(path);
  if (operator === 'ne') return !holds({ kind: 'compare', path, operator: 'eq', value }, found);
  if (value === null) return found.every((each) => each === null);
  const wanted = comparable(value, attribute);
  return found.some((each) => compares(operator, comparable(each, attribute), wanted));
}

function compares(operator: Operator, one: Json, other: Json): boolean {
  if (operator === 'eq' || operator === 'ne') return one === other;
  if (typeof one === 'number' && typeof other === 'number') return isOrdered(operator, one - other);
  if (typeof one !== 'string' || typeof other !== 'string') return false;
  if (operator === 'co') return one.includes(other);
  if (operator === 'sw') return one.startsWith(other);
  if (operator === 'ew') return one.endsWith(other);
  return isOrdered(operator, one < other ? -1 : Number(one > other));
}

function isOrdered(operator: Operator, sign: number): boolean {
  if (operator === 'gt') return sign > 0;
  if (operator === 'ge') return sign >= 0;
  return operator === 'lt' ? sign < 0 : sign <= 0;
}

/** Instants as milliseconds, so that two ways to write one are one; texts without their case where it does not count. */
function comparable(value: Json, attribute: Attribute | undefined): Json {
  if (typeof value !== 'string') return value;
  if (attribute?.type === 'dateTime') {
    const at = Date.parse(value);
    return Number.isNaN(at) ? value : at;
  }
  if (attribute?.type === 'boolean' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  return attribute?.isCaseExact === true ? value : value.toLowerCase();
}

/** All values that a path leads to. */
export function valuesAt(path: AttributePath | typeof NOWHERE, resource: Resource): readonly Json[] {
  if (path === NOWHERE) return [];
  const part = path.part ?? (path.attribute.type === 'complex' ? comparedOf(path) : undefined);
  const found = listOf(resource[path.attribute.name]);
  if (part === undefined) return found;
  if (part === path.attribute) return found;
  return found.flatMap((element) => (isObject(element) ? listOf(element[part.name]) : []));
}

/** The texts to which a filter holds an attribute equal: one of them is the value wherever the filter matches. */
export function equalsOf(filter: Filter, name: string, part?: string): readonly string[] | undefined {
  if (filter.kind === 'compare') {
    const { operator, path, value } = filter;
    const isMeant =
      path !== NOWHERE && path.attribute.name === name && (path.part?.name ?? part) === part && operator === 'eq';
    return isMeant && typeof value === 'string' ? [value] : undefined;
  }
  if (filter.kind === 'some') {
    return filter.attribute.name === name && part !== undefined ? equalsOf(filter.term, part) : undefined;
  }
  if (filter.kind === 'and') {
    return filter.terms.map((term) => equalsOf(term, name, part)).find((found) => found !== undefined);
  }
  if (filter.kind !== 'or') return undefined;
  const found = filter.terms.map((term) => equalsOf(term, name, part));
  return found.every((each) => each !== undefined) ? found.flat() : undefined;
}

/** The elements of a list; a value alone is a list of one, nothing is none. */
export function listOf(value: Json | undefined): readonly Json[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

export function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
