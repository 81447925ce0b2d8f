/** The installation's own people, in texts that say nothing of people: whoever has an account is hidden wherever the name is a word. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KnownPeople, NAME_BYTES_MIN, NAME_WORDS_MAX } from '#src/redaction/identifiers/known-people.ts';
import { Redactor } from '#src/redaction/redactor.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { cleanLog } from './corpus/clean-log.ts';
import { digest, KEY } from './corpus/labels.ts';
import { leakOf, readings } from './corpus/leak-oracle.ts';
import { CARRIERS, PLACES, PREFIXES, SENTENCES } from './corpus/unseen-carriers.ts';
import { anyName } from './corpus/unseen-values.ts';
import { displayName, userName } from './corpus/words.ts';

const SEED = Number(process.env['REDACTION_SEED'] ?? freshSeed());
const PEOPLE = 3_000;
const LINES = 8_000;

function knowing(usernames: readonly string[], fullNames: readonly string[] = []): Redactor {
  const people = new KnownPeople();
  for (const name of usernames) people.addUsername(name);
  for (const name of fullNames) people.addFullName(name);
  return new Redactor({ key: KEY, people: people.memory });
}

const usernamesOf = (random: SeededRandom) =>
  Array.from({ length: PEOPLE }, () => anyName(random).toLowerCase()).filter((name) => name.length >= NAME_BYTES_MIN);
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const fullNamesOf = (usernames: readonly string[]) =>
  usernames
    .filter((name) => /^\p{L}{3,}[.-]\p{L}{3,}$/u.test(name))
    .map((name) => name.split(/[.-]/).map(capital).join(' '));

describe('people of the installation', () => {
  test('RED-03 nobody can be read in any carrier, whatever stands around the name', (t) => {
    const random = new SeededRandom(SEED);
    t.diagnostic(`seed ${SEED}`);
    const usernames = usernamesOf(random);
    const fullNames = fullNamesOf(usernames);
    assert.ok(fullNames.length > 100);
    const engine = knowing(usernames, fullNames);
    const leaks: string[] = [];
    let unknown = 0;
    const stranger = new Redactor({ key: KEY });
    for (let line = 0; line < LINES; line += 1) {
      const value = random.pick(random.chance(0.7) ? usernames : fullNames);
      const carrier = random.pick([...CARRIERS, ...PLACES, ...SENTENCES]);
      const seed = random.fork();
      const prefix = random.pick(PREFIXES)(random);
      const text = prefix + carrier.write({ key: 'item', value, random: seed });
      const context = prefix + carrier.write({ key: 'item', value: '-', random: seed });
      const label = { class: 'user', kind: 'name', value } as const;
      const outcome = engine.text(text);
      if (leakOf(label, readings(stranger.text(text)), context) !== undefined) unknown += 1;
      if (leakOf(label, readings(outcome), context) !== undefined) leaks.push(`${carrier.name} | ${text} → ${outcome}`);
      assert.equal(engine.text(outcome), outcome, `twice: ${text}`);
      assert.equal(outcome.split('\n').length, text.split('\n').length, text);
    }
    t.diagnostic(`${LINES} lines: ${leaks.length} leaks, ${unknown} without knowing anybody`);
    assert.ok(unknown > LINES / 2, 'the lines say nothing of people by themselves');
    assert.ok(leaks.length <= LINES / 1000, leaks.slice(0, 8).join('\n'));
  });

  test('RED-07 a name has the pseudonym that it has behind a key', () => {
    const engine = knowing(['olga.belova'], ['Olga Belova', 'Елена Смирнова']);
    for (const [text, canonical] of [
      ['kicked out olga.belova at noon', 'olga.belova'],
      ['kicked out OLGA.BELOVA at noon', 'olga.belova'],
      ['/srv/mail/olga.belova/cur', 'olga.belova'],
      ['by Olga Belova, twice', 'olga belova'],
      ['von „Елена Смирнова“ und ЕЛЕНА СМИРНОВА', 'елена смирнова'],
    ] as const)
      assert.ok(engine.text(text).includes(`u-${digest(canonical)}`), engine.text(text));
    assert.equal(
      engine.text('user=olga.belova x olga.belova'),
      `user=u-${digest('olga.belova')} x u-${digest('olga.belova')}`,
    );
    assert.deepEqual(engine.value({ 'olga.belova': 1, seen: ['x\nolga.belova'] }), {
      [`u-${digest('olga.belova')}`]: 1,
      seen: [`x\nu-${digest('olga.belova')}`],
    });
    // An address is one, and no name before a host.
    const address = 'to olga.belova@example.org';
    assert.equal(engine.text(address), new Redactor({ key: KEY }).text(address));
  });

  test('RED-12 what is no word of its own stays: in longer words, ordinary words, numbers, short names, pseudonyms, markers', () => {
    const names = [
      'kalomi',
      'mark',
      'root',
      'redis',
      '12345678',
      '1e10',
      'eva',
      'u-1234abcd',
      '1234abcd',
      'secret',
      'open.source',
    ];
    const engine = knowing(names, ['Connection', 'Secret Token', 'Max', '—']);
    for (const text of [
      'kalomis and xkalomi and kalomi2 and kalomi_id stay',
      'mark as read, by root on redis',
      '{"count":12345678,"scale":1e10}',
      'eva at u-1234abcd, [REDACTED:secret] and tel-1234abcd',
      'Connection to max, Secret Token',
    ])
      assert.equal(engine.text(text), text);
    assert.notEqual(engine.text('an open.source word'), 'an open.source word');
    assert.notEqual(engine.text('kalomi'), 'kalomi');
  });

  test('RED-12 nobody hides a word of the logs by a name with signs in it', () => {
    const engine = knowing(['mark.', 'root-'], ['Timeoutª Oneº', 'Refused² ³Twice', 'Lost¹']);
    const text = 'mark as read: timeout of root, refused twice, lost';
    assert.equal(engine.text(text), text);
  });

  test('RED-12 what no people are in stays as it is, among thousands of accounts', (t) => {
    const random = new SeededRandom(SEED);
    const usernames = Array.from({ length: PEOPLE }, () => userName(random));
    const fullNames = Array.from({ length: PEOPLE }, () => displayName(random));
    const engine = knowing(usernames, fullNames);
    const stranger = new Redactor({ key: KEY });
    const log = cleanLog(new SeededRandom(SEED + 1), LINES);
    const lost = log.flatMap(({ text }) => {
      const [seen, wanted] = [engine.text(text), stranger.text(text)];
      return seen === wanted ? [] : [`${text} → ${seen}`];
    });
    t.diagnostic(`seed ${SEED}: ${lost.length} of ${LINES} lines`);
    assert.deepEqual(lost, []);
  });

  test(`RED-03 a name of ${NAME_WORDS_MAX} words is hidden whole, and of one more its first ${NAME_WORDS_MAX}`, () => {
    const words = ['Analo', 'Belomi', 'Carito', 'Delonu', 'Emirto', 'Falonu', 'Gerito'];
    const [whole, more] = [words.slice(0, NAME_WORDS_MAX).join(' '), words.join(' ')];
    assert.equal(knowing([], [whole]).text(`by ${whole} at`), `by u-${digest(whole.toLowerCase())} at`);
    assert.equal(knowing([], [more]).text(`by ${more} at`), `by u-${digest(whole.toLowerCase())} Gerito at`);
  });

  test('RED-03 a name that is added is hidden by whoever shares the memory, until it is full; then another one has all of them', () => {
    const people = new KnownPeople();
    const { memory } = people;
    const engine = new Redactor({ key: KEY, people: memory });
    assert.equal(engine.text('by kalomi'), 'by kalomi');
    people.addUsername('kalomi');
    assert.equal(people.memory, memory);
    assert.equal(engine.text('by kalomi'), `by u-${digest('kalomi')}`);
    const names = Array.from({ length: 5_000 }, (_, at) => `person${at}x`);
    for (const name of names) people.addUsername(name);
    assert.notEqual(people.memory, memory);
    const grown = new Redactor({ key: KEY, people: people.memory });
    for (const name of ['kalomi', ...names]) assert.equal(grown.text(`by ${name}`), `by u-${digest(name)}`);
  });
});
