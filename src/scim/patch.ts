/**
 * Changes of a resource by PATCH (RFC 7644, section 3.5.2), as clients send them: operations in any case, paths with or
 * without the URN of the schema, and, where there is no path, names such as `name.givenName` among the values.
 */
import type { Json } from '#src/base/json.ts';
import { Slices } from '#src/base/slices.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { NOWHERE, partOf, TEXT_LENGTH_MAX, type Attribute, type AttributeFinder } from './attributes.ts';
import { equalsOf, isObject, listOf, matches, readTarget, type Filter, type Resource, type Target } from './filter.ts';

export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** Operations of one request, each attribute of one without a path among them: clients send one for each attribute. [field_invalid] */
export const OPERATIONS_MAX = 1_000;

/**
 * Comparisons in the filters of one request that changes a person: each is made with every element of its attribute, within the
 * change of the accounts. Clients have one or two in an operation. So many took 4 ms of CPU, where 50,000 took 100. [field_invalid]
 */
export const COMPARISONS_MAX = 2_000;

/** Elements of one attribute of a person. [field_invalid] */
const ELEMENTS_MAX = 20;

const KINDS = ['add', 'remove', 'replace'] as const;

export interface Operation {
  readonly kind: (typeof KINDS)[number];
  readonly target: Exclude<Target, typeof NOWHERE>;
  /** Undefined where a removal names no values. */
  readonly value: Json | undefined;
}

/**
 * The operations of a request, one for each attribute; those that aim at what is not kept here are left out.
 * @throws Refusal `field_invalid`, `scim_path_invalid`, `scim_no_target` for a removal of nothing, `scim_read_only`.
 */
export async function readOperations(body: Json | undefined, finder: AttributeFinder): Promise<Operation[]> {
  if (!isObject(body) || !listOf(body['schemas']).includes(PATCH_SCHEMA)) {
    throw new Refusal('field_invalid', { field: 'schemas' });
  }
  const { Operations: operations } = body;
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > OPERATIONS_MAX) {
    throw new Refusal('field_invalid', { field: 'Operations' });
  }
  const slices = new Slices();
  const read: Operation[] = [];
  for (const [at, operation] of operations.entries()) {
    if (slices.isOver) await slices.pass();
    read.push(...readOperation(operation, `Operations.${at}`, finder));
    if (read.length > OPERATIONS_MAX) throw new Refusal('field_invalid', { field: 'Operations' });
  }
  return read;
}

function readOperation(operation: Json, field: string, finder: AttributeFinder): Operation[] {
  if (!isObject(operation)) throw new Refusal('field_invalid', { field });
  const { op, path, value } = operation;
  const kind = KINDS.find((each) => typeof op === 'string' && each === op.toLowerCase());
  if (kind === undefined) throw new Refusal('field_invalid', { field: `${field}.op` });
  if (kind !== 'remove' && value === undefined) throw new Refusal('field_invalid', { field: `${field}.value` });
  if (path !== undefined && path !== '') {
    if (typeof path !== 'string') throw new Refusal('scim_path_invalid');
    return aimed(kind, path, value, finder);
  }
  if (kind === 'remove') throw new Refusal('scim_no_target');
  if (!isObject(value)) throw new Refusal('field_invalid', { field: `${field}.value` });
  const named = Object.entries(value);
  if (named.length > OPERATIONS_MAX) throw new Refusal('field_invalid', { field: `${field}.value` });
  return named.flatMap(([name, each]) => {
    // An extension comes as an object under its URN, and what a client says of `schemas` says nothing new.
    if (name.toLowerCase() === 'schemas' || (isObject(each) && name.toLowerCase().startsWith('urn:'))) return [];
    return aimed(kind, name, each, finder);
  });
}

function aimed(kind: Operation['kind'], path: string, value: Json | undefined, finder: AttributeFinder): Operation[] {
  const target = readTarget(path, finder);
  if (target === NOWHERE) return [];
  if (target.attribute.isReadOnly === true || target.part?.isReadOnly === true) throw new Refusal('scim_read_only');
  return [{ kind, target, value }];
}

/**
 * The resource as it is after all operations, in their order.
 * @throws Refusal `scim_no_target` for elements that are not there, `field_invalid` for a value of another kind, or beyond
 * COMPARISONS_MAX.
 */
export function applyOperations(resource: Resource, operations: readonly Operation[]): Resource {
  const comparisons = operations.reduce((sum, { target }) => sum + comparisonsIn(target.among), 0);
  if (comparisons > COMPARISONS_MAX) throw new Refusal('field_invalid', { field: 'Operations' });
  return operations.reduce(applyOne, resource);
}

function comparisonsIn(filter: Filter | undefined): number {
  if (filter === undefined) return 0;
  if (filter.kind === 'and' || filter.kind === 'or') {
    return filter.terms.reduce((sum, term) => sum + comparisonsIn(term), 0);
  }
  return filter.kind === 'not' || filter.kind === 'some' ? comparisonsIn(filter.term) : 1;
}

function applyOne(resource: Resource, operation: Operation): Resource {
  const { attribute, part } = operation.target;
  const before = resource[attribute.name];
  const after =
    attribute.isMulti === true
      ? changedList(listOf(before), operation)
      : part === undefined
        ? changedValue(before, operation)
        : changedPart(isObject(before) ? before : {}, part, operation);
  const rest = Object.fromEntries(Object.entries(resource).filter(([name]) => name !== attribute.name));
  return after === undefined ? rest : { ...rest, [attribute.name]: after };
}

