/** Damage done to valid input: wrong types, strange keys, extreme numbers, broken text, depth. */
import type { Json } from '#src/base/json.ts';
import type { SeededRandom } from '#test/support/random.ts';

const TEXTS = [
  '',
  ' ',
  'null',
  '0',
  '-1',
  'toString',
  '../..',
  '%00',
  'e\u0301',
  '\u202E',
  '👩‍👩‍👧‍👦',
  '\u0000',
  '\uD800',
  '\uDC00x',
];
const NUMBERS = [0, -0, -1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 + 2, Number.MIN_VALUE];
const KEYS = [
  'sender',
  'from',
  'user',
  'action',
  '__proto__',
  'constructor',
  'type',
  'to',
  'seq',
  '',
  'kind',
  'body',
  'x',
];

/** A value of any JSON type, unlikely to be wanted anywhere. */
export function strangeValue(random: SeededRandom): Json {
  switch (random.whole(0, 7)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.pick(NUMBERS);
    case 3:
      return strangeText(random);
    case 4:
      return [strangeText(random), random.pick(NUMBERS)];
    case 5:
      return own(random.pick(KEYS), random.pick(NUMBERS));
    case 6:
      return deep(random.pick([3, 15, 16, 17, 500]));
    default:
      return 'x'.repeat(random.pick([64, 65, 128, 129, 200, 201, 16_000, 16_001]));
  }
}

export function strangeText(random: SeededRandom): string {
  if (random.chance(0.7)) return random.pick(TEXTS);
  const units = Array.from({ length: random.whole(1, 20) }, () => random.whole(0, 0xffff));
  return String.fromCharCode(...units);
}

/** The value with one place of it changed. */
export function mutate(value: Json, random: SeededRandom): Json {
  if (typeof value !== 'object' || value === null || random.chance(0.1)) return strangeValue(random);
  if (Array.isArray(value)) return mutateArray(value, random);
  const keys = Object.keys(value);
  const key = keys.length === 0 ? 'x' : random.pick(keys);
  const { [key]: inner = null, ...rest } = value;
  switch (random.whole(0, 4)) {
    case 0:
      return rest;
    case 1:
      return { ...value, ...own(random.pick(KEYS), strangeValue(random)) };
    case 2:
      return { ...rest, [key.toUpperCase()]: inner };
    default:
      return { ...rest, ...own(key, mutate(inner, random)) };
  }
}

function mutateArray(items: Json[], random: SeededRandom): Json {
  if (items.length === 0 || random.chance(0.3)) return [...items, strangeValue(random)];
  if (random.chance(0.2)) return Array.from({ length: 1_001 }, () => items[0] as Json);
  const at = random.whole(0, items.length - 1);
  return items.map((item, index) => (index === at ? mutate(item, random) : item));
}

/** JSON text with bytes changed, taken away or put in. */
export function damageText(text: string, random: SeededRandom): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length === 0) return Buffer.from([random.whole(0, 255)]);
  const at = random.whole(0, bytes.length - 1);
  const rest = bytes.subarray(at + 1);
  if (random.chance(0.3)) return bytes.subarray(0, at);
  if (random.chance(0.5)) return Buffer.concat([bytes.subarray(0, at), rest]);
  return Buffer.concat([bytes.subarray(0, at), Buffer.of(random.whole(0, 255)), rest]);
}

/** An object with one own key, also where the key is `__proto__`. */
function own(key: string, value: Json): { [key: string]: Json } {
  return Object.fromEntries([[key, value]]);
}

function deep(levels: number): Json {
  let value: Json = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
