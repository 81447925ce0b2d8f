/**
 * Ids in what a vendor reads de-personalised (VND-16). A vendor sees people by name in the lists of the directory, with
 * the ids of their devices, sessions, groups and meetings beside them. The same id beside a pseudonym would name it, so
 * there it is a pseudonym as well: `d-` and 8 hex digits of HMAC-SHA256 under the installation's key, the same in all
 * answers and on all days.
 */
import { createHmac } from 'node:crypto';
import type { IdPrefix } from '#src/base/ids.ts';

/**
 * Kinds that no list shows beside a name: nodes, alerts, asks for journals, webhooks, whose lists are de-personalised,
 * and the epochs of data folders. A vendor asks for nodes by their ids.
 */
const KEPT: ReadonlySet<string> = new Set<IdPrefix>(['n', 'alrt', 'ask', 'hook', 'ep']);

/** An id as `makeId` makes it; of bots without its prefix. What stands behind `vendor:` is a token's own. */
const ID = /(?<![0-9A-Za-z_]|vendor:)(?:([a-z]{1,4})_)?[0-9abcdefghjkmnpqrstvwxyz]{22}(?![0-9A-Za-z])/g;

/** An emoji in the trail: what one is called is a word of whoever made it, and may be a colleague's name. */
const EMOJI = /^emoji:[a-z0-9][a-z0-9_-]{0,31}$/;

/** Shorter texts hold no id. */
const ID_LENGTH_MIN = 22;

/** Hex digits of a pseudonym, as many as those of people have. */
const DIGITS = 8;

/** A copy of a JSON value in which every id of people and of what they make is a pseudonym, in texts and in names. */
export function withoutIds(value: unknown, key: Uint8Array): unknown {
  if (typeof value === 'string') return textWithoutIds(value, key);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutIds(item, key));
  const fields = Object.entries(value).map(([name, inner]) => [textWithoutIds(name, key), withoutIds(inner, key)]);
  return Object.fromEntries(fields) as unknown;
}

function textWithoutIds(text: string, key: Uint8Array): string {
  if (EMOJI.test(text)) return `emoji-${pseudonymOf(text, key)}`;
  if (text.length < ID_LENGTH_MIN) return text;
  return text.replaceAll(ID, (id: string, prefix: string | undefined) => {
    if (prefix !== undefined && KEPT.has(prefix)) return id;
    return `${prefix ?? 'id'}-${pseudonymOf(id, key)}`;
  });
}

function pseudonymOf(text: string, key: Uint8Array): string {
  return createHmac('sha256', key).update(text).digest('hex').slice(0, DIGITS);
}
