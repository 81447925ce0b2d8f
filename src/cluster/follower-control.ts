/** What the `parley` command is answered by a host that follows: how it is, and where to ask for anything else. */
import {
  CONTROL_FORMS,
  makeClusterHandlers,
  type ClusterControl,
  type ControlHandlers,
  type ControlResults,
} from '#src/server/control/control-commands.ts';
import { FolderError } from '#storage/engine/folder.ts';

export function followerControl(
  status: () => ControlResults['status'],
  leader: () => string | undefined,
  cluster: ClusterControl,
): ControlHandlers {
  const refuse = async () => {
    const named = leader();
    throw new FolderError(
      named === undefined
        ? 'This host follows, and nobody leads now.'
        : `This host follows: run it on ${named}, which leads.`,
    );
  };
  const handlers = Object.keys(CONTROL_FORMS).map((name) => [name, name === 'status' ? async () => status() : refuse]);
  return { ...(Object.fromEntries(handlers) as ControlHandlers), ...makeClusterHandlers(cluster) };
}
