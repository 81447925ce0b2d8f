/**
 * Role reports on their way to the coordinator: the programs of a role leave them as `ROLE.json` in a folder, and the
 * agent carries each when it has changed, and now and then when it has not, so that a restarted coordinator has it.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { NODE_ROLES, REPORT_BODY_BYTES_MAX, type NodeRole } from '#src/protocol/hosts/nodes.ts';

/** An unchanged report is sent again after this. */
const REPEAT_MILLIS = 15 * 60_000;

export interface ReportFile {
  readonly role: NodeRole;
  /** As it is in the file, with the role that the file's name says. */
  readonly report: Record<string, unknown>;
}

export class ReportFiles {
  readonly #folder: string;
  /** Role → the file's state when it was last sent, and when that was. */
  readonly #sent = new Map<NodeRole, { readonly state: string; readonly at: number }>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The reports that are due, each with a call that says it arrived. What is no report is named in `faults`. */
  async due(now: number): Promise<{ due: (ReportFile & { readonly arrived: () => void })[]; faults: string[] }> {
    const due: (ReportFile & { readonly arrived: () => void })[] = [];
    const faults: string[] = [];
    for (const role of NODE_ROLES) {
      const path = join(this.#folder, `${role}.json`);
      try {
        const found = await stat(path);
        const state = `${found.ino}/${found.mtimeMs}/${found.size}`;
        const sent = this.#sent.get(role);
        if (sent?.state === state && now - sent.at < REPEAT_MILLIS) continue;
        // Marked before it is read: a file that is no report is named once, not every minute.
        this.#sent.set(role, { state, at: now });
        if (!found.isFile() || found.size > REPORT_BODY_BYTES_MAX) {
          faults.push(`${path} is not a file of ${REPORT_BODY_BYTES_MAX} bytes at most.`);
          continue;
        }
        this.#sent.delete(role);
        const report = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
        due.push({ role, report: { ...report, role }, arrived: () => this.#sent.set(role, { state, at: now }) });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
        faults.push(`${path} could not be read as JSON.`);
      }
    }
    return { due, faults };
  }
}
