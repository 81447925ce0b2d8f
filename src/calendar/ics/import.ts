/**
 * Importing a file into a calendar: split by UID, each item judged like any writing and put in batches. Nothing that
 * was imported sends anything to anybody.
 */
import { isDeepStrictEqual } from 'node:util';
import { type ImportFault, type ImportReport, IMPORT_FAULTS_MAX } from '#src/protocol/calendars/calendar-files.ts';
import { ERRORS, Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { bytesEtagOf, entryIdOf, etagOf } from '#storage/calendars/calendar-records.ts';
import { accessCalendar } from '../calendar-access.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { type CalendarPrecondition, CalendarFault } from '../icalendar/calendar-fault.ts';
import { CalendarContents } from '../objects/calendar-contents.ts';
import { INLINE_BYTES_MAX } from '../objects/derivation-pool.ts';
import type { JudgedObject } from '../objects/object-writer.ts';
import { flatten } from './flattening.ts';
import type { ImportSteps } from './import-lines.ts';
import type { SplitObject } from './splitting.ts';

/** Objects of one commit, and their bytes together: some ten milliseconds of the thread. */
const BATCH_OBJECTS = 128;
const BATCH_BYTES = 512 * 1024;

interface Judged extends JudgedObject {
  readonly item: SplitObject;
  readonly name: string;
}

type Outcome = 'imported' | 'replaced' | 'skipped';

/**
 * Imports the items of a file that can be. The same file once more changes nothing.
 * @throws Refusal `calendar_not_found`, `right_missing`, `body_not_calendar`, `busy`, `storage_full`; what was written
 *   before stays, and importing again goes on from there.
 */
export async function importFile(...of: Parameters<typeof importSteps>): Promise<ImportReport> {
  const steps = importSteps(...of);
  for (;;) {
    const { done, value } = await steps.next();
    if (done === true) return value;
  }
}

/** The same step by step: first when the file is read, then behind every commit. Whoever leaves it ends it. @throws as `importFile`. */
export async function* importSteps(
  services: CalendarServices,
  user: string,
  calendar: string,
  bytes: Uint8Array,
): ImportSteps {
  accessCalendar(services.calendars, user, calendar, 'write');
  const { objects, faults } = await split(services, bytes);
  const run = new ImportRun(services, user, calendar);
  for (const { index, uid, line, precondition } of faults) run.fault({ index, uid }, codeOf(precondition), line);
  const of = objects.length + faults.length;
  let done = faults.length;
  let looked = done;
  yield { done, of };
  let written = Promise.resolve();
  for (const batch of batchesOf(objects)) {
    // Judged while the disk has the batch before: no item is in two of them.
    const judged = await run.judge(batch);
    await written;
    if (looked > done) yield { done: (done = looked), of };
    looked += batch.length;
    written = run.write(judged);
    // It is waited for in a moment, and until then nobody else hears of it.
    written.catch(() => undefined);
    // Others have their turn.
    await new Promise(setImmediate);
  }
  await written;
  if (looked > done) yield { done: looked, of };
  return run.report();
}

class ImportRun {
  readonly #plane: CalendarServices;
  readonly #user: string;
  readonly #calendar: string;
  readonly #counts: Record<Outcome, number> = { imported: 0, replaced: 0, skipped: 0 };
  readonly #faults: ImportFault[] = [];

  constructor(services: CalendarServices, user: string, calendar: string) {
    this.#plane = services;
    this.#user = user;
    this.#calendar = calendar;
  }

  fault({ index, uid }: { readonly index: number; readonly uid: string | undefined }, code: ErrorCode, line?: number) {
    const where = { ...(uid === undefined ? {} : { uid }), ...(line === undefined ? {} : { line }) };
    this.#faults.push({ index, ...where, code, error: ERRORS[code].error });
  }

  /** What of a batch is new or another than what is there. */
  async judge(batch: readonly SplitObject[]): Promise<readonly Judged[]> {
    // It may have been taken from them, or be gone, since the last batch.
    accessCalendar(this.#plane.calendars, this.#user, this.#calendar, 'write');
    const judged: Judged[] = [];
    for (const item of batch) {
      const one = await this.#judge(item);
      if (one !== undefined) judged.push(one);
    }
    return judged;
  }

  /** Puts these in one commit. */
  async write(judged: readonly Judged[]): Promise<void> {
    const { calendars } = this.#plane;
    const calendar = this.#calendar;
    if (judged.length === 0) return;
    const outcomes = await calendars.change((draft) =>
      judged.map(({ name, bytes, index, isInvitation, judgedEtag }): Outcome | ErrorCode => {
        try {
          if (draft.object(calendar, name)?.etag !== judgedEtag) throw new Refusal('entry_changed');
          const { isNew } = draft.putObject(calendar, name, bytes, index, { keepScheduleTag: isInvitation });
          return isNew ? 'imported' : 'replaced';
        } catch (error) {
          return codeOfRefusal(error);
        }
      }),
    );
    for (const [at, outcome] of outcomes.entries()) {
      const { item } = judged[at] as Judged;
      if (outcome === 'imported' || outcome === 'replaced' || outcome === 'skipped') this.#counts[outcome] += 1;
      else this.fault(item, outcome, item.line);
    }
  }

  report(): ImportReport {
    const faults = this.#faults.toSorted((a, b) => a.index - b.index);
    return {
      ...this.#counts,
      failed: faults.length,
      faults: faults.slice(0, IMPORT_FAULTS_MAX),
      is_cut: faults.length > IMPORT_FAULTS_MAX,
    };
  }

  /** Undefined for what is there already, and for what was refused. */
  async #judge(item: SplitObject): Promise<Judged | undefined> {
    const { calendars, writer } = this.#plane;
    const found = calendars.nameByUid(this.#calendar, item.uid);
    const name = found ?? `${entryIdOf(item.uid)}.ics`;
    const contents = new CalendarContents(calendars, accessCalendar(calendars, this.#user, this.#calendar, 'write'));
    try {
      // What they do not see is not compared for them either.
      const isSeen = found !== undefined && contents.object(found)?.disclosure === 'whole';
      const judged =
        isSeen && this.#isThere(found, item)
          ? undefined
          : await writer.judge(this.#user, this.#calendar, name, item.bytes, { isImported: true });
      const isSame = judged !== undefined && etagOf(judged.bytes) === bytesEtagOf(judged.judgedEtag ?? '');
      if (judged !== undefined && !isSame) return { ...judged, item, name };
      this.#counts.skipped += 1;
    } catch (error) {
      if (error instanceof CalendarFault) this.fault(item, codeOf(error.precondition), item.line);
      else this.fault(item, codeOfRefusal(error), item.line);
    }
    return undefined;
  }

  /** Whether the calendar has the very components, whatever program wrote the lines around them. */
  #isThere(name: string, { bytes }: SplitObject): boolean {
    const stored = this.#plane.calendars.bytesOf(this.#calendar, name);
    if (stored === undefined) return false;
    if (Buffer.compare(stored, bytes) === 0) return true;
    if (stored.length > INLINE_BYTES_MAX) return false;
    // Definitions of zones that everybody knows do not count: each program writes its own.
    const [here, there] = [flatten(stored, 'whole', ''), flatten(bytes, 'whole', '')];
    return isDeepStrictEqual(here, there);
  }
}

async function split({ pool }: CalendarServices, bytes: Uint8Array) {
  try {
    return await pool.split(bytes);
  } catch (error) {
    throw error instanceof CalendarFault ? new Refusal('body_not_calendar') : error;
  }
}

function* batchesOf(objects: readonly SplitObject[]): Generator<SplitObject[]> {
  let batch: SplitObject[] = [];
  let size = 0;
  for (const object of objects) {
    if (batch.length >= BATCH_OBJECTS || (batch.length > 0 && size + object.bytes.length > BATCH_BYTES)) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push(object);
    size += object.bytes.length;
  }
  if (batch.length > 0) yield batch;
}

function codeOf(precondition: CalendarPrecondition): ErrorCode {
  if (precondition === 'max-resource-size') return 'entry_too_large';
  return precondition === 'supported-calendar-component' ? 'entry_kind_refused' : 'entry_invalid';
}

/** What concerns one item alone. @throws what concerns all of them. */
function codeOfRefusal(error: unknown): ErrorCode {
  if (error instanceof Refusal && !['calendar_not_found', 'storage_full', 'busy'].includes(error.code))
    return error.code;
  throw error;
}
