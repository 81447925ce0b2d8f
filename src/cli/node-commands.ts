/** The commands of a node's host: joining it and running its agent. They need no server on this machine. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { AgentError, readMembership } from '#src/node-agent/agent-folder.ts';
import { runAgent } from '#src/node-agent/agent.ts';
import { hasSystemd } from '#src/node-agent/host-health.ts';
import { joinHost } from '#src/node-agent/join-host.ts';
import { readJournalFiles, readSystemdJournal } from '#src/node-agent/journal-source.ts';
import { ReportFiles } from '#src/node-agent/report-files.ts';
import { CommandError, EXIT } from './command-error.ts';

/** The agent's version is the project's. */
function agentVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Joins this host; answers its id. @throws CommandError */
export async function joinNode(options: Readonly<Record<string, string>>, folder: string): Promise<string> {
  const { coordinator = '', token = '' } = options;
  return await asCommand(() => joinHost({ coordinator, token, folder: resolve(folder), agentVersion: agentVersion() }));
}

/** Runs the agent until a signal ends it. @throws CommandError when the host has not joined, or was revoked. */
export async function runNode(options: Readonly<Record<string, string>>, data: string): Promise<number> {
  const folder = resolve(data);
  const stopped = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stopped.abort());
  const { 'journal-dir': journals, 'reports-dir': reports, certificates = '' } = options;
  await asCommand(async () => {
    const membership = readMembership(folder);
    process.stdout.write(`The agent of ${membership.id} runs for ${membership.coordinator}.\n`);
    await runAgent({
      membership,
      health: {
        agentVersion: agentVersion(),
        folders: ['/', folder],
        certificates: certificates.split(',').filter((path) => path !== ''),
        hasSystemd: hasSystemd(),
      },
      journal: journals === undefined ? readSystemdJournal : readJournalFiles(resolve(journals)),
      reports: reports === undefined ? undefined : new ReportFiles(resolve(reports)),
      say: (text) => process.stderr.write(`parley: ${text}\n`),
      signal: stopped.signal,
    });
  });
  return EXIT.ok;
}

async function asCommand<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof AgentError ? new CommandError(error.message) : error;
  }
}
