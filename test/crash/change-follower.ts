/** A client that follows a calendar: what it read before a kill and the changes behind it are exactly what is there after. */
import { setTimeout as pause } from 'node:timers/promises';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { call } from '#test/calendar/service/calling.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { answered, type Lose } from './part.ts';

/** Cursors of any age that are read from after each kill; the newest and the oldest are always among them. */
const CURSORS = 6;
const PAGE = 50;
const BREATH_MILLIS = 60;

/** What a reader had when it was given a cursor. */
export interface Snapshot {
  readonly cursor: string;
  readonly syncSeq: number;
  readonly etags: ReadonlyMap<string, string>;
}

interface Changes {
  readonly items: readonly EntryView[];
  readonly deleted: readonly string[];
  readonly sync_seq: number;
  readonly next: string;
  readonly more: boolean;
}

export interface ChangeFollowerOptions {
  readonly reader: Person;
  readonly calendar: string;
  readonly random: SeededRandom;
  readonly lose: Lose;
}

export class ChangeFollower {
  readonly snapshots: Snapshot[] = [];
  /** Cursors that were read from. */
  deltas = 0;
  readonly #options: ChangeFollowerOptions;

  constructor(options: ChangeFollowerOptions) {
    this.#options = options;
  }

  /** Reads what changed, again and again, until the server is gone. */
  async run(server: TestServer): Promise<void> {
    for (;;) {
      const after = await answered(this.#readFrom(server, this.snapshots.at(-1)));
      if (after === undefined) return;
      this.snapshots.push(after);
      await pause(BREATH_MILLIS);
    }
  }

  /** Reads everything, and from earlier cursors; what is there now, or undefined when that was refused. */
  async compare(server: TestServer): Promise<Snapshot | undefined> {
    const { random } = this.#options;
    const whole = await this.#readFrom(server);
    if (whole === undefined) return undefined;
    if (this.snapshots.length === 0) this.snapshots.push(whole);
    const some = Array.from({ length: CURSORS }, () => random.pick(this.snapshots));
    const snapshots = new Set([...this.snapshots.slice(0, 1), ...this.snapshots.slice(-1), ...some]);
    for (const snapshot of snapshots) await this.#compareDelta(server, snapshot, whole);
    this.snapshots.push(whole);
    return whole;
  }

  /** What a reader has after it read all changes behind a snapshot, or everything; undefined when that was refused. */
  async #readFrom(server: TestServer, before?: Snapshot): Promise<Snapshot | undefined> {
    const { calendar, lose, reader } = this.#options;
    const etags = new Map(before?.etags);
    let cursor = before?.cursor;
    for (;;) {
      const after = cursor === undefined ? '' : `&after=${cursor}`;
      const path = `/v1/calendars/${calendar}/changes?limit=${PAGE}${after}`;
      const { body, status, text } = await call<Changes>(server, reader, 'GET', path);
      if (status !== 200) {
        lose(`The changes behind ${before?.syncSeq ?? 'nothing'} were refused: ${text}`);
        return undefined;
      }
      for (const { etag, id, sync_seq: seq } of body.items) {
        etags.set(id, bare(etag));
        const isLate = before !== undefined && seq <= before.syncSeq;
        if (isLate) lose(`${id} of ${seq} is in the changes behind ${before.syncSeq}.`);
      }
      for (const id of body.deleted) etags.delete(id);
      cursor = body.next;
      if (!body.more) return { cursor, syncSeq: body.sync_seq, etags };
    }
  }

  /** A snapshot and what changed behind it are together what is there now. */
  async #compareDelta(server: TestServer, snapshot: Snapshot, whole: Snapshot): Promise<void> {
    this.deltas += 1;
    const after = await this.#readFrom(server, snapshot);
    if (after === undefined) return;
    const wrong = [...new Set([...after.etags.keys(), ...whole.etags.keys()])].filter(
      (id) => after.etags.get(id) !== whole.etags.get(id),
    );
    if (wrong.length === 0 && after.syncSeq === whole.syncSeq) return;
    const here = `at ${after.syncSeq} of ${whole.syncSeq}`;
    this.#options.lose(
      `The changes behind ${snapshot.syncSeq} leave ${wrong.length} entries wrong, ${here}: ${wrong[0]}.`,
    );
  }
}

/** An etag without its quotes: the JSON door has none. */
export function bare(etag: string): string {
  return etag.replaceAll('"', '');
}
