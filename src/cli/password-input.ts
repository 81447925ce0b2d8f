/** Passwords come on standard input, or are typed unseen at a terminal; never as arguments, which every process can read. */
import type { ReadStream } from 'node:tty';
import { PASSWORD_LENGTH_MAX } from '#src/protocol/sessions/sessions.ts';
import { CommandError } from './command-error.ts';

/** The longest password in its longest encoding, and room for a line end. More on standard input is not a password. */
const INPUT_BYTES_MAX = PASSWORD_LENGTH_MAX * 4 + 2;

const ENTER = new Set(['\r', '\n', '\u0004']);
const ERASE = new Set(['\u0008', '\u007f']);
const INTERRUPT = '\u0003';

/**
 * The password: from a terminal asked for twice, otherwise the first line of standard input.
 * @throws CommandError when the two differ, or there is none.
 */
export async function readPassword(username: string): Promise<string> {
  if (!process.stdin.isTTY) return await readPiped();
  const terminal: ReadStream = process.stdin;
  terminal.setRawMode(true);
  const symbols = readSymbols(terminal);
  try {
    const password = await prompt(`Password for ${username}: `, symbols);
    if ((await prompt('Again: ', symbols)) !== password) throw new CommandError('The two passwords differ.');
    return password;
  } finally {
    terminal.setRawMode(false);
    await symbols.return();
  }
}

async function readPiped(): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (chunk.includes(10) || length > INPUT_BYTES_MAX) break;
  }
  if (length > INPUT_BYTES_MAX) throw new CommandError('Standard input holds more than a password.');
  const line = (Buffer.concat(chunks).toString('utf8').split('\n', 1)[0] as string).replace(/\r$/, '');
  if (line === '') throw new CommandError('There is no password on standard input.');
  return line;
}

async function* readSymbols(terminal: ReadStream): AsyncGenerator<string, void> {
  terminal.setEncoding('utf8');
  for await (const keys of terminal as AsyncIterable<string>) yield* keys;
}

async function prompt(question: string, symbols: AsyncGenerator<string, void>): Promise<string> {
  process.stderr.write(question);
  try {
    for (let typed: string[] = []; ;) {
      const { value: symbol, done } = await symbols.next();
      if (done === true || symbol === INTERRUPT) throw new CommandError('No password was given.');
      if (ENTER.has(symbol)) return typed.join('');
      typed = ERASE.has(symbol) ? typed.slice(0, -1) : [...typed, symbol];
    }
  } finally {
    process.stderr.write('\n');
  }
}
