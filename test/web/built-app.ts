/** The app as the build makes it of these very sources: made anew where it is older than they are. */
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What the app is built of, and by. */
const SOURCES = [
  'src/web',
  'src/client',
  'src/protocol',
  'src/base',
  'src/cli/app-icons.ts',
  'src/cli/build-web.ts',
  'src/cli/screen-modules.ts',
  'package-lock.json',
];
export const BUILT = join(ROOT, 'build', 'web');
/** That of the console. */
export const BUILT_CONSOLE = join(ROOT, 'build', 'console');

function changedAt(path: string): number {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(...readdirSync(path).map((name) => changedAt(join(path, name))));
}

function builtAt(): number {
  try {
    return Math.min(...[BUILT, BUILT_CONSOLE].map((folder) => statSync(join(folder, 'page.html')).mtimeMs));
  } catch {
    return 0;
  }
}

/** Builds unless the build is newer than every source. @throws Error with what the build said. */
export function buildApp(): void {
  if (SOURCES.every((path) => changedAt(join(ROOT, path)) < builtAt())) return;
  const { status, stderr } = spawnSync(process.execPath, ['src/cli/build-web.ts'], { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The app was not built: ${stderr}`);
}
