/**
 * The files of the browser console, read once at start: a page, a style, and the modules that the first one leads to,
 * which lose their types when they are asked for. There is no build: what is served is the source, on the same lines.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import { CONSOLE_PREFIX } from './route-table.ts';

/** Where the console is, and below it the modules, by their paths in `src`. */
export const WEB_PREFIX = '/console/';
const CODE_PREFIX = `${WEB_PREFIX}code/`;

const SOURCES = new URL('../', import.meta.url);
const START = new URL('./web/main.ts', import.meta.url);

/** The rooms that run in a browser; an import of any other would put the server's own code on a page. */
const BROWSER_SOURCES = /^(?:console\/web|client|protocol|base)\//;

export interface WebFile {
  /** Where it is served. */
  readonly path: string;
  readonly type: string;
  /** Made when it is asked for the first time: a module is stripped of its types in some 3 ms. */
  readonly content: () => WebContent;
}

export interface WebContent {
  readonly body: Buffer;
  /** Strong: a hash of the bytes. */
  readonly etag: string;
}

/**
 * Every file of the console.
 * @throws Error when a module imports what a browser cannot have: a package, a module of Node, another room.
 */
export function readWebFiles(): WebFile[] {
  const page = readFileSync(new URL('./web/console.html', import.meta.url), 'utf8')
    .replace('{api}', CONSOLE_PREFIX)
    .replace('{protocol}', String(PROTOCOL_VERSION));
  const style = readFileSync(new URL('./web/console.css', import.meta.url), 'utf8');
  const modules = [...readModules(START)].map(([path, source]) =>
    file(`${CODE_PREFIX}${path}`, 'text/javascript; charset=utf-8', () => servedCode(path, source)),
  );
  return [
    file(WEB_PREFIX, 'text/html; charset=utf-8', () => page),
    file(`${WEB_PREFIX}console.css`, 'text/css; charset=utf-8', () => style),
    ...modules,
  ];
}

function file(path: string, type: string, text: () => string): WebFile {
  let made: WebContent | undefined;
  const make = (): WebContent => {
    const body = Buffer.from(text());
    return { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` };
  };
  return { path, type, content: () => (made ??= make()) };
}

/** An import or a passing on of what is there at run time, in a source or in what is left of it without types. */
const IMPORT = /^((?:import|export)\b(?!\s+(?:type|interface)\b)[^'";]*?\bfrom\s*|import\s*)(['"])([^'"]+)\2/gm;

/** The sources of the modules that are loaded when this one is, by their paths in `src`. */
export function readModules(start: URL): Map<string, string> {
  const found = new Map<string, string>();
  const ahead = [start];
  for (let url = ahead.pop(); url !== undefined; url = ahead.pop()) {
    const path = pathOf(url);
    if (found.has(path)) continue;
    const source = readFileSync(url, 'utf8');
    found.set(path, source);
    for (const [, , , specifier = ''] of source.matchAll(IMPORT)) ahead.push(targetOf(url, specifier));
  }
  return found;
}

/** A module without its types, whose imports lead to where the others are served. */
function servedCode(path: string, source: string): string {
  const from = new URL(path, SOURCES);
  return stripTypes(source).replaceAll(
    IMPORT,
    (_, head: string, quote, specifier: string) =>
      `${head}${quote}${CODE_PREFIX}${pathOf(targetOf(from, specifier))}${quote}`,
  );
}

function pathOf(url: URL): string {
  return url.href.slice(SOURCES.href.length);
}

function targetOf(from: URL, specifier: string): URL {
  const isOwn = specifier.startsWith('#src/');
  const target = isOwn ? new URL(specifier.slice('#src/'.length), SOURCES) : new URL(specifier, from);
  if ((!isOwn && !specifier.startsWith('.')) || !BROWSER_SOURCES.test(pathOf(target))) {
    throw new Error(`${from.href} imports ${specifier}, which a browser cannot have.`);
  }
  return target;
}

/**
 * Node strips types from everything that it runs here by the same means, without a word; asked by name, it warns at
 * every start that this is experimental. The version is pinned, so the warning tells an operator nothing.
 */
function stripTypes(code: string): string {
  const warn = Reflect.get<typeof process, 'emitWarning'>(process, 'emitWarning');
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(code);
  } finally {
    process.emitWarning = warn;
  }
}
