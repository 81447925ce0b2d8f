/** Checks the archive of an installation's logs: that its files are whole and go on from one another. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatInstant } from '#src/base/time.ts';
import { FolderError } from '../engine/folder.ts';
import { installationIn } from '../engine/stores.ts';
import { ArchiveFileReader, readArchiveFileName, readArchiveHead } from '../log/archive-file.ts';

/** What an archive is found to be: what is wrong with it, a sentence each, and how far it reaches. */
export interface ArchiveCheck {
  readonly problems: readonly string[];
  readonly files: number;
  /** RFC 3339; undefined where there is nothing. */
  readonly reaches: string | undefined;
}

/** Looks through the archive of the installation of a data folder. @throws FolderError when there is none. */
export function checkArchive(folder: string, archive: string): ArchiveCheck {
  const root = join(archive, installationIn(folder) ?? '-');
  if (!existsSync(root)) throw new FolderError(`${archive} has nothing of the installation of ${folder}.`);
  const problems: string[] = [];
  let files = 0;
  const ends: number[] = [];
  for (const log of readdirSync(root)
    .filter((name) => !name.includes('.'))
    .toSorted()) {
    const names = readdirSync(join(root, log))
      .filter((name) => readArchiveFileName(name) !== undefined)
      .toSorted();
    let end = 0;
    for (const [n, name] of names.entries()) {
      const next = names[n + 1];
      const found = checkFile(join(root, log, name), next === undefined ? undefined : readArchiveFileName(next));
      if (found.problem !== undefined) problems.push(found.problem);
      end = Math.max(end, found.at);
      files += 1;
    }
    if (end > 0) ends.push(end);
  }
  return { problems, files, reaches: ends.length === 0 ? undefined : formatInstant(Math.min(...ends) - 1) };
}

/** What is wrong with a file, and the time of its last record. */
function checkFile(
  path: string,
  next: ReturnType<typeof readArchiveFileName>,
): { readonly problem: string | undefined; readonly at: number } {
  const bytes = readFileSync(path);
  const head = readArchiveHead(bytes);
  if (head === undefined)
    return { problem: bytes.length === 0 ? undefined : `${path} is damaged at its beginning.`, at: 0 };
  const reader = new ArchiveFileReader(bytes, head.id);
  let last = { position: head.from, at: head.at };
  for (let record = reader.next(); record !== undefined; record = reader.next()) {
    if (record.after !== last.position)
      return { problem: `${path} lacks what came before byte ${reader.offset}.`, at: 0 };
    last = record;
  }
  if (reader.ending() === 'damaged') return { problem: `${path} is damaged at byte ${reader.offset}.`, at: last.at };
  if (next === undefined || !next.id.equals(head.id) || next.from <= last.position)
    return { problem: undefined, at: last.at };
  return {
    problem: `What came between ${path}, up to ${formatInstant(last.at)}, and the next file is missing.`,
    at: last.at,
  };
}
