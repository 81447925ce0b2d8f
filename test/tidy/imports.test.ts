/** Holds the directions of imports: what each room may see, and that nothing points up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEPENDENCIES,
  DEV_DEPENDENCIES,
  type Import,
  importsOf,
  isResolvable,
  packageOf,
  targetOf,
  typescriptSources,
} from './source.ts';

/** What a room may import besides itself. `bench` and `test` may import every room; nobody may import `main`. */
const UNDER = ['base', 'protocol'];
const BELOW_EDGES = [...UNDER, 'config', 'telemetry', 'auth', 'storage', 'actors', 'outgoing', 'push'];
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: ['base'],
  config: UNDER,
  client: UNDER,
  redaction: UNDER,
  outgoing: UNDER,
  push: [...UNDER, 'telemetry', 'storage', 'actors', 'outgoing'],
  // What a mail says that comes in: it knows nothing of calendars, which ask it.
  'mail-inbound': UNDER,
  telemetry: [...UNDER, 'config'],
  storage: [...UNDER, 'config', 'telemetry'],
  auth: [...UNDER, 'config', 'telemetry', 'storage'],
  actors: [...UNDER, 'config', 'telemetry', 'storage'],
  messaging: BELOW_EDGES,
  coordinator: [...BELOW_EDGES, 'console'],
  // The calendar's routes are registered and its people known as the coordinator's are.
  calendar: [...BELOW_EDGES, 'coordinator', 'mail-inbound'],
  // People outside get mail of the calendar, by the settings that the coordinator keeps.
  mail: [...BELOW_EDGES, 'calendar', 'coordinator'],
  // The console shows what the coordinator does, and states who is who there; neither is thinkable alone.
  console: [...BELOW_EDGES, 'coordinator', 'redaction', 'console-web'],
  // The pages that a browser gets: of the console and the coordinator types alone, which `web-files.ts` holds at start.
  'console-web': [...UNDER, 'client', 'console', 'coordinator'],
  'node-agent': UNDER,
  cli: [...BELOW_EDGES, 'client', 'console', 'coordinator', 'messaging', 'node-agent', 'redaction'],
  // What only the composition root is made from.
  server: [...BELOW_EDGES, 'calendar', 'console', 'coordinator', 'messaging'],
  main: [...BELOW_EDGES, 'calendar', 'console', 'coordinator', 'mail', 'messaging', 'server'],
};
const MAY_IMPORT_ALL = new Set(['bench', 'test']);

/** Rooms that run in a browser: no module of Node, and no package but the one that both sides share. */
const BROWSER_ROOMS = new Set(['base', 'protocol', 'client', 'console-web']);
const BROWSER_PACKAGES = new Set(['zod']);

/** Packages that are spelled in these places only, so that each can be replaced by changing one room. */
const PACKAGE_PLACES: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['src/messaging/', 'bench/peers/'],
  lmdb: ['storage/', 'test/', 'bench/'],
};

/** `src/messaging/shard.ts` → `messaging`; `src/main.ts` → `main`; `actors/runtime/mailbox.ts` → `actors`. */
function roomOf(path: string): string {
  if (path.startsWith('src/console/web/')) return 'console-web';
  if (path.startsWith('src/mail/inbound/')) return 'mail-inbound';
  const [top = '', second = ''] = path.split('/');
  return top === 'src' ? second.replace(/\.ts$/, '') : top;
}

function directionFault(from: string, { specifier, isStarted }: Import): string | undefined {
  const target = targetOf(from, specifier);
  if (target === undefined) return undefined;
  const [room, other] = [roomOf(from), roomOf(target)];
  // A bench or a test starts the server as its user would: as a program.
  if (isStarted && MAY_IMPORT_ALL.has(room)) return undefined;
  if (target === 'src/main.ts') return 'src/main.ts is the composition root: nothing imports it';
  if (!target.endsWith('.ts') && !target.endsWith('.json')) return 'an import ends in .ts';
  if (room === other) return undefined;
  // The files that stand in `src` itself are in no room's folder, and a URL knows no aliases.
  if (specifier.startsWith('.') && !isStarted && !/^src\/[^/]+$/.test(from))
    return `between rooms write #${target.split('/')[0]}/…, not a relative path`;
  if (MAY_IMPORT_ALL.has(room)) return undefined;
  const allowed = MAY_IMPORT[room];
  if (allowed === undefined) return `the room ${room} is not in the table of test/tidy/imports.test.ts`;
  return allowed.includes(other) ? undefined : `${room} may import ${allowed.join(', ') || 'nothing'}, not ${other}`;
}

