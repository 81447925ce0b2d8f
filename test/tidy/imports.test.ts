/** Holds the directions of imports: what each room may see, and that nothing points up. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOMS } from '#src/cli/docs/rooms.ts';
import {
  DEPENDENCIES,
  DEV_DEPENDENCIES,
  type Import,
  importsOf,
  isResolvable,
  packageOf,
  ROOT,
  targetOf,
  typescriptSources,
} from './source.ts';

/**
 * The rooms from the ground up, by the names that READMEs use. A room's README states which of the rooms below it it may
 * import, and that statement is the rule; what stands further up is out of reach whatever a README says, so that no two
 * rooms need each other.
 */
const FLOORS = ROOMS.map((room) => room.replace(/^src\//, ''));

/** The files that stand in `src` itself have no README: the composition root may see all, the settings what is below. */
const WITHOUT_README: Readonly<Record<string, readonly string[]>> = {
  config: ['base', 'protocol'],
  main: FLOORS.filter((room) => room !== 'main'),
};

function readmeOf(room: string): string {
  return /^(?:storage|actors)\//.test(room) ? `${room}/README.md` : `src/${room}/README.md`;
}

/** The rooms that a README's statement names: `- **May import** \`base\`, \`protocol\`.` */
function statedIn(readme: string): string[] {
  const [, statement] = /^- \*\*May import\*\* ([^.]*)\./m.exec(readme) ?? [];
  if (statement === undefined) throw new Error('no line “- **May import** …”');
  return statement.trim() === 'nothing' ? [] : statement.split(',').map((name) => name.trim().replaceAll('`', ''));
}

const MAY_IMPORT = new Map(
  FLOORS.map((room) => [room, WITHOUT_README[room] ?? statedIn(readFileSync(join(ROOT, readmeOf(room)), 'utf8'))]),
);
const MAY_IMPORT_ALL = new Set(['bench', 'test']);

/** Rooms that run in a browser: no module of Node, and no package but the one that both sides share. */
const BROWSER_ROOMS = new Set(['base', 'protocol', 'client', 'web', 'web/console']);
const BROWSER_PACKAGES = new Set(['zod']);
/** What is built before it is served: its packages are in the build, and no server has them. */
const BUILT = new Map([
  ['web', /^(?!node:)/],
  ['web/console', /^(?!node:)/],
  ['cli', /^(?:vite|@vitejs\/plugin-react|rolldown|rolldown-plugin-dts)$/],
]);
/** Parts of the package `parley-client` that are for one surrounding alone. */
const ENTRIES = new Map([
  ['src/client/bot/outbox-file.ts', 'node:fs/promises'],
  ['src/client/browser-store.ts', 'idb'],
  ['src/client/react/hooks.ts', 'react'],
]);

/** Packages that are spelled in these places only, so that each can be replaced by changing one room. */
const PACKAGE_PLACES: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['src/messaging/', 'bench/peers/'],
  lmdb: ['storage/', 'test/', 'bench/'],
};

/** `src/messaging/shard.ts` → `messaging`; `src/main.ts` → `main`; `actors/runtime/mailbox.ts` → `actors/runtime`. */
function roomOf(path: string): string {
  if (path.startsWith('src/web/console/')) return 'web/console';
  const [top = '', second = ''] = path.split('/');
  if (top === 'storage' || top === 'actors') return `${top}/${second}`;
  return top === 'src' ? second.replace(/\.ts$/, '') : top;
}

/** Within one of these imports are relative; between them they name the folder of the project. */
function townOf(path: string): string {
  const [top = '', second = ''] = path.split('/');
  return top === 'src' ? `src/${second}` : top;
}

function directionFault(from: string, { specifier, isStarted }: Import): string | undefined {
  const target = targetOf(from, specifier);
  if (target === undefined) return undefined;
  const [room, other] = [roomOf(from), roomOf(target)];
  // A bench or a test starts the server as its user would: as a program.
  if (isStarted && MAY_IMPORT_ALL.has(room)) return undefined;
  if (target === 'src/main.ts') return 'src/main.ts is the composition root: nothing imports it';
  if (!/\.(?:tsx?|json|css)$/.test(target)) return 'an import ends in .ts';
  if (room === other) return undefined;
  // The files that stand in `src` itself are in no room's folder, and a URL knows no aliases.
  const isFar = townOf(from) !== townOf(target);
  if (isFar && specifier.startsWith('.') && !isStarted && !/^src\/[^/]+$/.test(from))
    return `between rooms write #${target.split('/')[0]}/…, not a relative path`;
  if (MAY_IMPORT_ALL.has(room)) return undefined;
  const allowed = MAY_IMPORT.get(room);
  if (allowed === undefined) return `the room ${room} is not in the table of test/tidy/imports.test.ts`;
  return allowed.includes(other) ? undefined : `${room} may import ${allowed.join(', ') || 'nothing'}, not ${other}`;
}

function packageFault(from: string, specifier: string): string | undefined {
  if (targetOf(from, specifier) !== undefined) return undefined;
  const room = roomOf(from);
  const isNode = specifier.startsWith('node:');
  if (BUILT.get(room)?.test(specifier) === true || ENTRIES.get(from) === specifier) return undefined;
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

test('a README lets its room import what stands below it, and nothing else', () => {
  const faults = [...MAY_IMPORT].flatMap(([room, allowed]) =>
    allowed
      .filter((other) => !FLOORS.includes(other) || FLOORS.indexOf(other) >= FLOORS.indexOf(room))
      .map((other) => `${readmeOf(room)} names ${other}, which is not below ${room}`),
  );
  assert.deepEqual(faults, []);
  assert.deepEqual(statedIn('- **May import** `base`,\n  `storage/engine`. And more.'), ['base', 'storage/engine']);
  assert.deepEqual(statedIn('- **May import** nothing.'), []);
  assert.throws(() => statedIn('May import all.'), /no line/);
});

/** Files that import one another in a circle, of types too: the strongly connected components of the imports (Tarjan). */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    low.set(file, order.get(file) ?? 0);
    stack.push(file);
    for (const target of imports.get(file) ?? []) {
      if (!imports.has(target)) continue;
      if (!order.has(target)) visit(target);
      if (stack.includes(target)) low.set(file, Math.min(low.get(file) ?? 0, low.get(target) ?? 0));
    }
    if (low.get(file) !== order.get(file)) return;
    const circle = stack.splice(stack.indexOf(file));
    if (circle.length > 1) circles.push(circle.toSorted());
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return circles;
}

test('no files import one another in a circle, not even for types', () => {
  const imports = new Map(
    [...typescriptSources()].map(([path, source]) => [
      path,
      importsOf(source)
        .filter(({ isStarted }) => !isStarted)
        .map(({ specifier }) => targetOf(path, specifier) ?? ''),
    ]),
  );
  assert.deepEqual(circlesOf(imports), []);
});

test('a circle is found', () => {
  const imports = new Map([
    ['a.ts', ['b.ts']],
    ['b.ts', ['c.ts', 'd.ts']],
    ['c.ts', ['a.ts']],
    ['d.ts', []],
  ]);
  assert.deepEqual(circlesOf(imports), [['a.ts', 'b.ts', 'c.ts']]);
});

test('every import points down, to a place that exists', () => {
  const faults = [...typescriptSources()].flatMap(([path, source]) => faultsOf(path, source));
  assert.deepEqual(faults, []);
});

const BAD: readonly [from: string, source: string, fault: RegExp][] = [
  ['src/base/ids.ts', "import { ERRORS } from '#src/protocol/errors.ts';", /base may import nothing, not protocol/],
  ['src/base/ids.ts', "import { ERRORS } from '../protocol/errors.ts';", /between rooms write #src/],
  ['storage/engine/folder.ts', "import { x } from '#src/messaging/shard.ts';", /engine may import .*, not messaging/],
  [
    'src/client/connection/socket.ts',
    "import { readConfig } from '#src/config.ts';",
    /client may import base, protocol, not config/,
  ],
  ['src/client/connection/socket.ts', "import { readFile } from 'node:fs/promises';", /client runs in browsers too/],
  ['src/protocol/names.ts', "import { Worker } from 'node:worker_threads';", /protocol runs in browsers too/],
  ['src/client/connection/socket.ts', "import fastify from 'fastify';", /client runs in browsers too/],
  ['src/directory/x.ts', "import { App } from 'uWebSockets.js';", /in src\/messaging\/, bench\/peers\/ only/],
  ['test/x.test.ts', "import { App } from 'uWebSockets.js';", /in src\/messaging\/, bench\/peers\/ only/],
  ['src/messaging/x.ts', "import { open } from 'lmdb';", /in storage\/, test\/, bench\/ only/],
  ['src/messaging/x.ts', "import fc from 'fast-check';", /is a devDependency/],
  ['test/x.test.ts', "await import('#src/main.ts');", /nothing imports it/],
  ['src/base/ids.ts', "import { x } from './nowhere.ts';", /it leads nowhere/],
  ['src/base/ids.ts', "import { x } from './time';", /an import ends in \.ts/],
  [
    'storage/engine/x.ts',
    "new Worker(new URL('../../actors/runtime/shard.ts', import.meta.url));",
    /engine may import/,
  ],
  [
    'storage/engine/x.ts',
    "import { Vault } from '../vault/vault.ts';",
    /engine may import base, protocol, storage\/log, storage\/stream, not storage\/vault/,
  ],
  ['actors/call/x.ts', "fork(new URL('../../src/main.ts', import.meta.url));", /nothing imports it/],
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
