/** `CORP\alice`: a domain of Windows before a name says that it is one, whatever its key is called. */
import { WORD_BITS } from '../bytes.ts';
import type { Scan } from '../context.ts';
import { putPerson } from './people.ts';

/** NetBIOS allows 15 bytes, and DNS names of domains are seldom longer than this. */
const DOMAIN_MAX = 48;
const NAME_MAX = 64;

/** A domain in capitals, or one of DNS. */
const DOMAIN = /^(?:[A-Z][A-Z0-9-]{1,14}|[A-Za-z0-9][A-Za-z0-9-]{0,30}(?:\.[A-Za-z0-9-]{1,30}){0,3}\.[A-Za-z]{2,14})$/;
/** What stands before a backslash as a domain does: the root of a registry, of devices, of Windows' own accounts. */
const NO_DOMAIN =
  /^(?:HK[A-Z]{1,3}|BUILTIN|AUTHORITY|SERVICE|MACHINE|APPPOOL|MANAGER|HOST|SYSTEM|SYSTEM32|SYSWOW64|SOFTWARE|WINDOWS|WINNT|DRIVERS|DEVICE|BIN|USERS|REGISTRY|GLOBAL|ROOT|CIMV2|CLASS|ENUM|PCI|USB|USBSTOR|HID|ACPI|SCSI|SWD|STORAGE|DISPLAY|MONITOR|HDAUDIO|BTH|TEMP|TMP|DATA|LOGS?|BACKUP|SHARE|ADMIN|IPC|M?SQL[A-Z0-9]{0,12}|MSSQL[A-Z0-9]{0,12})$/i;
const FILE =
  /\.(?:exe|dll|sys|txt|log|cmd|bat|ps1|js|ts|py|php|java|cs|cpp|xml|json|ini|cfg|conf|zip|tmp|inf|dat|db)$/i;

/** What may be a domain, up to its backslash, and what stands before it. */
const BEFORE = /(?:^|[\s"'([<=,:>])([A-Za-z0-9][A-Za-z0-9.-]{1,47})\\$/;
/** A name, and what ends it; some letters begin an escape as well behind a backslash. */
const BEHIND =
  /^\\{1,2}(?![nrtbfvux0])([A-Za-z][\w-]{1,31}(?:\.[\w-]{2,31}){0,2})(?=$|[\s"',;)\]<]|\.(?:\s|$)|:(?:\s|$))/;
/** A whole string of JSON. */
const WHOLE = /^([A-Za-z0-9][A-Za-z0-9.-]{1,47})\\\\([A-Za-z][\w-]{1,31}(?:\.[\w-]{2,31}){0,2})$/;

/** A domain in small letters is one where the field holds nothing else, and a name in small letters. */
const SMALL = /^[a-z][a-z0-9-]{1,14}$/;
const SMALL_NAME = /^[a-z][a-z0-9._-]{1,31}$/;

function isDomainOfUser(domain: string, name: string, isAlone: boolean): boolean {
  return (
    (DOMAIN.test(domain) || (isAlone && SMALL.test(domain) && SMALL_NAME.test(name))) &&
    !NO_DOMAIN.test(domain) &&
    !FILE.test(domain) &&
    !FILE.test(name)
  );
}

/** Bytes before the name in a whole string of JSON that is a domain and a name; 0 in any other. */
export function domainBefore(string: string): number {
  const found = WHOLE.exec(string);
  if (found === null || !isDomainOfUser(found[1] as string, found[2] as string, true)) return 0;
  return (found[1] as string).length + 2;
}

/** Whether a stretch is all of a cell, of a string or of what brackets hold. */
function isField({ text, floor, stop }: Scan, from: number, to: number): boolean {
  const before = from > floor ? text.charAt(from - 1) : ',';
  return ',"\'[|'.includes(before) && (to >= stop || ',"\']|'.includes(text.charAt(to)));
}

/** A name behind the backslash at a place. Answers where the scan goes on, or -1. */
export function cutDomainUser(scan: Scan, at: number): number {
  const { bytes, text, spans } = scan;
  if (WORD_BITS[bytes[at - 1] ?? 32] === 0) return -1;
  const floor = Math.max(spans.last, scan.floor, at - DOMAIN_MAX);
  const domain = BEFORE.exec(text.slice(floor, at + 1))?.[1];
  if (domain === undefined) return -1;
  const found = BEHIND.exec(text.slice(at, Math.min(scan.stop, at + NAME_MAX + 2)));
  if (found === null) return -1;
  const name = found[1] as string;
  const from = at + found[0].length - name.length;
  if (!isDomainOfUser(domain, name, isField(scan, at - domain.length, from + name.length))) return -1;
  return Math.max(putPerson(scan, from, from + name.length), from + name.length);
}
