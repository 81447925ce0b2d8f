/** The surroundings a value meets in real logs, and what each can carry. */
import type { SeededRandom } from '#test/support/random.ts';
import {
  auditHex,
  formValue,
  jsonEscaped,
  logfmtValue,
  percent,
  quotedPrintable,
  structuredDataValue,
  unicodeEscaped,
} from './encodings.ts';
import { cyrillicWords, HOSTS, plainWords } from './words.ts';

/** What goes into a line: a value under a name, or a text of its own. */
export interface Content {
  key: string;
  value: string;
  /** The value has a name that must be seen with it. */
  isKeyed: boolean;
  /** A text of its own: neither name nor value, put only where free text goes. */
  isText: boolean;
  /** Quotes or encoding must show where the value begins and ends. */
  needsQuotes: boolean;
  /** Digits and names that nothing but their own shape gives away do not stand next to letters. */
  random: SeededRandom;
}

export interface Embedding {
  name: string;
  /** field: writes name and value itself. message: carries free text. */
  carries: 'field' | 'message';
  /** Shows where a value with spaces begins and ends. */
  quotes: boolean;
  /** Only values known by themselves: the name is not one that a program would read. */
  bareOnly?: boolean;
  /** Decoding may end in a replacement of the whole: no pseudonym is asked for inside. */
  isOpaque?: boolean;
  /** Whole lines of JSON stay JSON; others take a prefix. */
  takesPrefix?: boolean;
  wrap(content: Content): string;
}

/** A value in a sentence: at its start, in its middle, at its end. */
function sentence(content: Content, words = plainWords): string {
  const { random, value } = content;
  const piece =
    content.isText || !(content.isKeyed || content.needsQuotes)
      ? value
      : `${content.key}=${content.needsQuotes ? `"${logfmtValue(value)}"` : value}`;
  if (content.isText) return piece;
  const place = random.whole(0, 2);
  if (place === 0) return `${piece} ${words(random, 2)}`;
  return place === 1 ? `${words(random, 2)} ${piece} ${words(random, 2)}` : `${words(random, 3)} ${piece}`;
}

function field(
  name: string,
  quotes: boolean,
  write: (content: Content) => string,
  more: Partial<Embedding> = {},
): Embedding {
  return { name, carries: 'field', quotes, takesPrefix: true, ...more, wrap: write };
}

function message(
  name: string,
  write: (text: string, content: Content) => string,
  more: Partial<Embedding> = {},
): Embedding {
  return {
    name,
    carries: 'message',
    quotes: true,
    takesPrefix: true,
    ...more,
    wrap: (content) => write(sentence(content), content),
  };
}

const host = (random: SeededRandom): string => random.pick(HOSTS);

const FIELDS: readonly Embedding[] = [
  field(
    'key=value',
    false,
    ({ key, value, random }) => `${plainWords(random, 2)} ${key}=${value} ${plainWords(random, 1)}`,
  ),
  field('key=value at the start', false, ({ key, value, random }) => `${key}=${value} ${plainWords(random, 2)}`),
  field('key=value at the end', false, ({ key, value, random }) => `${plainWords(random, 3)} ${key}=${value}`),
  field(
    'key=value in brackets',
    false,
    ({ key, value, random }) => `${plainWords(random, 2)} (${key}=${value}) ${plainWords(random, 1)}`,
  ),
  field('logfmt', true, ({ key, value }) => `level=info ${key}="${logfmtValue(value)}" ok=true`),
  field('single quotes', true, ({ key, value }) => `SET ${key} = '${value.replaceAll("'", "''")}';`),
  field('program record', true, ({ key, value }) => `Config{${key}='${value}', retries=3}`),
  field(
    'Python dictionary',
    true,
    ({ key, value }) => `{'attempt': 2, '${key}': '${value.replaceAll('\\', '\\\\')}', 'ok': False}`,
  ),
  field(
    'JSON field',
    true,
    ({ key, value, random }) =>
      `{"level":30,"time":1790000000000,"hostname":"${host(random)}","${key}":"${jsonEscaped(value)}","v":1}`,
    { takesPrefix: false },
  ),
  field(
    'deep JSON field',
    true,
    ({ key, value }) => `{"level":30,"a":{"b":[{"${key}":"${jsonEscaped(value)}"}]},"msg":"done"}`,
    { takesPrefix: false },
  ),
  field('JSON field with spaces', true, ({ key, value }) => `{ "level" : 30, "${key}" : "${jsonEscaped(value)}" }`, {
    takesPrefix: false,
  }),
  field(
    'JSON field with unicode escapes',
    true,
    ({ key, value }) => `{"level":30,"${key}":"${unicodeEscaped(value)}","n":2}`,
    { takesPrefix: false },
  ),
  field(
    'JSON in a string of JSON',
    true,
    ({ key, value }) => `{"level":30,"msg":"${jsonEscaped(JSON.stringify({ [key]: value, n: 1 }))}"}`,
    { takesPrefix: false },
  ),
  field(
    'JSON in a string of JSON in a string',
    true,
    ({ key, value }) => JSON.stringify({ msg: JSON.stringify({ inner: JSON.stringify({ [key]: value }) }) }),
    { takesPrefix: false },
  ),
  field(
    'structured data',
    true,
    ({ key, value, random }) =>
      `<34>1 2026-11-20T10:00:00.003Z ${host(random)} app 77 ID47 [meta@32473 ${key}="${structuredDataValue(value)}" seq="4"] done`,
    { takesPrefix: false },
  ),
  field(
    'query string',
    true,
    ({ key, value, random }) =>
      `"GET /page?a=1&${key}=${percent(value)}&z=2 HTTP/1.1" 200 ${random.whole(10, 9999)} "-" "curl/8.5"`,
  ),
  field('query string at its end', true, ({ key, value }) => `"GET /page?${key}=${percent(value)} HTTP/1.1" 404 9`),
  field('form body', true, ({ key, value }) => `payload: a=1&${key}=${formValue(value)}&submit=1`),
  field(
    'double percent',
    true,
    ({ key, value }) => `"GET /go?next=${percent(`/cb?${key}=${percent(value)}&x=1`)} HTTP/1.1" 302 0`,
  ),
  field('YAML', true, ({ key, value }) => `config:\n  ${key}: ${JSON.stringify(value)}\n  retries: 3`, {
    takesPrefix: false,
  }),
  field(
    'Cyrillic key=value',
    false,
    ({ key, value, random }) => `${cyrillicWords(random, 3)} ${key}=${value} ${cyrillicWords(random, 2)}`,
  ),
  field(
    'Cyrillic quoted',
    true,
    ({ key, value, random }) =>
      `${cyrillicWords(random, 2)} ${key}="${logfmtValue(value)}" ${cyrillicWords(random, 1)}`,
  ),
  field(
    'audited command line',
    true,
    ({ key, value }) =>
      `type=PROCTITLE msg=audit(1790000000.123:456): proctitle=${auditHex(`/usr/bin/app\0--${key}=${value}\0-v`)}`,
    { isOpaque: true },
  ),
  field(
    'audited argument',
    true,
    ({ key, value }) =>
      `type=EXECVE msg=audit(1790000000.123:457): argc=2 a0="app" a1=${auditHex(`--${key}=${value} now`)}`,
    { isOpaque: true },
  ),
  field('shell option', false, ({ key, value }) => `COMMAND=/opt/app/run --${key}=${value} --verbose`),
  field(
    'base64 of JSON',
    true,
    ({ key, value }) => `payload=${Buffer.from(JSON.stringify({ [key]: value, n: 1 })).toString('base64')} len=9`,
    { isOpaque: true },
  ),
];

