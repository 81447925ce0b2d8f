/** Listeners of the client. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Emitter } from '#src/client/emitter.ts';

test('listeners hear their type in order until they are taken away', () => {
  const emitter = new Emitter<{ a: number; b: number }>();
  const heard: string[] = [];
  const off = emitter.on('a', (value) => heard.push(`first ${value}`));
  emitter.on('a', (value) => heard.push(`second ${value}`));
  emitter.emit('a', 1);
  emitter.emit('b', 2);
  off();
  emitter.emit('a', 3);
  assert.deepEqual(heard, ['first 1', 'second 1', 'second 3']);
});

test('a listener that throws keeps nobody from hearing, and its error surfaces', async () => {
  const emitter = new Emitter<{ a: number }>();
  const heard: number[] = [];
  emitter.on('a', () => {
    throw new Error('the application’s fault');
  });
  emitter.on('a', (value) => heard.push(value));
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  const surfaced = once(process, 'uncaughtException');
  emitter.emit('a', 1);
  const [error] = await surfaced;
  for (const listener of listeners) process.on('uncaughtException', listener);
  assert.deepEqual(heard, [1]);
  assert.equal((error as Error).message, 'the application’s fault');
});
