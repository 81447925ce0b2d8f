/**
 * The usual way to redact a log: one replacement after the other, 26 of them, over each chunk. It does the same work
 * as the engine: names of fields stay, people and numbers get pseudonyms by HMAC from a cache, addresses are cut.
 */
import { createHmac } from 'node:crypto';

const KEY = Buffer.alloc(32, 7);

function pseudonyms(prefix: string): (value: string) => string {
  const known = new Map<string, string>();
  return (value) => {
    let pseudonym = known.get(value);
    if (pseudonym === undefined) {
      pseudonym = prefix + createHmac('sha256', KEY).update(value.toLowerCase()).digest('hex').slice(0, 8);
      known.set(value, pseudonym);
    }
    return pseudonym;
  };
}

const user = pseudonyms('u-');
const phone = pseudonyms('tel-');

/** What takes the place of a match, by its groups. */
type Replacement = string | ((all: string, ...groups: string[]) => string);

const KEPT = '$1[REDACTED]';
const RULES: readonly (readonly [RegExp, Replacement])[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]{0,8000}?-----END [A-Z ]{0,40}PRIVATE KEY-----/g,
    '[REDACTED:private-key]',
  ],
  [/\bAKIA[A-Z0-9]{16}\b/g, '[REDACTED]'],
  [/\bgh[pousr]_[A-Za-z0-9]{36,}/g, '[REDACTED]'],
  [/\bgithub_pat_\w{60,}/g, '[REDACTED]'],
  [/\bglpat-[\w-]{20,}/g, '[REDACTED]'],
  [/\bxox[abpors]-[\w-]{10,}/g, '[REDACTED]'],
  [/\b(?:sk|rk)_(?:live|test)_\w{10,}/g, '[REDACTED]'],
  [/\bsk-[\w-]{20,}/g, '[REDACTED]'],
  [/\bSG\.[\w-]{16,}\.[\w-]{16,}/g, '[REDACTED]'],
  [/\bAIza[\w-]{35}/g, '[REDACTED]'],
  [/\bnpm_\w{36}/g, '[REDACTED]'],
  [/\bsvc_vst_[\w-]{8,}/g, '[REDACTED]'],
  [/\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g, '[REDACTED]'],
  [/(\b(?:proxy-)?authorization["']?\s?[:=]\s?["']?)(?:\w+ )?[\w.~+/=-]+/gi, KEPT],
  [/(\bBearer )[\w.~+/-]{6,}=*/g, KEPT],
  [/(\b(?:set-)?cookie["']?\s?[:=]\s?)[^\r\n"]+/gi, KEPT],
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/)[^\s:@/]{1,128}:[^\s@/]{1,256}(?=@)/gi, KEPT],
  [/(\b(?:password|passwd|secret|token|api_key|apikey|dsn)["']?\s?[:=]\s?["']?)[^\s"'&,;]+/gi, KEPT],
  [/(\b(?:subject|body|text|preview)["']?[:=]\s?"?)[^"\r\n]+/gi, KEPT],
  [
    /(\b(?:user|username|login|account|actor|sub|sender|sasl_username)["']?[:=]\s?["'<]?)([^\s"'<>,;&@]+)/gi,
    (_all, key, name) => `${key}${user(name)}`,
  ],
  [/(\b(?:for|user) (?:invalid user )?)([\w.-]+)(?= from )/g, (_all, key, name) => `${key}${user(name)}`],
  [/(?<![\w.+-])([\w.+-]{1,64})(?=@[\w-]{1,63}(?:\.[\w-]{1,63})+)/g, (_all, name) => user(name)],
  [/(?<![\w.+])\+\d[\d ().-]{7,18}\d/g, (all) => phone(all.replaceAll(/\D/g, ''))],
  [/\b(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}\b/g, '$1.x'],
  [
    /(?<![\w:])(?:[0-9a-f]{1,4}:){2,7}(?::|[0-9a-f]{1,4})/gi,
    (all) => (all.includes('::') || all.split(':').length === 8 ? `${all.split(':').slice(0, 3).join(':')}::` : all),
  ],
  [/(?<![\w/+=-])(?=[\w+=-]*\d)(?=[\w+=-]*[a-z])(?=[\w+=-]*[A-Z])[\w+=-]{20,128}(?![\w+=-])/g, '[REDACTED]'],
];

function replaced(text: string, pattern: RegExp, replacement: Replacement): string {
  return typeof replacement === 'string' ? text.replace(pattern, replacement) : text.replace(pattern, replacement);
}

/** Bytes written. */
export function sequentialRegexes(log: Buffer, chunk: number): number {
  let written = 0;
  for (let at = 0; at < log.length; at += chunk) {
    let text = log.toString('utf8', at, at + chunk);
    for (const [pattern, replacement] of RULES) text = replaced(text, pattern, replacement);
    written += Buffer.byteLength(text);
  }
  return written;
}
