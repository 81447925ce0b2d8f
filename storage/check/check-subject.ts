/** A conversation under check, and what its parts are checked with. */
import type { Findings, KeyPart } from '../engine/findings.ts';
import { key } from '../engine/keys.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import type { ConversationRecord } from '../engine/records.ts';

/** The conversation that is being checked. */
export interface Subject {
  readonly tables: LaneEnvironment['tables'];
  readonly record: ConversationRecord;
  /** The lane's change number. */
  readonly stamp: number;
  readonly findings: Findings;
}

/**
 * The same of what a raised floor leaves in place, so that nothing is posted a second time: only what a deletion emptied
 * has to be gone.
 */
export function isRemembered(subject: Subject, table: string, parts: readonly KeyPart[], seq: number): boolean {
  const { emptiedSeq, floorSeq } = subject.record;
  return seq > emptiedSeq && seq <= floorSeq ? true : isBelowFloor(subject, table, parts, seq);
}

/** Whether what a deletion left may still be on the disk. */
export function isPurging({ tables, record }: Subject): boolean {
  return tables.meta.get(key('purge', record.id)) !== undefined;
}

/** What is there at or below the floor is in order only during a purge. Answers whether the record needs no look. */
export function isBelowFloor(subject: Subject, table: string, parts: readonly KeyPart[], seq: number): boolean {
  if (seq > subject.record.floorSeq) return false;
  if (!isPurging(subject)) subject.findings.add(table, parts, 'was deleted with its conversation and is still there');
  return true;
}

/** Says that everything from `first` to `last` is missing, if that is anything. */
export function missing(findings: Findings, table: string, id: string, first: number, last: number): void {
  if (first === last) findings.add(table, [id, first], 'is missing');
  if (first < last) findings.add(table, [id, first], `is missing, and so is everything up to ${last}`);
}
