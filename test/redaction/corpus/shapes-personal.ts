/** People, their addresses, numbers and words, where a name or a shape gives them away. */
import type { SeededRandom } from '#test/support/random.ts';
import { DIGITS, draw } from './alphabets.ts';
import { email, hidden, ipv4, ipv6, mark, phone, user, type Marked, type Shape } from './labels.ts';
import { displayName, DOMAINS, localPart, privateText, userName } from './words.ts';

const USER_KEYS = ['user', 'username', 'login', 'account', 'actor', 'sub', 'sender', 'rcpt', 'sasl_username'];

const USERS: readonly Shape[] = [
  { name: 'user name', class: 'user', known: 'keyed', keys: USER_KEYS, make: (random) => user(userName(random)) },
  {
    name: 'user name in capitals',
    class: 'user',
    known: 'keyed',
    keys: USER_KEYS,
    make: (random) => user(userName(random).toUpperCase()),
  },
  {
    name: 'display name',
    class: 'user',
    known: 'keyed',
    keys: ['display_name'],
    isSpaced: true,
    make: (random) => user(displayName(random)),
  },
];

const EMAILS: readonly Shape[] = [
  { name: 'address', class: 'email', known: 'bare', make: (random) => email(localPart(random), random.pick(DOMAINS)) },
  {
    name: 'address under the name of a user',
    class: 'email',
    known: 'keyed',
    keys: [...USER_KEYS, 'from', 'to'],
    make: (random) => email(localPart(random), random.pick(DOMAINS)),
  },
  {
    name: 'address to write to',
    class: 'email',
    known: 'bare',
    make: (random) => mark`mailto:${email(localPart(random), random.pick(DOMAINS))}`,
  },
];

const NBSP = '\u00a0';

/** The groups of a Russian number without its country. */
function russian(random: SeededRandom): [string, string, string, string] {
  return [
    `9${draw(random, DIGITS, 2)}`,
    draw(random, '123456789', 3),
    draw(random, DIGITS, 2),
    draw(random, DIGITS, 2),
  ];
}

const WRITTEN: readonly (readonly [string, (groups: [string, string, string, string]) => string])[] = [
  ['+7 with spaces', ([a, b, c, d]) => `+7 ${a} ${b} ${c} ${d}`],
  ['+7 with hyphens', ([a, b, c, d]) => `+7 ${a} ${b}-${c}-${d}`],
  ['+7 with brackets', ([a, b, c, d]) => `+7 (${a}) ${b}-${c}-${d}`],
  ['+7 in a row', ([a, b, c, d]) => `+7${a}${b}${c}${d}`],
  ['+7 all hyphens', ([a, b, c, d]) => `+7-${a}-${b}-${c}-${d}`],
  ['+7 with points', ([a, b, c, d]) => `+7.${a}.${b}.${c}.${d}`],
  ['+7 with hard spaces', ([a, b, c, d]) => `+7${NBSP}${a}${NBSP}${b}${NBSP}${c}${NBSP}${d}`],
  ['+7 with narrow spaces', ([a, b, c, d]) => `+7\u202f${a}\u202f${b}\u202f${c}\u202f${d}`],
  ['+7 with hard hyphens', ([a, b, c, d]) => `+7 ${a} ${b}\u2011${c}\u2011${d}`],
  ['8 with brackets', ([a, b, c, d]) => `8 (${a}) ${b}-${c}-${d}`],
  ['8 with brackets and no spaces', ([a, b, c, d]) => `8(${a})${b}${c}${d}`],
  ['8 with brackets and seven digits', ([a, b, c, d]) => `8 (${a}) ${b}${c}${d}`],
  ['8 with hyphens', ([a, b, c, d]) => `8-${a}-${b}-${c}-${d}`],
  ['8 in a row', ([a, b, c, d]) => `8${a}${b}${c}${d}`],
];

function foreign(name: string, make: (random: SeededRandom) => string): Shape {
  return { name, class: 'phone', known: 'bare', make: (random) => phone(make(random)) };
}

function withoutSpaces(written: string): boolean {
  return !/[\s()]/u.test(written);
}

