/** What products beside those of a mail server, a telephone exchange and a login write of people, in sentences of their own. */
import type { LineRow, PhraseRow, Row, SpecialRow } from '../rows.ts';

function phrase(text: string, go: string, stay: string): PhraseRow {
  return { kind: 'phrase', phrase: text, go: [go], stay: [stay] };
}

function line(sign: string, at: number, text: string, go: string, stay: string): LineRow {
  return { kind: 'line', sign, at, line: text, go: [go], stay: [stay] };
}

const STAMP = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
const ADDRESS = String.raw`[\da-fA-F.:x]{3,45}`;
/** Words that follow `user` in sentences about users at large. */
const NOBODY =
  '(?!(?:name|agent|id|input|and|or|account|accounts|session|sessions|data|was|is|has|not|unknown|with|who|that|password|defined|request|requests|directory|group|groups|authentication|connection|logon|login|logoff|logout|initiated|details|management|profile|identity|access|activity|space|mode|interface)(?![\\w.-]))';
/** What is behind a name in such a sentence. */
const BEHIND = '(?= (?:-(?= \\w)|: Group|details|session \\d|succeeded|Failed|in domain)(?![a-z])|, client)';
/** A name that no word of a sentence looks like: letters, and a dot, an underscore or a digit with letters behind a letter. */
const CODED =
  '(?=[A-Za-z][A-Za-z-]{0,30}[._\\d][\\w.-]{1,40}(?:[\\s"\',)\\]]|$))(?!(?:com|org|net|io|id|uid|v)[.\\d])(?![\\w.-]{1,60}\\.(?:conf|txt|log|js|py|java|go|json|ya?ml|service|slice)(?![\\w.]))';

const SENTENCES: readonly Row[] = [
  ...['user ', 'User '].flatMap((lead) => [
    phrase(
      `${lead}${NOBODY}<user>${BEHIND}`,
      `AAA 73 0 : ${lead}«kalomi» - Client_ip 192.0.2.x`,
      `${lead}access - denied`,
    ),
    phrase(`${lead}${CODED}<user>`, `Done: ${lead}«kalomi.ren» took 5 ms`, `Done: ${lead}config.json took 5 ms`),
  ]),
  phrase(
    String.raw`rejected for <user> \(`,
    'Authentication is rejected for «kalomi» (client ip : 192.0.2.x)',
    'rejected for "/private" (no right)',
  ),
  phrase(
    String.raw`tty \d{1,4} \(${ADDRESS}\)\), user <user>$`,
    '(exec timer expired, tty 2 (192.0.2.x)), user «kalomi»',
    'tty 2 (192.0.2.x)), user count 7',
  ),
  ...["'", '"'].flatMap((quote) => [
    phrase(
      `for ${quote}<user>${quote} from ${ADDRESS}`,
      `Bad PAM password attempt for ${quote}«kalomi»${quote} from 192.0.2.x`,
      `for ${quote}a b${quote} from 192.0.2.x`,
    ),
    phrase(
      `request for ${quote}(?![/.])<user>${quote} has been`,
      `Authentication request for ${quote}«kalomi»${quote} has been denied`,
      `request for ${quote}/private/key${quote} has been denied`,
    ),
  ]),
  ...['Authentication request for ', 'authentication request for '].map((lead) =>
    phrase(`${lead}<user> has been`, `${lead}«kalomi» has been denied`, `${lead}"/x" has been denied`),
  ),
  ...['authenticate with ', 'Username ', 'username input ', 'login name ', 'logon name ', 'user name '].map((lead) =>
    phrase(`${lead}'<user>'`, `AD agent: ${lead}'«kalomi»' was read`, `${lead}is read`),
  ),
  phrase(
    `failed for {1,3}${NOBODY}<user> ?: `,
    'digest: auth failed for  «kalomi» : wrong password',
    'auth failed for "/private": no',
  ),
  phrase('by user {2,3}<one>', 'was used 5 times  by user  «kalomi»', 'stopped by user'),
  ...['on vty', 'on tty', 'on console'].map((literal): SpecialRow => ({
    kind: 'special',
    literal,
    does: 'terminal',
    go: [
      `Privilege level set to 1 by «kalomi» ${literal}0 (192.0.2.x)`,
      `Process from console as «kalomi» ${literal}0`,
    ],
    stay: [`Process from console ${literal}0`],
  })),
  ...['Session opened for ', 'Session closed for '].map((lead) =>
    phrase(`${lead}(?!user )${NOBODY}<user>\\.?$`, `|1||${lead}«kalomi».`, `${lead}"/private".`),
  ),
  phrase(
    String.raw`failed from (?=[A-Z][a-z]{1,30} [A-Z])<name>\.$`,
    'Login attempt failed from «Kalomi Ren».',
    'Login attempt failed from the host.',
  ),
  ...['AUTHENTICATION_FAILED', 'AUTHENTICATION_SUCCESS'].map((lead) =>
    phrase(`${lead}\\|<slashed>\\|`, `CAS|x|${lead}|«kalomi.ren»|192.0.2.x`, `${lead}||192.0.2.x`),
  ),
  phrase(
    String.raw`failed for \[<slashed>\]`,
    'authentication failed for [«kalomi»], account not found',
    'failed for [a b]',
  ),
  ...['processing message ', 'checking message ', 'clean message ', 'identified spam '].map((lead) =>
    phrase(
      `${lead}[^\\n]{1,200}? for <user>:\\d`,
      `spamd: ${lead}(5.0/7.0) for «kalomi»:119`,
      `spamd: ${lead}(5.0/7.0)`,
    ),
  ),
  // Windows in other languages than English.
  ...['Nom du compte', 'Kontoname', 'Nombre de cuenta', 'Nome da conta'].map((lead) =>
    phrase(`${lead} ?:[ \\t]{1,8}(?!-)<user>`, `of it.  ${lead} : «kalomi»`, `of it.  ${lead} : -`),
  ),
];

const FORMS: readonly Row[] = [
  line(
    '-',
    4,
    `${STAMP} <user> ${ADDRESS} failed to log ?in`,
    '2026-11-20 10:11:12 «kalomi» 192.0.2.x failed to login',
    '2026-11-20 10:11:12 kalomi failed to login',
  ),
  line(
    '-',
    4,
    String.raw`${STAMP} {1,4}[\w-]{3,8}: <name> \[${ADDRESS}\] authentication failure`,
    '2026-11-20 10:11:12   smtp: «kalomi ren» [192.0.2.x] authentication failure using internet password',
    '2026-11-20 10:11:12   smtp: [192.0.2.x] authentication failure',
  ),
];

export const PRODUCTS: readonly Row[] = [...SENTENCES, ...FORMS];
