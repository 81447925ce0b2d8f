/**
 * The files under a commit log. Whatever is written is on disk when it is said to be: files are opened `O_DSYNC`, and a
 * name counts once its folder is synced.
 *
 * While a server runs, writing goes to the thread pool. A write of 400 bytes took 0.18 ms there against 0.28 ms in the
 * thread itself (p50, a busy machine, 2026-11-22), and its slowest 4 to 20 ms, which would have been time in which a
 * shard's event loop stood still.
 */
import {
  close,
  closeSync,
  constants,
  fsync,
  fsyncSync,
  mkdirSync,
  open,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rename as renameFile,
  renameSync,
  rmSync,
  write,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const [closeLater, openLater, renameLater, syncLater] = [
  promisify(close),
  promisify(open),
  promisify(renameFile),
  promisify(fsync),
];

const DURABLE = constants.O_RDWR | constants.O_DSYNC;
const MADE = DURABLE | constants.O_CREAT | constants.O_TRUNC;

/** What a log does with files. `Now` is for opening a log, before anything serves; the others go to the thread pool. */
export interface LogFiles {
  /** The names in a folder; none when it is not there. */
  list(folder: string): string[];
  makeFolder(folder: string): void;
  open(path: string): number;
  read(file: number, bytes: number, offset: number): Buffer;
  readAll(path: string): Buffer;
  write(file: number, bytes: Buffer, offset: number): Promise<void>;
  writeNow(file: number, bytes: Buffer, offset: number): void;
  /** A new file of these bytes, there as a whole or not at all. */
  make(path: string, bytes: Buffer): Promise<void>;
  makeNow(path: string, bytes: Buffer): void;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): void;
  close(file: number): void;
}

/** Makes the names in a folder durable: a file's own flush says nothing about the entry that leads to it. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

async function syncFolderLater(folder: string): Promise<void> {
  const file = await openLater(folder, 'r');
  try {
    await syncLater(file);
  } finally {
    await closeLater(file);
  }
}

async function writeLater(file: number, bytes: Buffer, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    write(file, bytes, done, bytes.length - done, offset + done, (error, written) =>
      error === null ? resolve(written) : reject(error),
    );
    done += await promise;
  }
}

function writeNow(file: number, bytes: Buffer, offset: number): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(file, bytes, done, bytes.length - done, offset + done);
  }
}

/** The files of this host. */
export const hostFiles: LogFiles = {
  list(folder) {
    try {
      return readdirSync(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  },
  makeFolder(folder) {
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) {
      syncFolder(dirname(folder));
      syncFolder(dirname(dirname(folder)));
    }
  },
  open: (path) => openSync(path, DURABLE),
  read(file, bytes, offset) {
    const buffer = Buffer.allocUnsafe(bytes);
    return buffer.subarray(0, readSync(file, buffer, 0, bytes, offset));
  },
  readAll: (path) => readFileSync(path),
  write: writeLater,
  writeNow,
  async make(path, bytes) {
    const file = await openLater(`${path}.new`, MADE, 0o600);
    try {
      await writeLater(file, bytes, 0);
    } finally {
      await closeLater(file);
    }
    await renameLater(`${path}.new`, path);
    await syncFolderLater(dirname(path));
  },
  makeNow(path, bytes) {
    const file = openSync(`${path}.new`, MADE, 0o600);
    try {
      writeNow(file, bytes, 0);
    } finally {
      closeSync(file);
    }
    renameSync(`${path}.new`, path);
    syncFolder(dirname(path));
  },
  async rename(from, to) {
    await renameLater(from, to);
    await syncFolderLater(dirname(to));
  },
  remove: (path) => rmSync(path, { force: true }),
  close: (file) => closeSync(file),
};
