/** The labelled log: every shape in every place that can hold it, and every line of every daemon. */
import { SeededRandom } from '#test/support/random.ts';
import { DAEMON_SHAPES } from './daemon-lines.ts';
import { EMBEDDINGS, LINE_EMBEDDINGS, linePrefix, type Embedding } from './embeddings.ts';
import type { Label, Shape } from './labels.ts';
import { oddRecords } from './odd-records.ts';
import { privateKeyRecords } from './private-keys.ts';
import {
  AUTHORIZATION_SHAPES,
  COOKIE_SHAPES,
  PLATFORM_SHAPES,
  SIGNED_SHAPES,
  URL_SHAPES,
} from './shapes-credentials.ts';
import { PERSONAL_SHAPES } from './shapes-personal.ts';
import { SECRET_SHAPES } from './shapes-secrets.ts';
import { SERVICE_SHAPES } from './shapes-services.ts';

/** One or several lines of a log, and what of them must not be seen. */
export interface LogRecord {
  shape: string;
  embedding: string;
  text: string;
  labels: Label[];
  /** What the record says besides its values: a piece of a value that is met here too is no leak. */
  context: string;
  /** The mark of the logging program, which stays. */
  prefix: string;
  /** The values lie in an encoding that may be replaced as a whole. */
  isOpaque: boolean;
}

/** Every shape that is a token, a key or a secret. */
export const TOKEN_SHAPES: readonly Shape[] = [
  ...PLATFORM_SHAPES,
  ...SIGNED_SHAPES,
  ...AUTHORIZATION_SHAPES,
  ...COOKIE_SHAPES,
  ...URL_SHAPES,
  ...SERVICE_SHAPES,
  ...SECRET_SHAPES,
];

const FIELD_SHAPES: readonly Shape[] = [...TOKEN_SHAPES, ...PERSONAL_SHAPES];

/** Names that say nothing of their value. */
const NEUTRAL = ['value', 'item', 'field', 'param', 'entry'] as const;

function fits(shape: Shape, embedding: Embedding): boolean {
  if (shape.known === 'line') return LINE_EMBEDDINGS.includes(embedding);
  if (embedding.bareOnly === true && shape.known !== 'bare') return false;
  if (embedding.carries === 'field' && shape.isSpaced === true && !embedding.quotes) return false;
  return true;
}

function record(shape: Shape, embedding: Embedding, random: SeededRandom): LogRecord {
  const marked = shape.make(random);
  const key = shape.keys === undefined ? random.pick(NEUTRAL) : random.pick(shape.keys);
  const needsQuotes = shape.known === 'delimited' || (shape.isSpaced === true && shape.known === 'keyed');
  const surroundings = random.whole(0, 2 ** 32 - 1);
  // Drawn twice from one seed: the line, and the same line with nothing in the place of the values.
  const written = (value: string): string =>
    embedding.wrap({
      key,
      value,
      isKeyed: shape.known === 'keyed',
      isText: shape.known === 'line',
      needsQuotes,
      random: new SeededRandom(surroundings),
    });
  const body = written(marked.text);
  const emptied = marked.labels.reduce((text, label) => text.replaceAll(label.value, '\n'), marked.text);
  const prefix = embedding.takesPrefix === true && !body.includes('\n') ? linePrefix(random) : '';
  return {
    shape: shape.name,
    embedding: embedding.name,
    text: prefix + body,
    labels: marked.labels,
    context: `${prefix}${emptied}\n${written('-')}`,
    prefix,
    isOpaque: embedding.isOpaque === true,
  };
}

/** The log of that many rounds, in the order of shapes; every draw follows from the generator. */
export function labelledLog(random: SeededRandom, rounds: number): LogRecord[] {
  const records: LogRecord[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const shape of FIELD_SHAPES) {
      for (const embedding of EMBEDDINGS) if (fits(shape, embedding)) records.push(record(shape, embedding, random));
    }
    for (const shape of DAEMON_SHAPES) {
      for (const embedding of LINE_EMBEDDINGS) records.push(record(shape, embedding, random));
    }
    for (const { name, text, labels } of [...privateKeyRecords(random), ...oddRecords(random)]) {
      records.push({
        shape: name,
        embedding: 'of its own',
        text,
        labels,
        context: '',
        prefix: '',
        isOpaque: false,
      });
    }
  }
  return records;
}
