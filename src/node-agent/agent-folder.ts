/** The agent's folder: which coordinator it joined and its token, readable by its owner alone. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { nodeId } from '#src/protocol/hosts/nodes.ts';

const FILE = 'node-agent.json';

const membership = z.strictObject({
  coordinator: z.url({ protocol: /^https?$/ }),
  id: nodeId,
  token: z.string().min(1),
});

/** What a host has after it joined. */
export type Membership = z.infer<typeof membership>;

/** What ends the agent; its message is a sentence for the operator. */
export class AgentError extends Error {}

/** The membership of a folder. @throws AgentError when the host has not joined, or the file is not ours. */
export function readMembership(folder: string): Membership {
  const text = readIfThere(join(folder, FILE));
  // Empty where a join was begun and refused.
  if (text === '')
    throw new AgentError(`This host has not joined: ${folder} has no ${FILE}. Run the join command first.`);
  try {
    return membership.parse(JSON.parse(text));
  } catch {
    throw new AgentError(`${join(folder, FILE)} is not the file of an agent. Remove it and join again.`);
  }
}

/**
 * Takes the place of the membership before the join token is spent, so that a token is not lost to a folder that
 * cannot be written. The second call fills it.
 * @throws AgentError when the host has joined already.
 */
export function reserveMembership(folder: string): (joined: Membership) => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, FILE);
  try {
    writeFileSync(path, '', { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (readFileSync(path, 'utf8') !== '') throw new AgentError(`This host has joined already: ${path} exists.`);
  }
  return (joined) => writeFileSync(path, `${JSON.stringify(joined)}\n`, { mode: 0o600 });
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return '';
  }
}
