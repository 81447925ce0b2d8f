/**
 * Carriers of the outside judge: the ways in which a name with its value, or a sentence, comes to stand in a log. A
 * second layer goes around the first one: a prefix of a logger, JSON of a container, a string in a string.
 */
import type { SeededRandom } from '#test/support/random.ts';
import { jsonEscaped, percent, quotedPrintable, unicodeEscaped } from './encodings.ts';

export interface Carried {
  readonly key: string;
  readonly value: string;
  readonly random: SeededRandom;
}

export interface Carrier {
  readonly name: string;
  /** A name with its value, or a sentence of its own. */
  readonly carries: 'field' | 'sentence';
  /** Shows where a value with spaces and quotes begins and ends. */
  readonly quotes: boolean;
  /** Values that begin with a letter and have no marks, at most. */
  readonly write: (carried: Carried) => string;
}

const xml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

function field(name: string, quotes: boolean, write: Carrier['write']): Carrier {
  return { name, carries: 'field', quotes, write };
}

function sentence(name: string, write: (text: string, random: SeededRandom) => string): Carrier {
  return { name, carries: 'sentence', quotes: true, write: ({ value, random }) => write(value, random) };
}

/** A name as XML and environments write it. */
const flat = (key: string): string => key.replaceAll('.', '_');

export const CARRIERS: readonly Carrier[] = [
  field('key=value', false, ({ key, value }) => `step done ${key}=${value} ready`),
  field('key=value at the end', false, ({ key, value }) => `step done ${key}=${value}`),
  field('aligned', false, ({ key, value }) => `${key}    = ${value}`),
  field('ini', false, ({ key, value }) => `${key} = ${value}`),
  field('quoted', true, ({ key, value }) => `step ${key}="${jsonEscaped(value)}" ok=true`),
  field('single quotes', true, ({ key, value }) => `step ${key}='${value.replaceAll("'", "''")}' ok`),
  field('JSON', true, ({ key, value }) => `{"level":30,"${key}":"${jsonEscaped(value)}","n":1}`),
  field('spaced JSON', true, ({ key, value }) => `{ "level": 30, "${key}": "${jsonEscaped(value)}", "n": 1 }`),
  field('JSON behind a prefix', true, ({ key, value }) => `app[7]: got {"a":{"${key}":"${jsonEscaped(value)}"}} after`),
  field(
    'JSON with slashes',
    true,
    ({ key, value }) => `{"${key}":"${jsonEscaped(value).replaceAll('/', '\\/')}","n":1}`,
  ),
  field('JSON in JSON', true, ({ key, value }) => JSON.stringify({ msg: JSON.stringify({ [key]: value, n: 1 }) })),
  field('thrice JSON', true, ({ key, value }) =>
    JSON.stringify({ log: JSON.stringify({ msg: JSON.stringify({ [key]: value }) }) }),
  ),
  field('JSON with codes', true, ({ key, value }) => `{"${key}":"${unicodeEscaped(value)}","n":1}`),
  field('laid out JSON', true, ({ key, value }) => `{\n  "n": 1,\n  "${key}": "${jsonEscaped(value)}"\n}`),
  field(
    'dictionary',
    true,
    ({ key, value }) => `{'n': 1, '${key}': '${value.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'}`,
  ),
  field(
    'CSV of JSON',
    true,
    ({ key, value }) => `2026-11-22,app,"${JSON.stringify({ [key]: value }).replaceAll('"', '""')}",7`,
  ),
  field('element', true, ({ key, value }) => `<item><${flat(key)}>${xml(value)}</${flat(key)}></item>`),
  field('element with attributes', true, ({ key, value }) => `<a:${flat(key)} b="c">${xml(value)}</a:${flat(key)}>`),
  field('attribute', true, ({ key, value }) => `<item ${flat(key)}="${xml(value)}" n="1"/>`),
  field('YAML', true, ({ key, value }) => `config:\n  ${key}: ${JSON.stringify(value)}\n  n: 3`),
  field('bare YAML', false, ({ key, value }) => `config:\n  ${key}: ${value}\n  n: 3`),
  field('query', true, ({ key, value }) => `"GET /a?b=1&${key}=${percent(value)}&c=2 HTTP/1.1" 200 9`),
  field('last of a query', true, ({ key, value }) => `GET /a?${key}=${percent(value)} 404`),
  field('escaped query', true, ({ key, value }) => `GET /go?to=${percent(`/b?${key}=${percent(value)}&d=1`)} 302`),
  field('header', false, ({ key, value }) => `${key}: ${value}`),
  field('dumped header', false, ({ key, value }) => `> ${key}: ${value}`),
  field('semicolons', false, ({ key, value }) => `a=1;${key}=${value};b=2`),
  field('printable', false, ({ key, value }) => `Content: ${key}=3D${quotedPrintable(value)}`),
  field('environment', true, ({ key, value }) => `export ${flat(key)}="${jsonEscaped(value)}"`),
  field('HTML', true, ({ key, value }) => `<pre>{${xml(JSON.stringify({ [key]: value })).slice(1, -1)}}</pre>`),
];

