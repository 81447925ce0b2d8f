/**
 * A plugin of the build that knows which modules a module of the app loads at once, without what it loads later. Of a package
 * that has everything behind one door, Mantine or Lucide, these are the parts that are named and not all that the door leads to.
 */
import { dirname, join, relative } from 'node:path';

/** The doors of packages without side effects, which name each part and where it is. */
const DOORS: Readonly<Record<string, RegExp>> = {
  '@mantine/core': /@mantine\/core\/esm\/index\.mjs$/,
  '@mantine/hooks': /@mantine\/hooks\/esm\/index\.mjs$/,
  'lucide-react': /lucide-react\/dist\/esm\/lucide-react\.mjs$/,
};

/** Our own rooms, but for those that run in a browser. */
const SERVER_SOURCES = /^(?:storage|actors|src\/(?!(?:web|client|protocol|base)\/))/;
/** What the build puts in the place of a module of Node. */
const NODE_MODULES = /^node:|__vite-browser-external/;

interface Parsed {
  readonly id: string;
  readonly importedIds: readonly string[];
  readonly code: string | null;
}

export class ScreenModules {
  readonly name = 'screen-modules';
  readonly #folder: string;
  readonly #imports = new Map<string, readonly string[]>();
  /** What each module of the app names of the packages with doors, by module. */
  readonly #named = new Map<string, readonly (readonly [door: string, name: string])[]>();
  /** Behind each door: the module of each name. */
  readonly #behind = new Map<string, ReadonlyMap<string, string>>();
  readonly #loaded = new Map<string, ReadonlySet<string>>();

  /** `folder` is where the app's own modules are. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @throws Error at a module that a browser cannot have: one of the server's rooms, or of Node. */
  readonly moduleParsed = ({ code, id, importedIds }: Parsed): void => {
    const path = relative(join(this.#folder, '..', '..'), id);
    if (SERVER_SOURCES.test(path) || NODE_MODULES.test(id)) {
      throw new Error(`A page would load ${path}, which a browser cannot have: import what it defines as types.`);
    }
    const door = Object.keys(DOORS).find((one) => DOORS[one]?.test(id) === true);
    if (door !== undefined) this.#behind.set(door, partsOf(id, code ?? ''));
    // What is behind a door is loaded for those who name it.
    this.#imports.set(id, door === undefined ? importedIds : []);
    this.#named.set(id, namedIn(code ?? ''));
    this.#loaded.clear();
  };

  /** Whether a module is loaded with the one that `start` names within the folder. Known once everything was parsed. */
  isIn(start: string, id: string): boolean {
    let loaded = this.#loaded.get(start);
    if (loaded === undefined) {
      const found = new Set<string>([join(this.#folder, start)]);
      for (const one of found) for (const imported of this.#loadedBy(one)) found.add(imported);
      this.#loaded.set(start, (loaded = found));
    }
    return loaded.has(id);
  }

  #loadedBy(id: string): readonly string[] {
    const parts = (this.#named.get(id) ?? []).flatMap(([door, name]) => this.#behind.get(door)?.get(name) ?? []);
    return [...(this.#imports.get(id) ?? []), ...parts];
  }
}

/** The names that a module takes from the packages with doors, by `import { Button, Text as Words } from '@mantine/core'`. */
function namedIn(code: string): (readonly [door: string, name: string])[] {
  return [...code.matchAll(/import\s*\{([^}]*)\}\s*from\s*["']([^"']+)["']/g)]
    .filter(([, , door = '']) => door in DOORS)
    .flatMap(([, names = '', door = '']) => namesOf(names).map(([name]) => [door, name] as const));
}

/** Where a door's names lead: `import { Button } from "./Button.mjs"`, or `export { default as Smile } from './smile.mjs'`. */
function partsOf(id: string, code: string): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const [, names = '', path = ''] of code.matchAll(/(?:im|ex)port\s*\{([^}]*)\}\s*from\s*["'](\.[^"']+)["']/g)) {
    for (const [, outer] of namesOf(names)) parts.set(outer, join(dirname(id), path));
  }
  return parts;
}

/** `Button, default as Smile` as pairs of the name within and the name without. */
function namesOf(list: string): (readonly [inner: string, outer: string])[] {
  return list
    .split(',')
    .map((one) => one.trim().split(/\s+as\s+/))
    .flatMap(([inner = '', outer = inner]) => (inner === '' ? [] : [[inner, outer] as const]));
}
