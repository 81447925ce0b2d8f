/**
 * Where the agent reads a unit's journal: journalctl where there is systemd, files otherwise. What is asked comes over
 * the network, so unit and lines are checked here once more; no shell is started and no path is built from a unit
 * that could leave its folder.
 */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cutJournal } from '#src/protocol/hosts/journal-text.ts';
import { JOURNAL_CHUNK_BYTES_MAX, journalLines, journalUnit } from '#src/protocol/hosts/nodes.ts';

/** How long journalctl may take; an ask lives for a minute. */
const JOURNALCTL_MILLIS = 20_000;

/** What journalctl may print: a thousand lines of journald's longest, 48 KiB, and some. Beyond it the ask fails. */
const JOURNALCTL_BYTES_MAX = 64 * 1024 * 1024;

/** Reads the last lines of a unit's journal. @throws JournalError with a sentence for whoever asked. */
export type JournalSource = (unit: string, lines: number) => Promise<string>;

/** A journal that could not be read; its message says why, and nothing of what is in it. */
export class JournalError extends Error {}

const run = promisify(execFile);

/** Reads through `journalctl` from the PATH. */
export const readSystemdJournal: JournalSource = async (unit, lines) => {
  checkAsk(unit, lines);
  const words = ['-u', unit, '-n', String(lines), '--no-pager', '-o', 'short-iso', '--quiet'];
  try {
    const { stdout } = await run('journalctl', words, {
      shell: false,
      timeout: JOURNALCTL_MILLIS,
      maxBuffer: JOURNALCTL_BYTES_MAX,
      env: { ...process.env, LC_ALL: 'C.UTF-8', SYSTEMD_COLORS: '0' },
    });
    return prepare(stdout);
  } catch (error) {
    throw new JournalError(`journalctl failed: ${reasonOf(error)}.`);
  }
};

/** Reads `UNIT.log` from a folder: for hosts without systemd. */
export function readJournalFiles(folder: string): JournalSource {
  return async (unit, lines) => {
    checkAsk(unit, lines);
    let file: FileHandle | undefined;
    try {
      // A link could lead out of the folder, and a pipe would be waited for.
      file = await open(join(folder, `${unit}.log`), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const stat = await file.stat();
      if (!stat.isFile()) throw new JournalError('The journal of this unit is not a file.');
      return prepare(await readLast(file, stat.size, lines));
    } catch (error) {
      if (error instanceof JournalError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') throw new JournalError('This host has no journal of this unit.');
      throw new JournalError(`The journal of this unit could not be read: ${code ?? 'unknown'}.`);
    } finally {
      await file?.close();
    }
  };
}

async function readLast(file: FileHandle, size: number, lines: number): Promise<string> {
  // Twice what a chunk may have: the rest would be cut anyway.
  const length = Math.min(size, 2 * JOURNAL_CHUNK_BYTES_MAX);
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, size - length);
  const read = bytes.subarray(0, bytesRead);
  // What was not read from the file's start begins inside a line.
  const start = size > length ? read.indexOf(10) + 1 : 0;
  const all = read.toString('utf8', start).replace(/\n$/, '').split('\n');
  const last = all.slice(-lines).join('\n');
  return last === '' ? '' : `${last}\n`;
}

/** @throws JournalError for anything that the protocol does not let through. */
function checkAsk(unit: string, lines: number): void {
  if (!journalUnit.safeParse(unit).success) throw new JournalError('The unit is not one that can be asked for.');
  if (!journalLines.safeParse(lines).success) throw new JournalError('The number of lines is out of bounds.');
}

// What a terminal would act on, and the NUL that JSON readers refuse. Line feeds and tabs stay.
// oxlint-disable-next-line eslint/no-control-regex
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f]/g;

/** A journal as it may travel: sound text without control characters, within the bounds of a chunk. */
function prepare(text: string): string {
  const sound = text.replaceAll('\r\n', '\n').replaceAll(CONTROLS, '\u{fffd}').toWellFormed();
  return cutJournal(sound).text;
}

function reasonOf(error: unknown): string {
  const { code, killed } = error as { code?: unknown; killed?: boolean };
  if (code === 'ENOENT') return 'this host has no journalctl';
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'it printed too much';
  if (killed === true) return 'it took too long';
  return `status ${String(code)}`;
}
