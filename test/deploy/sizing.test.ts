/** The table of docs/operations/sizing.md follows from the rule and the figures that the page states. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const page = readFileSync(new URL('../../docs/operations/sizing.md', import.meta.url), 'utf8');
const figure = (pattern: RegExp) => Number(pattern.exec(page)?.[1]?.replaceAll(',', ''));

test('posts, sockets and disk of each row are those of the rule', () => {
  const posts = figure(/It takes (\d+) posts a person on each/);
  const days = figure(/on each of (\d+) working days, a quarter/);
  const bytes = figure(/\*\*Disk\*\*: (\d+) bytes a message/);
  const rows = [...page.matchAll(/^\| ([\d,]+) \| ([\d.]+) \| ([\d,]+) \| .+ \| ([\d.]+) GB \|$/gm)].map((row) =>
    row.slice(1).map((cell) => Number(cell.replaceAll(',', ''))),
  );
  assert.equal(rows.length, 4);
  for (const [people = 0, perSecond = 0, sockets = 0, gigabytes = 0] of rows) {
    assert.ok(Math.abs(perSecond / ((people * posts) / 4 / 3600) - 1) < 0.1, `${people}: ${perSecond} posts a second`);
    assert.equal(sockets, 2 * people);
    assert.ok(Math.abs(gigabytes / ((people * posts * days * bytes) / 1e9) - 1) < 0.05, `${people}: ${gigabytes} GB`);
  }
});
