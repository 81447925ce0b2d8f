/**
 * Format 2: what a post writes beside its message went. A new message has no change of its own, the others say where
 * the head stood (`head`), and the counts by sender are those of whole blocks (`senders`) instead of a mark for each
 * message (`own`). Entries of the index of client_msg_ids stay; those of the last block are merely early.
 *
 * The layouts are written out here as they were then, since `records.ts` knows the newest only.
 */
import { existsSync } from 'node:fs';
import { Packr } from 'msgpackr';
import { Environment, mapBytesOf } from './environment.ts';
import { lanePath, type Manifest } from './folder.ts';

const TABLES = ['conversations', 'messages', 'changes', 'own', 'senders'] as const;
type Lane = Environment<(typeof TABLES)[number]>;

const RECORD_VERSION = 1;
const SEQ_BYTES = 6;
/** Version and flags stand before a message's JSON. */
const MESSAGE_HEAD_BYTES = 2;
const BLOCK = 32;
/** Values of a conversation's record: id, head and the floor of what a deletion emptied. */
const [ID, HEAD_SEQ, FLOOR_SEQ] = [0, 5, 13];
/** Values of a change: type, seq, ts, data; `head` is the fifth. */
const [TYPE, HEAD, VALUES_BEFORE] = [0, 4, 4];
/** Blocks of messages read and counted in one transaction, and marks removed in one. */
const BLOCKS_AT_ONCE = 200;
const MARKS_AT_ONCE = 10_000;

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true });
const unpack = (value: Buffer): unknown[] => packr.unpack(value.subarray(1)) as unknown[];
const pack = (values: readonly unknown[]): Buffer => Buffer.concat([Buffer.of(RECORD_VERSION), packr.pack(values)]);

export async function gatherBlocks(folder: string, { lanes }: Manifest): Promise<void> {
  for (let lane = 0; lane < lanes; lane += 1) {
    const path = lanePath(folder, lane);
    if (!existsSync(path)) continue;
    const environment: Lane = new Environment(path, TABLES, { mapBytes: mapBytesOf(path) });
    try {
      for (const stored of conversationsOf(environment)) {
        const values = unpack(stored);
        const [id, headSeq, floorSeq] = [values[ID] as string, values[HEAD_SEQ] as number, values[FLOOR_SEQ] as number];
        rewriteChanges(environment, id, headSeq);
        for (let block = Math.floor(floorSeq / BLOCK) + 1; block * BLOCK <= headSeq; block += BLOCKS_AT_ONCE) {
          const last = Math.min(block + BLOCKS_AT_ONCE - 1, Math.floor(headSeq / BLOCK));
          countBlocks(environment, id, { first: block, last, floorSeq });
        }
      }
      removeMarks(environment);
    } finally {
      await environment.close();
    }
  }
}

/** The records of all conversations, read a thousand at a time, so that no transaction stays open beside the writes. */
function* conversationsOf({ tables }: Lane): Generator<Buffer> {
  for (let start = Buffer.of(0); ;) {
    const some = [...tables.conversations.getRange({ start, limit: 1_000 })];
    yield* some.map(({ value }) => Buffer.from(value));
    const last = some.at(-1);
    if (last === undefined) return;
    start = Buffer.concat([last.key, Buffer.of(0)]);
  }
}

/** Takes out the changes of new messages and gives the others their head. Runs again over what has its form already. */
function rewriteChanges(environment: Lane, id: string, headSeq: number): void {
  const { changes } = environment.tables;
  environment.transact(() => {
    const rows = [...changes.getRange(under(id))].map(({ key, value }) => ({
      key: Buffer.from(key),
      values: unpack(value),
    }));
    if (rows.every(({ values }) => values.length > VALUES_BEFORE)) return;
    let head = headSeq - rows.filter(({ values }) => values[TYPE] === 'message.new').length;
    for (const { key, values } of rows) {
      if (values[TYPE] === 'message.new') {
        head += 1;
        void changes.remove(key);
      } else {
        values[HEAD] = head;
        void changes.put(key, pack(values));
      }
    }
  });
}

function countBlocks(environment: Lane, id: string, range: { first: number; last: number; floorSeq: number }): void {
  const { messages, senders } = environment.tables;
  environment.transact(() => {
    for (let block = range.first; block <= range.last; block += 1) {
      const counts = new Map<string, number>();
      const from = Math.max((block - 1) * BLOCK, range.floorSeq) + 1;
      const seqs = { start: numbered(id, from), end: numbered(id, block * BLOCK + 1) };
      for (const { value } of messages.getRange(seqs)) {
        const { sender } = JSON.parse(value.toString('utf8', MESSAGE_HEAD_BYTES)) as { sender: string };
        counts.set(sender, (counts.get(sender) ?? 0) + 1);
      }
      void senders.put(numbered(id, block), pack([...counts]));
    }
  });
}

function removeMarks(environment: Lane): void {
  const { own } = environment.tables;
  for (;;) {
    const some = [...own.getKeys({ limit: MARKS_AT_ONCE })].map((key) => Buffer.from(key));
    if (some.length === 0) return;
    environment.transact(() => {
      for (const key of some) void own.remove(key);
    });
  }
}

function under(id: string): { start: Buffer; end: Buffer } {
  return { start: Buffer.from(`${id}\0`), end: Buffer.from(`${id}\u0001`) };
}

function numbered(id: string, number: number): Buffer {
  const buffer = Buffer.alloc(id.length + 1 + SEQ_BYTES);
  buffer.write(`${id}\0`, 'latin1');
  buffer.writeUIntBE(number, id.length + 1, SEQ_BYTES);
  return buffer;
}