const BARE_FIELDS: readonly Embedding[] = [
  field('colon', false, ({ key, value, random }) => `${plainWords(random, 1)} ${key}: ${value}`, { bareOnly: true }),
  field('XML element', false, ({ value }) => `<item><v>${value}</v></item>`, { bareOnly: true }),
  field('angle brackets', false, ({ value }) => `got <${value}>, next`, { bareOnly: true }),
  field('list of JSON', true, ({ value }) => `{"level":30,"list":["${jsonEscaped(value)}","second"]}`, {
    bareOnly: true,
    takesPrefix: false,
  }),
  field('key of JSON', true, ({ value }) => `{"level":30,"seen":{"${jsonEscaped(value)}":2}}`, {
    bareOnly: true,
    takesPrefix: false,
  }),
  field('shell argument', false, ({ value }) => `COMMAND=/opt/app/run ${value} --verbose`, { bareOnly: true }),
];

const MESSAGES: readonly Embedding[] = [
  message('plain line', (text) => text),
  message('Cyrillic line', (_text, content) => sentence(content, content.isText ? plainWords : cyrillicWords)),
  message('message of JSON', (text) => `{"level":30,"time":1790000000000,"pid":7,"msg":"${jsonEscaped(text)}"}`, {
    takesPrefix: false,
  }),
  message(
    'message of JSON in JSON',
    (text) => JSON.stringify({ log: `${JSON.stringify({ msg: text })}\n`, stream: 'stdout' }),
    { takesPrefix: false },
  ),
  message('message of logfmt', (text) => `level=warn msg="${logfmtValue(text)}" n=2`),
  message(
    'message of syslog',
    (text, { random }) => `<34>1 2026-11-20T10:00:00.003Z ${host(random)} app 77 ID47 - ${text}`,
    { takesPrefix: false },
  ),
  message('journal export', (text, { random }) => `_HOSTNAME=${host(random)}\nPRIORITY=6\nMESSAGE=${text}\n_PID=77`, {
    takesPrefix: false,
  }),
  message('journal bytes', (text) => `{"_PID":"77","MESSAGE":[${[...Buffer.from(text)].join(',')}]}`, {
    takesPrefix: false,
    isOpaque: true,
  }),
  message('repeated message', (text) => `message repeated 2 times: [ ${text}]`),
];

const ENCODED_MESSAGES: readonly Embedding[] = [
  message('percent-encoded message', (text) => `"GET /log?detail=${percent(text)}&n=2 HTTP/1.1" 204 0`),
  message('quoted-printable message', (text) => `Content: ${quotedPrintable(text)}`),
];

/** Where a value under a name, or one known by itself, may stand. */
export const EMBEDDINGS: readonly Embedding[] = [...FIELDS, ...BARE_FIELDS, ...MESSAGES, ...ENCODED_MESSAGES];

/** Where whole lines of a program may stand: daemons do not write percent-encoded. */
export const LINE_EMBEDDINGS: readonly Embedding[] = MESSAGES;

/** What stands before a line: nothing, or the mark of the program that keeps it. It stays as it is. */
export function linePrefix(random: SeededRandom): string {
  const at = `10:${random.whole(10, 59)}:${random.whole(10, 59)}`;
  switch (random.whole(0, 5)) {
    case 0:
      return `Nov 20 ${at} ${host(random)} app[${random.whole(2, 9999)}]: `;
    case 1:
      return `2026-11-20T${at}.003+0300 ${host(random)} app[77]: `;
    case 2:
      return `2026-11-20T${at}.003456789Z stdout F `;
    case 3:
      return `2026-11-20 ${at},003 WARN  [main] `;
    default:
      return '';
  }
}
