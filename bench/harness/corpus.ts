/**
 * A history to search: messages whose words are as common and as rare as those of people are (Zipf's law), in three
 * scripts, written into the lanes of a stopped server as its conversations would have written them.
 */
import { statSync } from 'node:fs';
import { formatInstant } from '#src/base/time.ts';
import { readRecord } from '#storage/conversations/conversation-reader.ts';
import { writeConversation, writeMessage, writeSenders } from '#storage/conversations/conversation-writes.ts';
import { lanePath, readManifest } from '#storage/engine/folder.ts';
import type { Lane, LaneWrite } from '#storage/engine/lane.ts';
import { Lanes } from '#storage/engine/lanes.ts';
import { blockEndingAt } from '#storage/conversations/posted-blocks.ts';
import { completeIndex } from '#storage/search/search-backfill.ts';
import type { Room } from './subject.ts';

const MAP_BYTES = 2 ** 36;
const WORDS = 20_000;
/** Syllables of a language: so many beginnings, vowels and ends give some two thousand. */
const LATIN = ['b c ch d f g h k l m n p ph pr qu r s st t tr v w', 'a e i o u ai ea io ou', ' n r s t l nd ng ck rm'];
const CYRILLIC = ['б в г д ж з к кр л м н п пр р с ст т тр ф х ч ш', 'а е и о у я ю ё ы', ' й н р с т л нт ск рм'];
const HAN =
  '的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家学用';
/** One message in so many has each script. */
const CYRILLIC_EVERY = 3;
const HAN_EVERY = 10;

/** A whole number below `limit` that follows from another one. */
function draw(seed: number, limit: number): number {
  let bits = Math.imul(seed ^ (seed >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return ((bits ^ (bits >>> 16)) >>> 0) % limit;
}

/** The word of a rank, 0 the most common, of one to four syllables. */
export function wordOf(rank: number, syllables: readonly string[] = LATIN): string {
  const length = 1 + (rank > 60 ? 1 + draw(rank + 7, 3) : draw(rank + 7, 2));
  return Array.from({ length }, (_, i) =>
    syllables.map((parts, j) => pick(parts.split(' '), rank * 16 + i * 4 + j)).join(''),
  ).join('');
}

/** One of some, the first ones more often: sounds are no more equal than words are. */
function pick(parts: readonly string[], seed: number): string {
  return parts[Math.floor(parts.length * (draw(seed, 1e6) / 1e6) ** 1.5)]!;
}

export const cyrillicWordOf = (rank: number): string => wordOf(rank, CYRILLIC);

const latin = Array.from({ length: WORDS }, (_, rank) => wordOf(rank));
const cyrillic = Array.from({ length: WORDS }, (_, rank) => cyrillicWordOf(rank));

/** The text of a message by its number in the whole history: some nine words, or some twenty characters of Han. */
export function textOf(number: number): string {
  const length = 3 + draw(number * 31, 13);
  if (number % HAN_EVERY === 0) {
    return Array.from(
      { length: 2 * length },
      (_, i) => HAN[Math.floor(HAN.length * (draw(number * 64 + i, 1e6) / 1e6) ** 2)],
    ).join('');
  }
  const words = number % CYRILLIC_EVERY === 0 ? cyrillic : latin;
  // The rank of an even draw by Zipf's law: as many draws fall between 10 and 100 as between 100 and 1,000.
  return Array.from({ length }, (_, i) => words[Math.floor(WORDS ** (draw(number * 64 + i, 1e6) / 1e6)) - 1]).join(' ');
}

export interface Seeded {
  /** Seconds that the background work of a server needs to index all of it, without its pauses. */
  readonly indexSeconds: number;
  /** What the lanes take on disk, before they are indexed and after. */
  readonly megabytesBefore: number;
  readonly megabytesAfter: number;
}

/** Messages written before they are waited for. */
const MESSAGES_AT_ONCE = 4_096;
/** Of a year of talk, the time between two messages of a conversation shrinks with how many there are. */
const YEAR_MILLIS = 365 * 86_400_000;

/** Writes so many messages to each room of a stopped server, posted over the last year, and indexes them. */
export async function seedHistory(folder: string, rooms: readonly (readonly [Room, number])[]): Promise<Seeded> {
  const { lanes: count } = readManifest(folder);
  const options = { folder, lanes: count, mapBytes: MAP_BYTES, owns: () => true, report: () => undefined };
  const lanes = new Lanes(options);
  let indexMillis = 0;
  let megabytesBefore = 0;
  try {
    let first = 0;
    for (const [room, messages] of rooms) {
      // oxlint-disable-next-line no-await-in-loop -- One after the other keeps what waits for the disk small.
      await fillRoom(lanes.write(room.id), room, { first, messages });
      first += messages;
    }
    megabytesBefore = megabytesOf(folder, count);
    for (const lane of lanes.owned) {
      lane.append([{ table: 'meta', key: Buffer.from('search'), value: null }]);
      // oxlint-disable-next-line no-await-in-loop -- As above.
      await lane.settle();
      const began = performance.now();
      // oxlint-disable-next-line no-await-in-loop -- As above.
      await completeIndex(lane, { pause: async () => true, clock: () => performance.now() });
      indexMillis += performance.now() - began;
    }
  } finally {
    await lanes.close();
  }
  return { indexSeconds: indexMillis / 1000, megabytesBefore, megabytesAfter: megabytesOf(folder, count) };
}

function megabytesOf(folder: string, lanes: number): number {
  const blocks = Array.from({ length: lanes }, (_, lane) => statSync(lanePath(folder, lane)).blocks);
  return blocks.reduce((sum, count) => sum + count * 512, 0) / 2 ** 20;
}

async function fillRoom(
  lane: Lane,
  room: Room,
  { first, messages }: { first: number; messages: number },
): Promise<void> {
  const { tables } = lane.environment;
  const record = readRecord(tables, room.id);
  if (record === undefined) throw new Error(`${room.id} was not seeded.`);
  const began = Date.now() - YEAR_MILLIS;
  let senders = new Map<string, number>();
  let writes: LaneWrite[] = [];
  for (let seq = 1; seq <= messages; seq += 1) {
    const sender = room.members[draw(seq * 17, room.members.length)] as string;
    const at = began + Math.floor((seq / messages) * YEAR_MILLIS);
    const json = JSON.stringify({
      conversation_id: room.id,
      seq,
      kind: 'text',
      sender,
      created_at: formatInstant(at),
      body: textOf(first + seq),
    });
    writes.push(writeMessage(room.id, seq, json, 0));
    senders.set(sender, (senders.get(sender) ?? 0) + 1);
    const block = blockEndingAt(seq);
    if (block !== undefined) {
      writes.push(writeSenders(room.id, block, [...senders]));
      senders = new Map();
    }
    record.activeAt = at;
    if (seq % MESSAGES_AT_ONCE === 0) {
      lane.append(writes);
      writes = [];
      // oxlint-disable-next-line no-await-in-loop -- What waits for the disk stays small.
      await lane.settle();
    }
  }
  record.headSeq = messages;
  record.rev += messages;
  record.stamp = lane.nextStamp();
  lane.append([...writes, writeConversation(record)]);
  await lane.settle();
}
