/** Every regular expression of the engine takes time linear in its text: they are read out of the sources themselves. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkSync } from 'recheck';
import { Rules } from '#src/redaction/rules/rules.ts';
import { TABLE } from '#src/redaction/rules/table.ts';
import { SeededRandom } from '#test/support/random.ts';

const FOLDER = new URL('../../src/redaction/', import.meta.url);

interface Found {
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}

/** Where a comment, a string or a template that begins here ends; -1 where none does. */
function skipped(text: string, at: number): number {
  const two = text.slice(at, at + 2);
  if (two === '//') return text.indexOf('\n', at);
  if (two === '/*') return text.indexOf('*/', at + 2) + 2;
  const quote = text.charAt(at);
  if (quote !== "'" && quote !== '"' && quote !== '`') return -1;
  let end = at + 1;
  while (text.charAt(end) !== quote) end += text.charAt(end) === '\\' ? 2 : 1;
  return end + 1;
}

/** Where the expression ends whose first slash is here: at the slash that stands in no class and is not escaped. */
function slashAfter(text: string, at: number): number {
  let isClass = false;
  for (let end = at + 1; ; end += 1) {
    const char = text.charAt(end);
    if (char === '\\') end += 1;
    else if (char === '[') isClass = true;
    else if (char === ']') isClass = false;
    else if (char === '/' && !isClass) return end;
    if (char === '\n' || char === '') throw new Error(`An expression has no end: ${text.slice(at, at + 40)}`);
  }
}

/** The literals of a source; a slash begins one where no value stands before it. */
function expressionsOf(name: string): { literals: Found[]; made: number } {
  const text = readFileSync(new URL(name, FOLDER), 'utf8');
  const literals: Found[] = [];
  let before = ';';
  for (let at = 0; at < text.length; at += 1) {
    const end = skipped(text, at);
    if (end !== -1) {
      if (text.charAt(at) !== '/') before = "'";
      at = end - 1;
      continue;
    }
    const char = text.charAt(at);
    if (char === '/' && ('(,=:[!&|?{};+>'.includes(before) || /\breturn\s*$/.test(text.slice(at - 10, at)))) {
      const last = slashAfter(text, at);
      const flags = /^[a-z]*/.exec(text.slice(last + 1, last + 9))?.[0] ?? '';
      const line = text.slice(0, at).split('\n').length;
      literals.push({ where: `${name}:${line}`, source: text.slice(at + 1, last), flags });
      at = last + flags.length;
      before = '/';
    } else if (/\S/.test(char)) before = char;
  }
  return { literals, made: text.split('new RegExp(').length - 1 };
}

const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const found = files.map((name) => ({ name, ...expressionsOf(name) }));

test('the expressions that are put together at run time are those of the rows, and of names of pairs', () => {
  assert.deepEqual(
    found.filter(({ made }) => made > 0).map(({ name, made }) => [name, made]),
    [
      ['lines.ts', 2],
      ['rules/rules.ts', 7],
    ],
  );
});

/** The expressions of the rows: of tokens that go on alike, one; those of phrases begin at one place. */
function rows(): Found[] {
  const seen = new Set<string>();
  const kept = TABLE.filter((row) => {
    if (row.kind !== 'token') return true;
    const isNew = !seen.has(row.pattern);
    seen.add(row.pattern);
    return isNew;
  });
  return new Rules(kept).patterns.map(({ source, flags }) => ({ where: source.slice(0, 60), source, flags }));
}

const PAIRS = 'name|key|field';
/** Those of `lines.ts`, with fewer names. */
const OF_PAIRS: readonly Found[] = [
  `(?:${PAIRS})["']? ?[:=] ?(?:["']([\\w .-]{1,64})["']|([\\w.-]{1,64})(?=,))`,
  `^["'] ?,? ?["']?(?:${PAIRS})["']? ?[:=] ?["']([\\w ./-]{1,64})["']`,
].map((source) => ({ where: 'lines.ts', source, flags: 'i' }));

