/** Passwords on command lines that sudo, cron and auditd write down: `-u name:password`, `--password p`, `-pXXX`. */
import { VALUE_END } from './character-classes.ts';
import { lineEnd, type Context } from './context.ts';
import { closerOf } from './value-bounds.ts';
import { markerEnd, type SecretClass } from './spans.ts';

/** How far back the program's name may stand. */
const PROGRAM_MAX = 256;
const LONG = /--([A-Za-z][\w-]{2,40}) /y;
const SHORT = /-([upaAbUP]) ?/y;

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
  const keyStart = at + 2;
  const keyClass = keys.classAt(source, keyStart, keyStart + (match[1] as string).length);
  return keyClass === 'password' || keyClass === 'secret' ? cutWord(context, LONG.lastIndex) : -1;
}

function cutShort(context: Context, at: number): number {
  const { source, spans } = context;
  SHORT.lastIndex = at;
  const match = SHORT.exec(source);
  if (match === null) return -1;
  const from = SHORT.lastIndex;
  const line = source.slice(Math.max(0, at - PROGRAM_MAX), at);
  const program = line.slice(line.lastIndexOf('\n') + 1);
  const option = match[1] as string;
  if (option === 'u' && /\b(?:curl|wget|http)\b/.test(program)) {
    const end = wordEnd(source, from);
    return source.slice(from, Math.min(end, from + 256)).includes(':') && markerEnd(source, from) === -1
      ? spans.secret(from, end, 'url-credentials')
      : -1;
  }
  if (option === 'b' && /\bcurl\b/.test(program) && source.slice(from, from + 256).includes('='))
    return cutWord(context, from, 'cookie');
  const isGlued = from === at + 2;
  if (
    option === 'p' &&
    ((isGlued && /\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|sshpass)\b/.test(program)) ||
      isOfSshpass(program))
  )
    return cutWord(context, from);
  return option === 'a' && /\bredis-cli\b/.test(program) ? cutWord(context, from) : -1;
}

/** Whether the last command of a line is sshpass. */
function isOfSshpass(line: string): boolean {
  const at = line.lastIndexOf('sshpass');
  return at !== -1 && /^sshpass\b[^|;]*$/.test(line.slice(at));
}

function cutWord(context: Context, start: number, name: SecretClass = 'secret'): number {
  const { source, spans } = context;
  const quote = source.charAt(start);
  const isQuoted = quote === '"' || quote === "'";
  const from = isQuoted ? start + 1 : start;
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
