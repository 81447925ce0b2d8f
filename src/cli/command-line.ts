/** What was typed: a command, its arguments and its options, checked before anything is done. */
import { parseArgs } from 'node:util';
import { UsageError } from './command-error.ts';

interface CommandShape {
  /** Names of the arguments behind the command, for the usage line. */
  readonly takes: readonly string[];
  /** Option → what stands for its value in the usage line. All of them are required. */
  readonly options: Readonly<Record<string, string>>;
  /** Options that may be left out, in the same form. */
  readonly optional?: Readonly<Record<string, string>>;
  /** Options without a value that may be left out. */
  readonly flags?: readonly string[];
  readonly say: string;
}

/** Every command, in the order of the help page. */
export const COMMANDS = {
  init: {
    takes: [],
    options: { owner: 'NAME' },
    say: 'Makes the data folder and its first owner. Reads the password.',
  },
  invite: {
    takes: ['owner'],
    options: {},
    say: 'Prints a new set-up link for the first owner; it works once, for a day.',
  },
  'user add': { takes: ['NAME'], options: {}, say: 'Adds a person. Reads the password.' },
  'user block': { takes: ['NAME'], options: {}, say: 'Ends all sessions of a person at once and keeps them out.' },
  'user unblock': { takes: ['NAME'], options: {}, say: 'Lets a blocked person sign in again.' },
  'user reset': {
    takes: ['NAME'],
    options: {},
    say: 'Prints a link that sets the password of a person; it works once, for a day, and ends their sessions.',
  },
  'owner reset': {
    takes: [],
    options: {},
    optional: { name: 'NAME' },
    say: 'The same for an owner, who is not reset in the console; the only one, or the one named.',
  },
  'user forget-factors': {
    takes: ['NAME'],
    options: {},
    say: 'Takes all second factors of a person away who lost theirs, and ends their sessions.',
  },
  'owner forget-factors': {
    takes: [],
    options: {},
    optional: { name: 'NAME' },
    say: 'The same for an owner; the only one, or the one named.',
  },
  'user list': { takes: [], options: {}, say: 'Lists the people: username, state, role, devices.' },
  seed: {
    takes: [],
    options: { people: 'N', rooms: 'M', members: 'K', out: 'FILE' },
    say: 'Adds people and rooms for load tests; writes names, passwords and tokens to a new file.',
  },
  status: { takes: [], options: {}, say: 'Says how the server is. Exits with 1 when it is stopped.' },
  backup: {
    takes: [],
    options: { out: 'FOLDER' },
    optional: { earlier: 'FOLDER' },
    say: 'Writes a verified copy of all data to a new folder. Attachments that an earlier backup has are not copied again.',
  },
  restore: {
    takes: [],
    options: { from: 'FOLDER' },
    optional: { at: 'TIME', archive: 'FOLDER', contents: 'FOLDER' },
    say: 'Puts a backup into an empty data folder. The server must be stopped. With --at, to an instant such as 2026-11-24T10:15:00Z, from the archive of the logs (PARLEY_LOG_ARCHIVE, or the one named); attachments that came after the backup from another data folder.',
  },
  'archive trim': {
    takes: [],
    options: { before: 'BACKUP' },
    optional: { archive: 'FOLDER' },
    say: 'Removes from the archive of the logs what ended before a backup was begun: the oldest that is kept.',
  },
  'cluster status': {
    takes: [],
    options: {},
    say: 'Lists the hosts of the cluster that are there, as this one hears of them: who leads, who is drained, how far each is behind.',
  },
  'cluster drain': {
    takes: [],
    options: {},
    say: 'Has this host of a cluster leave the lead to others, also beyond a restart: before maintenance. It goes on serving as one that follows, and leads only where nobody else has for 15 seconds. Refused where nobody else could lead.',
  },
  'cluster resume': {
    takes: [],
    options: {},
    say: 'Ends what `cluster drain` began: this host may lead again.',
  },
  'cluster leave': {
    takes: [],
    options: {},
    say: 'Makes the folder of a stopped host of a cluster an installation of its own, with all that it has. Its cluster takes it back as an empty folder only.',
  },
  'audit export': {
    takes: [],
    options: { out: 'FILE' },
    say: 'Writes the audit trail to a new file, a line of JSON for each entry, with the hashes that prove it.',
  },
  'audit verify': {
    takes: [],
    options: {},
    optional: { file: 'FILE' },
    say: 'Walks the hash chain of the audit trail, or of an exported file. Exits with 1 when it breaks, and says where.',
  },
  'keys rotate': {
    takes: [],
    options: {},
    flags: ['at-once'],
    say: 'Makes new keys that sign sessions and links; those before hold for what they signed, or with --at-once no more.',
  },
  'tls self-signed': {
    takes: [],
    options: { out: 'FOLDER' },
    optional: { hosts: 'NAME,…' },
    say: 'Makes a certificate for a first look over TLS, for this machine’s names or those given, and prints its fingerprint.',
  },
  check: {
    takes: [],
    options: {},
    optional: { archive: 'FOLDER', compare: 'FOLDER' },
    flags: ['drop-damaged-logs'],
    say: 'Looks for damage in the data, and in the archive of its logs that is named. --compare says what differs from the folder of another host of the cluster. The server must be stopped. --drop-damaged-logs sets damaged logs aside: what only they have is lost.',
  },
  'node join': {
    takes: [],
    options: { coordinator: 'URL', token: 'TOKEN' },
    say: 'Joins this host to a coordinator, with the join token of a join command.',
  },
  'node run': {
    takes: [],
    options: {},
    optional: { 'journal-dir': 'FOLDER', 'reports-dir': 'FOLDER', certificates: 'FILE,…' },
    say: "Runs this host's agent. Journals come from journalctl, or from UNIT.log in the journal folder.",
  },
  redact: {
    takes: [],
    options: { 'key-file': 'FILE' },
    optional: { 'people-file': 'FILE' },
    flags: ['explain'],
    say: 'De-personalises a log from standard input. The key file holds 64 hex digits, that of people a username or full name a line. --explain lists class, bytes, replacement.',
  },
  help: { takes: [], options: {}, say: 'Prints this page.' },
} as const satisfies Record<string, CommandShape>;