/** How long the checker may look for an attack on an expression that it cannot judge exactly. */
const SEARCH_MILLIS = 2_000;

/** Judged exactly by the automaton; undefined for what that cannot judge (a look-ahead, a great many states). */
function judgement(source: string, flags: string): boolean | undefined {
  const { status } = checkSync(source, flags, { checker: 'automaton', timeout: 20_000 });
  return status === 'unknown' ? undefined : status === 'vulnerable';
}

/**
 * What cannot be judged exactly is attacked at random instead, once; that the engine as a whole grows in a line is held by
 * the tests of its invariants.
 */
function isVulnerable(source: string, flags: string): boolean {
  const judged = judgement(source, flags);
  if (judged !== undefined) return judged;
  return checkSync(source, flags, { checker: 'fuzz', timeout: SEARCH_MILLIS }).status === 'vulnerable';
}

test('an expression that takes quadratic time, or worse, is found', () => {
  assert.equal(isVulnerable('(?:a|a)*b', ''), true);
  assert.equal(isVulnerable('\\s+$', ''), true);
  assert.equal(isVulnerable('^a+b', ''), false);
});

/**
 * The expressions that were judged before, so many letters of the hash of each in a line: to judge all of them takes three
 * minutes. `EXPRESSIONS=write npm test -- test/redaction/expressions.test.ts` judges what is new and writes the list.
 */
const JUDGED = new URL('judged-expressions.txt', import.meta.url);
/**
 * Of those that were judged before, so many are judged exactly once more, so that the list cannot be written by hand. Which
 * ones follows from all of them: every change of one has others, and two runs over the same sources have the same.
 */
const AGAIN = 8;

function nameOf({ source, flags }: Found): string {
  return createHash('sha256').update(`/${source}/${flags}`).digest('hex').slice(0, 16);
}

/** Some of them, by a lot that is the same for the same ones. */
function someOf(known: readonly Found[], count: number): Found[] {
  const left = known.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  const lot = new SeededRandom(createHash('sha256').update(left.map(nameOf).join()).digest().readUInt32LE());
  const drawn = () => left.splice(lot.whole(0, left.length - 1), 1)[0] as Found;
  return Array.from({ length: Math.min(count, left.length) }, drawn);
}

// Sticky matching begins at one place: that is told to the checker as a beginning.
const textOf = ({ source, flags }: Found) => (flags.includes('y') ? `^(?:${source})` : source);
const flagsOf = ({ flags }: Found) => flags.replaceAll(/[dgy]/g, '');

const all = [...found.flatMap(({ literals }) => literals), ...rows(), ...OF_PAIRS];
const isWritten = process.env['EXPRESSIONS'] === 'write';

test('every expression takes linear time: each that is new or changed is judged, and some of the others', (t) => {
  assert.ok(all.length > 150, `${all.length}`);
  const judged = new Set(readFileSync(JUDGED, 'utf8').split('\n'));
  const fresh = all.filter((one) => !judged.has(nameOf(one)));
  const again = someOf(
    all.filter((one) => judged.has(nameOf(one))),
    AGAIN,
  );
  t.diagnostic(`${all.length} expressions, ${fresh.length} not judged before; again: ${again.map(nameOf).join(' ')}`);
  const slow = [
    ...fresh.filter((one) => isVulnerable(textOf(one), flagsOf(one))),
    ...again.filter((one) => judgement(textOf(one), flagsOf(one)) === true),
  ];
  assert.deepEqual(
    slow.map(({ where, source, flags }) => `${where} /${source}/${flags}`),
    [],
  );
  if (isWritten) writeFileSync(JUDGED, `${[...new Set(all.map(nameOf))].toSorted().join('\n')}\n`);
});

test('what was judged before is in the sources still', () => {
  const names = new Set(all.map(nameOf));
  const gone = readFileSync(JUDGED, 'utf8')
    .trim()
    .split('\n')
    .filter((name) => !names.has(name));
  assert.deepEqual(gone, [], 'write the list anew');
});
