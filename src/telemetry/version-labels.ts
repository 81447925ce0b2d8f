/** Protocol versions as label values: those that clients state, bounded, since a client may state any number. */
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import { OVERFLOW_LABEL } from './labelled-counts.ts';

/** Different versions told apart. Further ones are counted as `other`. */
export const VERSION_LABELS_MAX = 50;

/**
 * The versions up to our own are always told apart, because Min is raised by what the population says of them. What
 * remains is for clients newer than the server, first come, first kept.
 */
const NEWER_VERSIONS_MAX = Math.max(0, VERSION_LABELS_MAX - (PROTOCOL_VERSION + 1));

export class VersionLabels {
  readonly #newer = new Map<number, string>();

  /** The label of a version: the same one every time, so that what was counted up under it comes down under it. */
  labelOf(version: number): string {
    if (version <= PROTOCOL_VERSION) return String(version);
    const known = this.#newer.get(version);
    if (known !== undefined) return known;
    if (this.#newer.size >= NEWER_VERSIONS_MAX) return OVERFLOW_LABEL;
    const label = String(version);
    this.#newer.set(version, label);
    return label;
  }
}

/**
 * The fold for labels that several threads chose, each within the bound: together they may exceed it. Keeps the
 * lowest of the newer versions, whichever thread saw them.
 */
export function foldVersions(labels: Iterable<string>): (label: string) => string {
  const newer = new Set<number>();
  for (const label of labels)
    if (label !== OVERFLOW_LABEL && Number(label) > PROTOCOL_VERSION) newer.add(Number(label));
  if (newer.size <= NEWER_VERSIONS_MAX) return (label) => label;
  const kept = new Set([...newer].toSorted((a, b) => a - b).slice(0, NEWER_VERSIONS_MAX));
  return (label) => (Number(label) <= PROTOCOL_VERSION || kept.has(Number(label)) ? label : OVERFLOW_LABEL);
}
