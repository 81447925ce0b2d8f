/**
 * The control socket of a running server: the `parley` command's door, in the data folder, open to its owner alone.
 *
 * Who may open the folder may do everything, so there is no sign-in here; the folder is 0700 and the socket 0600.
 */
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { ERRORS, Refusal } from '#src/protocol/errors.ts';
import { FolderError } from '#storage/engine/folder.ts';
import { CONTROL_FORMS, type ControlCommand, type ControlHandlers } from './control-commands.ts';
import {
  CONTROL_REQUEST_BYTES_MAX,
  controlAddress,
  controlRequest,
  LineTooLong,
  readLines,
  type ControlAnswer,
} from './control-wire.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { NotOneOwner } from '#src/directory/password-resets.ts';
import { OwnerExists, UnknownPerson } from '#src/directory/people.ts';

/** Commands that are connected at once; an operator has a few terminals. The next is closed unanswered. */
export const CONTROL_CONNECTIONS_MAX = 16;

/** A connection that has not sent a whole line by then is closed. */
const CONTROL_LINE_MILLIS = 10_000;

/** How long a connection that got its last answer may take to go away. */
const CONTROL_LINGER_MILLIS = 500;

export interface ControlServer {
  close(): Promise<void>;
}

/**
 * Listens on the folder's control socket. The caller has the folder's lock, so a socket file that lies there was left
 * by a process that died.
 * @throws FolderError when the folder lies too deep for a socket.
 */
export async function listenForControl(
  folder: string,
  handlers: ControlHandlers,
  log: Logger,
  lineMillis = CONTROL_LINE_MILLIS,
): Promise<ControlServer> {
  const address = controlAddress(folder);
  rmSync(address, { force: true });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    void serve(socket, handlers, log, lineMillis);
  });
  server.maxConnections = CONTROL_CONNECTIONS_MAX;
  await listen(server, address);
  chmodSync(address, 0o600);
  return {
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

async function listen(server: Server, address: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function serve(socket: Socket, handlers: ControlHandlers, log: Logger, lineMillis: number): Promise<void> {
  const late = (): void => void socket.destroy();
  let deadline = setTimeout(late, lineMillis);
  try {
    for await (const line of readLines(socket, CONTROL_REQUEST_BYTES_MAX)) {
      clearTimeout(deadline);
      const answer = await answerTo(line, handlers, log);
      socket.write(`${JSON.stringify(answer)}\n`);
      deadline = setTimeout(late, lineMillis);
    }
  } catch (error) {
    // Anything but a line that is too long is the other end going away.
    if (!(error instanceof LineTooLong)) return void socket.destroy();
    socket.write(`${JSON.stringify(refuse('line_too_long', 'The line is too long.'))}\n`);
  } finally {
    clearTimeout(deadline);
  }
  // What is still on its way is read and forgotten: closing over it would cut off the answer.
  socket.end().resume();
  setTimeout(late, CONTROL_LINGER_MILLIS).unref();
}

async function answerTo(line: string, handlers: ControlHandlers, log: Logger): Promise<ControlAnswer> {
  const request = controlRequest.safeParse(parseJson(line));
  if (!request.success) return refuse('request_malformed', 'The line is not a control request.');
  const { command } = request.data;
  if (!Object.hasOwn(CONTROL_FORMS, command)) return refuse('command_unknown', `There is no command ${command}.`);
  try {
    return { ok: true, result: await runCommand(handlers, command as ControlCommand, request.data.form) };
  } catch (error) {
    const said = sentenceOf(error);
    if (said !== undefined) return refuse(said.code, said.error);
    log.error('a control command failed', { error, command });
    return refuse('internal', ERRORS.internal.error);
  }
}

/** Checks a command's form and runs it. @throws Refusal `field_invalid`, and what its handler throws. */
export async function runCommand(handlers: ControlHandlers, command: ControlCommand, form: unknown): Promise<unknown> {
  const parsed = CONTROL_FORMS[command].safeParse(form);
  if (!parsed.success)
    throw new Refusal('field_invalid', { field: parsed.error.issues[0]?.path.map(String).join('.') });
  return await (handlers[command] as (form: unknown) => Promise<unknown>)(parsed.data);
}

/** What an operator is told of an expected "no"; undefined for a fault. */
export function sentenceOf(error: unknown): { code: string; error: string } | undefined {
  if (error instanceof UnknownPerson) return { code: 'person_unknown', error: error.message };
  if (error instanceof Refusal) {
    const field = error.field === undefined || error.field === '' ? '' : ` (${error.field})`;
    return { code: error.code, error: `${ERRORS[error.code].error}${field}` };
  }
  if (error instanceof OwnerExists) return { code: 'owner_exists', error: error.message };
  if (error instanceof NotOneOwner) return { code: 'owner_unclear', error: error.message };
  if (error instanceof FolderError) return { code: 'folder_unusable', error: error.message };
  return undefined;
}

function refuse(code: string, error: string): ControlAnswer {
  return { ok: false, code, error };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
