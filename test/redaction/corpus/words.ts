/** The people, places and plain words of the generated logs; the lists share no word, so that a find is a leak. */
import type { SeededRandom } from '#test/support/random.ts';

const FIRST = (
  'alice boris chloe dmitry elena fyodor galina hannah irina joachim katya leonid marta nikita ' +
  'oksana pavel quentin rustam svetlana timur ulyana viktor wanda xenia yulia zakhar'
).split(' ');

const LAST = (
  'petrov sidorova kuznetsov lehtinen moreau okafor papadakis quispe rahman schneider tanaka ulrichsen vasquez wojcik ' +
  'yilmaz zhukova abramov bogdanov czerny dragunov'
).split(' ');

const RUSSIAN = ['Иван Петров', 'Анна Сидорова', 'Олег Кузнецов', 'Мария Жукова', 'Тимур Рахманов', 'Ольга Лебедева'];

/** Plain words around the values: none is a key the engine knows, none a word of the texts. */
export const PLAIN: readonly string[] = (
  'done after retry worker queue accepted started by the was not found in ' +
  'step three closing handler slow replica checked with result ready again'
).split(' ');

const CYRILLIC = [
  'ошибка',
  'при',
  'входе',
  'запрос',
  'принят',
  'очередь',
  'обработан',
  'повтор',
  'сбой',
  'готово',
  'для',
];

/** Words of private texts. */
const PRIVATE = (
  'quarterly salary diagnosis merger birthday vacation lawsuit redundancy bonus holiday surgery negotiation dismissal weekend ' +
  'dinner apartment mortgage passport wedding invoice'
).split(' ');

const PRIVATE_CYRILLIC = [
  'зарплата',
  'увольнение',
  'отпуск',
  'диагноз',
  'договор',
  'встреча',
  'премия',
  'квартира',
  'ипотека',
];

export const HOSTS = ['mx1', 'edge-3', 'db02.internal', 'node7.lan', 'gw-east'] as const;
export const DOMAINS = ['example.org', 'mail.example.com', 'corp-9.test', 'post.example.net'] as const;

/** A user name: alice, alice.petrov, alice_petrov, alice42, apetrov. */
export function userName(random: SeededRandom): string {
  const first = random.pick(FIRST);
  const last = random.pick(LAST);
  switch (random.whole(0, 5)) {
    case 0:
      return `${first}${random.whole(10, 99)}`;
    case 1:
      return `${first}_${last}`;
    case 2:
      return `${first.charAt(0)}${last}`;
    case 3:
      return `${first}-${last}`;
    case 4:
      return first;
    default:
      return `${first}.${last}`;
  }
}

/** The local part of an address: a user name, capitals and a tag now and then. */
export function localPart(random: SeededRandom): string {
  const name = userName(random);
  if (random.chance(0.15)) return name.charAt(0).toUpperCase() + name.slice(1);
  return random.chance(0.15) ? `${name}+${random.pick(LAST)}${random.whole(1, 9)}` : name;
}

/** A display name with a space in it, Latin or Cyrillic. */
export function displayName(random: SeededRandom): string {
  if (random.chance(0.4)) return random.pick(RUSSIAN);
  const [first, last] = [random.pick(FIRST), random.pick(LAST)];
  return `${first.charAt(0).toUpperCase()}${first.slice(1)} ${last.charAt(0).toUpperCase()}${last.slice(1)}`;
}

/** Plain words in a row. */
export function plainWords(random: SeededRandom, count: number): string {
  return Array.from({ length: count }, () => random.pick(PLAIN)).join(' ');
}

/** Plain Cyrillic words in a row. */
export function cyrillicWords(random: SeededRandom, count: number): string {
  return Array.from({ length: count }, () => random.pick(CYRILLIC)).join(' ');
}

/** A private text of a few words. */
export function privateText(random: SeededRandom): string {
  const words = random.chance(0.3) ? PRIVATE_CYRILLIC : PRIVATE;
  return Array.from({ length: random.whole(3, 6) }, () => random.pick(words)).join(' ');
}
