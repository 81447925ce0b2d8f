/**
 * Values of the outside judge: what people and programs write, drawn without looking at the engine's tables. Each says
 * which class it is of, which piece of it must not be read, and by what it can be known: its name, itself, its sentence.
 */
import type { SeededRandom } from '#test/support/random.ts';
import { BASE62, BASE64URL, BASE64, bytes, DIGITS, draw, drawMixed, HEX, LOWER, UPPER, uuid } from './alphabets.ts';
import { email, hidden, ipv4, ipv6, mark, phone, user, type Marked, type Shape, type SpanClass } from './labels.ts';

const SYLLABLES = 'ka lo mi ren tos vu shi pel dra gon hel wi ba nor que zi fen mar tul oxa'.split(' ');
const CYRILLIC = ['елена', 'смирнов', 'ольга', 'белов', 'тимур', 'жданова', 'захар', 'кротов'];
const PRIVATE = 'salary merger diagnosis birthday lawsuit bonus surgery dismissal mortgage passport wedding'.split(' ');

function syllables(random: SeededRandom, count: number): string {
  return Array.from({ length: count }, () => random.pick(SYLLABLES)).join('');
}

/** A name nobody has on a list: `kalomi`, `k.renvu87`, `Mitos_Pel`, `елена.смирнов`. */
export function anyName(random: SeededRandom): string {
  const [first, last] = [syllables(random, 3), syllables(random, 3)];
  switch (random.whole(0, 6)) {
    case 0:
      return `${first}.${last}`;
    case 1:
      return `${first.charAt(0)}.${last}${random.whole(10, 99)}`;
    case 2:
      return `${first}_${last}`;
    case 3:
      return `${random.pick(CYRILLIC)}.${random.pick(CYRILLIC)}`;
    case 4:
      return `${first}-${last}`.toUpperCase();
    default:
      return first + last;
  }
}

function asciiName(random: SeededRandom): string {
  return `${syllables(random, 3)}${random.pick(['.', '_', '-', ''])}${syllables(random, 2)}`;
}

function words(random: SeededRandom): string {
  return Array.from({ length: random.whole(3, 6) }, () => random.pick(PRIVATE)).join(' ');
}

/** Passwords as people choose them: plain words too. */
function password(random: SeededRandom): string {
  switch (random.whole(0, 5)) {
    case 0:
      return syllables(random, 4);
    case 1:
      return `${syllables(random, 3)}${random.whole(10, 999)}`;
    case 2:
      return `${syllables(random, 2)}${random.pick(['!', '#', '$', '%', '^', '*', '_'])}${syllables(random, 2)}`;
    case 3:
      return drawMixed(random, BASE62, random.pick([8, 12, 20]));
    case 4:
      return draw(random, HEX, random.pick([16, 32]));
    default:
      return `${syllables(random, 2).toUpperCase()}-${draw(random, DIGITS, 4)}-${syllables(random, 2)}`;
  }
}

function keyed(
  name: string,
  spanClass: SpanClass,
  keys: string,
  make: (random: SeededRandom) => Marked,
  more: Partial<Shape> = {},
): Shape {
  return { name, class: spanClass, known: 'keyed', keys: keys.split(' '), make, ...more };
}

function bare(name: string, spanClass: SpanClass, make: (random: SeededRandom) => Marked): Shape {
  return { name, class: spanClass, known: 'bare', make };
}

function line(name: string, spanClass: SpanClass, make: (random: SeededRandom) => Marked): Shape {
  return { name, class: spanClass, known: 'line', make };
}

