/**
 * Which messages of a subject count. Each says which one it comes behind, and of those that come behind one the first counts. The
 * others are passed over by everybody: a message that was tried again and came twice, or one of a host that led before.
 *
 * The server checks the same as a message comes in (`Nats-Expected-Last-Subject-Sequence`). Servers before 2.9.21 look at what is stored
 * by then and not at what is under way (nats-server issue 4320), so two that come at once may both be stored; the order that all read
 * decides between them.
 */
import type { StreamConnection } from './stream-connection.ts';
import { BATCH_HEADER, BEHIND_HEADER, ID_HEADER, logSubject, streamName, TERM_HEADER } from './stream-names.ts';

/** The header that the server itself checks; what was written before there was one of our own has it alone. */
const EXPECTED_HEADER = 'Nats-Expected-Last-Subject-Sequence';

interface Said {
  get: (name: string) => string;
}

/** The sequence that a message says it comes behind. */
export function behindOf(said: Said): number {
  return Number(said.get(BEHIND_HEADER) || said.get(EXPECTED_HEADER));
}

/** A message that counts. */
export interface Counted {
  readonly sequence: number;
  /** The one in front of it that counts. */
  readonly behind: number;
  readonly batch: number;
  readonly term: number;
  readonly id: string;
}

/** What a subject has behind a message that counts. */
export interface Behind {
  /** The first that counts, or says that it comes behind one that is not there any more; undefined where there is none. */
  readonly next: Counted | undefined;
  /** The last message that was looked at, whether it counts or not. */
  readonly last: number;
}

/** Looks behind the message of a log that counts last, as far as is known here. @throws what NATS does not answer. */
export async function lookBehind(
  { manager }: StreamConnection,
  name: string,
  log: string,
  tail: number,
): Promise<Behind> {
  for (let last = tail; ;) {
    // The server takes both together, which the library's type does not say.
    const wanted = { seq: last + 1, next_by_subj: logSubject(name, log) };
    const message = await manager.streams.getMessage(streamName(name), wanted);
    if (message === null) return { next: undefined, last };
    last = message.seq;
    const behind = behindOf(message.header);
    if (behind < tail) continue;
    const [batch, term] = [BATCH_HEADER, TERM_HEADER].map((header) => Number(message.header.get(header)));
    const id = message.header.get(ID_HEADER);
    return { last, next: { sequence: last, behind, batch: batch as number, term: term as number, id } };
  }
}
