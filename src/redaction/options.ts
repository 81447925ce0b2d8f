/** Passwords and people on command lines that sudo, cron and auditd write down: `-u name:password`, `--password p`, `-pXXX`. */
import { VALUE_END } from './character-classes.ts';
import { lineEnd, type Context } from './context.ts';
import { putPerson } from './people.ts';
import { closerOf } from './value-bounds.ts';
import { markerEnd, type SecretClass } from './spans.ts';

/** How far back the program's name may stand. */
const PROGRAM_MAX = 256;
/** The value stands behind a space, or as the next string of a list of arguments. */
const LONG = /--([A-Za-z][\w-]{2,40})(?: |\\?["'], ?\\?(["']))/y;
const SHORT = /-([upaAbUPw])(?: |\\?["'], ?\\?(["']))?/y;
/** Programs whose `--user` has a value: that of others is a flag. */
const WITH_USER = /\b(?:curl|wget|mysql\w*|mariadb[\w-]*|psql|mongosh?|ldap\w+|htpasswd|swaks|runuser)\b/;
const WITH_U = /\b(?:mysql\w*|mariadb[\w-]*|(?:docker|podman) login|mosquitto_\w+|sudo|runuser)\b/;
const WITH_CAPITAL_U = /\b(?:psql|pg_\w+|createdb|dropdb|smbclient|rpcclient|net)\b/;

/** An option at a place. Answers where the scan goes on, or -1. */
export function cutOption(context: Context, at: number): number {
  const { source } = context;
  const before = at > 0 ? source.charCodeAt(at - 1) : 32;
  if (before !== 32 && before !== 34 && before !== 39) return -1;
  return source.charCodeAt(at + 1) === 45 ? cutLong(context, at) : cutShort(context, at);
}

function cutLong(context: Context, at: number): number {
  const { source, keys } = context;
  LONG.lastIndex = at;
  const match = LONG.exec(source);
  if (match === null) return -1;
  const name = match[1] as string;
  const from = LONG.lastIndex;
  const quote = match[2] ?? '';
  const keyClass = keys.classAt(name, 0, name.length);
  if (keyClass === 'password' || keyClass === 'secret' || name === 'oauth2-bearer')
    return cutWord(context, from, quote);
  if (keyClass === 'cookie') return cutWord(context, from, quote, 'cookie');
  const isPerson = name === 'user' || name === 'login' ? WITH_USER.test(programOf(source, at)) : keyClass === 'user';
  return isPerson ? cutPerson(context, from) : -1;
}

/** The line before an option. */
function programOf(source: string, at: number): string {
  const line = source.slice(Math.max(0, at - PROGRAM_MAX), at);
  return line.slice(line.lastIndexOf('\n') + 1);
}

/** A name, or a name and a password. A number is one of the host's. */
function cutPerson(context: Context, start: number): number {
  const { source, spans } = context;
  const from = '"\''.includes(source.charAt(start)) ? start + 1 : start;
  const end = wordEnd(source, from);
  const text = source.slice(from, Math.min(end, from + 256));
  if (/^(?:-|\d+(?::\d+)?$|$)/.test(text) || markerEnd(source, from) !== -1) return -1;
  return /[:%]/.test(text) ? spans.secret(from, end, 'url-credentials') : putPerson(context, from, end);
}

function cutShort(context: Context, at: number): number {
  const { source } = context;
  SHORT.lastIndex = at;
  const match = SHORT.exec(source);
  if (match === null) return -1;
  const from = SHORT.lastIndex;
  const quote = match[2] ?? '';
  const program = programOf(source, at);
  switch (match[1]) {
    case 'u':
      if (/\b(?:curl|wget|http)\b/.test(program))
        return source.slice(from, Math.min(wordEnd(source, from), from + 256)).includes(':')
          ? cutPerson(context, from)
          : -1;
      return WITH_U.test(program) ? cutPerson(context, from) : -1;
    case 'U':
      return WITH_CAPITAL_U.test(program) ? cutPerson(context, from) : -1;
    case 'b':
      return /\bcurl\b/.test(program) && source.slice(from, from + 256).includes('=')
        ? cutWord(context, from, quote, 'cookie')
        : -1;
    default:
      return isPassword(match[1] as string, program, from === at + 2) ? cutWord(context, from, quote) : -1;
  }
}

/** Whether a letter stands before a password, for the program whose line it is. */
function isPassword(letter: string, program: string, isGlued: boolean): boolean {
  switch (letter) {
    case 'p':
      return (
        (isGlued && /\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|sshpass)\b/.test(program)) ||
        /\b(?:docker|podman) login\b/.test(program) ||
        isOfSshpass(program)
      );
    case 'P':
      return /\bmosquitto_\w{1,16}\b/.test(program);
    case 'w':
      return /\bldap(?:search|modify|add|delete|whoami|passwd|compare)\b/.test(program);
    default:
      return /\bredis-cli\b/.test(program);
  }
}

/** Whether the last command of a line is sshpass. */
function isOfSshpass(line: string): boolean {
  const at = line.lastIndexOf('sshpass');
  return at !== -1 && /^sshpass\b[^|;]*$/.test(line.slice(at));
}

/** `opened` is the quote that was read already. */
function cutWord(context: Context, start: number, opened: string, name: SecretClass = 'secret'): number {
  const { source, spans } = context;
  const quote = opened === '' ? source.charAt(start) : opened;
  const isQuoted = quote === '"' || quote === "'";
  const from = isQuoted && opened === '' ? start + 1 : start;
  if (markerEnd(source, from) !== -1) return markerEnd(source, from);
  const end = isQuoted ? closerOf(source, from, lineEnd(context, from), quote) : wordEnd(source, from);
  return end > from && source.charCodeAt(from) !== 45 ? spans.secret(from, end, name) : -1;
}

function wordEnd(source: string, from: number): number {
  let at = from;
  while (
    at < source.length &&
    VALUE_END[source.charCodeAt(at)] === 0 &&
    !(source.charCodeAt(at) === 92 && source.charCodeAt(at + 1) === 34)
  )
    at += 1;
  return at;
}
