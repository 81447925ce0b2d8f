#!/usr/bin/env node
/** The `parley` command: people, sessions' ends, seeds, backups and checks of an installation, running or stopped. */
import { rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseInstant } from '#src/base/time.ts';
import { ConfigError, readConfig, type Config } from '#src/config.ts';
import type { MadeReset } from '#src/server/control/control-commands.ts';
import { FolderError } from '#storage/engine/folder.ts';
import { verifyFile, verifyFolder } from './audit-commands.ts';
import { CommandError, EXIT, UsageError } from './command-error.ts';
import { helpPage, readCommandLine, readCount, type CommandLine, type CommandName } from './command-line.ts';
import { connectToServer, type ControlConnection } from './control-client.ts';
import { joinNode, runNode } from './node-commands.ts';
import { check, compare, dropLogs, openOffline, restore, type RestoreTarget } from './offline.ts';
import { readPassword } from './password-input.ts';
import { readKeyFile, readPeopleFile, redactStream } from './redact.ts';
import { writeSelfSigned } from './tls-commands.ts';

/** People fetched at a time. */
const LIST_PAGE = 1000;

type Run = (line: CommandLine, config: Config) => Promise<number>;

const RUNS: Readonly<Record<CommandName, Run>> = {
  init: async ({ options }, config) => await addUser(config, options['owner'] as string, 'owner'),
  invite: async (line, config) => {
    if (line.argument !== 'owner') throw new UsageError('Usage: parley invite owner [--data FOLDER]');
    return await withConnection(config, false, async (connection) => {
      const { url } = await connection.call('invite.owner', {});
      if (url === null) throw new CommandError('This installation has an owner already.');
      say(url);
    });
  },
  'user add': async ({ argument }, config) => await addUser(config, argument, 'person'),
  'user block': async ({ argument }, config) =>
    await withConnection(config, false, async (connection) => {
      await connection.call('user.block', { username: argument });
      say(`${argument} is blocked.`);
    }),
  'user unblock': async ({ argument }, config) =>
    await withConnection(config, false, async (connection) => {
      await connection.call('user.unblock', { username: argument });
      say(`${argument} may sign in again.`);
    }),
  'user reset': async ({ argument }, config) =>
    await withConnection(config, false, async (connection) => {
      sayReset(await connection.call('user.reset', { username: argument }));
    }),
  'owner reset': async ({ options: { name } }, config) =>
    await withConnection(config, false, async (connection) => {
      sayReset(await connection.call('owner.reset', name === undefined ? {} : { username: name }));
    }),
  'user forget-factors': async ({ argument }, config) =>
    await withConnection(config, false, async (connection) => {
      await connection.call('user.forget-factors', { username: argument });
      say(`${argument} has no second factor any more, and was signed out.`);
    }),
  'owner forget-factors': async ({ options: { name } }, config) =>
    await withConnection(config, false, async (connection) => {
      const form = name === undefined ? {} : { username: name };
      const { username } = await connection.call('owner.forget-factors', form);
      say(`${username} has no second factor any more, and was signed out.`);
    }),
  'user list': async (_line, config) => await withConnection(config, false, listPeople),
  seed: async ({ options }, config) => await seed(config, options),
  status: async (_line, config) => {
    let isRunning = false;
    await withConnection(config, false, async (connection) => {
      isRunning = connection.isRunning;
      for (const [name, value] of Object.entries(await connection.call('status', {}))) say(`${name}: ${value}`);
    });
    return isRunning ? EXIT.ok : EXIT.refused;
  },
  backup: async ({ options }, config) =>
    await withConnection(config, false, async (connection) => {
      const [out, earlier] = [resolve(options['out'] as string), options['earlier']];
      const form = { out, ...(earlier === undefined ? {} : { earlier: resolve(earlier) }) };
      for (const [name, value] of Object.entries(await connection.call('backup', form))) say(`${name}: ${value}`);
    }),
  'audit export': async ({ options }, config) =>
    await withConnection(config, false, async (connection) => {
      const form = { out: resolve(options['out'] as string) };
      for (const [name, value] of Object.entries(await connection.call('audit.export', form))) say(`${name}: ${value}`);
    }),
  'audit verify': async ({ options }, config) => {
    const file = options['file'];
    const { isWhole, lines } = await (file === undefined ? verifyFolder(config.data) : verifyFile(file));
    for (const line of lines) say(line);
    return isWhole ? EXIT.ok : EXIT.refused;
  },
  'keys rotate': async ({ flags }, config) =>
    await withConnection(config, false, async (connection) => {
      const rotated = await connection.call('keys.rotate', { at_once: flags.has('at-once') });
      for (const [name, value] of Object.entries(rotated)) say(`${name}: ${value}`);
    }),
  restore: async ({ options }, config) => {
    await assertStopped(config);
    const report = await restore(resolve(options['from'] as string), config, readTarget(options, config));
    for (const [name, value] of Object.entries(report)) say(`${name}: ${value}`);
    return EXIT.ok;
  },
  'archive trim': async ({ options }, config) => {
    const { trimArchive } = await import('#storage/backup/archive-trim.ts');
    const trimmed = trimArchive(archiveOf(options, config), resolve(options['before'] as string));
    for (const [name, value] of Object.entries(trimmed)) say(`${name}: ${value}`);
    return EXIT.ok;
  },
  'cluster status': async (_line, config) =>
    await withConnection(config, false, async (connection) => {
      const { host, hosts } = await connection.call('cluster.status', {});
      say(`This host is ${host}.`);
      for (const one of hosts) {
        const role = one.drained ? `${one.role}, drained` : one.role;
        say(`${one.host}: ${role}, ${one.lag_ms} ms behind, version ${one.version}, at ${one.address}`);
      }
    }),
  'cluster drain': async (_line, config) =>
    await withConnection(config, false, async (connection) => {
      const { host } = await connection.call('cluster.drain', {});
      say(`${host} is drained: it leaves the lead to others until parley cluster resume.`);
    }),
  'cluster resume': async (_line, config) =>
    await withConnection(config, false, async (connection) => {
      const { host } = await connection.call('cluster.resume', {});
      say(`${host} may lead again.`);
    }),
  'cluster leave': async (_line, config) => {
    const { leaveCluster } = await import('./cluster-commands.ts');
    say(`${config.data} left the cluster ${await leaveCluster(config)}. Start it without PARLEY_CLUSTER.`);
    return EXIT.ok;
  },
  check: async ({ flags, options: { archive, compare: other } }, config) => {
    await assertStopped(config);
    if (flags.has('drop-damaged-logs')) await dropLogs(config.data, say);
    const problems = [...(await check(config.data))];
    if (archive !== undefined) {
      const { checkArchive } = await import('#storage/check/archive-check.ts');
      const { files, problems: found, reaches } = checkArchive(config.data, resolve(archive));
      problems.push(...found);
      say(`The archive has ${files} files and reaches to ${reaches ?? 'no instant'}.`);
    }
    if (other !== undefined) {
      const { alike, differences } = await compare(config.data, resolve(other));
      problems.push(...differences);
      say(`${alike} rows are the same in both folders.`);
    }
    for (const problem of problems) say(problem);
    say(problems.length === 0 ? 'No problems found.' : `Problems found: ${problems.length}.`);
    return problems.length === 0 ? EXIT.ok : EXIT.refused;
  },
  'tls self-signed': async ({ options }) => {
    for (const line of await writeSelfSigned(options['out'] as string, options['hosts'])) say(line);
    return EXIT.ok;
  },
  'node join': async ({ options }, config) => {
    const id = await joinNode(options, config.data);
    say(`This host joined as ${id}. Run its agent: npx parley node run --data ${config.data}`);
    return EXIT.ok;
  },
  'node run': async ({ options }, config) => await runNode(options, config.data),
  redact: async ({ options, flags }) => {
    const key = readKeyFile(options['key-file'] as string);
    const people = readPeopleFile(options['people-file']);
    await redactStream({ key, people }, process.stdin, process.stdout, flags.has('explain'));
    return EXIT.ok;
  },
  help: async () => {
    process.stdout.write(helpPage());
    return EXIT.ok;
  },
};

