/** What every answer has to be, whatever was asked. */
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import { COMMON_ERRORS } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * What is wrong with an answer, or undefined. With a route that was certainly reached, its success has to be of the
 * documented shape and its refusal one that the route lists.
 */
export function faultOf({ status, text }: Answer, route?: Route): string | undefined {
  if (status >= 200 && status < 300) return route === undefined ? undefined : successFault(status, text, route);
  let body: { code?: unknown; error?: unknown; field?: unknown };
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    return `a refusal with ${status} that is not JSON: ${text.slice(0, 200)}`;
  }
  const { code, error, field, ...rest } = body;
  if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code)) return `the unknown code ${String(code)}`;
  const entry = ERRORS[code as ErrorCode];
  if (code === 'internal') return 'internal';
  if (entry.status !== status) return `${code} with ${status}`;
  if (entry.error !== error) return `${code} with another sentence: ${String(error)}`;
  if (field !== undefined && typeof field !== 'string') return `${code} with a field that is no text`;
  if (Object.keys(rest).length > 0) return `${code} with ${Object.keys(rest).join(', ')} besides`;
  if (route !== undefined && ![...COMMON_ERRORS, ...route.errors].includes(code as ErrorCode)) {
    return `${code}, which the route does not list`;
  }
  return undefined;
}

function successFault(status: number, text: string, { replies }: Route): string | undefined {
  const shape = replies[status];
  if (shape === undefined) return `the status ${status}, which the route does not list`;
  if (shape === null) return text === '' ? undefined : `a body with ${status}: ${text.slice(0, 200)}`;
  const parsed = shape.safeParse(JSON.parse(text));
  return parsed.success ? undefined : `a body of another shape: ${text.slice(0, 300)}`;
}
