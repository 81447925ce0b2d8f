/**
 * How the tidy tests read the tree: the files of the project, and a source as a skeleton, in which comments are gone
 * and every string is a number in quotes, so that a rule never mistakes a text about code for code.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, normalize } from 'node:path';

export const ROOT = new URL('../../', import.meta.url).pathname;

const SKIPPED_FOLDERS = new Set(['node_modules', 'build', 'data', 'coverage', '.git']);

/** Every file of the project, by its path from the root, sorted. */
export function projectFiles(root = ROOT): string[] {
  const entries = readdirSync(root, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name));
  const inside = folders.flatMap(({ name }) => projectFiles(join(root, name)).map((path) => join(name, path)));
  // In a second work tree of git `.git` is a file that names a folder of the machine.
  const own = entries.filter((entry) => entry.isFile() && entry.name !== '.git').map(({ name }) => name);
  return [...own, ...inside].toSorted();
}

/** The TypeScript files of the project, by path, with their text. */
export function typescriptSources(): Map<string, string> {
  return readAll(projectFiles().filter((path) => /\.tsx?$/.test(path)));
}

/** The text of each file, by path. */
export function readAll(paths: readonly string[]): Map<string, string> {
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
}

/** A source without comments; `code` holds `"3"` where the literal `strings[3]` stood. Line numbers are kept. */
export interface Skeleton {
  readonly code: string;
  readonly strings: readonly string[];
}

const TOKEN = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)`,
    String.raw`(?<text>'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*")`,
    // A slash is a division after a value and starts a regular expression anywhere else.
    String.raw`(?<=(?:^|[(,=:[!&|?{};+*%~^<>-]|\breturn|\bcase|\btypeof)\s*)(?<regex>\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*)`,
    String.raw`(?<brace>[{}\x60])`,
  ].join('|'),
  'g',
);

/** The skeleton of a TypeScript source. */
export function skeletonOf(source: string): Skeleton {
  const strings: string[] = [];
  const keep = (text: string) => `"${strings.push(text) - 1}"${'\n'.repeat(text.split('\n').length - 1)}`;
  // One entry per open brace: whether it closes an interpolation, after which the template goes on.
  const braces: boolean[] = [];
  let code = '';
  let at = 0;
  for (;;) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(source);
    if (match === null) return { code: code + source.slice(at), strings };
    code += source.slice(at, match.index);
    const [token] = match;
    const { comment, text, regex } = match.groups ?? {};
    at = match.index + token.length;
    if (comment !== undefined) code += comment.replaceAll(/[^\n]/g, ' ');
    else if (text !== undefined) code += keep(text.slice(1, -1));
    else if (regex !== undefined) code += keep(regex);
    else if (token === '{') code += braces.push(false) && token;
    else if (token === '}' && braces.pop() !== true) code += token;
    else {
      // A template starts or goes on: its text is one string up to the next interpolation or the end.
      const chunk = /^(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/.exec(source.slice(at))?.[0] ?? '';
      code += keep(chunk);
      at += chunk.length;
      const opens = source.startsWith('${', at);
      if (opens) braces.push(true);
      at += opens ? 2 : 1;
    }
  }
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Named by a URL, to be started as a thread or a process of its own, rather than imported. */
  readonly isStarted: boolean;
}

const IMPORTS = [
  /^[ \t]*(?:import\s*|(?:import|export)\b[^"();=]*?\bfrom\s*)"(\d+)"/gm,
  /\bimport\(\s*"(\d+)"\s*[,)]/g,
  /\bnew URL\(\s*"(\d+)",\s*import\.meta\.url/g,
  /\bimport\.meta\.resolve\(\s*"(\d+)"/g,
];

const THREAD_FORM = 2;

/** What a source imports, statically or not, and what it starts by `new URL('./x.ts', import.meta.url)`. */
export function importsOf(source: string): Import[] {
  const { code, strings } = skeletonOf(source);
  return IMPORTS.flatMap((pattern, form) =>
    [...code.matchAll(pattern)].flatMap((match): Import[] => {
      const specifier = strings[Number(match[1])] ?? '';
      const line = code.slice(0, match.index).split('\n').length;
      if (form !== THREAD_FORM) return [{ specifier, line, isStarted: false }];
      // A URL is relative without saying so, and may lead to what is not a source.
      return specifier.endsWith('.ts')
        ? [{ specifier: specifier.replace(/^(?![.#])/, './'), line, isStarted: true }]
        : [];
    }),
  );
}

const ALIAS = /^#(src|actors|storage|test|bench)\/(.+)$/;

/** The project file an import leads to, or undefined for a package or a module of Node. */
export function targetOf(from: string, specifier: string): string | undefined {
  const alias = ALIAS.exec(specifier);
  if (alias !== null) return normalize(`${alias[1]}/${alias[2]}`);
  return specifier.startsWith('.') ? normalize(join(from, '..', specifier)) : undefined;
}

/** The package an import names: `@fastify/helmet`, `lmdb`. */
export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Whether an import leads somewhere: to a file of the project, a module of Node, or a declared package. */
export function isResolvable(from: string, specifier: string, packages: ReadonlySet<string>): boolean {
  const target = targetOf(from, specifier);
  if (target !== undefined) return existsSync(join(ROOT, target));
  if (specifier.startsWith('node:')) return isBuiltin(specifier);
  return packages.has(packageOf(specifier));
}

const packageJson = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  bin: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

export const DEPENDENCIES: ReadonlySet<string> = new Set(Object.keys(packageJson.dependencies));
export const DEV_DEPENDENCIES: ReadonlySet<string> = new Set(Object.keys(packageJson.devDependencies));

/** The programs of the project: every file that a script or the `parley` command starts. */
export function programs(): string[] {
  const started = Object.values(packageJson.scripts).flatMap(
    (script) => script.match(/\b(?:src|bench|test)\/[\w/-]+\.ts\b/g) ?? [],
  );
  return [...new Set([...started, ...Object.values(packageJson.bin)])];
}
