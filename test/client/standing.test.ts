/** Standings of a client against the server's versions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Standing, standingOf, StandingWatch } from '#src/client/connection/standing.ts';

test('VER-04 the standing follows from the three versions', () => {
  assert.equal(standingOf(1, 1, 0), 'current');
  assert.equal(standingOf(2, 1, 0), 'current');
  assert.equal(standingOf(1, 2, 1), 'behind');
  assert.equal(standingOf(1, 2, 2), 'too-old');
  assert.equal(standingOf(0, 1, 0), 'behind');
});

function watch() {
  const told: Standing[] = [];
  const standing = new StandingWatch(1, (now) => told.push(now));
  const observe = (service?: string, serviceMin?: string) => {
    const headers = new Headers();
    if (service !== undefined) headers.set('X-Service-Protocol', service);
    if (serviceMin !== undefined) headers.set('X-Service-Protocol-Min', serviceMin);
    standing.observe(headers);
  };
  return { told, standing, observe };
}

test('VER-04 every change of standing is told once', () => {
  const { told, standing, observe } = watch();
  observe('1', '0');
  observe('2', '0');
  observe('2', '1');
  observe('3', '2');
  standing.observeTooOld();
  assert.deepEqual(told, ['behind', 'too-old']);
  observe('1', '0');
  assert.deepEqual(told, ['behind', 'too-old', 'current']);
});

test('VER-04 an answer without the headers, or with something else in them, says nothing', () => {
  const { told, observe } = watch();
  observe();
  observe('2');
  observe('two', '0');
  observe('-1', '0');
  observe('2.5', '2');
  assert.deepEqual(told, []);
});
