/** Which link of a text is its first, and where it ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstLink, LINK_LENGTH_MAX } from '#src/protocol/conversations/links.ts';

test('the first link of a text ends where the sentence goes on', () => {
  const cases: [string, string | undefined][] = [
    ['see https://a.example/b?c=d#e.', 'https://a.example/b?c=d#e'],
    ['(HTTP://A.example/x), and more', 'http://a.example/x'],
    ['https://a.example/Name_(place)', 'https://a.example/Name_(place)'],
    ['(https://a.example/Name_(place))', 'https://a.example/Name_(place)'],
    ['<https://a.example/>“', 'https://a.example/'],
    ['ftp://a.example https:// http://u:p@b.example http://c.example!', 'http://c.example/'],
    ['xhttps://a.example', 'https://a.example/'],
    ['javascript://a.example', undefined],
    ['no link: //a.example', undefined],
    [`https://a.example/${')'.repeat(17)}`, 'https://a.example/)'],
    ['', undefined],
  ];
  for (const [text, link] of cases) assert.equal(firstLink(text), link, text);
});

test('a link one longer than the longest has no preview', () => {
  const link = `https://a.example/${'x'.repeat(LINK_LENGTH_MAX - 18)}`;
  assert.equal(firstLink(link), link);
  assert.equal(firstLink(`${link}x`), undefined);
  assert.equal(firstLink('http://'.repeat(2_000)), undefined);
  assert.equal(firstLink(`http://${')'.repeat(15_000)}`), undefined);
});
