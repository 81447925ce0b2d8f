/** Lines in which a session or an account of the host begins, changes or fails: login, su, sshd, cron's kin, useradd. */
import { isDialled } from './phones.ts';
import type { Context } from './context.ts';
import { behindFor, oneName, type Phrase, type Rule } from './log-shapes.ts';
import { putPerson } from './people.ts';

/** Bytes before a word in which the phrase it belongs to begins. */
const BEFORE_MAX = 160;

/** A line with people in the groups of a pattern that stands where the phrase does. */
export function peopleOf(pattern: RegExp): Rule {
  return (context, start) => {
    pattern.lastIndex = start;
    const places = pattern.exec(context.source)?.indices;
    if (places === undefined) return -1;
    let next = -1;
    for (const place of places.slice(1))
      if (place !== undefined && place[1] > place[0]) next = Math.max(next, putDialled(context, place[0], place[1]));
    return next;
  };
}

/** A person, or a number that was dialled, however short. */
export function putDialled(context: Context, from: number, to: number): number {
  const { source, spans, pseudonyms } = context;
  const text = source.slice(from, Math.min(to, from + 64));
  return /^\d/.test(text) && isDialled(text)
    ? spans.put(from, to, pseudonyms.phone(text), 'phone')
    : putPerson(context, from, to);
}

/** A name behind a word, when the line began with the phrase that the word is of; what is between them is scanned. */
function nameBehind(phrase: RegExp): Rule {
  return (context, start, after) => {
    const before = context.source.slice(Math.max(0, start - BEFORE_MAX), start);
    if (!phrase.test(before.slice(before.lastIndexOf('\n') + 1))) return -1;
    // login opens with a back quote and closes with an apostrophe.
    return oneName(context, start, context.source.charCodeAt(after) === 96 ? after + 1 : after);
  };
}

const PROCESS = /sshd(?:-session)?: ([^\s:[\]@]{1,64}) \[(?:priv|net|pam)\]/dy;
const QUOTED_PASSWORD = /password for ['[`"]([^\s'"`[\]]{1,64})['\]"](?: changed by ['"]([^\s'"]{1,64})['"])?/dy;
const PASSWORD_OF = /password (?:changed|expiry) for ([^\s:,;'"=]{1,64})/dy;
const IN_BRACKETS = /(?:for user|user info) \(([^\s()=]{1,64})\)/dy;
const TALLY = /user ([^\s()=]{1,64}) \(\d{1,10}\) (?:tally|has)/dy;
const SU = /su\[\d{1,9}\]: [+-] \S{1,64} ([^\s:]{1,64}):([^\s:]{1,64})/dy;
const BAD_SU = /BAD SU ([^\s:]{1,64}) to ([^\s:]{1,64}) on /dy;
const PKEXEC = /pkexec\[\d{1,9}\]: ([^\s:]{1,64}): Executing/dy;
const DOAS = /doas: (?:command not permitted for ([^\s:]{1,64}):|([^\s:]{1,64}) ran command)/dy;
const NEW_ACCOUNT = /(?:new (?:user|group)|group added to \S{1,64}): name=([^\s,;=]{1,64})/dy;
const OF_GROUP = /(?:add|delete) '([^\s'"]{1,64})' (?:to|from) (?:shadow )?group/dy;
const OWNED_GROUP = /removed (?:shadow )?group '([^\s'"]{1,64})' owned by '([^\s'"]{1,64})'/dy;
const RENAMED = /user name '([^\s'"]{1,64})' to '([^\s'"]{1,64})'/dy;
const ADDING =
  /Adding (?:new )?(?:user|group) [`'"]([^\s`'"]{1,64})['"](?: \(\d{1,10}\) with group [`'"]([^\s`'"]{1,64})['"])?/dy;
const POSTGRES = /postgres: (?:[\w./-]{1,32}: )?([^\s:()]{1,64}) \S{1,64} (?:\[local\]|[0-9a-f.:]{2,39}\(\d{1,5}\))/dy;

/** The phrases of these programs, each with its rule. */
export const SESSION_PHRASES: readonly Phrase[] = [
  ['sshd: ', peopleOf(PROCESS)],
  ['sshd-session: ', peopleOf(PROCESS)],
  ['Starting session: ', behindFor],
  ['Login restricted for ', oneName],
  ['FOR ', nameBehind(/\bFAILED LOGIN\b/)],
  ['BY ', nameBehind(/\b(?:LOGIN ON|DIALUP AT) /)],
  ['su[', peopleOf(SU)],
  ['BAD SU ', peopleOf(BAD_SU)],
  ['password for ', peopleOf(QUOTED_PASSWORD)],
  ['password changed for ', peopleOf(PASSWORD_OF)],
  ['password expiry for ', peopleOf(PASSWORD_OF)],
  ['for user (', peopleOf(IN_BRACKETS)],
  ['user info (', peopleOf(IN_BRACKETS)],
  ['user ', peopleOf(TALLY)],
  ['pkexec[', peopleOf(PKEXEC)],
  ['doas: ', peopleOf(DOAS)],
  ['new user: ', peopleOf(NEW_ACCOUNT)],
  ['new group: ', peopleOf(NEW_ACCOUNT)],
  ['group added to ', peopleOf(NEW_ACCOUNT)],
  ["add '", peopleOf(OF_GROUP)],
  ["delete '", peopleOf(OF_GROUP)],
  ['removed group ', peopleOf(OWNED_GROUP)],
  ['removed shadow group ', peopleOf(OWNED_GROUP)],
  ["user name '", peopleOf(RENAMED)],
  ['Adding user ', peopleOf(ADDING)],
  ['Adding new ', peopleOf(ADDING)],
  ['Adding group ', peopleOf(ADDING)],
  ['postgres: ', peopleOf(POSTGRES)],
];
