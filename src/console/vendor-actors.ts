/**
 * Who did something, in answers that a vendor reads as they are (VND-16). The trail has the same deed under a pseudonym,
 * so that a name beside it here would be that pseudonym's: settings, tokens and bots name their actors as the trail does.
 */

/** Fields with an actor of the audit trail: `changed_by`, `created_by`, `by`. */
const FIELD = /^(?:[a-z]+_)?by$/;
/** An actor that is a person. Who invited a guest is a plain username, of a list of people that is shown as it is. */
const PERSON = 'user:';

/** The people that such fields name, once each. */
export function actorsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  for (const [name, inner] of Object.entries(value)) {
    if (isActor(name, inner)) found.add(inner);
    else actorsIn(inner, found);
  }
  return found;
}

/** A copy of the value with other names for them. */
export function withActors(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withActors(item, names));
  const fields = Object.entries(value).map(([name, inner]) => [
    name,
    isActor(name, inner) ? names.get(inner) : withActors(inner, names),
  ]);
  return Object.fromEntries(fields) as unknown;
}

function isActor(name: string, value: unknown): value is string {
  return typeof value === 'string' && FIELD.test(name) && value.startsWith(PERSON);
}
