/** How SCIM answers: errors in its form beside the code of this server, resources cut to what was asked for. */
import type { Json } from '#src/base/json.ts';
import type { ErrorCode } from '#src/protocol/errors.ts';
import { NOWHERE, type AttributeFinder } from './attributes.ts';
import { isObject, listOf, type Resource } from './filter.ts';

export const SCIM_MEDIA_TYPE = 'application/scim+json; charset=utf-8';

const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** The kinds of fault that clients of SCIM tell apart (RFC 7644, table 9). */
const SCIM_TYPES: Partial<Record<ErrorCode, string>> = {
  body_invalid_json: 'invalidSyntax',
  body_invalid_utf8: 'invalidSyntax',
  field_invalid: 'invalidValue',
  group_name_taken: 'uniqueness',
  query_invalid: 'invalidValue',
  scim_filter_invalid: 'invalidFilter',
  scim_no_target: 'noTarget',
  scim_path_invalid: 'invalidPath',
  scim_read_only: 'mutability',
  scim_too_many: 'tooMany',
  username_taken: 'uniqueness',
};

/** Statuses that RFC 7644 has for what the rest of this server answers otherwise. */
const SCIM_STATUSES: Partial<Record<ErrorCode, number>> = {
  scim_not_supported: 501,
  scim_version_mismatch: 412,
};

/** The codes that have a meaning in SCIM alone: its own routes stand in no table of this server's. */
export const SCIM_ERRORS: readonly string[] = Object.keys({ ...SCIM_TYPES, ...SCIM_STATUSES });

/** A refusal of this server in the form of SCIM; `status` is that of the answer, which may become another one. */
export function scimError(
  body: { readonly code: ErrorCode; readonly error: string; readonly field?: string },
  status: number,
): { readonly status: number; readonly body: Record<string, unknown> } {
  const answered = SCIM_STATUSES[body.code] ?? status;
  const type = SCIM_TYPES[body.code];
  const detail = body.field === undefined ? body.error : `${body.error} (${body.field})`;
  const form = { schemas: [ERROR_SCHEMA], status: String(answered), ...(type === undefined ? {} : { scimType: type }) };
  return { status: answered, body: { ...form, detail, ...body } };
}

/** Which attributes an answer has: all but some, or some and what no answer is without. */
export interface Projection {
  readonly isWanted: (attribute: string, part?: string) => boolean;
  /** Attributes of which parts were named: every other one is sent as a whole, or not at all. */
  readonly parted: ReadonlySet<string>;
  /** Whether attributes were named, so that there has to be an answer with them. */
  readonly isNamed: boolean;
}

/** Names that mean nothing here name nothing; `attributes` counts before `excludedAttributes` (section 3.9). */
export function readProjection(query: { readonly [name: string]: Json }, finder: AttributeFinder): Projection {
  const named = namesIn(query['attributes'], finder);
  const excluded = namesIn(query['excludedAttributes'], finder);
  const isAlways = (attribute: string) => attribute === 'id' || attribute === 'schemas';
  const isWanted = (attribute: string, part?: string) => {
    if (isAlways(attribute)) return true;
    const whole = part === undefined ? attribute : `${attribute}.${part}`;
    if (named === undefined) return excluded?.has(attribute) !== true && excluded?.has(whole) !== true;
    if (named.has(attribute) || named.has(whole)) return true;
    return part === undefined && [...named].some((name) => name.startsWith(`${attribute}.`));
  };
  const parts = [...(named ?? []), ...(excluded ?? [])].filter((name) => name.includes('.'));
  const parted = new Set(parts.map((name) => name.slice(0, name.indexOf('.'))));
  return { isWanted, parted, isNamed: named !== undefined };
}

function namesIn(value: Json | undefined, finder: AttributeFinder): ReadonlySet<string> | undefined {
  if (value === undefined || value === '') return undefined;
  const names = listOf(value).flatMap((each) => (typeof each === 'string' ? each.split(',') : []));
  const found = names.flatMap((name) => {
    const path = finder.find(name.trim());
    if (path === undefined || path === NOWHERE) return [];
    return [path.part === undefined ? path.attribute.name : `${path.attribute.name}.${path.part.name}`];
  });
  return new Set(found);
}

export function project(resource: Resource, { isWanted, parted }: Projection): Resource {
  const kept = Object.entries(resource).flatMap(([name, value]): [string, Json][] => {
    if (!isWanted(name)) return [];
    if (!parted.has(name)) return [[name, value]];
    if (Array.isArray(value)) return [[name, value.map((element) => partsWanted(name, element, isWanted))]];
    return [[name, partsWanted(name, value, isWanted)]];
  });
  return Object.fromEntries(kept);
}

function partsWanted(name: string, value: Json, isWanted: Projection['isWanted']): Json {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([part]) => isWanted(name, part)));
}
