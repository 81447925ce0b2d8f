/** Lines of well-known programs where a person stands without a key: sshd, pam, sudo, postgres, coturn, asterisk. */
import { NAME_END, wordStop, VALUE_END, WORD_BITS } from './character-classes.ts';
import { indexWithin, lineEnd, type Context } from './context.ts';
import { decodePrintableBase64 } from './decoding.ts';
import { closerOf, nameEnd } from './value-bounds.ts';
import { putPerson } from './people.ts';
import { markerEnd } from './spans.ts';

/** Bytes of a line of sshd that are looked at for what ends the name. */
const SSH_LINE_MAX = 256;

/** What stands behind a phrase. Answers where the scan goes on, or -1 when the phrase says nothing here. */
export type Rule = (context: Context, start: number, after: number) => number;
export type Phrase = readonly [literal: string, rule: Rule];

/** sshd's names may be empty and may hold ` from `: the last one before the port counts. */
export const behindFor: Rule = (context, _start, after) => {
  const { source } = context;
  const stop = lineEnd(context, after);
  const place = indexWithin(source, ' for ', after - 1, Math.min(stop, after + 45));
  if (place === -1) return -1;
  return sshName(context, place + 5, stop);
};

const sshNameHere: Rule = (context, _start, after) => sshName(context, after, lineEnd(context, after));

function sshName(context: Context, after: number, stop: number): number {
  const { source } = context;
  let from = after;
  for (const prefix of ['(illegal user) ', 'invalid user ', 'illegal user ', 'user '])
    if (source.startsWith(prefix, from)) from += prefix.length;
  // `authentication failure for "/private"` of a web server names a path.
  if ('"\'\\/'.includes(source.charAt(from))) return -1;
  const line = source.slice(from, Math.min(stop, from + SSH_LINE_MAX));
  const port = line.lastIndexOf(' port ');
  const place = line.lastIndexOf(' from ', port === -1 ? line.length : port - 1);
  let to = from + place;
  if (place === -1 && line.startsWith('from ')) return from;
  if (place === -1) {
    to = wordStop(NAME_END, source, from, stop);
    return to > from && source.charCodeAt(to) !== 61 ? putPerson(context, from, to) : -1;
  }
  return to <= from ? Math.max(from, to) : putPerson(context, from, to);
}

/** `authenticating user NAME 203.0.113.7 port 4711`: the name ends before the address. */
const beforeAddress: Rule = (context, _start, after) => {
  const { source } = context;
  const stop = lineEnd(context, after);
  const line = source.slice(after, Math.min(stop, after + SSH_LINE_MAX));
  const port = line.lastIndexOf(' port ');
  const to = line.lastIndexOf(' ', (port === -1 ? line.length : port) - 1);
  return to > 0 ? putPerson(context, after, after + to) : -1;
};

/** A name as one word, in quotes or in angle brackets. */
export const oneName: Rule = (context, _start, after) => {
  const { source } = context;
  const stop = lineEnd(context, after);
  const quote = quoteAt(source, after);
  if (quote !== '') {
    const to = closerOf(source, after + quote.length, stop, quote);
    return to > after + quote.length ? putPerson(context, after + quote.length, to) : to;
  }
  let to = nameEnd(source, after, stop);
  while (to > after && '.:'.includes(source.charAt(to - 1))) to -= 1;
  return to > after && source.charCodeAt(to) !== 61 ? putPerson(context, after, to) : -1;
};

/** The same, in quotes only: the word alone says too little. */
export const quotedName: Rule = (context, start, after) =>
  quoteAt(context.source, after) === '' ? -1 : oneName(context, start, after);

const VERBS =
  /(?::|,? (?:logged|signed|joined|left|not (?:found|known|in)|was|has|is|created|deleted|blocked|unblocked|authenticated|authorized|connected|disconnected|failed|added|removed|removed|changed|does|from) ?)/y;

/** `user NAME: authentication failure`, `user NAME logged in`: a word and then what it does. */
const nameWithVerb: Rule = (context, start, after) => {
  const { source } = context;
  if (quoteAt(source, after) !== '') return oneName(context, start, after);
  if (WORD_BITS[source.charCodeAt(after)] === 0 && source.charCodeAt(after) < 128) return -1;
  const to = wordStop(NAME_END, source, after, Math.min(source.length, after + 256));
  const end = source.charCodeAt(to - 1) === 58 ? to - 1 : to;
  VERBS.lastIndex = end;
  const name = source.slice(after, end);
  if (/[=/]/.test(name) || COMMON.has(name.toLowerCase()) || !VERBS.test(source)) return -1;
  return putPerson(context, after, end);
};

