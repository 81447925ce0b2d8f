/**
 * Logs of sixteen real systems (logpai/loghub), read where they lie: beside the project, or in the folder that LOGHUB
 * names. They are no part of the project; without them the test says why it is skipped.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Redactor } from '#src/redaction/redactor.ts';
import { KEY } from './corpus/labels.ts';

const PLACES = ['../../../shared/data/loghub', '../../../../shared/data/loghub'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);
const FOLDER = [process.env['LOGHUB'] ?? '', ...PLACES].find((folder) => folder !== '' && existsSync(folder));
const skip = FOLDER === undefined ? 'the logs of loghub are not here; LOGHUB names their folder' : false;

const engine = new Redactor({ key: KEY });
const names = FOLDER === undefined ? [] : readdirSync(FOLDER).filter((name) => name.endsWith('.log'));
const logs = names.map((name) => {
  const before = readFileSync(join(FOLDER as string, name));
  return { name, before: before.toString('latin1'), after: engine.bytes(before).toString('latin1') };
});

/** Four numbers that an address has, with no sign of a version before them. */
const ADDRESS = /(?<![\w.~-])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?!\w|\.\d)/g;
const VERSION = /(?:version[ =:]{1,2}|[A-Za-z]\/|v)$/i;

function count(pattern: RegExp): number {
  return logs.reduce((sum, { after }) => sum + (after.match(pattern)?.length ?? 0), 0);
}

/** Pieces of a log that are not in what became of it, as often as they were. */
function lost(pattern: RegExp): string[] {
  return logs.flatMap(({ name, before, after }) => {
    const [were, are] = [before.match(pattern)?.length ?? 0, after.match(pattern)?.length ?? 0];
    return were === are ? [] : [`${name}: ${were} were, ${are} are`];
  });
}

test('RED-06 no IPv4 address is left raw', { skip }, () => {
  const raw = logs.flatMap(({ name, after }) =>
    [...after.matchAll(ADDRESS)]
      .filter(({ 0: text, index }) => {
        const octets = text.split('.').map(Number);
        const isOwn = text === '127.0.0.1' || text === '0.0.0.0';
        return (
          !isOwn && octets.every((octet) => octet < 256) && !VERSION.test(after.slice(Math.max(0, index - 12), index))
        );
      })
      .map(({ 0: text }) => `${name}: ${text}`),
  );
  assert.ok(logs.length >= 16);
  assert.deepEqual(raw, []);
});

test('RED-05 no number is taken for a phone', { skip }, () => {
  assert.equal(count(/tel-[0-9a-f]{8}/g), 0);
});

test('RED-03 systems without people have none', { skip }, () => {
  const empty = /^(?:Android|Apache|BGL|HDFS|HPC|HealthApp|OpenStack|Proxifier|Spark|Windows)_/;
  const found = logs.filter(({ name, after }) => empty.test(name) && /u-[0-9a-f]{8}/.test(after));
  assert.deepEqual(
    found.map(({ name, after }) => `${name}: ${/.{0,60}u-[0-9a-f]{8}/.exec(after)?.[0]}`),
    [],
  );
});

test('at most 60 of 32,000 lines lose a piece for looking random', { skip }, (t) => {
  const hits = count(/\[REDACTED:random\]/g);
  t.diagnostic(`${hits} pieces looked random`);
  assert.ok(hits <= 60, `${hits}`);
});

test('RED-12 times, ids and versions stay, and so do the lines', { skip }, () => {
  assert.deepEqual(lost(/\d\d:\d\d:\d\d/g), []);
  assert.deepEqual(lost(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g), []);
  assert.deepEqual(lost(/(?<![\d.])v?\d+\.\d+\.\d+(?![\d.])/g), []);
  assert.deepEqual(lost(/\n/g), []);
});

test('RED-12 twice is once', { skip }, () => {
  const changed = logs.filter(({ after }) => engine.bytes(Buffer.from(after, 'latin1')).toString('latin1') !== after);
  assert.deepEqual(
    changed.map(({ name }) => name),
    [],
  );
});
