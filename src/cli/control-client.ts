/** A running server as the `parley` command reaches it: over the control socket of its data folder. */
import { connect, type Socket } from 'node:net';
import type { ControlCommand, ControlForm, ControlResults } from '#src/server/control/control-commands.ts';
import {
  CONTROL_ANSWER_BYTES_MAX,
  controlAddress,
  controlAnswer,
  readLines,
} from '#src/server/control/control-wire.ts';
import { CommandError } from './command-error.ts';

/** How long a server may take over an answer; a seed or a backup of a large installation takes minutes. */
const ANSWER_MILLIS = 30_000;
const LONG_ANSWER_MILLIS = 3_600_000;

/** Where commands are carried out: a running server, or the store of a stopped one. */
export interface ControlConnection {
  readonly isRunning: boolean;
  /** @throws CommandError with the server's sentence when it refuses. */
  call<C extends ControlCommand>(command: C, form: ControlForm<C>): Promise<ControlResults[C]>;
  close(): Promise<void>;
}

/** The door of the server that runs on this folder, or undefined when none does. */
export async function connectToServer(folder: string): Promise<ControlConnection | undefined> {
  const socket = await open(controlAddress(folder));
  if (socket === undefined) return undefined;
  const lines = readLines(socket, CONTROL_ANSWER_BYTES_MAX);
  return {
    isRunning: true,
    call: async (command, form) => {
      const isLong = command === 'seed' || command === 'backup' || command === 'audit.export';
      const line = await ask(socket, lines, { command, form }, isLong ? LONG_ANSWER_MILLIS : ANSWER_MILLIS);
      const answer = controlAnswer.parse(JSON.parse(line));
      if (!answer.ok) throw new CommandError(answer.error);
      return answer.result as never;
    },
    close: async () => {
      socket.destroy();
    },
  };
}

async function open(address: string): Promise<Socket | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket | undefined>();
  const socket = connect(address);
  socket.once('connect', () => resolve(socket));
  socket.once('error', (error: NodeJS.ErrnoException) => {
    // No socket, or one that a dead server left behind: nobody is there.
    if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(undefined);
    else if (error.code === 'EACCES')
      reject(new CommandError(`You may not open ${address}: run this as the owner of the data folder.`));
    else reject(error);
  });
  return await promise;
}

async function ask(socket: Socket, lines: AsyncGenerator<string>, request: object, millis: number): Promise<string> {
  const late = setTimeout(() => socket.destroy(new CommandError('The server did not answer in time.')), millis);
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new CommandError('The server closed the connection without an answer.');
    return value;
  } finally {
    clearTimeout(late);
  }
}