const KEYED: readonly Shape[] = [
  keyed(
    'person',
    'user',
    'user username user_name userName login loginName account actor sender rcpt sasl_username',
    (r) => user(anyName(r)),
  ),
  keyed('person of a dotted name', 'user', 'user.name client.user.name auth.username req.user event.login', (r) =>
    user(anyName(r)),
  ),
  keyed(
    'display name',
    'user',
    'display_name displayName fullName',
    (r) => user(`${syllables(r, 2)} ${syllables(r, 3)}`),
    {
      isSpaced: true,
    },
  ),
  keyed(
    'plain secret',
    'secret',
    'password passwd pwd client_secret secret token api_key X-Api-Key DB_PASSWORD db.password access_token refresh_token spring.datasource.password',
    (r) => hidden('secret', password(r)),
  ),
  keyed('secret of letters', 'secret', 'password client_secret token secret apiKey smtpPassword X-Auth-Token', (r) =>
    hidden('secret', syllables(r, 4)),
  ),
  keyed(
    'secret with spaces',
    'secret',
    'password passphrase secret',
    (r) => hidden('secret', `${password(r)} ${password(r)}`),
    {
      isSpaced: true,
    },
  ),
  keyed('one-time code', 'secret', 'otp code pin verification_code', (r) => hidden('secret', draw(r, DIGITS, 6))),
  keyed(
    'bearer',
    'authorization',
    'Authorization authorization Proxy-Authorization',
    (r) =>
      mark`${r.pick(['Bearer', 'Token', 'ApiKey'])} ${hidden('authorization', r.pick([password(r), drawMixed(r, BASE64URL, 40)]))}`,
    { isSpaced: true },
  ),
  keyed(
    'basic',
    'authorization',
    'Authorization authorization',
    (r) => mark`Basic ${hidden('authorization', Buffer.from(`${asciiName(r)}:${password(r)}`).toString('base64'))}`,
    { isSpaced: true },
  ),
  keyed(
    'cookies',
    'cookie',
    'Cookie cookie Set-Cookie',
    (r) => mark`sid=${hidden('cookie', drawMixed(r, BASE62, 24))}; lang=ru; t=${hidden('cookie', draw(r, HEX, 16))}`,
    { isSpaced: true },
  ),
  keyed('text', 'text', 'subject body text preview', (r) => hidden('text', words(r)), { isSpaced: true }),
  keyed('digits of a phone', 'phone', 'phone msisdn mobile caller callee', (r) =>
    phone(`${r.pick(['79', '4479', '38050'])}${draw(r, DIGITS, 9).slice(0, 9)}`),
  ),
];

function url(random: SeededRandom): Marked {
  const scheme = random.pick(['postgres', 'https', 'amqp', 'redis', 'mongodb+srv', 'ftp', 'mysql', 'ldap']);
  const secret = random.pick([
    password(random),
    `${syllables(random, 2)}%40${syllables(random, 2)}`,
    `${syllables(random, 2)}@${syllables(random, 2)}`,
  ]);
  const host = random.pick(['db.example.org', '10.0.3.x', 'cache-1', 'mq.internal:5672']);
  return mark`${scheme}://${hidden('url-credentials', asciiName(random))}:${hidden('url-credentials', secret)}@${host}/x`;
}

const SERVICES: readonly (readonly [string, (random: SeededRandom) => string])[] = [
  ['ghp', (r) => `ghp_${drawMixed(r, BASE62, 36)}`],
  ['glpat', (r) => `glpat-${drawMixed(r, BASE62, 20)}`],
  ['xoxb', (r) => `xoxb-${draw(r, DIGITS, 12)}-${draw(r, DIGITS, 12)}-${drawMixed(r, BASE62, 24)}`],
  ['stripe', (r) => `sk_live_${drawMixed(r, BASE62, 24)}`],
  ['google', (r) => `AIza${drawMixed(r, BASE62, 35)}`],
  ['sendgrid', (r) => `SG.${drawMixed(r, BASE62, 22)}.${drawMixed(r, BASE62, 43)}`],
  ['npm', (r) => `npm_${drawMixed(r, BASE62, 36)}`],
  ['anthropic', (r) => `sk-ant-api03-${drawMixed(r, BASE64URL, 93)}AA`],
  ['sonar user', (r) => `squ_${draw(r, HEX, 40)}`],
  ['sonar project', (r) => `sqp_${draw(r, HEX, 40)}`],
  ['buildkite', (r) => `bkua_${draw(r, HEX, 40)}`],
  ['new relic', (r) => `NRAK-${draw(r, UPPER + DIGITS, 27)}`],
  ['airtable', (r) => `pat${drawMixed(r, BASE62, 14)}.${draw(r, HEX, 64)}`],
  ['launchdarkly', (r) => `sdk-${uuid(r)}`],
  ['mailgun', (r) => `${draw(r, HEX, 32)}-${draw(r, HEX, 8)}-${draw(r, HEX, 8)}`],
  ['telegram', (r) => `${draw(r, '123456789', 10)}:AA${drawMixed(r, BASE64URL, 33)}`],
  ['azure', (r) => `${drawMixed(r, BASE62, 3)}8Q~${drawMixed(r, BASE62, 34)}`],
  ['docker hub', (r) => `dckr_pat_${drawMixed(r, BASE64URL, 27)}`],
  ['vault', (r) => `hvs.${drawMixed(r, BASE62, 90)}`],
];

