/** The log of the outside judge: any value in any carrier that can hold it, behind any prefix. */
import type { SeededRandom } from '#test/support/random.ts';
import type { Marked, Shape } from './labels.ts';
import type { LogRecord } from './labelled-log.ts';
import { CARRIERS, PLACES, PREFIXES, SENTENCES, type Carrier } from './unseen-carriers.ts';
import { STAYING, UNSEEN_SHAPES } from './unseen-values.ts';

const NEUTRAL = ['item', 'entry', 'w', 'x'] as const;

function carriersOf(shape: Shape): readonly Carrier[] {
  if (shape.known === 'line') return SENTENCES;
  const fields = CARRIERS.filter(({ quotes }) => quotes || shape.isSpaced !== true);
  if (shape.known === 'keyed') return fields;
  if (shape.known === 'delimited')
    return [...CARRIERS.filter(({ quotes }) => quotes), ...PLACES.filter(({ name }) => name !== 'word')];
  return [...fields, ...PLACES, ...SENTENCES];
}

/** One record; the value of a header may have spaces, as it goes to the end of the line. */
export function unseenRecord(random: SeededRandom): LogRecord {
  const shape = random.pick(UNSEEN_SHAPES);
  const isHeader = shape.isSpaced === true && shape.class !== 'user' && shape.class !== 'secret' && random.chance(0.2);
  const carrier = isHeader
    ? (CARRIERS.find(({ name }) => name === 'header') as Carrier)
    : random.pick(carriersOf(shape));
  const marked: Marked = shape.make(random);
  const key = shape.keys === undefined ? random.pick(NEUTRAL) : random.pick(shape.keys);
  const seed = random.fork();
  const body = carrier.write({ key, value: marked.text, random: seed });
  const prefix =
    body.startsWith('{') && random.chance(0.5) ? '' : body.includes('\n') ? '' : random.pick(PREFIXES)(random);
  const emptied = marked.labels.reduce((text, label) => text.replaceAll(label.value, '\n'), marked.text);
  return {
    shape: shape.name,
    embedding: carrier.name,
    text: prefix + body,
    labels: marked.labels,
    context: `${prefix}${emptied}\n${carrier.write({ key, value: '-', random: seed })}`,
    prefix,
    isOpaque: false,
  };
}

/** A line in which nothing may change, and the piece that is looked for. */
export function stayingRecord(random: SeededRandom): { readonly text: string; readonly piece: string } {
  const piece = random.pick(STAYING)(random);
  const carrier = random.pick(
    SENTENCES.filter(({ name }) => name !== 'JSON with codes' && name !== 'percent' && name !== 'printable'),
  );
  return { text: random.pick(PREFIXES)(random) + carrier.write({ key: 'm', value: piece, random }), piece };
}