/** Words that follow `user` in sentences about users at large. */
const COMMON = new Set([
  'name',
  'agent',
  'id',
  'input',
  'and',
  'or',
  'account',
  'accounts',
  'session',
  'data',
  'was',
  'is',
  'has',
  'not',
  'unknown',
  'does',
  'interface',
  'mode',
  'space',
  'slice',
  'manager',
  'service',
  'list',
  'table',
  'logged',
  'who',
  'that',
  'with',
  'database',
  'password',
  'defined',
  'request',
  'cache',
  'directory',
  'limit',
  'runtime',
  'in',
  'from',
  'to',
  'the',
  'a',
  'an',
  'at',
  'by',
  'on',
  'process',
  'group',
  'authentication',
  'connection',
  'message',
]);

function quoteAt(source: string, at: number): string {
  let end = at;
  while (source.charCodeAt(end) === 92 && end - at < 15) end += 1;
  const byte = source.charCodeAt(end);
  if (byte === 34 || byte === 39) return source.slice(at, end + 1);
  return byte === 60 && end === at ? '<' : '';
}

/** What asterisk puts in quotes: a name, a number that was dialled, or a whole header. */
const caller: Rule = (context, start, after) => {
  const { source, spans, pseudonyms } = context;
  const quote = quoteAt(source, after);
  const inside = after + quote.length;
  const text = source.slice(inside, inside + 64);
  if (quote === '' || /^\\*["<]/.test(text)) return -1;
  const number = /^[+\d][\d+]{2,24}(?=['"\\])/.exec(text);
  if (number === null) return oneName(context, start, after);
  return spans.put(inside, inside + number[0].length, pseudonyms.phone(number[0]), 'phone');
};

/** `by alice(uid=1000)` of pam. */
const byName: Rule = (context, _start, after) => {
  const { source } = context;
  const to = wordStop(NAME_END, source, after, Math.min(source.length, after + 256));
  return to > after && source.startsWith('(uid=', to) ? putPerson(context, after, to) : -1;
};

/** `su for bob by alice`. */
const forAndBy: Rule = (context, start, after) => {
  const next = oneName(context, start, after);
  return next !== -1 && context.source.startsWith(' by ', next) ? oneName(context, start, next + 4) : next;
};

/** `sudo:    alice : TTY=…`, `sudo[77]: alice : …`. */
const sudo: Rule = (context, start, after) => {
  const { source } = context;
  let from = after;
  if (source.charCodeAt(from) === 91) from = indexWithin(source, ']', from, from + 16) + 1;
  if (from <= start || from - start > 20 || source.charCodeAt(from) !== 58) return -1;
  from += 1;
  while (source.charCodeAt(from) === 32 && from - after < 40) from += 1;
  const to = indexWithin(source, ' : ', from, Math.min(from + 68, lineEnd(context, from)));
  return to > from ? putPerson(context, from, to) : -1;
};

/** `Bearer` and a token; `Bearer of news` is none. */
const bearer: Rule = (context, _start, after) => {
  const { source, spans } = context;
  if (markerEnd(source, after) !== -1) return markerEnd(source, after);
  const to = credentialEnd(source, after);
  const token = source.slice(after, Math.min(to, after + 64));
  return token.length >= 6 && (/\d|[a-z][A-Z]/.test(token) || token.length >= 20)
    ? spans.secret(after, to, 'authorization')
    : -1;
};

/** `Basic` and base64 of `user:password`. */
const basic: Rule = (context, _start, after) => {
  const { source, spans } = context;
  const to = credentialEnd(source, after);
  if (to - after < 4 || to - after > 4096) return -1;
  const text = decodePrintableBase64(source.slice(after, to));
  return text?.includes(':') === true ? spans.secret(after, to, 'authorization') : -1;
};

function credentialEnd(source: string, from: number): number {
  let at = from;
  while (at < source.length && (WORD_BITS[source.charCodeAt(at)] !== 0 || './+~='.includes(source.charAt(at)))) at += 1;
  while (at > from && source.charCodeAt(at - 1) === 46) at -= 1;
  // A name and its value are no token: `=` only pads.
  return /=[^=]/.test(source.slice(from, Math.min(at, from + 256))) ? from : at;
}

/** What SASL said, in base64: the name and the password. `UGFzc3dvcmQ6` is just `Password:`. */
const sasl: Rule = (context, _start, after) => {
  const { source, spans } = context;
  const to = credentialEnd(source, after);
  if (to - after < 8 || (to - after) % 4 !== 0 || to - after > 4096) return -1;
  const text = decodePrintableBase64(source.slice(after, to));
  return text === undefined || text.endsWith(':') ? -1 : spans.secret(after, to, 'secret');
};

/** The rest of a path: tokens of webhooks and invitations. */
function pathRest(name: 'platform-token' | 'api-key'): Rule {
  return (context, _start, after) => {
    const { source, spans } = context;
    if (markerEnd(source, after) !== -1) return markerEnd(source, after);
    const ends = name === 'api-key' ? '?#,;)\\' : '/?#,;)\\';
    let to = after;
    while (to < source.length && VALUE_END[source.charCodeAt(to)] === 0 && !ends.includes(source.charAt(to))) to += 1;
    return to - after >= 8 && source.charCodeAt(after) !== 123 && source.charCodeAt(after) !== 58
      ? spans.secret(after, to, name)
      : -1;
  };
}

/** A password behind a word and a space: `PASSWORD 'p'`, `IDENTIFIED BY 'p'`. */
export const quotedSecret: Rule = (context, _start, after) => {
  const { source, spans } = context;
  const quote = quoteAt(source, after);
  if (quote === '' || quote === '<' || markerEnd(source, after + quote.length) !== -1) return -1;
  const from = after + quote.length;
  const to = closerOf(source, from, lineEnd(context, from), quote);
  return to > from ? spans.secret(from, to, 'secret') : to;
};

/** The phrases of these programs, each with its rule. */
export const LOG_PHRASES: readonly Phrase[] = [
  ['Failed password ', behindFor],
  ['Failed publickey ', behindFor],
  ['Failed keyboard-interactive', behindFor],
  ['Failed none ', behindFor],
  ['Failed hostbased ', behindFor],
  ['Failed gssapi', behindFor],
  ['Accepted ', behindFor],
  ['Postponed ', behindFor],
  ['Partial ', behindFor],
  ['Invalid user ', sshNameHere],
  ['invalid user ', sshNameHere],
  ['Illegal user ', sshNameHere],
  ['illegal user ', sshNameHere],
  ['exceeded for ', sshNameHere],
  ['failures for ', sshNameHere],
  ['failure for ', sshNameHere],
  ['unknown user ', oneName],
  ['authenticating user ', beforeAddress],
  ['Disconnected from user ', beforeAddress],
  ['Disconnected from invalid user ', beforeAddress],
  ['closed by invalid user ', beforeAddress],
  ['for user ', oneName],
  ['of user ', oneName],
  ['of User ', oneName],
  ['for USER ', oneName],
  ['as user ', oneName],
  ['by user ', oneName],
  ['user ', nameWithVerb],
  ['User ', nameWithVerb],
  ['role ', quotedName],
  ['login ', quotedName],
  ['username ', quotedName],
  ['account ', quotedName],
  ['sender ', quotedName],
  ['participant ', quotedName],
  ['by ', byName],
  ['su for ', forAndBy],
  ['sudo', sudo],
  ['Bearer ', bearer],
  ['bearer ', bearer],
  ['BEARER ', bearer],
  ['Bearer%20', bearer],
  ['Basic ', basic],
  ['basic ', basic],
  ['Basic%20', basic],
  ['authentication failed: ', sasl],
  ['Call from ', caller],
  ['authenticate as ', caller],
  ['extension ', caller],
  ['authentication for ', caller],
  ['Registration from ', caller],
  ['hooks.slack.com/services/', pathRest('api-key')],
  ['discord.com/api/webhooks/', pathRest('api-key')],
  ['discordapp.com/api/webhooks/', pathRest('api-key')],
  ['webhook.office.com/webhookb2/', pathRest('api-key')],
  ['enroll/', pathRest('platform-token')],
  ['invite/', pathRest('platform-token')],
  ['invitations/', pathRest('platform-token')],
  ['join/', pathRest('platform-token')],
  ['PASSWORD ', quotedSecret],
  ['password ', quotedSecret],
  ['IDENTIFIED BY ', quotedSecret],
];