export const SENTENCES: readonly Carrier[] = [
  sentence('plain', (text) => text),
  sentence('message of JSON', (text) => JSON.stringify({ level: 30, msg: text, n: 1 })),
  sentence('behind a line end', (text) => JSON.stringify({ m: `x\n${text}` })),
  sentence('behind a tab', (text) => JSON.stringify({ m: `x\t${text}\nend` })),
  sentence('behind a code', (text) => `{"m":"x\\u000a${jsonEscaped(text)}"}`),
  sentence('message of logfmt', (text) => `level=warn msg="${jsonEscaped(text)}" n=2`),
  sentence('JSON with codes', (text) => `{"m":"${unicodeEscaped(text)}"}`),
  sentence('JSON of a container', (text) =>
    JSON.stringify({ log: `${text}\n`, stream: 'stdout', time: '2026-11-22T10:00:00.1Z' }),
  ),
  sentence('CSV', (text) => `2026-11-22,app,"${text.replaceAll('"', '""')}",7`),
  sentence('percent', (text) => `"GET /log?m=${percent(text)}&n=2 HTTP/1.1" 204 0`),
  sentence('printable', (text) => `Content: x=3D1 ${quotedPrintable(text)}`),
  sentence('repeated', (text) => `message repeated 2 times: [ ${text}]`),
];

/** Where a value that is known by itself may stand alone. */
export const PLACES: readonly Carrier[] = [
  field('word', false, ({ value }) => `step ${value} done`),
  field('cell', false, ({ value }) => `2026-11-22,app,${value},7`),
  field('quoted cell', true, ({ value }) => `2026-11-22,"app","${value}","7"`),
  field('brackets', false, ({ value }) => `got [${value}] and (${value})`),
  field('element', false, ({ value }) => `<v>${value}</v>`),
  field('list', true, ({ value }) => `{"list":["a","${jsonEscaped(value)}"]}`),
  field('key of JSON', true, ({ value }) => `{"seen":{"${jsonEscaped(value)}":1}}`),
];

/** What stands before a line. */
export const PREFIXES: readonly ((random: SeededRandom) => string)[] = [
  () => '',
  (r) => `Nov 22 10:00:${r.whole(10, 59)} node7 app[${r.whole(2, 9999)}]: `,
  (r) => `2026-11-22T10:00:${r.whole(10, 59)}.123456+03:00 edge-3 app[77]: `,
  (r) => `2026-11-22T10:00:${r.whole(10, 59)}.003456789Z stdout F `,
  (r) => `<34>1 2026-11-22T10:00:${r.whole(10, 59)}Z node7 app 77 ID47 - `,
  (r) => `2026-11-22 10:00:${r.whole(10, 59)},123 WARN [main] org.example.Pool - `,
  (r) => `I1122 10:00:${r.whole(10, 59)}.123456       1 main.go:${r.whole(10, 99)}] `,
];
