/** Ways to hand a log to the engine in pieces. */
import type { SeededRandom } from '#test/support/random.ts';

interface Stream {
  push(piece: Buffer): Buffer;
  end(): Buffer;
}

/** The outcome of a log cut at those places, in ascending order. */
export function inPieces(stream: Stream, log: Buffer, cuts: readonly number[]): string {
  const parts: Buffer[] = [];
  let from = 0;
  for (const cut of [...cuts, log.length]) {
    // A copy, as a socket would give it: an engine that keeps the caller's buffer is found out.
    const piece = Buffer.from(log.subarray(from, cut));
    parts.push(Buffer.from(stream.push(piece)));
    piece.fill(0x2e);
    from = cut;
  }
  parts.push(stream.end());
  return Buffer.concat(parts).toString('latin1');
}

/** That many random places to cut, in ascending order. */
export function randomCuts(random: SeededRandom, length: number, count: number): number[] {
  return Array.from({ length: count }, () => random.whole(0, length)).toSorted((left, right) => left - right);
}
