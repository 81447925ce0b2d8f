/** The table of rules made ready for a scan: names, words at which something may begin, and the patterns of phrases. */
import { isPseudonym } from '../identifiers/pseudonyms.ts';
import type { KeyClass, OptionRow, Row, SlotClass, Special } from './rows.ts';
import { markerEnd, type SecretClass } from '../spans.ts';

/** What is found at a literal: a token or a phrase, its pattern, and the classes of its groups. */
export interface Lead {
  readonly literal: string;
  /** The literal as bytes: most places where one may begin are told by them to be none. */
  readonly bytes: Uint8Array;
  readonly pattern: RegExp;
  readonly token: SecretClass | undefined;
  readonly special: Special | undefined;
  readonly slots: readonly SlotClass[];
}

/** What an option of some programs says of its value. */
export interface Option {
  readonly programs: RegExp;
  readonly class: OptionRow['class'];
  readonly glue: OptionRow['glue'];
}

/** Bytes of a line that a phrase is matched against. */
export const PHRASE_MAX = 512;

const NAME = String.raw`[^\s"'<>,;&|()[\]{}=:\x60]{1,64}`;

/** A word that ends here: no `=` makes it a key. */
const WORD_END = String.raw`(?=[\s"'<>,;&|()[\]{}:\x60]|$)`;

const QUOTED = String.raw`["'\x60<]([^"'\x60<>\n]{1,128})["'\x60>]`;

/** The places of phrases: the classes of their groups, and their pattern. */
const SLOTS: Readonly<Record<string, readonly [readonly SlotClass[], string]>> = {
  user: [['user'], `(${NAME})${WORD_END}`],
  "'user'": [['user'], QUOTED],
  one: [['user', 'user'], `(?:${QUOTED}|(?!\\d{1,6}(?![\\w.-]))(${NAME})${WORD_END})`],
  // A name of a sign-in may hold spaces and ` from `: the last one before the address counts.
  peer: [
    ['user'],
    String.raw`(?!["'\\/]|from )([^"\n]{1,200}(?= from \S{1,80} port \d)|[^"\n]{1,200}(?= from )|${NAME}${WORD_END})`,
  ],
  name: [['user'], String.raw`([^"\n<>]{1,128}?)`],
  label: [['user'], String.raw`([^<"\n]{1,80}?)`],
  "'dialled'": [['dialled'], QUOTED],
  dialled: [['dialled'], `(${NAME})${WORD_END}`],
  angle: [['dialled'], String.raw`([^>\s"]{1,64})`],
  callerid: [['dialled'], String.raw`([^"<>)(\n=]{1,64})`],
  chan: [['dialled'], String.raw`([A-Za-z_+*#][\w+*#]{0,63}|\d{3,24})`],
  listed: [['user'], String.raw`(?!\d+[,)])([^,()<>\s"]{1,256})`],
  "'secret'": [['secret', 'secret'], String.raw`(?:"((?:[^"\\\n]|\\.){1,300})"|'((?:[^'\n]|''){1,300})')`],
  angled: [['text'], String.raw`([^<>\n]{1,400})`],
  slashed: [['user'], String.raw`([^\s/\]["<>]{1,128})`],
  pass: [['secret'], String.raw`([^\s"'\x60<>\]]{1,256})`],
  "'text'": [['text'], String.raw`"((?:[^"\\\n]|\\.){1,480})"`],
  key: [['secret'], '([A-Za-z0-9+/=]{16,128})'],
  path: [['api-key'], String.raw`([^\s"'<>\x60?#,;)\\]{8,500})`],
  ticket: [['platform-token'], String.raw`(?![{:])([^\s"'<>\x60/?#,;)\\]{8,256})`],
  thin: [['url-credentials'], String.raw`([^:/@\s"]{1,64}/[^@\s"]{1,128})`],
  word: [[], String.raw`\S{1,64}`],
  n: [[], String.raw`\d{1,10}`],
};