const PHONES: readonly Shape[] = [
  ...WRITTEN.map(([name, write]): Shape => ({
    name,
    class: 'phone',
    known: 'bare',
    make: (random) => phone(write(russian(random))),
    isSpaced: !withoutSpaces(write(['916', '123', '45', '67'])),
  })),
  foreign('American', (random) => `+1-${random.whole(212, 989)}-${random.whole(200, 999)}-${draw(random, DIGITS, 4)}`),
  {
    ...foreign('German', (random) => `+49 30 ${draw(random, '123456789', 4)} ${draw(random, DIGITS, 4)}`),
    isSpaced: true,
  },
  { ...foreign('British', (random) => `+44 20 ${draw(random, '789', 4)} ${draw(random, DIGITS, 4)}`), isSpaced: true },
  foreign('Finnish', (random) => `+35840${draw(random, DIGITS, 7)}`),
  foreign('Belarusian', (random) => `+37529${draw(random, DIGITS, 7)}`),
  {
    name: 'bare digits under a name',
    class: 'phone',
    known: 'keyed',
    keys: ['phone', 'msisdn', 'tel', 'mobile', 'caller', 'callee'],
    make: (random) => phone(`7${russian(random).join('')}`),
  },
  {
    name: 'tel',
    class: 'phone',
    known: 'bare',
    make: (random) => mark`tel:${phone(`+7-${russian(random).join('-')}`)}`,
  },
  {
    name: 'tel with parameters',
    class: 'phone',
    known: 'line',
    make: (random) => mark`dial tel:${phone(`+7${russian(random).join('')}`)};ext=1;phone-context=example.org now`,
  },
  {
    name: 'sip with plus',
    class: 'phone',
    known: 'bare',
    make: (random) => mark`sip:${phone(`+7${russian(random).join('')}`)}@pbx.example.org`,
  },
  {
    name: 'sip of a phone',
    class: 'phone',
    known: 'line',
    make: (random) => mark`INVITE sip:${phone(`+7${russian(random).join('')}`)}@pbx.example.org;user=phone SIP/2.0`,
  },
  {
    name: 'sip without plus',
    class: 'phone',
    known: 'bare',
    make: (random) => mark`sip:${phone(`7${russian(random).join('')}`)}@pbx.example.org`,
  },
  {
    name: 'number in json',
    class: 'phone',
    known: 'line',
    make: (random) => mark`{"level":30,"phone":${phone(`7${russian(random).join('')}`)},"msg":"code sent"}`,
  },
  {
    name: 'plus as a reference',
    class: 'phone',
    known: 'line',
    make: (random) => mark`call to &#43;${phone(`7${russian(random).join('')}`)} ended`,
  },
];

function octets(random: SeededRandom): string {
  return `${random.pick([198, 203, 91, 5, 172, 10])}.${random.whole(1, 254)}.${random.whole(0, 254)}.${random.whole(10, 254)}`;
}

/** Two to four groups behind the 48 bits that stay, none of them short enough to be met by chance. */
function tail(random: SeededRandom): string[] {
  return Array.from({ length: 5 }, () => random.whole(0x1000, 0xffff).toString(16));
}

function prefix48(random: SeededRandom): string {
  return `2001:db8:${random.whole(1, 0xffff).toString(16)}`;
}

const V4: readonly Shape[] = [
  { name: 'ipv4', class: 'ipv4', known: 'bare', make: (random) => ipv4(octets(random)) },
  {
    name: 'ipv4 with a port',
    class: 'ipv4',
    known: 'bare',
    make: (random) => mark`${ipv4(octets(random))}:${random.whole(1024, 65_535)}`,
  },
  {
    name: 'ipv4 in square brackets',
    class: 'ipv4',
    known: 'line',
    make: (random) => mark`connect from unknown[${ipv4(octets(random))}]:25`,
  },
  {
    name: 'ipv4 of a lease',
    class: 'ipv4',
    known: 'line',
    make: (random) => mark`renewed lease ${ipv4(octets(random))}.`,
  },
  {
    name: 'ipv4 of asterisk',
    class: 'ipv4',
    known: 'line',
    make: (random) => mark`RemoteAddress="IPV4/UDP/${ipv4(octets(random))}/5060",LocalAddress="IPV4/UDP/0.0.0.0/5060"`,
  },
  {
    name: 'ipv4 of slapd',
    class: 'ipv4',
    known: 'line',
    make: (random) => mark`conn=1000 fd=12 ACCEPT from IP=${ipv4(octets(random))}:4242 (IP=0.0.0.0:389)`,
  },
  {
    name: 'ipv4 of named',
    class: 'ipv4',
    known: 'line',
    make: (random) => mark`client @0x7f1c2c0a ${ipv4(octets(random))}#53211 (example.org): query: example.org IN A`,
  },
  {
    name: 'two forwarded',
    class: 'ipv4',
    known: 'line',
    make: (random) => mark`x_forwarded_for="${ipv4(octets(random))}, ${ipv4(octets(random))}" status=200`,
  },
  {
    name: 'ipv4 of tcpdump',
    class: 'ipv4',
    known: 'line',
    make: (random) => mark`IP ${ipv4(octets(random))}.51234 > ${ipv4(octets(random))}.443: Flags [S]`,
  },
  { name: 'ipv4 mapped', class: 'ipv4', known: 'bare', make: (random) => mark`::ffff:${ipv4(octets(random))}` },
];