/** The instant to restore to, where one was named. @throws UsageError */
function readTarget(options: Readonly<Record<string, string>>, config: Config): RestoreTarget | undefined {
  const { at: text, contents } = options;
  if (text === undefined) {
    if (contents === undefined && options['archive'] === undefined) return undefined;
    throw new UsageError('--archive and --contents go with --at.');
  }
  const at = parseInstant(text);
  if (at === undefined)
    throw new UsageError(`--at takes an instant in UTC such as 2026-11-24T10:15:00Z, not "${text}".`);
  const archive = archiveOf(options, config);
  return { at, archive, ...(contents === undefined ? {} : { contents: resolve(contents) }) };
}

/** @throws UsageError where none is known. */
function archiveOf(options: Readonly<Record<string, string>>, config: Config): string {
  const archive = options['archive'] ?? config.logArchive;
  if (archive === undefined) throw new UsageError('There is no PARLEY_LOG_ARCHIVE: name the folder with --archive.');
  return resolve(archive);
}

async function addUser(config: Config, username: string, role: 'owner' | 'person'): Promise<number> {
  const password = await readPassword(username);
  return await withConnection(config, role === 'owner', async (connection) => {
    await connection.call('user.add', { username, password, role });
    say(role === 'owner' ? `${username} owns this installation.` : `${username} was added.`);
  });
}

