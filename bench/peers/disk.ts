/** The floor of what waits for the disk: files that are written to and synced as lanes are, and nothing else. */
import { closeSync, fdatasync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** A commit of a few posts writes some pages here and there in its file. */
const WRITE_BYTES = 16 * 1024;
const FILE_BYTES = 1024 * 1024;
/** Between two commits of a lane that gets a quarter of a thousand posts a second. */
const PAUSE_MILLIS = 2;

/** Nanoseconds that each sync of so many files took, synced on their own for so long. */
export async function timeDisk(root: string, files: number, seconds: number): Promise<number[]> {
  const folder = mkdtempSync(join(root, 'parley-disk-'));
  const samples: number[] = [];
  const end = performance.now() + seconds * 1000;
  try {
    const lanes = Array.from({ length: files }, (_, index) => syncUntil(join(folder, String(index)), end, samples));
    await Promise.all(lanes);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return samples;
}

async function syncUntil(path: string, end: number, samples: number[]): Promise<void> {
  const file = openSync(path, 'w+');
  try {
    writeSync(file, Buffer.alloc(FILE_BYTES, 1));
    fsyncSync(file);
    const bytes = Buffer.alloc(WRITE_BYTES, 2);
    for (let at = 0; performance.now() < end; at = (at + WRITE_BYTES) % FILE_BYTES) {
      writeSync(file, bytes, 0, bytes.length, at);
      const began = process.hrtime.bigint();
      // oxlint-disable-next-line no-await-in-loop -- A lane has one commit at a time.
      await promisify(fdatasync)(file);
      samples.push(Number(process.hrtime.bigint() - began));
      // oxlint-disable-next-line no-await-in-loop -- As above.
      await sleep(PAUSE_MILLIS);
    }
  } finally {
    closeSync(file);
  }
}
