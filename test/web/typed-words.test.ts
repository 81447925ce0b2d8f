/** What becomes of what is typed: searches, what is shown of a hit, formatting, and the day that somebody goes to. No browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { formatOf, formatted, type Format } from '#src/web/chat/formatting/formats.ts';
import { plainLine } from '#src/web/chat/message/plain-line.ts';
import { readSearchWords } from '#src/web/chat/search/search-address.ts';
import { isDay, readTyped } from '#src/web/chat/search/search-words.ts';
import { snippetOf } from '#src/web/chat/search/snippet.ts';
import { firstSeqFrom } from '#src/web/chat/state/day-search.ts';

const NAMES = {
  conversation: (name: string) => (name === 'The harbour' ? 'c1' : undefined),
  person: (name: string) => (/^@?bob$/.test(name) ? 'bob' : undefined),
};

test('operators narrow a search in both languages, and what names nothing stays with the words', () => {
  assert.deepEqual(
    readTyped('boat in:"The harbour" from:@bob has:file after:2026-01-31 before:2026-02-28 sail', NAMES),
    {
      text: 'boat sail',
      conv: 'c1',
      from: 'bob',
      hasFile: true,
      after: '2026-01-31',
      before: '2026-02-28',
    },
  );
  assert.deepEqual(readTyped('в:"The harbour" От:bob есть:файл лодка', NAMES), {
    text: 'лодка',
    conv: 'c1',
    from: 'bob',
    hasFile: true,
  });
  for (const typed of [
    'in:nowhere x',
    'from:nobody',
    'has:link',
    'after:2026-02-30',
    'before:tomorrow',
    'https://a.b',
    'x:y',
  ])
    assert.deepEqual(readTyped(typed, NAMES), { text: typed });
  assert.deepEqual(readTyped('"a phrase" from:bob', NAMES), { text: '"a phrase"', from: 'bob' });
});

test('a day is one that there is', () => {
  assert.deepEqual(['2024-02-29', '2026-02-29', '2026-1-1', '', '2026-12-31T00'].map(isDay), [
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('an address says what is searched for, whatever else stands in it', () => {
  assert.deepEqual(readSearchWords({ text: 2026, conv: 1, from: 'bob', hasFile: 'yes', other: 'x' }), {
    text: '2026',
    from: 'bob',
  });
});

const snippetAt = (hit: Parameters<typeof snippetOf>[0]) => snippetOf(hit, (user) => `${user} **of** the crew`);

test('a hit is shown from a little before its first place, and no place of it is cut apart', () => {
  const body = `${'a '.repeat(100)}needle ${'b'.repeat(10_000)}`;
  const pieces = snippetAt({ body, highlights: [[200, 206]] });
  assert.deepEqual(
    pieces.map(({ isMarked }) => isMarked),
    [false, false, true, false, false],
  );
  assert.equal(pieces[2]?.text, 'needle');
  const shown = pieces.map(({ text }) => text).join('');
  assert.ok(shown.startsWith('…') && shown.endsWith('…') && shown.length < 300, shown);
  const [whole] = snippetAt({ body: 'w'.repeat(10_000), highlights: [[0, 10_000]] });
  assert.equal(whole?.text.length, 200);
  // The cut goes through a surrogate pair, of which nothing is left.
  const emoji = snippetAt({ body: `${'😀'.repeat(60)}end`, highlights: [[121, 123]] });
  assert.ok(emoji.every(({ text }) => text.isWellFormed() && !text.includes('\ufffd')));
  const hostile = snippetAt({ body: `\u202ex${'\u0301'.repeat(1_000)}y`, highlights: [[1, 2]] });
  assert.doesNotMatch(hostile.map(({ text }) => text).join(''), /\u202e|\p{M}{5}/u);
  // Formatting has no room, but for who looks for the marks.
  const marked = 'The crane is **repaired**, see `log`';
  const shownOf = (highlights: [number, number][]) => snippetAt({ body: marked, highlights }).map(({ text }) => text);
  assert.deepEqual(shownOf([[15, 23]]), ['The crane is ', 'repaired', ', see log']);
  assert.deepEqual(shownOf([[13, 15]]), ['The crane is ', '**', 'repaired, see log']);
});

test('around what was found people are called by their names, but where their username was looked for', () => {
  const body = 'ask @bob, @all and @carol about **the** crane';
  const mentions = [
    { username: 'bob', offset: 4, length: 4 },
    { all: true as const, offset: 10, length: 4 },
    { username: 'carol', offset: 19, length: 6 },
  ];
  const shownOf = (highlights: [number, number][]) => snippetAt({ body, mentions, highlights }).map(({ text }) => text);
  const [at, end] = [body.indexOf('crane'), body.length];
  // What looks like formatting in a name is the name.
  assert.deepEqual(shownOf([[at, end]]), [
    'ask @bob **of** the crew, @all and @carol **of** the crew about the ',
    'crane',
  ]);
  assert.deepEqual(shownOf([[5, 8]]), ['ask @', 'bob', ', @all and @carol **of** the crew about the crane']);
  assert.deepEqual(shownOf([[19, 25]]), ['ask @bob **of** the crew, @all and ', '@carol', ' about the crane']);
});

/** Formats what stands between the bars, and marks what is selected then. */
function formats(marked: string, format: Format): string {
  const [from, to] = [marked.indexOf('|'), marked.lastIndexOf('|') - 1];
  const text = marked.replaceAll('|', '');
  const change = formatted(text, from, to, format);
  const changed = text.slice(0, change.from) + change.text + text.slice(change.to);
  const [begin, end] = change.selected;
  return `${changed.slice(0, begin)}|${changed.slice(begin, end)}|${changed.slice(end)}`;
}