async function listPeople(connection: ControlConnection): Promise<void> {
  for (let after: string | null = ''; after !== null;) {
    const { items, next }: { items: readonly Listed[]; next: string | null } = await connection.call('user.list', {
      after,
      limit: LIST_PAGE,
    });
    for (const { username, state, role, devices } of items) say(`${username}\t${state}\t${role}\t${devices}`);
    after = next;
  }
}

/** On standard output the link alone, for whoever pipes it; what it is goes beside it. */
function sayReset({ expires_at: until, url, username }: MadeReset): void {
  process.stderr.write(`Whoever opens this link sets the password of ${username}, once, until ${until}:\n`);
  say(url);
}

interface Listed {
  readonly username: string;
  readonly state: string;
  readonly role: string;
  readonly devices: number;
}

async function seed(config: Config, options: Readonly<Record<string, string>>): Promise<number> {
  const size = {
    people: readCount(options, 'people'),
    rooms: readCount(options, 'rooms'),
    members: readCount(options, 'members'),
  };
  const out = resolve(options['out'] as string);
  // Made first and by itself: finding out afterwards that it can't be written would lose the tokens.
  writeFileSync(out, '', { mode: 0o600, flag: 'wx' });
  try {
    return await withConnection(config, true, async (connection) => {
      const seeded = await connection.call('seed', size);
      writeFileSync(out, `${JSON.stringify(seeded)}\n`);
      say(`${seeded.people.length} people and ${seeded.rooms.length} rooms were added; ${out} has their tokens.`);
    });
  } catch (error) {
    rmSync(out, { force: true });
    throw error;
  }
}

async function withConnection(
  config: Config,
  make: boolean,
  use: (connection: ControlConnection) => Promise<void>,
): Promise<number> {
  const connection = (await connectToServer(config.data)) ?? (await openOffline(config, make));
  try {
    await use(connection);
    return EXIT.ok;
  } finally {
    await connection.close();
  }
}

async function assertStopped(config: Config): Promise<void> {
  const connection = await connectToServer(config.data);
  if (connection === undefined) return;
  await connection.close();
  throw new CommandError(`A server is running on ${config.data}: stop it first.`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function main(): Promise<number> {
  const line = readCommandLine(process.argv.slice(2));
  // A log is redacted by its key alone: what an installation is set to, rightly or wrongly, is nothing to it.
  const given = readConfig(line.command === 'redact' ? {} : process.env);
  return await RUNS[line.command](line, { ...given, data: line.data ?? given.data });
}

try {
  process.exitCode = await main();
} catch (error) {
  const isFile = (error as NodeJS.ErrnoException).syscall !== undefined;
  const isExpected =
    error instanceof CommandError || error instanceof FolderError || error instanceof ConfigError || isFile;
  process.stderr.write(isExpected ? `parley: ${(error as Error).message}\n` : `parley: ${(error as Error).stack}\n`);
  process.exitCode = error instanceof UsageError ? EXIT.usage : EXIT.refused;
}