/** The slot classes of a phrase and its pattern. A phrase is a regular expression with places between angle brackets. */
function phrasePattern(phrase: string): { pattern: RegExp; slots: SlotClass[] } {
  const slots: SlotClass[] = [];
  const source = phrase.replaceAll(/<([a-z]{1,20}|'[a-z]{1,20}')>/g, (_all, place: string) => {
    const slot = SLOTS[place];
    if (slot === undefined) throw new RangeError(`No place of a phrase is called ${place}.`);
    slots.push(...slot[0]);
    return slot[1];
  });
  return { pattern: new RegExp(`^${source}`, 'd'), slots };
}

/** What a phrase begins with, up to the first sign of a pattern. */
function literalOf(phrase: string): string {
  const plain = /^(?:[^\\.*+?^${}()|[\]<]|\\[.()[\]/*|?+$])+/.exec(phrase)?.[0] ?? '';
  // A sign of repetition belongs to the character before it.
  const whole = '*+?{'.includes(phrase.charAt(plain.length) || ' ') ? plain.slice(0, -1) : plain;
  return whole.replaceAll('\\', '');
}

function literalBytes(literal: string): Pick<Lead, 'literal' | 'bytes'> {
  return { literal, bytes: Buffer.from(literal, 'latin1') };
}

const LEAD_BITS = 15;

/** Literals that begin with two bytes: one of these two bytes alone, or longer ones. */
const NO_LEADS: readonly Lead[] = [];

const SHORT = 1;

const LONG = 2;

/** The table made ready. Nothing of it changes while it is used. */
export class Rules {
  readonly exact = new Map<string, KeyClass>();
  readonly last = new Map<string, KeyClass>();
  readonly words = new Set<string>();
  readonly options = new Map<string, Option[]>();
  /** Every pattern that was put together out of a row, for whoever checks that it takes linear time. */
  readonly patterns: RegExp[] = [];
  readonly shapes: { pattern: RegExp; class: SecretClass; least: number; most: number }[] = [];
  /** Signs between keys and values, with what stands before such a key. */
  readonly signs: { pattern: RegExp; before: RegExp }[] = [];
  readonly #wrappers: string[] = [];
  /** What stands before a value and is none of it. */
  readonly wrapper: RegExp;
  /** Lines with a form of their own, each with the sign that tells it and the place of that sign. */
  readonly lines: { lead: Lead; sign: number; at: number }[] = [];
  /** Phrases that begin with an opening bracket. */
  readonly brackets: Lead[] = [];
  /** The last three letters of every name: most words that stand like a key end in no such three. */
  readonly #ends = new Uint8Array(1 << 15);
  /** By two bytes: what of the two kinds of literals begins so, and the short ones. */
  readonly #pairs = new Uint8Array(1 << 16);
  readonly #short = new Map<number, Lead[]>();
  /** By four bytes: the place of the longer literals in the list of lists; 0 where there is none. */
  readonly #longAt = new Uint16Array(1 << LEAD_BITS);
  readonly #long: Lead[][] = [[]];

  constructor(rows: readonly Row[]) {
    for (const row of rows) this.#add(row);
    this.wrapper = new RegExp(this.#wrappers.length === 0 ? '(?!)' : `(?:${this.#wrappers.join('|')}){1,2}`, 'y');
    this.patterns.push(this.wrapper);
    for (const name of [...this.exact.keys(), ...this.last.keys(), 'private-lines', 'id', 'number'])
      this.#ends[endOf(Buffer.from(name), 0, name.length)] = 1;
    for (const leads of [...this.#long, ...this.#short.values()])
      leads.sort((left, right) => right.literal.length - left.literal.length);
  }

  #add(row: Row): void {
    switch (row.kind) {
      case 'name':
        this.exact.set(row.name, row.class);
        if (row.isLast) this.last.set(row.name, row.class);
        break;
      case 'word':
        this.words.add(row.word);
        break;
      case 'option':
        this.#option(row);
        break;
      case 'token':
        this.#lead({
          ...literalBytes(row.literal),
          pattern: new RegExp(`${row.literal.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}${row.pattern}`, 'y'),
          token: row.class,
          special: undefined,
          slots: [],
        });
        break;
      case 'shape': {
        const pattern = new RegExp(row.pattern, 'y');
        this.patterns.push(pattern);
        this.shapes.push({ pattern, class: row.class, least: row.width[0], most: row.width[1] });
        break;
      }
      case 'wrapper':
        this.#wrappers.push(row.pattern);
        break;
      case 'sign': {
        const sign = { pattern: new RegExp(row.sign, 'y'), before: new RegExp(row.before ?? '') };
        this.patterns.push(sign.pattern, sign.before);
        this.signs.push(sign);
        break;
      }
      case 'line': {
        const { pattern, slots } = phrasePattern(row.line);
        const lead = { ...literalBytes(''), pattern, token: undefined, special: undefined, slots };
        this.patterns.push(pattern);
        this.lines.push({ lead, sign: row.sign.charCodeAt(0), at: row.at });
        break;
      }
      case 'special':
        this.#lead({ ...literalBytes(row.literal), pattern: /^/, token: undefined, special: row.does, slots: [] });
        break;
      default:
        this.#lead({
          ...literalBytes(literalOf(row.phrase)),
          token: undefined,
          special: undefined,
          ...phrasePattern(row.phrase),
        });
    }
  }

  #option({ option, programs, class: optionClass, glue }: OptionRow): void {
    const pattern = new RegExp(`(?:^|[^\\w.-])(?:${programs})\\b`, 'g');
    this.patterns.push(pattern);
    this.options.set(option, [...(this.options.get(option) ?? []), { programs: pattern, class: optionClass, glue }]);
  }

  #lead(lead: Lead): void {
    const { literal } = lead;
    if (literal.startsWith('(')) {
      this.patterns.push(lead.pattern);
      this.brackets.push(lead);
      return;
    }
    if (literal.length < 2) throw new RangeError(`A row begins with too little: ${literal}`);
    this.patterns.push(lead.pattern);
    const { bytes } = lead;
    const width = Math.min(4, bytes.length);
    const key = packed(bytes, 0, width);
    const pair = key & 0xff_ff;
    this.#pairs[pair] = (this.#pairs[pair] as number) | (width === 2 ? SHORT : LONG);
    if (width === 2) {
      this.#short.set(pair, [...(this.#short.get(pair) ?? []), lead]);
      return;
    }
    // A literal of three bytes goes on with any fourth one.
    const fourths = width === 3 ? Array.from({ length: 256 }, (_each, fourth) => fourth << 24) : [0];
    for (const slot of new Set(fourths.map((fourth) => hashed(key | fourth)))) {
      if (this.#longAt[slot] === 0) this.#longAt[slot] = this.#long.push([]) - 1;
      (this.#long[this.#longAt[slot] as number] as Lead[]).push(lead);
    }
  }

  /** Whether a token or a phrase may begin at a place. */
  mayLead(bytes: Uint8Array, at: number): boolean {
    const kinds = this.#pairs[(bytes[at] as number) | ((bytes[at + 1] as number) << 8)] as number;
    return kinds !== 0 && ((kinds & SHORT) !== 0 || this.#longAt[slotAt(bytes, at)] !== 0);
  }

  /** What may begin at a place with three bytes or more, the longest literal first. */
  longAt(bytes: Uint8Array, at: number): readonly Lead[] {
    return this.#long[this.#longAt[slotAt(bytes, at)] as number] as Lead[];
  }

  /** What may begin at a place with two bytes. */
  shortAt(bytes: Uint8Array, at: number): readonly Lead[] {
    return this.#short.get((bytes[at] as number) | ((bytes[at + 1] as number) << 8)) ?? NO_LEADS;
  }

  /** Whether a word may be a name that says something of its value. */
  mayName(bytes: Uint8Array, start: number, end: number): boolean {
    return this.#ends[endOf(bytes, start, end)] === 1;
  }
}

function packed(bytes: Uint8Array, at: number, width: number): number {
  let key = 0;
  for (let place = 0; place < width; place += 1) key |= (bytes[at + place] ?? 0) << (8 * place);
  return key;
}

function slotAt(bytes: Uint8Array, at: number): number {
  return hashed(
    (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24),
  );
}

function hashed(key: number): number {
  return Math.imul(key, 0x9e_37_79_b1) >>> (32 - LEAD_BITS);
}

/** The last three letters in one number; digits behind a name, dashes and underscores are left out. */
function endOf(bytes: Uint8Array, start: number, end: number): number {
  let at = end - 1;
  while (at > start && (bytes[at] as number) < 58) at -= 1;
  let letters = 0;
  let key = 0;
  for (; at >= start && letters < 3; at -= 1) {
    const byte = bytes[at] as number;
    if (byte === 45 || byte === 95) continue;
    key = (key << 5) | (byte & 31);
    letters += 1;
  }
  return key;
}

/** Words that make the last one harmless: what is told about the secret, the login or the person is not it. */
const ABOUT = new Set(
  'last first max min num count has is no total public failed next per with bytes since auto content allow require enable single multi page continuation sync unexpected invalid missing expired'.split(
    ' ',
  ),
);

/** What has a name to display and is no person. */
const THINGS = new Set(
  'activity app application resource device service principal policy role group tenant rule file threat product process site host agent category operation workload list team channel folder document event alert package organization organisation company customer subscription provider module permission license sku domain machine node cluster container image volume network interface plugin feature setting action type attribute field property'.split(
    ' ',
  ),
);

/** Names to display that a thing may have as well. */
const DISPLAYED = new Set(['displayname', 'fullname', 'commonname']);

/** `SYS-5-CONFIG_PASS` of Cisco: what a message is called by. */
const MNEMONIC = /^[A-Z][A-Z0-9_]*-[0-7]-[A-Z][A-Z0-9_]*$/;

/** Capitals of a vendor before the name of a field. */
const VENDOR = /^[A-Z]{4,8}(?=[a-z]{4})/;

/** Classes that a last word gives to a name with dots, whatever stands before it. */
const DOTTED: ReadonlySet<KeyClass> = new Set<KeyClass>([
  'user',
  'password',
  'secret',
  'authorization',
  'cookie',
  'phone',
  'address',
  'text',
]);

/** A longer name is no key that anybody chose. */
export const KEY_MAX = 64;

/** The class of a key as it stands in a text, UTF-8 as Latin-1: `db_password`, `X-Api-Key`, `user.name`, `User ID`. */
export function classOfName(rules: Rules, name: string): KeyClass {
  const { exact, last } = rules;
  // What stands for a number reads like a name with a number behind it: `tel-4a5b8d34`.
  if (name.length > KEY_MAX || name === '' || /[[/:@]/.test(name) || isPseudonym(name)) return 'none';
  if (/[\u0080-\u00ff]/.test(name))
    return exact.get(Buffer.from(name, 'latin1').toString('utf8').toLowerCase()) ?? 'none';
  if (name.includes('-') && MNEMONIC.test(name)) return 'none';
  const own = exact.get(name.toLowerCase().replaceAll(/[-_]/g, ''));
  if (own !== undefined) return own;
  // Vendors put their name before those of fields that CEF does not have: `FTNTFGTsender`.
  if (name.length > 8 && VENDOR.test(name)) return classOfName(rules, name.replace(VENDOR, ''));
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  // `X-` says of a header that nobody registered it.
  if (words[0] === 'x' && words.length > 1) words.shift();
  // Whoever was there last is a person, the last sign-in a time.
  if (words.includes('last') && /(?:^|_)user(?:_?name)?$/.test(words.slice(-2).join('_'))) return 'user';
  if (words.length === 0 || words.slice(0, -1).some((word) => ABOUT.has(word))) return 'none';
  // A number behind a name tells instances apart: `password2`.
  words[words.length - 1] = withoutNumber(words.at(-1) as string);
  for (let from = 0; from < words.length - 1; from += 1) {
    const ending = words.slice(from).join('');
    const joined = exact.get(ending);
    if (joined !== undefined) return DISPLAYED.has(ending) && THINGS.has(words[from - 1] ?? '') ? 'none' : joined;
  }
  const word = words.at(-1) as string;
  const whole = exact.get(word) ?? 'none';
  if (words.length === 1) return whole === 'none' ? classOfEnd(last, word) : whole;
  return last.get(word) ?? (name.includes('.') && DOTTED.has(whole) ? whole : 'none');
}

/** Bytes of a name that is known at the end of a longer word: `dbpassword`. */
const END_MIN = 8;
/** The same of a secret: `accesstoken`. */
const SECRET_END_MIN = 5;

function classOfEnd(last: ReadonlyMap<string, KeyClass>, word: string): KeyClass {
  for (const [name, keyClass] of last)
    if (
      name.length >= (keyClass === 'secret' ? SECRET_END_MIN : END_MIN) &&
      (keyClass === 'password' || keyClass === 'user' || keyClass === 'secret') &&
      word.endsWith(name) &&
      !ABOUT.has(word.slice(0, -name.length))
    )
      return keyClass;
  return 'none';
}

function withoutNumber(word: string): string {
  let end = word.length;
  while (end > 0 && word.charCodeAt(end - 1) < 58) end -= 1;
  return word.slice(0, end);
}

/** Places of the cache; a name that falls on another's place pushes it out. */
const CACHE_SIZE = 4096;

/** Remembers the class of each key's name: logs repeat few of them. */
export class KeyCache {
  readonly #rules: Rules;
  readonly #names = Array.from({ length: CACHE_SIZE }, () => '');
  readonly #spelt = new Map<string, KeyClass>();
  readonly #classes = Array.from<KeyClass>({ length: CACHE_SIZE }).fill('none');

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  classAt(bytes: Uint8Array, start: number, end: number): KeyClass {
    const length = end - start;
    if (length > KEY_MAX || length <= 0) return 'none';
    let hash = length;
    for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
    const place = (hash ^ (hash >>> 12)) & (CACHE_SIZE - 1);
    const known = this.#names[place] as string;
    let same = known.length === length ? 0 : -1;
    while (same >= 0 && same < length && known.charCodeAt(same) === bytes[start + same]) same += 1;
    if (same === length) return this.#classes[place] as KeyClass;
    const name = String.fromCharCode(...bytes.subarray(start, end));
    const keyClass = classOfName(this.#rules, name);
    this.#names[place] = name;
    this.#classes[place] = keyClass;
    return keyClass;
  }

  classOf(name: string): KeyClass {
    const known = this.#spelt.get(name);
    if (known !== undefined) return known;
    const keyClass = classOfName(this.#rules, name);
    if (name.length > KEY_MAX) return keyClass;
    if (this.#spelt.size >= CACHE_SIZE) this.#spelt.clear();
    // A slice would keep the whole log alive.
    this.#spelt.set(Buffer.from(name, 'latin1').toString('latin1'), keyClass);
    return keyClass;
  }
}

/** Whether what stands under the name of a secret is none: a word for one, a mask, nothing, or done already. */
export function isHarmless({ words }: Rules, value: string): boolean {
  if (value.length > 24) return false;
  const word = withoutMarks(value.toLowerCase());
  return word === '' || words.has(word) || /^[*x.•-]+$/.test(word) || markerEnd(value, 0) === value.length;
}

/** A word without the marks of a sentence around it. */
function withoutMarks(word: string): string {
  let [from, to] = [0, word.length];
  while (from < to && '("\'['.includes(word.charAt(from))) from += 1;
  while (to > from && '.,:;!?)"\']'.includes(word.charAt(to - 1))) to -= 1;
  return word.slice(from, to);
}
