/** `directory-search`: finding people by name among many, in the index that the coordinator keeps, beside SQLite FTS5. */
import { DatabaseSync } from 'node:sqlite';
import { DirectorySearch } from '#src/directory/directory-search.ts';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import { bySize, interleave, latencyMillis, type Bench, type BenchContext } from '../harness/bench.ts';

const SEED = 20_261_122;
/** People in one answer. */
const LIMIT = 50;
const CHANGES_AT_ONCE = 250;

const FIRST =
  'Ivan Пётр Анна Мария Алексей Jürgen Zoë Peter Maria Olga Sergey Ann John Anna Елена Дмитрий Paul Marta Łukasz Chloé';
const STEMS =
  'Петр Иван Кузнец Попов Сокол Васил Ники Алекс Mar Smi Ander Wei Nova Gar Ber Sil Tho Wil Joh Mül Sch Lar Kow Hor Fer';
const ENDINGS = 'ов ова ин енко ский ский ук ева th son s ß k cia g va mas ler ner kowski dez ndt mann ez ström a';

/** What is asked, from the cheapest to what fits most. */
const CASES = [
  ['a name', 'кузнец анна'],
  ['the beginning of two words', 'mu jur'],
  ['three letters', 'smi'],
  ['two letters', 'ma'],
  ['one letter', 'p'],
  ['nobody', 'qwx'],
] as const;

interface Finder {
  readonly name: string;
  /** Usernames of those who fit, LIMIT at most. */
  find(query: string): Promise<readonly string[]> | readonly string[];
}

export const directorySearch: Bench = {
  name: 'directory-search',
  say: 'people found by name among 100,000, ranked and cut to 50, beside SQLite FTS5 with prefixes and beside a plain scan',
  async run(context) {
    const { recorder } = context;
    const count = bySize(context, { smoke: 2_000, default: 100_000, full: 100_000 });
    const searches = bySize(context, { smoke: 5, default: 100, full: 400 });
    const rounds = bySize(context, { smoke: 1, default: 5, full: 9 });
    recorder.parameters({ people: count, searches, limit: LIMIT, seed: SEED });
    const people = makePeople(count);
    const finders = [await ours(context, people), sqlite(people), scan(people)];
    for (const [name, query] of CASES) {
      // oxlint-disable-next-line no-await-in-loop -- Cases must not run at the same time.
      await interleave(context, rounds, finders, async (finder, round, isWarmUp) => {
        const samples: number[] = [];
        let found = 0;
        for (let at = 0; at < searches; at += 1) {
          const start = process.hrtime.bigint();
          // oxlint-disable-next-line no-await-in-loop -- One search after the other is timed.
          found = (await finder.find(query)).length;
          samples.push(Number(process.hrtime.bigint() - start));
        }
        if (finder.name === 'parley' && found === 0 && name !== 'nobody') recorder.fail(`${name}: nobody was found`);
        if (!isWarmUp) {
          recorder.round({ case: name, subject: finder.name, round, values: { ...latencyMillis(samples), found } });
        }
      });
      for (const peer of ['SQLite FTS5', 'plain scan']) recorder.ratio(name, 'p50 ms', 'parley', peer);
      recorder.bar(name, 'p99 ms', recorder.median(name, 'parley', 'p99 ms'), '≤', 20);
    }
    recorder.note(
      'FTS5 orders by bm25 and keeps no case and accents; the scan stops at the first 50 and ranks nothing',
    );
  },
};

function makePeople(count: number): DirectoryEntry[] {
  const [first, stems, endings] = [FIRST, STEMS, ENDINGS].map((list) => list.split(' ')) as [
    string[],
    string[],
    string[],
  ];
  let state = SEED;
  const pick = <T>(from: readonly T[]): T => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return from[(state >>> 12) % from.length] as T;
  };
  return Array.from({ length: count }, (_, at) => {
    const name = `${pick(first)} ${pick(stems)}${pick(endings)}`;
    const user = `user${at}`;
    return { user, display_name: name, email: `${user}@example.org`, kind: 'person', state: 'active', rev: at + 1 };
  });
}

async function ours({ recorder }: BenchContext, people: readonly DirectoryEntry[]): Promise<Finder> {
  const search = new DirectorySearch({
    rev: () => people.length,
    changedSince: (rev) => {
      const entries = people.slice(rev, rev + CHANGES_AT_ONCE);
      return { entries, rev: rev + entries.length, more: entries.length === CHANGES_AT_ONCE };
    },
  });
  const before = heap();
  const start = performance.now();
  await search.catchUp();
  const millis = Math.round(performance.now() - start);
  const bytes = Math.round((heap() - before) / people.length);
  recorder.note(
    `the index of ${people.length} people was made in ${millis} ms, beside other work, and takes ${bytes} bytes a person`,
  );
  const form = { order: 'fit', after: undefined, limit: LIMIT, isShown: () => true } as const;
  return { name: 'parley', find: async (query) => (await search.find({ ...form, query })).users };
}

/** Bytes in use; exact where the garbage can be collected on demand. */
function heap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function sqlite(people: readonly DirectoryEntry[]): Finder {
  const database = new DatabaseSync(':memory:');
  database.exec(
    `CREATE VIRTUAL TABLE people USING fts5(user, name, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3')`,
  );
  const insert = database.prepare('INSERT INTO people VALUES (?, ?)');
  database.exec('BEGIN');
  for (const { user, display_name: name } of people) insert.run(user, name ?? '');
  database.exec('COMMIT');
  const select = database.prepare('SELECT user FROM people WHERE people MATCH ? ORDER BY rank LIMIT ?');
  return {
    name: 'SQLite FTS5',
    find: (query) => {
      const words = query.split(' ').map((word) => `"${word}"*`);
      return select.all(words.join(' AND '), LIMIT).map((row) => String(row['user']));
    },
  };
}

function scan(people: readonly DirectoryEntry[]): Finder {
  const texts = people.map(({ user, display_name: name }) => ({ user, text: ` ${name ?? ''} ${user}`.toLowerCase() }));
  return {
    name: 'plain scan',
    find: (query) => {
      const words = query.split(' ');
      const found: string[] = [];
      for (const { user, text } of texts) {
        if (!words.every((word) => text.includes(` ${word}`))) continue;
        if (found.push(user) === LIMIT) break;
      }
      return found;
    },
  };
}
