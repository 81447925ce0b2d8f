/** A server under test, ours or a peer's: one contract, so that a bench treats all alike. */
import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';
import { within } from './deadline.ts';
import type { Dialect } from './dialect.ts';

export interface Person {
  username: string;
  token: string;
  device: string;
}

export interface Room {
  id: string;
  members: string[];
}

/** Who and what a server is loaded with. */
export interface World {
  people: Person[];
  rooms: Room[];
}

export interface WorldSize {
  people: number;
  rooms: number;
  members: number;
}

export interface Subject {
  readonly name: string;
  readonly dialect: Dialect;
  readonly host: string;
  readonly port: number;
  /** Process id of the running server, for its CPU and memory. */
  readonly pid: number;
  readonly world: World;
  socketPath(person: Person): string;
  stop(): Promise<void>;
}

/** The path to post a message to. All subjects take the same form. */
export function messagesPath(room: Room): string {
  return `/v1/conversations/${room.id}/messages`;
}

/** Servers must say that they listen within this time; seeding is not part of it. */
const READY_SECONDS = 60;

/** Of what a server says, so many last lines are shown when it fails. */
const LINES_KEPT = 20;

/**
 * The one line of JSON with `"event":"ready"` that a server prints when it listens.
 * @throws Error with the server's last lines when it ends or stays silent instead.
 */
export async function readyLine(name: string, child: ChildProcess): Promise<Record<string, unknown>> {
  const lines: string[] = [];
  const found = Promise.withResolvers<Record<string, unknown>>();
  const hear = (line: string): void => {
    lines.push(line);
    if (lines.length > LINES_KEPT) lines.shift();
    const said = parseObject(line);
    if (said?.['event'] === 'ready') found.resolve(said);
  };
  // Both outputs are read to the end, as a full pipe would stop the server; what it said is shown only if it fails.
  createInterface({ input: child.stdout as Readable }).on('line', hear);
  createInterface({ input: child.stderr as Readable }).on('line', hear);
  child.once('exit', (code, signal) => {
    const last = `${name} ended with ${code ?? signal}:\n${lines.join('\n')}`;
    found.reject(new Error(last));
    if (code !== 0 && signal === null) process.stderr.write(`${last}\n`);
  });
  return await within(`${name} to be ready`, READY_SECONDS, found.promise);
}

function parseObject(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/**
 * Ends a server process and waits until it is gone: SIGTERM, and SIGKILL when it does not obey. Answers its exit code,
 * or null after a kill.
 */
export async function endProcess(
  child: ChildProcess,
  signal: 'SIGTERM' | 'SIGKILL',
  seconds: number,
): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  child.kill(signal);
  const killer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000);
  const code = await ended;
  clearTimeout(killer);
  return code;
}
