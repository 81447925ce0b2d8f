/**
 * Values as they may stand in a log line: bounded in size and depth, and without secrets. The names that hold
 * secrets are never followed by their value, at any depth, and texts lose what looks like a credential (CRD-09).
 * This is the last fence, for what slipped through; nobody is to log a secret in the first place.
 */

export const REDACTED = '[redacted]';

/**
 * A key is secret when its letters contain one of these: `x-node-token`, `newPassword`, `set-cookie`. `query` is
 * among them because the query of a WebSocket upgrade carries the session token.
 */
const SECRET_WORDS = [
  'authorization',
  'cookie',
  'credential',
  'apikey',
  'masterkey',
  'passphrase',
  'password',
  'privatekey',
  'query',
  'secret',
  'token',
];

/** Longer texts are cut, since a line has to fit one write. A stack trace of depth ten stays whole. */
export const TEXT_LENGTH_MAX = 2_000;
/** Deeper values and longer lists are cut, which also ends cycles. */
const DEPTH_MAX = 4;
const ITEMS_MAX = 32;

const NAMES = '[\\w-]*(?:token|password|passphrase|secret|authorization|api_?key)';
const CREDENTIALS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // No part of this query is written, whatever its names.
  [/(\/v1\/ws)\?[^\s"'<>]*/g, `$1?${REDACTED}`],
  [/\b((?:set-)?cookie["']?\s*[=:]\s*)[^\r\n]+/gi, `$1${REDACTED}`],
  [new RegExp(`\\b(${NAMES}["']?\\s*[=:]\\s*["']?)(?:(?:bearer|basic)\\s+)?[^\\s&;,"'}]+`, 'gi'), `$1${REDACTED}`],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${REDACTED}`],
  [/\beyJ[\w-]{10,}(?:\.[\w-]*){0,2}/g, REDACTED],
  [/\b(?:svc_vst|bot)_[\w-]{8,}/g, REDACTED],
  // A webhook's id is no secret; what stands behind it in its token is.
  [/\bhook_[0-9a-z]{22}_[\w-]+/g, REDACTED],
];

/** A text without what looks like a credential, cut to a bounded length in UTF-16 units. */
export function safeText(text: string, lengthMax = TEXT_LENGTH_MAX): string {
  // Cut first, so that the patterns read bounded input. What the cut leaves of a credential still begins like one.
  const cut = text.length > lengthMax ? `${text.slice(0, lengthMax).toWellFormed()}…` : text;
  return CREDENTIALS.reduce((safe, [pattern, replacement]) => safe.replace(pattern, replacement), cut);
}

/** Fields for JSON.stringify: errors as `{message, stack, code?, cause?}`, secrets and excess left out. */
export function safeFields(fields: object, textLengthMax = TEXT_LENGTH_MAX): [key: string, value: unknown][] {
  return new Sanitiser(textLengthMax).entries(Object.entries(fields), 0);
}

class Sanitiser {
  readonly #textLengthMax: number;

  constructor(textLengthMax: number) {
    this.#textLengthMax = textLengthMax;
  }

  entries(entries: readonly (readonly [string, unknown])[], depth: number): [string, unknown][] {
    const kept = entries
      .slice(0, ITEMS_MAX)
      .map(([key, value]): [string, unknown] => [
        safeText(key, this.#textLengthMax),
        isSecretKey(key) ? REDACTED : this.#value(value, depth + 1),
      ]);
    if (entries.length > ITEMS_MAX) kept.push(['…', `[${entries.length - ITEMS_MAX} more]`]);
    return kept;
  }

  #value(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case 'string':
        return safeText(value, this.#textLengthMax);
      case 'number':
        // JSON would write NaN and the infinities as null, and the reader would not know that something was there.
        return Number.isFinite(value) ? value : String(value);
      case 'bigint':
      case 'symbol':
        return safeText(String(value), this.#textLengthMax);
      case 'function':
        return '[function]';
      case 'object':
        return value === null ? null : this.#object(value, depth);
      default:
        return value;
    }
  }

  #object(value: object, depth: number): unknown {
    if (depth > DEPTH_MAX) return '[deeper]';
    if (value instanceof Error) return this.#error(value, depth);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
    if (value instanceof Set) return this.#list([...value], depth);
    if (Array.isArray(value)) return this.#list(value, depth);
    const entries =
      value instanceof Map ? Array.from(value, ([key, inner]) => [String(key), inner] as const) : undefined;
    return Object.fromEntries(this.entries(entries ?? Object.entries(value), depth));
  }

  #list(items: readonly unknown[], depth: number): unknown[] {
    const kept = items.slice(0, ITEMS_MAX).map((item) => this.#value(item, depth + 1));
    return items.length > ITEMS_MAX ? [...kept, `[${items.length - ITEMS_MAX} more]`] : kept;
  }

  #error(error: Error, depth: number): Record<string, unknown> {
    const { message, stack, cause } = error;
    const code = 'code' in error ? error.code : undefined;
    return {
      message: safeText(message, this.#textLengthMax),
      ...(stack !== undefined && { stack: safeText(stack, this.#textLengthMax) }),
      ...((typeof code === 'string' || typeof code === 'number') && { code }),
      ...(cause !== undefined && { cause: this.#value(cause, depth + 1) }),
    };
  }
}

function isSecretKey(key: string): boolean {
  const letters = key.toLowerCase().replaceAll(/[^a-z]/g, '');
  return SECRET_WORDS.some((word) => letters.includes(word));
}
