/**
 * What the operator's own mail server says of a mail (RFC 8601). Anybody can write such a field: only that one counts
 * which stands above what came from outside, under the name that the operator trusts.
 */
import { bareOf, type Bare, type HeaderField, wordOf } from './header-fields.ts';

/** Whose word counts. */
export interface MailTrust {
  /** The authserv-id of the operator's mail server, compared character by character. */
  readonly authservId: string;
  /** Received fields that the operator's own hosts put above their results. */
  readonly hops: number;
}

interface MethodResult {
  readonly method: string;
  readonly result: string;
  /** `[header.from, example.org]`, names in lower case. */
  readonly properties: readonly (readonly [name: string, value: string])[];
}

const NAME = '[a-z][a-z0-9_-]*';
const METHOD = new RegExp(String.raw`^\s*(${NAME})(?:\s*/\s*1)?\s*=\s*(${NAME})`, 'i');
const PROPERTY = new RegExp(
  String.raw`^\s+(${NAME}(?:\s*\.\s*${NAME})?)\s*=\s*((?:[^\s;\uE000]|\uE000\d+\uE000)+)`,
  'i',
);

/**
 * Whether the operator's mail server vouches for an address of that domain: its topmost results say that DMARC passed
 * for the domain, or, where the domain has no policy, that a signature of the very domain is good.
 */
export function isVouchedFor(fields: readonly HeaderField[], domain: string, trust: MailTrust): boolean {
  const results = trustedResults(fields, trust);
  if (results === undefined) return false;
  const named = ({ properties }: MethodResult, name: string) =>
    properties.filter(([property]) => property === name).map(([, value]) => value.toLowerCase());
  const isOf = (one: MethodResult, name: string) => {
    const domains = named(one, name);
    return domains.length > 0 && domains.every((it) => it === domain);
  };
  const dmarc = results.filter(({ method }) => method === 'dmarc');
  const decided = dmarc.filter(({ result }) => result !== 'none');
  if (decided.length > 0) return decided.every((one) => one.result === 'pass' && isOf(one, 'header.from'));
  return results.some((one) => one.method === 'dkim' && one.result === 'pass' && isOf(one, 'header.d'));
}

/** The topmost results under the trusted name; undefined where there are none, or they cannot be read. */
function trustedResults(fields: readonly HeaderField[], { authservId, hops }: MailTrust): MethodResult[] | undefined {
  let passed = 0;
  for (const { name, value } of fields) {
    if (name === 'received') passed += 1;
    // What stands below came with the mail.
    if (passed > hops) return undefined;
    if (name !== 'authentication-results') continue;
    const bare = bareOf(value);
    if (bare === undefined) return undefined;
    const [head, id] = /^\s*((?:[^\s;=\uE000]|\uE000\d+\uE000)+)(?:\s+1)?\s*(?=;)/.exec(bare.text) ?? [];
    if (head === undefined || wordOf(id ?? '', bare) !== authservId) continue;
    return readResults(bare.text.slice(head.length), bare);
  }
  return undefined;
}

/** Undefined where one of them is none: half a field says nothing. */
function readResults(text: string, bare: Bare): MethodResult[] | undefined {
  const results: MethodResult[] = [];
  for (const part of text.split(';')) {
    if (part.trim() === '' || part.trim().toLowerCase() === 'none') continue;
    const [head, method = '', result = ''] = METHOD.exec(part) ?? [];
    if (head === undefined) return undefined;
    const properties: [string, string][] = [];
    let rest = part.slice(head.length);
    while (rest.trim() !== '') {
      const [whole, name = '', value = ''] = PROPERTY.exec(rest) ?? [];
      if (whole === undefined) return undefined;
      properties.push([name.replaceAll(/\s/g, '').toLowerCase(), wordOf(value, bare)]);
      rest = rest.slice(whole.length);
    }
    results.push({ method: method.toLowerCase(), result: result.toLowerCase(), properties });
  }
  return results;
}
