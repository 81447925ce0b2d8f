/** Joining: a host exchanges the join token of its join command for a node token, once (CRD-06). */
import { hostname, release, type } from 'node:os';
import { AgentError, reserveMembership } from './agent-folder.ts';
import { CoordinatorClient, CoordinatorError } from './coordinator-client.ts';

export interface JoinOptions {
  /** Base URL of the coordinator. */
  readonly coordinator: string;
  readonly token: string;
  /** The agent's folder. */
  readonly folder: string;
  readonly agentVersion: string;
}

/** Joins this host; answers its id. @throws AgentError with a sentence for the operator. */
export async function joinHost({ coordinator, token, folder, agentVersion }: JoinOptions): Promise<string> {
  if (!URL.canParse(coordinator) || !/^https?:$/.test(new URL(coordinator).protocol))
    throw new AgentError(`${JSON.stringify(coordinator)} is not the http or https URL of a coordinator.`);
  const keep = reserveMembership(folder);
  try {
    const form = { join_token: token, hostname: hostname(), agent_version: agentVersion, os: `${type()} ${release()}` };
    const joined = await new CoordinatorClient(coordinator).join(form);
    keep({ coordinator, ...joined });
    return joined.id;
  } catch (error) {
    if (!(error instanceof CoordinatorError)) throw error;
    throw new AgentError(
      error.code === 'join_token_used'
        ? 'This join token was used or has expired. Make a new join command in the console.'
        : error.message,
    );
  }
}