test('formatting is put around what is selected, and taken away again', () => {
  assert.equal(formats('a |b| c', 'bold'), 'a **|b|** c');
  assert.equal(formats('a **|b|** c', 'bold'), 'a |b| c');
  assert.equal(formats('a |**b**| c', 'bold'), 'a |b| c');
  assert.equal(formats('a | b |c', 'italic'), 'a  _|b|_ c');
  assert.equal(formats('||', 'code'), '`||`');
  assert.equal(formats('|one\ntwo|', 'bullets'), '|- one\n- two|');
  assert.equal(formats('|- one\n- two|', 'bullets'), '|one\ntwo|');
  assert.equal(formats('zero\no|n|e\ntwo', 'quote'), 'zero\n> one||\ntwo');
  assert.equal(formats('|one\ntwo|', 'numbers'), '|1. one\n2. two|');
  assert.equal(formats('a |let x| b', 'block'), 'a \n```\n|let x|\n```\n b');
  assert.equal(formats('|words|', 'link'), '[words](|https://|)');
  assert.equal(formats('|https://a.b/c|', 'link'), '[||](https://a.b/c)');
  assert.equal(formatOf({ key: 'B', shiftKey: false }), 'bold');
  assert.equal(formatOf({ key: 'b', shiftKey: true }), undefined);
});

test('one line of a message has its words without the marks of formatting, also where it is cut among them', () => {
  // Nested deeper than a message is drawn, the rest is as it was written.
  const lines = [
    ['Hello **Bob**, _soft_ and *slanted* ~~gone~~', 'Hello Bob, soft and slanted gone'],
    ['see [the chart](https://example.org/a_b_c) and <https://example.org>', 'see the chart and https://example.org'],
    ['## A head\n> a quote\n\n- one\n- [x] two\n\n1. three', 'A head a quote one [x] two three'],
    ['```js\nconst a = `b`;\n```', 'const a = b;'],
    ['cut in **the middle', 'cut in the middle'],
    ['2 * 3 * 4, snake_case_name and <b>no</b> tag', '2 * 3 * 4, snake_case_name and <b>no</b> tag'],
    ['\\*not slanted\\*', '*not slanted*'],
    ['>'.repeat(160), '>'.repeat(147)],
  ] as const;
  for (const [text, line] of lines) assert.equal(plainLine(text), line);
});

test('a day is found among a thousand messages, of which the first were purged and some stand at the same instant', async () => {
  const all = Array.from({ length: 1_000 }, (_, index) => index + 1).filter((seq) => seq > 100);
  const timeOf = (seq: number) => Math.floor(seq / 10) * 1_000;
  let asked = 0;
  const client = {
    conversations: new Map([['c', { headSeq: 1_000 }]]),
    call: async (_: string, { query: { after_seq: after } }: { query: { after_seq: number } }) => {
      asked += 1;
      const seq = all.find((one) => one > after);
      return { items: seq === undefined ? [] : [{ seq, created_at: new Date(timeOf(seq)).toISOString() }] };
    },
  } as unknown as ParleyClient;
  const found = async (at: number) => {
    const seq = await firstSeqFrom(client, 'c', at);
    return all.find((one) => one >= (seq ?? Infinity));
  };
  assert.deepEqual(
    [await found(0), await found(50_000), await found(50_001), await found(100_000)],
    [101, 500, 510, 1_000],
  );
  assert.equal(await firstSeqFrom(client, 'c', 100_001), undefined);
  assert.ok(asked <= 5 * 11, `${asked} requests`);
});
