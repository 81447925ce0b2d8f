/**
 * Format 1: conversation records say up to where a deletion emptied them (`floorSeq`, `floorRev`). Before it a
 * deletion took everything off the disk with its one write, so a deleted conversation is empty up to its end, and any
 * other up to 0.
 *
 * The record's layout is written out here as it was then, since `records.ts` knows the newest only.
 */
import { existsSync } from 'node:fs';
import { Packr } from 'msgpackr';
import { Environment, mapBytesOf } from './environment.ts';
import { lanePath, type Manifest } from './folder.ts';

const RECORD_VERSION = 1;
/** id, kind, title, createdAt, createdBy, headSeq, rev, three counts, stamp, activeAt, deleted. */
const VALUES_BEFORE = 13;
const [HEAD_SEQ, REV, DELETED] = [5, 6, 12];
/** Records rewritten in one transaction: a few milliseconds, and little to do again after a crash. */
const BLOCK = 1_000;

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true });

/** Brings every conversation record to its form of format 1. Those that have it already stay as they are. */
export async function addFloors(folder: string, { lanes }: Manifest): Promise<void> {
  for (let lane = 0; lane < lanes; lane += 1) {
    const path = lanePath(folder, lane);
    if (!existsSync(path)) continue;
    const environment = new Environment(path, ['conversations'], { mapBytes: mapBytesOf(path) });
    try {
      let start: Buffer | undefined = Buffer.of(0);
      while (start !== undefined) start = addFloorsFrom(environment, start);
    } finally {
      await environment.close();
    }
  }
}

/** Rewrites one block; answers where the next one starts, or undefined at the end. */
function addFloorsFrom(environment: Environment<'conversations'>, start: Buffer): Buffer | undefined {
  const { conversations } = environment.tables;
  return environment.transact(() => {
    const block = [...conversations.getRange({ start, limit: BLOCK })].map(({ key, value }) => ({
      key: Buffer.from(key),
      values: packr.unpack(value.subarray(1)) as unknown[],
    }));
    for (const { key, values } of block) {
      if (values.length !== VALUES_BEFORE) continue;
      const floors = values[DELETED] === true ? [values[HEAD_SEQ], values[REV]] : [0, 0];
      const record = Buffer.concat([Buffer.of(RECORD_VERSION), packr.pack([...values, ...floors])]);
      void conversations.put(key, record);
    }
    const last = block.length < BLOCK ? undefined : block.at(-1);
    // A NUL is the lowest byte: the first key behind the last one of this block.
    return last === undefined ? undefined : Buffer.concat([last.key, Buffer.of(0)]);
  });
}