function packageFault(from: string, specifier: string): string | undefined {
  if (targetOf(from, specifier) !== undefined) return undefined;
  const room = roomOf(from);
  const isNode = specifier.startsWith('node:');
  if (BROWSER_ROOMS.has(room) && (isNode || !BROWSER_PACKAGES.has(packageOf(specifier)))) {
    return `${room} runs in browsers too: ${[...BROWSER_PACKAGES].join(', ')} and its own rooms only`;
  }
  if (isNode) return undefined;
  const places = PACKAGE_PLACES[packageOf(specifier)];
  if (places !== undefined && !places.some((place) => from.startsWith(place))) {
    return `${specifier} is imported in ${places.join(', ')} only`;
  }
  if (!MAY_IMPORT_ALL.has(room) && DEV_DEPENDENCIES.has(packageOf(specifier))) {
    return `${specifier} is a devDependency: an installed server does not have it`;
  }
  return undefined;
}

const PACKAGES = new Set([...DEPENDENCIES, ...DEV_DEPENDENCIES]);

function faultsOf(from: string, source: string): string[] {
  return importsOf(source).flatMap((found) => {
    const { specifier, line } = found;
    const unresolved = isResolvable(from, specifier, PACKAGES) ? undefined : 'it leads nowhere';
    return [directionFault(from, found), packageFault(from, specifier), unresolved]
      .filter((fault) => fault !== undefined)
      .map((fault) => `${from}:${line} imports ${specifier}: ${fault}.`);
  });
}

test('every import points down, to a place that exists', () => {
  const faults = [...typescriptSources()].flatMap(([path, source]) => faultsOf(path, source));
  assert.deepEqual(faults, []);
});

const BAD: readonly [from: string, source: string, fault: RegExp][] = [
  ['src/base/ids.ts', "import { ERRORS } from '#src/protocol/errors.ts';", /base may import nothing, not protocol/],
  ['src/base/ids.ts', "import { ERRORS } from '../protocol/errors.ts';", /between rooms write #src/],
  ['storage/engine/folder.ts', "import { x } from '#src/messaging/shard.ts';", /storage may import .*, not messaging/],
  [
    'src/client/connection/socket.ts',
    "import { readConfig } from '#src/config.ts';",
    /client may import base, protocol, not config/,
  ],
  ['src/client/connection/socket.ts', "import { readFile } from 'node:fs/promises';", /client runs in browsers too/],
  ['src/protocol/names.ts', "import { Worker } from 'node:worker_threads';", /protocol runs in browsers too/],
  ['src/client/connection/socket.ts', "import fastify from 'fastify';", /client runs in browsers too/],
  ['src/coordinator/x.ts', "import { App } from 'uWebSockets.js';", /in src\/messaging\/, bench\/peers\/ only/],
  ['test/x.test.ts', "import { App } from 'uWebSockets.js';", /in src\/messaging\/, bench\/peers\/ only/],
  ['src/messaging/x.ts', "import { open } from 'lmdb';", /in storage\/, test\/, bench\/ only/],
  ['src/messaging/x.ts', "import fc from 'fast-check';", /is a devDependency/],
  ['test/x.test.ts', "await import('#src/main.ts');", /nothing imports it/],
  ['src/base/ids.ts', "import { x } from './nowhere.ts';", /it leads nowhere/],
  ['src/base/ids.ts', "import { x } from './time';", /an import ends in \.ts/],
  ['storage/x.ts', "new Worker(new URL('../actors/runtime/shard.ts', import.meta.url));", /storage may import/],
  ['actors/x.ts', "fork(new URL('../src/main.ts', import.meta.url));", /nothing imports it/],
  ['src/new-room/x.ts', "import { isId } from '#src/base/ids.ts';", /is not in the table/],
];

for (const [from, source, fault] of BAD) {
  test(`a bad import is found: in ${from}, ${source}`, () => {
    assert.match(faultsOf(from, source).join('\n'), fault);
  });
}

test('a bench or a test may start the server as a program', () => {
  const source = "spawn(new URL('../../src/config.ts', import.meta.url));";
  assert.deepEqual(faultsOf('bench/harness/server.ts', source), []);
});

test('good imports pass', () => {
  const source =
    "import { isId } from '#src/base/ids.ts';\nimport { z } from 'zod';\nimport { ERRORS } from './errors.ts';";
  assert.deepEqual(faultsOf('src/protocol/names.ts', source), []);
});
