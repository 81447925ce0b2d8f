/**
 * Lists of SCIM (RFC 7644, section 3.4.2): filtered, ordered, in pages by index. A filter that names people by something
 * that is indexed is answered from there; any other one is held against each resource in turn, in slices that give way to
 * other work, and few of these go on at once.
 */
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { Json } from '#src/base/json.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { NOWHERE, type AttributeFinder, type AttributePath } from './attributes.ts';
import { matches, readFilter, valuesAt, type Filter, type Resource } from './filter.ts';

export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

/** Resources in one page, also where more are asked for. */
export const SCIM_PAGE_MAX = 200;
/** Resources that are ordered for one answer: sorting them takes the thread a few milliseconds. [scim_too_many] */
export const SORTED_MAX = 5_000;
/** Looks through all resources at once, over all clients; one more is refused. [busy] */
export const SCANS_MAX = 2;
/** How long one look through all resources goes on. [scim_too_many] */
export const SCAN_MILLIS_MAX = 20_000;
const SLICE_MILLIS = 4;
/** Seconds after which one that was refused may have its turn. */
const RETRY_SECONDS = 5;

/** What is asked of a list. */
export interface ListQuery {
  readonly filter: Filter | undefined;
  /** From 1 up. */
  readonly startIndex: number;
  readonly count: number;
  readonly sortBy: AttributePath | undefined;
  readonly isDescending: boolean;
}

/** Where resources come from. */
export interface ListSource {
  /** All there are. */
  readonly all: () => Promise<{ readonly size: number } & Iterable<string>>;
  /** Those among whom everybody is that a filter means; undefined for a filter that names none. */
  readonly candidates: (filter: Filter) => readonly string[] | undefined;
  /** For a filter and an answer. */
  readonly read: (id: string) => Resource | undefined;
}

export interface ListReply {
  readonly schemas: readonly string[];
  readonly totalResults: number;
  readonly startIndex: number;
  readonly itemsPerPage: number;
  readonly Resources: readonly Resource[];
}

/**
 * The parameters of a list as they are sent; numbers beyond their bounds count as the bound (section 3.4.2.4).
 * @throws Refusal `query_invalid`, `scim_filter_invalid`.
 */
export function readListQuery(query: { readonly [name: string]: Json }, finder: AttributeFinder): ListQuery {
  const { filter, sortBy, sortOrder } = query;
  if ([filter, sortBy, sortOrder].some((each) => each !== undefined && typeof each !== 'string')) {
    throw new Refusal('query_invalid');
  }
  const path = typeof sortBy === 'string' && sortBy !== '' ? finder.find(sortBy) : undefined;
  if (typeof sortBy === 'string' && sortBy !== '' && path === undefined)
    throw new Refusal('query_invalid', { field: 'sortBy' });
  const order = typeof sortOrder === 'string' ? sortOrder.toLowerCase() : 'ascending';
  if (order !== 'ascending' && order !== 'descending') throw new Refusal('query_invalid', { field: 'sortOrder' });
  return {
    filter: typeof filter === 'string' && filter !== '' ? readFilter(filter, finder) : undefined,
    startIndex: Math.max(1, integerAt(query['startIndex'], 'startIndex') ?? 1),
    count: Math.min(SCIM_PAGE_MAX, Math.max(0, integerAt(query['count'], 'count') ?? SCIM_PAGE_MAX)),
    sortBy: path === NOWHERE ? undefined : path,
    isDescending: order === 'descending',
  };
}

function integerAt(value: Json | undefined, field: string): number | undefined {
  if (value === undefined || value === '') return undefined;
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number)) throw new Refusal('query_invalid', { field });
  return number;
}

export class Listing {
  readonly #now: () => number;
  #scans = 0;

  /** `now` in milliseconds that never go back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @throws Refusal `busy`, `scim_too_many`. */
  async list(query: ListQuery, source: ListSource): Promise<ListReply> {
    const { count, filter, sortBy, startIndex } = query;
    const read = (id: string): readonly Resource[] => {
      const resource = source.read(id);
      return resource === undefined || (filter !== undefined && !matches(filter, resource)) ? [] : [resource];
    };
    if (filter === undefined && sortBy === undefined) {
      const all = await source.all();
      return replyOf(query, all.size, [...cut(all, startIndex - 1, count)].flatMap(read));
    }
    const named = filter === undefined ? undefined : source.candidates(filter);
    if (named !== undefined) return pageOf(query, named.flatMap(read));
    if (this.#scans >= SCANS_MAX) throw new Refusal('busy', { retryAfter: RETRY_SECONDS });
    this.#scans += 1;
    try {
      return await this.#scan(query, source);
    } finally {
      this.#scans -= 1;
    }
  }

  /** Holds the filter against everybody. Without an order, only what stands in the page is kept. */
  async #scan(query: ListQuery, source: ListSource): Promise<ListReply> {
    const { count, filter, sortBy, startIndex } = query;
    const began = this.#now();
    let since = began;
    let total = 0;
    const kept: Resource[] = [];
    // A copy: people come and go meanwhile.
    for (const id of [...(await source.all())]) {
      const now = this.#now();
      if (now - since > SLICE_MILLIS) {
        if (now - began > SCAN_MILLIS_MAX) throw new Refusal('scim_too_many');
        await othersFirst();
        since = this.#now();
      }
      const resource = source.read(id);
      if (resource === undefined || (filter !== undefined && !matches(filter, resource))) continue;
      total += 1;
      if (sortBy !== undefined && total > SORTED_MAX) throw new Refusal('scim_too_many');
      const isInPage = total >= startIndex && kept.length < count;
      if (sortBy !== undefined || isInPage) kept.push(resource);
    }
    return sortBy === undefined ? replyOf(query, total, kept) : pageOf(query, kept);
  }
}

function pageOf(query: ListQuery, found: readonly Resource[]): ListReply {
  const { count, startIndex } = query;
  return replyOf(query, found.length, sorted(found, query).slice(startIndex - 1, startIndex - 1 + count));
}

/** Resources in the order of an attribute; those that do not have it come last (section 3.4.2.3). */
function sorted(found: readonly Resource[], { isDescending, sortBy }: ListQuery): readonly Resource[] {
  if (sortBy === undefined) return found;
  const isExact = (sortBy.part ?? sortBy.attribute).isCaseExact === true;
  const keyed = found.map((resource) => ({ resource, key: keyOf(resource, sortBy, isExact) }));
  const sign = isDescending ? -1 : 1;
  keyed.sort((a, b) => {
    if (a.key === undefined || b.key === undefined) return Number(a.key === undefined) - Number(b.key === undefined);
    return a.key === b.key ? 0 : a.key < b.key ? -sign : sign;
  });
  return keyed.map(({ resource }) => resource);
}

/** Of several values the primary one, else the first. */
function keyOf(resource: Resource, path: AttributePath, isExact: boolean): string | undefined {
  const [value] = valuesAt(path, resource);
  if (value === undefined || value === null || typeof value === 'object') return undefined;
  return isExact ? String(value) : String(value).toLowerCase();
}

function* cut(ids: Iterable<string>, from: number, count: number): Generator<string> {
  let at = 0;
  for (const id of ids) {
    if (at >= from + count) return;
    if (at >= from) yield id;
    at += 1;
  }
}

function replyOf({ startIndex }: ListQuery, totalResults: number, resources: readonly Resource[]): ListReply {
  return { schemas: [LIST_SCHEMA], totalResults, startIndex, itemsPerPage: resources.length, Resources: resources };
}
