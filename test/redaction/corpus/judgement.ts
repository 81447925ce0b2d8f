/** What the judge found over a whole log: how much was hidden of each class, and the first things that were not. */
import type { CleanLine } from './clean-text.ts';
import type { SourcedLine } from './clean-log.ts';
import type { LogRecord } from './labelled-log.ts';
import { SPAN_CLASSES, type SpanClass } from './labels.ts';
import { leakOf, readings } from './leak-oracle.ts';
import { PLAIN } from './words.ts';

export interface ClassResult {
  spans: number;
  leaks: number;
  /** Values whose replacement the reference names, and how many of them were found under it. */
  named: number;
  agreed: number;
}

export interface Judgement {
  records: number;
  spans: number;
  classes: Record<SpanClass, ClassResult>;
  /** One line for each leak: class, shape, place, the piece that can be read, what came out. */
  leaks: string[];
  /** Values hidden, but not under the pseudonym that is theirs. */
  strangers: string[];
  /** Records that lost their line breaks, or the mark of the program that logged them. */
  spoilt: string[];
  /** Plain words around the values, and how many of them were still there: what a reader understands the line by. */
  plainWords: number;
  plainWordsKept: number;
}

const PLAIN_WORDS = new Set(PLAIN);

function countPlain(text: string): number {
  return text.split(' ').filter((word) => PLAIN_WORDS.has(word)).length;
}

const SHOWN = 400;

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
}

function breaks(text: string): number {
  return text.split('\n').length;
}

/** Judges what `redact` makes of every record alone. */
export function judge(redact: (text: string) => string, records: readonly LogRecord[]): Judgement {
  const none = (): ClassResult => ({ spans: 0, leaks: 0, named: 0, agreed: 0 });
  const classes = Object.fromEntries(SPAN_CLASSES.map((name) => [name, none()])) as Record<SpanClass, ClassResult>;
  const found: Judgement = {
    records: records.length,
    spans: 0,
    classes,
    leaks: [],
    strangers: [],
    spoilt: [],
    plainWords: 0,
    plainWordsKept: 0,
  };
  for (const record of records) {
    const outcome = redact(record.text);
    const seen = readings(outcome);
    const where = `${record.shape} | ${record.embedding}`;
    const plain = countPlain(record.text);
    found.plainWords += plain;
    found.plainWordsKept += Math.min(plain, countPlain(outcome));
    for (const label of record.labels) {
      const result = classes[label.class];
      result.spans += 1;
      found.spans += 1;
      const leak = leakOf(label, seen, record.context);
      if (leak !== undefined) {
        result.leaks += 1;
        found.leaks.push(
          `${label.class} | ${where} | reads ${shown(leak)} | ${shown(record.text)} → ${shown(outcome)}`,
        );
      }
      if (label.replacement === undefined || record.isOpaque) continue;
      result.named += 1;
      if (seen.some((reading) => reading.includes(label.replacement ?? ''))) result.agreed += 1;
      else
        found.strangers.push(
          `${label.class} | ${where} | no ${label.replacement} | ${shown(record.text)} → ${shown(outcome)}`,
        );
    }
    if (breaks(outcome) !== breaks(record.text) || !outcome.startsWith(record.prefix)) {
      found.spoilt.push(`${where} | ${shown(record.text)} → ${shown(outcome)}`);
    }
  }
  return found;
}

/** The share of a class's values of which nothing can be read. */
export function recall(result: ClassResult): number {
  return result.spans === 0 ? Number.NaN : 1 - result.leaks / result.spans;
}

/** The table of a judgement, one line for each class. */
export function table(found: Judgement): string[] {
  return SPAN_CLASSES.map((name) => {
    const result = found.classes[name];
    const share = (100 * recall(result)).toFixed(2);
    return `${name.padEnd(16)} spans ${String(result.spans).padStart(5)}  leaks ${String(result.leaks).padStart(4)}  recall ${share} %  pseudonyms ${result.agreed}/${result.named}`;
  });
}

/** What the engine changed of a clean log, by what it took the piece for. */
export interface CleanJudgement {
  lines: number;
  phones: string[];
  users: string[];
  emails: string[];
  random: string[];
  /** Lines changed in any other way. */
  others: string[];
  /** Times, identifiers, digests, versions, hardware addresses, paths and hosts that did not stay. */
  lostPieces: string[];
}

/** Judges what `redact` makes of every clean line alone. */
export function judgeClean(redact: (text: string) => string, lines: readonly SourcedLine[]): CleanJudgement {
  const found: CleanJudgement = {
    lines: lines.length,
    phones: [],
    users: [],
    emails: [],
    random: [],
    others: [],
    lostPieces: [],
  };
  for (const line of lines) {
    const outcome = redact(line.text);
    if (outcome === line.text) continue;
    const note = `${line.source} | ${shown(line.text)} → ${shown(outcome)}`;
    const gained = (what: RegExp): boolean => (outcome.match(what)?.length ?? 0) > (line.text.match(what)?.length ?? 0);
    const marks = [
      [found.phones, /tel-[0-9a-f]{8}/gu],
      [found.emails, /u-[0-9a-f]{8}@/gu],
      [found.users, /u-[0-9a-f]{8}(?!@)/gu],
      [found.random, /\[REDACTED:random\]/gu],
    ] as const;
    const hits = marks.filter(([, what]) => gained(what));
    for (const [list] of hits) list.push(note);
    if (hits.length === 0) found.others.push(note);
    if (losesPiece(line, outcome)) found.lostPieces.push(note);
  }
  return found;
}

function losesPiece(line: CleanLine, outcome: string): boolean {
  return line.pieces.some((piece) => !outcome.includes(piece));
}
