/** A person of the test's server as a program knows them, the running of such programs, and another device of theirs. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestServer } from '#test/support/server.ts';

/** A program that takes longer waits for something. */
const PROGRAM_MILLIS_MAX = 60_000;

export interface Account {
  readonly server: TestServer;
  readonly user: string;
  readonly password: string;
  /** A folder of the client's own. */
  readonly folder: string;
}

export interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program that is given its answers; both outputs together. */
export async function runProgram(
  account: Account,
  command: string,
  args: readonly string[],
  answers = '',
): Promise<Outcome> {
  const { folder } = account;
  const own = { HOME: folder, XDG_CONFIG_HOME: folder, PYTHONDONTWRITEBYTECODE: '1' };
  const environment = { PATH: process.env['PATH'], TZ: 'UTC', LANG: 'C.UTF-8', ...own };
  const child = spawn(command, args, { cwd: folder, env: environment, timeout: PROGRAM_MILLIS_MAX });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // A program that has read what it needs may close its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(answers);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

export async function succeed(
  account: Account,
  command: string,
  args: readonly string[],
  answers = '',
): Promise<string> {
  const { code, output } = await runProgram(account, command, args, answers);
  assert.equal(code, 0, `${command} ${args.join(' ')} ended with ${code}:\n${output}`);
  return output;
}

/** A request as the same person from another device. */
export async function dav(account: Account, method: string, path: string, body?: string): Promise<Response> {
  const credentials = Buffer.from(`${account.user}:${account.password}`).toString('base64');
  const headers = { authorization: `Basic ${credentials}`, depth: '1', 'content-type': 'text/calendar' };
  const url = `${account.server.calendar}/dav/calendars/${account.user}/${path}`;
  return await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
}

/** The ctag of a calendar: whatever writes to it moves it. */
export async function ctagOf(account: Account, calendar: string): Promise<string> {
  const text = await (await dav(account, 'PROPFIND', `${calendar}/`)).text();
  const tag = /<D:sync-token>([^<]+)/.exec(text)?.[1];
  assert.ok(tag !== undefined, text);
  return tag;
}

export async function filesOf(account: Account, calendar: string): Promise<string[]> {
  const text = await (await dav(account, 'PROPFIND', `${calendar}/`)).text();
  return [...text.matchAll(/<D:href>[^<]*\/([^/<]+\.ics)<\/D:href>/g)].map(([, name = '']) => name);
}

export function eventOf(uid: string, summary: string): string {
  const lines = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Test//EN', 'BEGIN:VEVENT', `UID:${uid}`];
  lines.push('DTSTAMP:20260101T000000Z', 'DTSTART:20261202T090000Z', 'DTEND:20261202T100000Z', `SUMMARY:${summary}`);
  return [...lines, 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n');
}