/** What stands under an attribute of one value. Null takes it away, as an empty list does (section 2.5 of RFC 7643). */
function changedValue(before: Json | undefined, { kind, target, value }: Operation): Json | undefined {
  if (kind === 'remove' || value === null || value === undefined) return undefined;
  if (target.attribute.type !== 'complex') return value;
  if (!isObject(value)) throw new Refusal('field_invalid', { field: target.attribute.name });
  return { ...(isObject(before) ? before : {}), ...partsIn(target.attribute, value) };
}

function changedPart(
  before: { [key: string]: Json },
  part: Attribute,
  { kind, value }: Operation,
): { [key: string]: Json } {
  if (kind !== 'remove' && value !== null && value !== undefined)
    return { ...before, [part.name]: simple(part, value) };
  return Object.fromEntries(Object.entries(before).filter(([name]) => name !== part.name));
}

function changedList(before: readonly Json[], operation: Operation): Json[] | undefined {
  const { kind, target, value } = operation;
  const { among, attribute, part } = target;
  if (among !== undefined || part !== undefined) return changedElements(before, operation);
  if (kind === 'remove') {
    // Clients name the values that go, where the standard would have a filter.
    if (value === undefined || value === null) return undefined;
    const gone = elementsIn(attribute, value);
    return before.filter((element) => !gone.some((each) => isSame(element, each)));
  }
  if (value === null || value === undefined) return kind === 'replace' ? undefined : [...before];
  const given = elementsIn(attribute, value);
  if (kind === 'replace') return given;
  const added = given.filter((each) => !before.some((element) => isSame(element, each)));
  return bounded(onePrimary(before, added), attribute);
}

/** Changes the elements that a filter means, or all of them. */
function changedElements(before: readonly Json[], operation: Operation): Json[] {
  const { kind, target, value } = operation;
  const { among, attribute, part } = target;
  const isMeant = (element: Json) => isObject(element) && (among === undefined || matches(among, element));
  if (kind === 'remove' && part === undefined) return before.filter((element) => !isMeant(element));
  if (before.some(isMeant)) {
    return before.map((element) => {
      if (!isObject(element) || !isMeant(element)) return element;
      if (part !== undefined) return changedPart(element, part, operation);
      if (!isObject(value)) throw new Refusal('field_invalid', { field: attribute.name });
      return { ...element, ...partsIn(attribute, value) };
    });
  }
  if (kind === 'remove') return [...before];
  return bounded([...before, newElement(among, operation)], attribute);
}

/**
 * The element that is made where none is of the type that a filter names: clients replace an address of work that
 * was never there. @throws Refusal `scim_no_target` for every other filter.
 */
function newElement(among: Filter | undefined, { target, value }: Operation): Json {
  const { attribute, part } = target;
  const [type, ...others] = (among === undefined ? undefined : equalsOf(among, 'type')) ?? [];
  const isOfType = among === undefined || (among.kind === 'compare' && type !== undefined && others.length === 0);
  if (!isOfType || value === undefined) throw new Refusal('scim_no_target');
  const made = type === undefined ? {} : { type };
  if (part !== undefined) return { ...made, [part.name]: simple(part, value) };
  if (!isObject(value)) throw new Refusal('field_invalid', { field: attribute.name });
  return { ...made, ...partsIn(attribute, value) };
}

function elementsIn(attribute: Attribute, value: Json): Json[] {
  const given = listOf(value).map((each) => {
    if (typeof each === 'string') return { value: simple(attribute, each) };
    if (!isObject(each)) throw new Refusal('field_invalid', { field: attribute.name });
    return partsIn(attribute, each);
  });
  return bounded(given, attribute);
}

/** The parts of a complex value that are kept, under the names that they have here. */
export function partsIn(attribute: Attribute, value: { readonly [key: string]: Json }): { [key: string]: Json } {
  const parts = Object.entries(value).flatMap(([name, each]): [string, Json][] => {
    const part = partOf(attribute, name);
    return part === undefined || each === null ? [] : [[part.name, simple(part, each)]];
  });
  return Object.fromEntries(parts);
}

/**
 * A part as it is kept: no list and no object, and no longer than any text. The filters of all later operations are held
 * against it within the change, before it is known whether the whole is right.
 */
function simple({ name }: Attribute, value: Json): Json {
  const isLong = typeof value === 'string' && value.length > TEXT_LENGTH_MAX;
  if (isLong || typeof value === 'object') throw new Refusal('field_invalid', { field: name });
  return value;
}

/** Two elements are one where what they hold and what for is the same. */
function isSame(one: Json, other: Json): boolean {
  if (!isObject(one) || !isObject(other)) return one === other;
  return one['value'] === other['value'] && (other['type'] === undefined || one['type'] === other['type']);
}

/** A new primary element takes the place of the one before (RFC 7643, section 2.4). */
function onePrimary(before: readonly Json[], added: readonly Json[]): Json[] {
  if (!added.some((element) => isObject(element) && element['primary'] === true)) return [...before, ...added];
  return [...before.map((element) => (isObject(element) ? { ...element, primary: false } : element)), ...added];
}

function bounded(elements: Json[], { name }: Attribute): Json[] {
  if (elements.length > ELEMENTS_MAX) throw new Refusal('field_invalid', { field: name });
  return elements;
}
