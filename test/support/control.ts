/** The control socket as tests use it: one command to the server of a folder. */
import { connectToServer } from '#src/cli/control-client.ts';
import type { ControlCommand, ControlForm, ControlResults } from '#src/server/control/control-commands.ts';

/** Carries out one command of the `parley` program on a running server. */
export async function callControl<C extends ControlCommand>(
  folder: string,
  command: C,
  form: ControlForm<C>,
): Promise<ControlResults[C]> {
  const door = await connectToServer(folder);
  if (door === undefined) throw new Error(`No server runs on ${folder}.`);
  try {
    return await door.call(command, form);
  } finally {
    await door.close();
  }
}
