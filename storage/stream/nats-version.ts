/** Which NATS servers keep what three of them acknowledged. */

/**
 * The first nats-server that counts each vote once, and for the term that was asked about (its pull request 5149). Before it, votes that
 * come late make two of three servers lead at once, and what either acknowledged may go when they find each other.
 */
export const NATS_LEAST = '2.10.12';

/** Whether a version, as a server says it (`2.10.27`, `2.11.0-RC.1`), is `NATS_LEAST` or later. */
export function isNatsSound(version: string): boolean {
  const [major, minor, patch] = numbersOf(version);
  const [majorLeast, minorLeast, patchLeast] = numbersOf(NATS_LEAST);
  if (major !== majorLeast) return major > majorLeast;
  if (minor !== minorLeast) return minor > minorLeast;
  return patch >= patchLeast;
}

function numbersOf(version: string): readonly [number, number, number] {
  const [major, minor, patch] = version.split('.').map((part) => Number.parseInt(part, 10));
  return [major ?? 0, minor ?? 0, patch ?? 0];
}