const SELF_KNOWN: readonly Shape[] = [
  ...SERVICES.map(([name, make]) => bare(name, 'api-key', (r) => hidden('api-key', make(r)))),
  bare('vendor token', 'platform-token', (r) =>
    hidden('platform-token', `svc_vst_${draw(r, LOWER + DIGITS, 22)}_${drawMixed(r, BASE64URL, 43)}`),
  ),
  bare('bot token', 'platform-token', (r) => hidden('platform-token', `bot_${drawMixed(r, BASE64URL, 43)}`)),
  bare('jwt', 'jwt', (r) =>
    hidden(
      'jwt',
      `${Buffer.from(`{"alg":"HS256","k":"${draw(r, HEX, 4)}"}`).toString('base64url')}.${Buffer.from(JSON.stringify({ sub: asciiName(r), n: r.whole(1, 9e8) })).toString('base64url')}.${drawMixed(r, BASE64URL, 43)}`,
    ),
  ),
  bare('aws id', 'aws-key', (r) => hidden('aws-key', `AKIA${draw(r, `${UPPER}234567`, 16)}`)),
  bare('url', 'url-credentials', url),
  bare('address', 'email', (r) => email(asciiName(r), r.pick(['corp.example', 'mail.example.org', 'example.co.uk']))),
  bare('ipv4', 'ipv4', (r) =>
    ipv4(`${r.pick([10, 192, 203, 8])}.${r.whole(1, 250)}.${r.whole(0, 250)}.${r.whole(10, 250)}`),
  ),
  bare(
    'ipv4 with a port',
    'ipv4',
    (r) => mark`${ipv4(`10.42.${r.whole(0, 250)}.${r.whole(10, 250)}`)}:${r.whole(1024, 65_000)}`,
  ),
  bare(
    'ipv4 behind a slash',
    'ipv4',
    (r) => mark`/${ipv4(`10.251.${r.whole(0, 250)}.${r.whole(10, 250)}`)}:${r.whole(1024, 65_000)}`,
  ),
  bare(
    'ipv4 behind a host',
    'ipv4',
    (r) => mark`zk${r.whole(1, 9)}.example.org/${ipv4(`10.42.${r.whole(0, 250)}.${r.whole(10, 250)}`)}:2181`,
  ),
  bare('ipv6', 'ipv6', (r) =>
    ipv6(
      `2001:db8:${r.whole(1, 999)}:${r.whole(0x1000, 0xffff).toString(16)}::${r.whole(0x1000, 0xffff).toString(16)}`,
    ),
  ),
  bare('ipv6 in capitals', 'ipv6', (r) =>
    ipv6(
      `2A01:4F8:${r.whole(1, 999)}:${r.whole(0x1000, 0xffff).toString(16)}::${r.whole(0x1000, 0xffff).toString(16)}`.toUpperCase(),
    ),
  ),
  bare('random of 32', 'random', (r) => hidden('random', drawMixed(r, BASE62, 32))),
  bare('random of 43', 'random', (r) => hidden('random', drawMixed(r, BASE64URL, 43))),
  {
    ...bare('base64 of 32 bytes', 'random', (r) => hidden('random', bytes(r, 32).toString('base64'))),
    known: 'delimited',
  },
  { ...bare('aws secret', 'random', (r) => hidden('random', drawMixed(r, BASE64, 40))), known: 'delimited' },
];

