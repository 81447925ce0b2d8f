/** From untyped input to the forms of the protocol: every rejection names its code and the field to blame. */
import type { z } from 'zod';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';

/**
 * The value as the schema's form.
 * @throws Refusal `field_unknown` for a key the form does not have (GOV-03), `otherwise` for anything else.
 */
export function parseForm<T>(schema: z.ZodType<T>, value: unknown, otherwise: ErrorCode = 'field_invalid'): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = deepest(parsed.error.issues);
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const field = [...path, issue.keys[0] ?? ''].join('.');
    throw new Refusal(otherwise === 'query_invalid' ? 'query_invalid' : 'field_unknown', { field });
  }
  throw new Refusal(otherwise, { field: path.length === 0 ? undefined : path.join('.') });
}

/** A query string's parameters as the schema's form. @throws Refusal query_invalid. */
export function parseQuery<T>(schema: z.ZodType<T>, query: string): T {
  const params = new URLSearchParams(query);
  const names = [...params.keys()];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Refusal('query_invalid', { field: twice });
  return parseForm(schema, Object.fromEntries(params), 'query_invalid');
}

type Issue = z.core.$ZodIssue;

/** An unknown key anywhere tells more than what else is wrong; of a union's issues, those of its best match. */
function deepest(issues: readonly Issue[]): Issue {
  const flat = issues.flatMap((issue): readonly Issue[] =>
    issue.code === 'invalid_union' && issue.errors.length > 0
      ? (issue.errors.toSorted((a, b) => a.length - b.length)[0] ?? []).map((inner) => ({
          ...inner,
          path: [...issue.path, ...inner.path],
        }))
      : [issue],
  );
  return flat.find((issue) => issue.code === 'unrecognized_keys') ?? (flat[0] as Issue);
}
