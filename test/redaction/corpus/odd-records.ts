/** Values that are folded over lines, padded, or written by someone who wanted the reader of the log to be fooled. */
import type { SeededRandom } from '#test/support/random.ts';
import { DIGITS, draw } from './alphabets.ts';
import { ipv4, ipv6, mark, phone, user, type Label, type Marked } from './labels.ts';
import { displayName, privateText, userName } from './words.ts';

export interface OddRecord extends Marked {
  name: string;
}

type Maker = (random: SeededRandom) => Marked;

function encodedWord(text: string, form: 'B' | 'Q'): string {
  const bytes = Buffer.from(text);
  const body =
    form === 'B'
      ? bytes.toString('base64')
      : [...bytes]
          .map((byte) => (byte === 0x20 ? '_' : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`))
          .join('');
  return `=?UTF-8?${form}?${body}?=`;
}

function secretText(value: string): Label {
  return { class: 'text', kind: 'secret', value };
}

function name(value: string, spanClass: 'user' | 'email' = 'user'): Label {
  return { class: spanClass, kind: 'name', value };
}

const ODD: Readonly<Record<string, Maker>> = {
  'subject of encoded words over two lines': (random) => {
    const [head, tail] = [privateText(random), privateText(random)];
    return {
      text: `Subject: ${encodedWord(head, 'B')}\n ${encodedWord(tail, 'Q')}\nDate: Fri, 20 Nov 2026 10:00:00 +0300`,
      labels: [secretText(head), secretText(tail)],
    };
  },
  'subject folded with a tab': (random) => {
    const [head, tail] = [privateText(random), privateText(random)];
    return { text: `Subject: ${head}\n\t${tail}\nMIME-Version: 1.0`, labels: [secretText(head), secretText(tail)] };
  },
  'encoded name before an address': (random) => {
    const [shown, local] = [displayName(random), userName(random)];
    return {
      text: `From: ${encodedWord(shown, random.pick(['B', 'Q']))} <${local}@example.org>`,
      labels: [name(shown), name(local, 'email')],
    };
  },
  'address cut by a soft break': (random) => {
    const local = `${userName(random)}.${userName(random)}`;
    const cut = random.whole(6, local.length - 6);
    return {
      text: `Content: write to ${local.slice(0, cut)}=\n${local.slice(cut)}=40example.org soon`,
      labels: [name(local, 'email')],
    };
  },
  'user name that holds an address and a port': (random) => {
    const attacker = userName(random);
    const address = ipv4(`198.51.${random.whole(1, 250)}.${random.whole(10, 254)}`);
    const fooled = mark`Failed password for invalid user ${attacker} from 10.10.1.2 port 55555 ssh2 from ${address} port 4242 ssh2`;
    return { text: fooled.text, labels: [name(attacker), ...fooled.labels] };
  },
  'octets filled with zeros': (random) => mark`connect from ${ipv4(`203.030.113.0${random.whole(10, 99)}`)} ok`,
  'range of addresses': (random) =>
    mark`pool 198.51.100.x ${ipv4(`198.51.7.${random.whole(10, 99)}`)}-${ipv4(`198.51.7.${random.whole(100, 254)}`)} free`,
  'address of a network card and of a peer': (random) =>
    mark`00:1a:2b:3c:4d:5e sees ${ipv6(`2001:db8:7:${random.whole(0x1000, 0xffff).toString(16)}::${random.whole(0x1000, 0xffff).toString(16)}`)} at 10:20:30`,
  'numbers of phones in JSON': (random) => {
    const [caller, callee] = [phone(`7916${draw(random, DIGITS, 7)}`), phone(`4420${draw(random, '789', 8)}`)];
    return mark`{"caller":${caller},"call":{"callee":${callee},"duration":61},"ts":1790000000}`;
  },
  'names in a list': (random) => mark`{"username":["${user(userName(random))}","${user(userName(random))}"],"n":2}`,
  'Cyrillic name of a user': () => mark`login="${user('иван.жуков')}" result=denied`,
  'two people on one line': (random) => mark`sender=${user(userName(random))} rcpt=${user(userName(random))} size=12`,
  'line without an end after many': (random) => mark`${'done\n'.repeat(40)}last actor=${user(userName(random))}`,
};

/** Every odd record, several draws of each. */
export function oddRecords(random: SeededRandom): OddRecord[] {
  return Object.entries(ODD).flatMap(([title, make]) =>
    Array.from({ length: 6 }, () => ({ name: title, ...make(random) })),
  );
}
