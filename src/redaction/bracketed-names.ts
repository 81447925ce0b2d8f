/** Names of people in brackets (cron, su, dovecot) and in the third field of an access log. */
import { WORD_BITS } from './character-classes.ts';
import type { Context } from './context.ts';
import { putPerson } from './people.ts';

const CRON =
  /\(([\w.@-]{1,64})\) (?:CMD|LIST|RELOAD|BEGIN EDIT|END EDIT|REPLACE|DELETE|AUTH|MAIL|CMDOUT|CMDEND|ORPHAN|WRONG|ERROR|EXEC|INFO|UNSAFE|FAILED|BAD|INSECURE)\b/y;
const CRON_TARGET = /\b(?:LIST|REPLACE|DELETE|BEGIN EDIT|END EDIT) $/;
const MECHANISMS = new Set([
  'pam',
  'sql',
  'ldap',
  'passwd',
  'passwd-file',
  'static',
  'shadow',
  'cache',
  'dict',
  'lua',
  'imap',
  'imap-login',
  'pop3',
  'lmtp',
  'lda',
  'managesieve',
  'submission',
  'indexer-worker',
  'doveadm',
  'quota-status',
]);
const MECHANISM_NAME = /\((?:\d+, ?)?([^,()<>\s]{1,256})[,)]/y;
const SU_TARGET = /\(to ([^()\s]{1,64})\) (\S{1,64}) on /y;

/** What an opening bracket starts: names of cron, su and dovecot. */
export function cutBracket(context: Context, at: number): number {
  const { source } = context;
  CRON.lastIndex = at;
  const cron = CRON.exec(source);
  if (cron !== null) return putPerson(context, at + 1, at + 1 + (cron[1] as string).length);
  CRONTAB.lastIndex = at;
  const crontab = CRONTAB.exec(source);
  if (crontab !== null) return putPerson(context, at + 10, at + 10 + (crontab[1] as string).length);
  SU_TARGET.lastIndex = at;
  const su = SU_TARGET.exec(source);
  if (su !== null) {
    const target = at + 4 + (su[1] as string).length;
    putPerson(context, at + 4, target);
    return putPerson(context, target + 2, target + 2 + (su[2] as string).length);
  }
  if (source.charCodeAt(at - 1) === 32)
    return CRON_TARGET.test(source.slice(Math.max(0, at - 16), at)) ? putInside(context, at) : -1;
  let from = at;
  while (from > 0 && at - from < 16 && WORD_BITS[source.charCodeAt(from - 1)] !== 0) from -= 1;
  if (from === at || !MECHANISMS.has(source.slice(from, at))) return -1;
  return putInside(context, at);
}

const CRONTAB = /\(crontabs\/([\w.@-]{1,64})\)/y;

function putInside(context: Context, at: number): number {
  MECHANISM_NAME.lastIndex = at;
  const match = MECHANISM_NAME.exec(context.source);
  if (match === null || /^\d+$/.test(match[1] as string)) return -1;
  const end = MECHANISM_NAME.lastIndex - 1;
  return putPerson(context, end - (match[1] as string).length, end);
}

const COMBINED = / - (\S{1,256}) \[\d\d\/[A-Z][a-z]{2}\/\d{4}:/y;

/** The third field of an access log, behind the address that ends here. */
export function cutRemoteUser(context: Context, end: number): number {
  COMBINED.lastIndex = end;
  const match = COMBINED.exec(context.source);
  if (match === null) return end;
  const name = match[1] as string;
  return name === '-' ? end : putPerson(context, end + 3, end + 3 + name.length);
}