export type CommandName = keyof typeof COMMANDS;

export interface CommandLine {
  readonly command: CommandName;
  /** The one argument of commands that take one. */
  readonly argument: string;
  readonly options: Readonly<Record<string, string>>;
  /** Options without a value that were named. */
  readonly flags: ReadonlySet<string>;
  /** The data folder, where it was named. */
  readonly data: string | undefined;
}

/** @throws UsageError that says what is wrong with it. */
export function readCommandLine(words: readonly string[]): CommandLine {
  const asked = words.length === 0 || words.includes('--help') || words.includes('-h') ? ['help'] : words;
  const command = (Object.keys(COMMANDS) as CommandName[]).find((name) =>
    name.split(' ').every((word, at) => asked[at] === word),
  );
  if (command === undefined)
    throw new UsageError(`There is no command "${asked.slice(0, 2).join(' ')}". See: parley help`);
  const shape: CommandShape = COMMANDS[command];
  const { values, positionals, flags } = parse(asked.slice(command.split(' ').length), shape, command);
  const missing = Object.keys(shape.options).find((name) => values[name] === undefined);
  if (positionals.length !== shape.takes.length || missing !== undefined)
    throw new UsageError(`Usage: ${usageOf(command)}`);
  const { data, ...options } = values;
  return { command, argument: positionals[0] ?? '', options: options as Record<string, string>, flags, data };
}

function parse(words: readonly string[], shape: CommandShape, command: CommandName) {
  const names = [...Object.keys({ ...shape.options, ...shape.optional }), 'data'];
  const known = shape.flags ?? [];
  const options = {
    ...Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
    ...Object.fromEntries(known.map((name) => [name, { type: 'boolean' as const }])),
  };
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const flags = new Set(known.filter((name) => values[name] === true));
    const texts = Object.fromEntries(Object.entries(values).filter(([, value]) => typeof value === 'string'));
    return { values: texts as Record<string, string | undefined>, positionals, flags };
  } catch (error) {
    const [said] = (error as Error).message.split('. ');
    throw new UsageError(`${said}. Usage: ${usageOf(command)}`, { cause: error });
  }
}

/** A whole number from an option. @throws UsageError */
export function readCount(options: Readonly<Record<string, string>>, name: string): number {
  const text = options[name] ?? '';
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} takes a whole number, not "${text}".`);
  return Number(text);
}

function usageOf(command: CommandName): string {
  const shape: CommandShape = COMMANDS[command];
  const options = Object.entries(shape.options).map(([name, value]) => `--${name} ${value}`);
  const optional = Object.entries(shape.optional ?? {}).map(([name, value]) => `[--${name} ${value}]`);
  const flags = (shape.flags ?? []).map((name) => `[--${name}]`);
  return ['parley', command, ...shape.takes, ...options, ...optional, ...flags, '[--data FOLDER]'].join(' ');
}

/** The help page. */
export function helpPage(): string {
  const lines = (Object.keys(COMMANDS) as CommandName[]).map(
    (name) => `  ${usageOf(name)}\n      ${COMMANDS[name].say}`,
  );
  return [
    'parley: the command of a Parley installation. Works on a running and on a stopped server.',
    '',
    ...lines,
    '',
    'The data folder is --data, or PARLEY_DATA, or ./data. Passwords are read from standard input, or asked for.',
    'Exit status: 0 done, 1 refused, 2 wrong usage.',
    '',
  ].join('\n');
}
