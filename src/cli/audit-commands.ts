/** `parley audit verify`: the chain of the audit trail, of a data folder or of an exported copy. */
import { createReadStream } from 'node:fs';
import { EXPORTED_LINE_BYTES_MAX, proveExport } from '#src/audit/exported-trail.ts';
import { LineTooLong, readLines } from '#src/server/control/control-wire.ts';
import type { AuditWalk } from '#storage/accounts/audit-walk.ts';
import { readManifest } from '#storage/engine/folder.ts';
import { CommandError } from './command-error.ts';

export interface VerifiedTrail {
  readonly isWhole: boolean;
  /** What was found, a line each: how far the chain goes, then whether it is whole or where it breaks. */
  readonly lines: readonly string[];
}

/**
 * Walks the trail of a data folder, whose server may be running: nothing is written and no lock taken.
 * @throws FolderError when it is not a data folder.
 */
export async function verifyFolder(folder: string): Promise<VerifiedTrail> {
  readManifest(folder);
  const { verifyAudit } = await import('#storage/check/audit-check.ts');
  const { walk, problems } = await verifyAudit(folder);
  return reportOf(walk, problems);
}

/** Walks an exported copy. @throws CommandError for a line that no export has; a system error when it cannot be read. */
export async function verifyFile(path: string): Promise<VerifiedTrail> {
  const file = createReadStream(path);
  try {
    const { walk, broken } = await proveExport(readLines(file, EXPORTED_LINE_BYTES_MAX));
    return reportOf(walk, broken === undefined ? [] : [broken]);
  } catch (error) {
    if (!(error instanceof LineTooLong)) throw error;
    throw new CommandError(`${path} has a line of more than ${EXPORTED_LINE_BYTES_MAX} bytes: it is no audit trail.`);
  } finally {
    file.destroy();
  }
}

function reportOf(walk: AuditWalk | undefined, problems: readonly string[]): VerifiedTrail {
  const isWhole = problems.length === 0;
  return { isWhole, lines: [...figuresOf(walk), ...problems, ...(isWhole ? ['The chain is whole.'] : [])] };
}

/** How far the chain goes: what is behind a break is not counted. */
function figuresOf(walk: AuditWalk | undefined): string[] {
  if (walk === undefined) return ['entries: 0'];
  const { anchor, entries, erased, head, trimTold } = walk;
  const trimmed = trimTold === undefined ? [] : [`trimmed: through ${anchor.number}, told by entry ${trimTold}`];
  const first = entries === 0 ? [] : [`first: ${anchor.number + 1}`];
  return [
    `entries: ${entries}`,
    ...first,
    `last: ${head.number}`,
    `hash: ${head.hash}`,
    ...trimmed,
    ...(erased === 0 ? [] : [`erased: details of ${erased}, told by later entries`]),
  ];
}
