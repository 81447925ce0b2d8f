/** A strict reader of the Prometheus text format 0.0.4 and of OpenMetrics 1.0: throws at whatever it does not know. */

export interface ExposedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ExposedFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: ExposedSample[];
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/;

/** The families of an exposition, by name. */
export function parseExposition(text: string, format: 'prometheus' | 'openmetrics'): Map<string, ExposedFamily> {
  if (!text.endsWith('\n')) throw new Error('The last line has no line feed.');
  const lines = text.slice(0, -1).split('\n');
  if (format === 'openmetrics' && lines.pop() !== '# EOF') throw new Error('The exposition does not end with # EOF.');
  const families = new Map<string, ExposedFamily>();
  const seen = new Set<string>();
  let help: { name: string; text: string } | undefined;
  let family: ExposedFamily | undefined;
  for (const line of lines) {
    if (line === '' && format === 'prometheus') continue;
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      help = { name, text: unescape(rest, format === 'openmetrics') };
    } else if (kind === 'TYPE') {
      if (help?.name !== name) throw new Error(`TYPE without HELP before it: ${line}`);
      if (families.has(name)) throw new Error(`Two families of one name: ${name}`);
      if (!['counter', 'gauge', 'histogram'].includes(rest)) throw new Error(`Unknown type: ${line}`);
      family = { name, type: rest, help: help.text, samples: [] };
      families.set(name, family);
    } else {
      const sample = parseSample(line);
      if (family === undefined || !namesOf(family, format).includes(sample.name))
        throw new Error(`Stray sample: ${line}`);
      const key = `${sample.name}${keyOf(sample.labels)}`;
      if (seen.has(key)) throw new Error(`The same series twice: ${line}`);
      seen.add(key);
      family.samples.push(sample);
    }
  }
  for (const each of families.values()) checkFamily(each);
  return families;
}

function namesOf({ name, type }: ExposedFamily, format: 'prometheus' | 'openmetrics'): string[] {
  if (type === 'histogram') return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
  return type === 'counter' && format === 'openmetrics' ? [`${name}_total`] : [name];
}

function parseSample(line: string): ExposedSample {
  const [, name, list = '', value] = SAMPLE.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`Not a sample: ${line}`);
  const labels: Record<string, string> = {};
  for (let rest = list; rest !== '';) {
    const match = LABEL.exec(rest);
    if (match === null) throw new Error(`Not a label list: ${line}`);
    const [whole, label = '', text = ''] = match;
    if (Object.hasOwn(labels, label)) throw new Error(`The label ${label} twice: ${line}`);
    labels[label] = unescape(text, true);
    rest = rest.slice(whole.length);
  }
  const number = value.endsWith('Inf') ? (value.startsWith('-') ? -Infinity : Infinity) : Number(value);
  return { name, labels, value: number };
}

function unescape(text: string, withQuotes: boolean): string {
  return text.replaceAll(/\\(.)/g, (_, symbol: string) => {
    if (symbol === 'n') return '\n';
    if (symbol === '\\' || (symbol === '"' && withQuotes)) return symbol;
    throw new Error(`Unknown escape: \\${symbol}`);
  });
}

function checkFamily(family: ExposedFamily): void {
  if (family.type === 'counter' && family.samples.some(({ value }) => !(value >= 0))) {
    throw new Error(`The counter ${family.name} is below zero or not a number.`);
  }
  if (family.type === 'histogram') checkHistogram(family);
}

/** One text for one set of labels, whatever their order. */
function keyOf(labels: Readonly<Record<string, string>>): string {
  const names = Object.keys(labels).toSorted((a, b) => (a < b ? -1 : 1));
  return JSON.stringify(names.map((name) => [name, labels[name]]));
}

/** Per set of labels: bounds rise, buckets do not fall, the last bound is +Inf, and its bucket is the count. */
function checkHistogram({ name, samples }: ExposedFamily): void {
  const series = Map.groupBy(samples, ({ labels }) => keyOf({ ...labels, le: '' }));
  for (const [labels, of] of series) {
    const buckets = of.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map((bucket) => (bucket.labels['le'] === '+Inf' ? Infinity : Number(bucket.labels['le'])));
    const fails = (claim: string) => new Error(`${name}${labels}: ${claim}.`);
    if (bounds.at(-1) !== Infinity) throw fails('no bucket +Inf at the end');
    if (bounds.some((bound, i) => i > 0 && !(bound > (bounds[i - 1] as number)))) throw fails('the bounds do not rise');
    if (buckets.some(({ value }, i) => i > 0 && value < (buckets[i - 1] as ExposedSample).value))
      throw fails('a bucket falls');
    const count = of.filter((sample) => sample.name === `${name}_count`);
    if (count.length !== 1 || count[0]?.value !== buckets.at(-1)?.value) throw fails('+Inf is not the count');
    if (of.filter((sample) => sample.name === `${name}_sum`).length !== 1) throw fails('not one sum');
  }
}
