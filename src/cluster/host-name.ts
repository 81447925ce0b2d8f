/** What this host is called among the others: said in the settings, or made once and kept in the data folder. */
import { existsSync, readFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { folderPaths, replaceJson } from '#storage/engine/folder.ts';

const hostSchema = z.strictObject({ host: z.string().min(1) });

export function hostName(folder: string, configured: string | undefined): string {
  if (configured !== undefined) return configured;
  const path = folderPaths(folder).host;
  if (existsSync(path)) return hostSchema.parse(JSON.parse(readFileSync(path, 'utf8'))).host;
  const machine = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, 32);
  const host = `${machine}-${randomBytes(3).toString('hex')}`;
  replaceJson(folder, path, { host });
  return host;
}