/** Numbers as people write them, with what follows them in logs. */
function spokenPhone(random: SeededRandom): Marked {
  const d = (count: number): string => draw(random, '23456789', count);
  const written = random.pick([
    `+7 9${d(2)} ${d(3)}-${d(2)}-${d(2)}`,
    `+44 7${d(3)} ${d(6)}`,
    `+44 20 ${d(4)} ${d(4)}`,
    `+49 171 ${d(7)}`,
    `+1 ${d(3)} ${d(3)} ${d(4)}`,
    `+33 6 ${d(2)} ${d(2)} ${d(2)} ${d(2)}`,
    `+380 50 ${d(3)} ${d(4)}`,
    `+375 29 ${d(3)}-${d(2)}-${d(2)}`,
    `8 (9${d(2)}) ${d(3)}-${d(2)}-${d(2)}`,
    `+79${d(9)}`,
  ]);
  return phone(written);
}

const LINES: readonly Shape[] = [
  line(
    'a call and its day',
    'phone',
    (r) =>
      mark`call to ${spokenPhone(r)} ${r.pick(['2026-11-22', '10.0.0.x', '1700000000', '200', '12:30:01', 'ended', '17 s'])}`,
  ),
  line('a call in brackets', 'phone', (r) => mark`dialled (${spokenPhone(r)}), answered`),
  line(
    'ssh failed',
    'user',
    (r) =>
      mark`Failed password for ${r.pick(['', 'invalid user '])}${user(anyName(r))} from ${ipv4(`10.9.8.${r.whole(10, 250)}`)} port ${r.whole(1024, 65_000)} ssh2`,
  ),
  line('ssh not allowed', 'user', (r) => mark`User ${user(anyName(r))} not allowed because account is locked`),
  line(
    'ssh not allowed from',
    'user',
    (r) =>
      mark`User ${user(anyName(r))} from ${ipv4(`10.9.8.${r.whole(10, 250)}`)} not allowed because none of user's groups are listed in AllowGroups`,
  ),
  line(
    'ssh accepted',
    'user',
    (r) =>
      mark`Accepted publickey for ${user(anyName(r))} from ${ipv4(`10.9.8.${r.whole(10, 250)}`)} port ${r.whole(1024, 65_000)} ssh2`,
  ),
  line('cron', 'user', (r) => mark`CRON[${r.whole(2, 9999)}]: (${user(anyName(r))}) CMD (/usr/bin/true)`),
  line('postgres', 'user', (r) => mark`FATAL:  password authentication failed for user "${user(anyName(r))}"`),
  line('session', 'user', (r) => mark`pam_unix(sshd:session): session opened for user ${user(anyName(r))} by (uid=0)`),
  line('sudo', 'user', (r) => mark`sudo: ${user(anyName(r))} : TTY=pts/0 ; PWD=/srv ; USER=root ; COMMAND=/bin/ls`),
  line(
    'namenode',
    'ipv4',
    (r) =>
      mark`Receiving block blk_${draw(r, '123456789', 18)} src: /${ipv4(`10.251.30.${r.whole(10, 250)}`)}:33145 dest: /${ipv4(`10.251.31.${r.whole(10, 250)}`)}:50010`,
  ),
  line(
    'apache client',
    'ipv6',
    (r) =>
      mark`[client ${ipv6(`2001:db8:44:1::${r.whole(0x1000, 0xffff).toString(16)}`)}:${r.whole(50_000, 60_000)}] AH01630: denied`,
  ),
  line('php define', 'secret', (r) => mark`define('DB_PASSWORD','${hidden('secret', syllables(r, 4))}');`),
  line('sql password', 'secret', (r) => mark`SET PASSWORD = PASSWORD('${hidden('secret', syllables(r, 4))}')`),
  line(
    'sql role',
    'secret',
    (r) => mark`ALTER ROLE app PASSWORD '${hidden('secret', `${syllables(r, 3)}''${syllables(r, 3)}`)}'`,
  ),
  line('erlang', 'secret', (r) => mark`{ok,[{password,"${hidden('secret', syllables(r, 4))}"}]}`),
  line(
    'security token',
    'secret',
    (r) =>
      mark`<wsse:Password Type="http://docs.example.org/wss#PasswordText">${hidden('secret', syllables(r, 4))}</wsse:Password>`,
  ),
  line('cdata', 'secret', (r) => mark`<password><![CDATA[${hidden('secret', password(r))}]]></password>`),
  line(
    'odbc',
    'user',
    (r) =>
      mark`Server=db1;Database=app;User ID=${user(asciiName(r))};Password=${hidden('secret', syllables(r, 4))};Encrypt=yes`,
  ),
  line('auth line', 'authorization', (r) => mark`auth: Bearer ${hidden('authorization', syllables(r, 4))}`),
  line('bare bearer', 'authorization', (r) => mark`sent Bearer ${hidden('authorization', syllables(r, 8))} upstream`),
  line('nul', 'secret', (r) => mark`pass=${hidden('secret', `${syllables(r, 3)}\0${syllables(r, 3)}`)}`),
  line('subject', 'text', (r) => mark`Subject: ${hidden('text', words(r))}`),
  line('quoted-printable address', 'email', (r) => {
    const name = `${r.pick(CYRILLIC)}.${r.pick(CYRILLIC)}`;
    const written = [...Buffer.from(name)]
      .map((byte) => (byte < 128 ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase()}`))
      .join('');
    const label = email(name, 'corp.example').labels;
    return { text: `To: ${written}@corp.example`, labels: label };
  }),
];

export const UNSEEN_SHAPES: readonly Shape[] = [...KEYED, ...SELF_KNOWN, ...LINES];

/** What nobody may change: ids, times, versions, words about secrets, places in programs. */
export const STAYING: readonly ((random: SeededRandom) => string)[] = [
  (r) => uuid(r),
  (r) => `2026-11-${r.whole(10, 28)}T10:${r.whole(10, 59)}:${r.whole(10, 59)}.${draw(r, DIGITS, 3)}Z`,
  (r) => `v${r.whole(0, 9)}.${r.whole(0, 40)}.${r.whole(0, 40)}`,
  (r) => `user.id=${uuid(r)}`,
  (r) => `accountId=${uuid(r)}`,
  (r) => `trace_id=${draw(r, HEX, 32)}`,
  (r) => `traceparent: 00-${draw(r, HEX, 32)}-${draw(r, HEX, 16)}-01`,
  (r) => `commit ${draw(r, HEX, 40)}`,
  (r) => `HEAD is now at ${draw(r, HEX, 40)}`,
  (r) => `sha256:${draw(r, HEX, 64)}`,
  (r) => `error code=${r.pick(['23505', '42601', '57014'])}`,
  (r) => `dsn=${r.pick(['2.0.0', '4.4.1', '5.1.1'])}`,
  (r) => `caller=auth/login.go:${r.whole(10, 99)}`,
  (r) => `status=${r.pick([200, 404, 500])} bytes=${r.whole(100, 99_999)}`,
  (r) => `ts=17${draw(r, DIGITS, 8)}`,
  () => 'Auth: (14)',
  (r) => `block blk_${draw(r, '123456789', 19)} terminating`,
  (r) => `/usr/lib/jvm/java-${r.whole(8, 21)}-openjdk-amd64/bin/java`,
  () => 'the token expired and was renewed',
  () => 'password authentication is disabled',
  (r) => `offset +0.${draw(r, DIGITS, 6)}`,
  (r) => `eth0: ${Array.from({ length: 6 }, () => draw(r, HEX, 2)).join(':')}`,
  (r) => `pkg lodash@4.17.${r.whole(1, 40)}`,
  (r) => `ptr=0x${draw(r, HEX, 12)}`,
  () => 'com.example.AbstractSingletonProxyFactoryBeanConfigurationManagerImpl',
  (r) => `listening on 127.0.0.1:${r.whole(1024, 65_000)}`,
  (r) => `took=${r.whole(1, 99)}.${r.whole(1, 9)}ms lane=${r.whole(1, 9)}`,
  () => 'user unknown',
  (r) => `WebKitFormBoundary${drawMixed(r, BASE62, 16)}`,
];
