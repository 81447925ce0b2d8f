/** What the class of a value makes of it when it is known where it begins and ends. */
import type { Scan } from '../context.ts';
import { decodeAuditHex } from '../encodings/decoding.ts';
import { putNamed, putPerson, putPhone } from '../identifiers/people.ts';
import { isNamedValue } from '../secrets/random-strings.ts';
import type { KeyClass } from '../rules/rows.ts';
import { isHarmless } from '../rules/rules.ts';
import { markersEnd, type SecretClass } from '../spans.ts';
import { wordEnd } from './value-ends.ts';

/** A whole value of a class, without escapes. Answers where the scan goes on, or -1 for what is any text. */
export function cutValue(scan: Scan, keyClass: KeyClass, from: number, to: number, mark = 0): number {
  const { text, bytes, spans } = scan;
  if (to <= from) return to;
  switch (keyClass) {
    case 'user-id':
      return isId(text.slice(from, Math.min(to, from + 64))) ? to : putPerson(scan, from, to);
    case 'user':
    case 'directory':
      return putPerson(scan, from, to);
    case 'phone':
      return putPhone(scan, from, to, '');
    case 'address':
      if (putNamed(scan, from, to) !== -1) return -1;
      // As many digits as a number of a phone has, and no instant.
      if (to - from < 14 && /^(?:\d{11,12}|[2-9]\d{12})$/.test(text.slice(from, to)))
        return putPhone(scan, from, to, '');
      // `to=<root>`: a person of this host. Anything else that is no address is none of ours.
      return mark === 60 && to - from < 64 && !/@|%40|u0040/.test(text.slice(from, to))
        ? putPerson(scan, from, to)
        : -1;
    case 'code':
      return isCode(text.slice(from, Math.min(to, from + 12))) ? spans.secret(from, to, 'secret') : -1;
    case 'id':
      return isNamedValue(text, from, to) ? to : -1;
    case 'text':
    case 'authorization':
    case 'cookie':
      return /^[ \t]+$/.test(text.slice(from, Math.min(to, from + 8))) ? to : putSecret(scan, from, to, keyClass);
    case 'password':
    case 'secret':
      return isHarmless(scan.engine.rules, text.slice(from, Math.min(to, from + 32)))
        ? to
        : putSecret(scan, from, to, 'secret');
    case 'audit':
      return mark === 0 && bytes[from] !== 34 ? putAudit(scan, from, to) : -1;
    default:
      return -1;
  }
}

/** Ids that people search their logs by: numbers, uuids, ULIDs and hex. */
export function isId(value: string): boolean {
  return /^(?:[\d*]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,64}|[0-9A-HJKMNP-TV-Z]{26})$/i.test(value);
}

export function putSecret({ text, spans }: Scan, from: number, to: number, name: SecretClass): number {
  return markersEnd(text, from, to) === to ? to : spans.secret(from, to, name);
}

export function isHarmlessAt(
  { text, engine }: Scan,
  keyStart: number,
  keyEnd: number,
  start: number,
  end: number,
): boolean {
  // The working directory in a line of sudo.
  if (keyEnd - keyStart === 3 && text.startsWith('PWD=/', keyStart)) return true;
  const value = text.slice(start, Math.min(end, start + 64));
  const key = text.slice(keyStart, keyEnd).toLowerCase();
  if (key === 'signature' && value.startsWith('SHA256')) return true;
  // What a sign-in was done by is no secret.
  if (
    key === 'auth' &&
    /^(?:simple|kerberos|token|plain|digest|basic|ntlm|negotiate|bearer|oauth2?|scram\S*|cram\S*|sasl|anonymous|external|login|pam|sql|ldap|local|md5|peer|trust)$/i.test(
      value,
    )
  )
    return true;
  // A status of delivery (RFC 3463), which postfix calls `dsn`.
  if (key === 'dsn' && /^\d\.\d{1,3}\.\d{1,3}\b/.test(value)) return true;
  return isHarmless(engine.rules, value);
}

/** Command lines of auditd in hex: the person, the address and the password are inside, so it goes as a whole. */
export function putAudit(scan: Scan, start: number, stop: number): number {
  const end = wordEnd(scan, start, stop);
  const text = scan.text.slice(start, Math.min(end, start + 4096));
  if (end - start < 8 || !/^[0-9A-F]+$/.test(text) || (!/[A-F]/.test(text) && text.length < 16)) return -1;
  return decodeAuditHex(text.slice(0, text.length & ~1)) === undefined ? -1 : putSecret(scan, start, end, 'secret');
}

export function isCode(value: string): boolean {
  // Five capitals or digits are a state of SQL.
  return /^(?=[A-Za-z-]*\d)[A-Za-z0-9][A-Za-z0-9-]{3,9}$/.test(value) && !/^\d+-|_|^[0-9A-Z]{5}$/.test(value);
}