const V6: readonly Shape[] = [
  {
    name: 'ipv6 in full',
    class: 'ipv6',
    known: 'bare',
    make: (random) => ipv6(`${prefix48(random)}:${tail(random).join(':')}`),
  },
  {
    name: 'ipv6 shortened',
    class: 'ipv6',
    known: 'bare',
    make: (random) => ipv6(`${prefix48(random)}::${tail(random).slice(3).join(':')}`),
  },
  {
    name: 'ipv6 in capitals',
    class: 'ipv6',
    known: 'bare',
    make: (random) => ipv6(`${prefix48(random)}:${tail(random).join(':')}`.toUpperCase()),
  },
  {
    name: 'ipv6 with a port',
    class: 'ipv6',
    known: 'bare',
    make: (random) => mark`[${ipv6(`${prefix48(random)}::${tail(random).slice(3).join(':')}`)}]:5060`,
  },
  {
    name: 'ipv6 of postfix',
    class: 'ipv6',
    known: 'line',
    make: (random) =>
      mark`connect from unknown[IPv6:${ipv6(`${prefix48(random)}::${tail(random).slice(2).join(':')}`)}]`,
  },
  {
    name: 'ipv6 of a link',
    class: 'ipv6',
    known: 'line',
    make: (random) => mark`neighbour ${ipv6(`fe80::${tail(random).slice(1).join(':')}`)}%eth0 is stale`,
  },
  {
    name: 'ipv6 of a log entry',
    class: 'ipv6',
    known: 'line',
    make: (random) =>
      mark`${ipv6(`2a02:6b8:${random.whole(1, 999)}:${tail(random).join(':')}`)} - - [20/Nov/2026:10:00:00 +0300] "GET / HTTP/1.1" 200 612`,
  },
  {
    name: 'ipv6 of tcpdump',
    class: 'ipv6',
    known: 'line',
    make: (random) =>
      mark`IP6 ${ipv6(`${prefix48(random)}::${tail(random).slice(3).join(':')}`)}.443 > ::1.51234: Flags [.]`,
  },
];

const TEXT_KEYS = ['subject', 'body', 'text', 'preview'];

function words(random: SeededRandom): Marked {
  return hidden('text', privateText(random));
}

function encodedWord(random: SeededRandom): Marked {
  const text = privateText(random);
  const bytes = Buffer.from(text);
  const body = random.chance(0.5)
    ? `B?${bytes.toString('base64')}`
    : `Q?${[...bytes].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')}`;
  return { text: `=?UTF-8?${body}?=`, labels: [{ class: 'text', kind: 'secret', value: text }] };
}

const TEXTS: readonly Shape[] = [
  { name: 'private words', class: 'text', known: 'keyed', keys: TEXT_KEYS, isSpaced: true, make: words },
  {
    name: 'words to the end of the line',
    class: 'text',
    known: 'line',
    make: (random) => mark`mail stored size=1200 subject=${words(random)}`,
  },
  {
    name: 'words before another field',
    class: 'text',
    known: 'line',
    make: (random) => mark`mail stored preview=${words(random)} size=1200`,
  },
  { name: 'subject header', class: 'text', known: 'line', make: (random) => mark`Subject: ${words(random)}` },
  {
    name: 'subject in the mail log',
    class: 'text',
    known: 'line',
    make: (random) =>
      mark`4F2A1: warning: header Subject: ${words(random)} from relay.example.org[203.0.113.x]; from=<noreply@example.org> to=<postmaster@example.org> proto=ESMTP helo=<relay.example.org>`,
  },
  { name: 'encoded subject', class: 'text', known: 'line', make: (random) => mark`Subject: ${encodedWord(random)}` },
  {
    name: 'encoded subject in the mail log',
    class: 'text',
    known: 'line',
    make: (random) =>
      mark`4F2A1: info: header Subject: ${encodedWord(random)} from relay.example.org[203.0.113.x]; from=<noreply@example.org>`,
  },
  {
    name: 'message in json',
    class: 'text',
    known: 'line',
    make: (random) => mark`{"kind":"text","body":"${words(random)}","seq":7}`,
  },
];

export const PERSONAL_SHAPES: readonly Shape[] = [...USERS, ...EMAILS, ...PHONES, ...V4, ...V6, ...TEXTS];
