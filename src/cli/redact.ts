/** `parley redact`: the de-personalised view of anybody's log, from standard input to standard output. */
import { readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { KnownPeople } from '#src/redaction/identifiers/known-people.ts';
import { Redactor, type RedactorOptions } from '#src/redaction/redactor.ts';
import { CommandError } from './command-error.ts';

/** Bytes that `--explain` reads whole: it tells places in the whole text. More is refused. */
export const EXPLAIN_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The key of a file that holds 64 hex digits.
 *
 * @throws CommandError that says what is wrong with it, and never what it holds.
 */
export function readKeyFile(path: string): Buffer {
  const text = readText('key', path).trim();
  if (!/^[0-9a-fA-F]{64}$/.test(text))
    throw new CommandError(`The key file ${path} must hold 64 hex digits; it holds ${text.length} characters.`);
  return Buffer.from(text, 'hex');
}

/** The names of a file, a username or a full name in each line; nobody's without a file. @throws CommandError where it cannot be read. */
export function readPeopleFile(path: string | undefined): SharedArrayBuffer {
  const people = new KnownPeople();
  const names = path === undefined ? [] : readText('people', path).split('\n');
  for (const name of names.map((line) => line.trim())) {
    people.addUsername(name);
    people.addFullName(name);
  }
  return people.memory;
}

function readText(what: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new CommandError(`The ${what} file ${path} cannot be read: ${reason}.`, { cause: error });
  }
}

/**
 * Redacts a log as it comes, holding one line at most. With `isExplained` it writes what would be replaced instead, a
 * line of `class start-end replacement` each, with places in bytes.
 */
export async function redactStream(
  knowledge: RedactorOptions,
  input: Readable,
  output: Writable,
  isExplained: boolean,
): Promise<void> {
  const redactor = new Redactor(knowledge);
  const work = isExplained ? explained(redactor, input) : redacted(redactor, input);
  try {
    await pipeline(work, output, { end: false });
  } catch (error) {
    // A reader that has seen enough, as `head` has.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

async function* redacted(redactor: Redactor, input: Readable): AsyncGenerator<Buffer> {
  const stream = redactor.stream();
  for await (const chunk of input) {
    const ready = stream.push(chunk as Buffer);
    if (ready.length > 0) yield ready;
  }
  yield stream.end();
}

async function* explained(redactor: Redactor, input: Readable): AsyncGenerator<string> {
  for (const { class: name, start, end, replacement } of redactor.explain(await readAll(input)))
    yield `${name}\t${start}-${end}\t${replacement}\n`;
}

async function readAll(input: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += (chunk as Buffer).length;
    if (bytes > EXPLAIN_BYTES_MAX) throw new CommandError('The log is too large to explain: 64 MiB at most.');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}
