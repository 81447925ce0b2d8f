/** Words that are long: tokens known by their form alone, and what looks random. */
import { DIGIT, LOWER } from '../bytes.ts';
import type { Scan } from '../context.ts';
import { isNamedId, isPublic, randomRun } from './random-strings.ts';

/** Shorter words are not looked at for random strings, unless base64 goes on around them. */
export const RANDOM_WORD_MIN = 20;

/** A pseudonym with more behind it. */
const DONE = /(?:^|[/_-])(?:u|tel)-[0-9a-f]{8}(?:[/_-]|$)/;
/** Encoded bytes that go on with a word. */
const JOINING = new Set(['2D', '2E', '5F', '2B', '2F', '3D', '7E', '25', '40', '3A']);

/** A token that is known by its form alone. */
export function cutForm(scan: Scan, start: number, end: number): number {
  const width = end - start;
  for (const { pattern, class: secretClass, least, most } of scan.engine.rules.shapes) {
    if (width < least || width > most) continue;
    pattern.lastIndex = start;
    if (pattern.test(scan.text)) return scan.spans.secret(start, Math.min(pattern.lastIndex, scan.stop), secretClass);
  }
  return -1;
}

export function cutRandom(scan: Scan, start: number, end: number, bits: number, next: number): number {
  const { text, spans } = scan;
  if (next === 64 || isEncoded(scan, end, next)) return end;
  // Words of prose and of hosts: one class of characters and short, or letters alone and not very long.
  if ((bits & DIGIT) === 0 && end - start < 24 && next !== 43 && next !== 47 && next !== 61) return end;
  if (end - start < RANDOM_WORD_MIN && (bits & (DIGIT | LOWER)) === bits && next !== 43 && next !== 47) return end;
  const run = randomRun(scan, start, end);
  if (run === undefined) return end;
  // What stands for a person may be a part of a longer word: `SIP/u-4a5b8d34-0000001a`.
  if (DONE.test(text.slice(run.start, Math.min(run.end, run.start + 48)))) return run.end;
  if (text.charCodeAt(run.end) === 64 || isPublic(text, run.start)) return run.end;
  if (run.end - run.start <= 64 && isNamedId(scan, run.start)) return run.end;
  return spans.secret(run.start, run.end, 'random');
}

/** Whether a word goes on in an encoding: the stretch is decoded and scanned when its first escape is reached. */
export function isEncoded(scan: Scan, end: number, next: number): boolean {
  if (next === 92) return scan.text.startsWith('u00', end + 1);
  if (next === 37) return JOINING.has(scan.text.slice(end + 1, end + 3).toUpperCase());
  return next === 61 && scan.text.startsWith('40', end + 1);
}
