/**
 * `npm run clients`: Debian's own calendar programs against a server of the test's. Each discovers, creates, edits, removes
 * and meets a conflict, and a second run of it writes nothing. Last come its mail servers. What is not installed is
 * skipped with its reason.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request, startServer, type TestServer } from '#test/support/server.ts';
import { succeed, type Account } from './account.ts';
import { calcurse } from './calcurse.ts';
import { litmus } from './litmus.ts';
import { mailThroughPostfix } from './postfix.ts';
import { thunderbirdOrganises } from './thunderbird.ts';
import { vdirsyncerAndKhal } from './vdirsyncer.ts';

const PYTHON = '/usr/bin/python3';

/** Runs one of the scripts beside this file as that person. */
async function runScript(account: Account, script: string, under: readonly string[] = []): Promise<void> {
  const { server, user, password } = account;
  const path = fileURLToPath(new URL(script, import.meta.url));
  const [command, ...args] = [...under, PYTHON, path, server.calendar, user, password];
  await succeed(account, command, args);
}

interface Client {
  readonly name: string;
  /** What must be there for it to run: programs, and a module of Python. */
  readonly needs: readonly (readonly [command: string, args: readonly string[]])[];
  /** Answers what there is to say of a run that went well. */
  readonly run: (account: Account) => Promise<string | void>;
}

const CLIENTS: readonly Client[] = [
  {
    name: 'vdirsyncer and khal',
    needs: [
      ['vdirsyncer', ['--version']],
      ['khal', ['--version']],
    ],
    run: vdirsyncerAndKhal,
  },
  {
    name: 'calcurse',
    needs: [
      ['calcurse', ['--version']],
      ['/usr/bin/python3', ['-c', 'import httplib2']],
    ],
    run: calcurse,
  },
  {
    name: 'python3-caldav',
    needs: [[PYTHON, ['-c', 'import caldav']]],
    run: async (account) => await runScript(account, 'python-caldav.py'),
  },
  {
    name: 'Evolution',
    needs: [
      ['dbus-run-session', ['--version']],
      [PYTHON, ['-c', 'import gi; gi.require_version("ECal", "2.0"); from gi.repository import ECal']],
      ['test', ['-x', '/usr/libexec/evolution-source-registry']],
    ],
    run: async (account) => await runScript(account, 'evolution.py', ['dbus-run-session', '--']),
  },
  {
    name: 'litmus',
    needs: [['litmus', ['--version']]],
    run: litmus,
  },
  {
    name: 'Thunderbird',
    needs: [['thunderbird', ['--version']]],
    run: thunderbirdOrganises,
  },
  {
    name: 'Postfix and OpenDKIM',
    needs: [
      ['test', ['-x', '/usr/sbin/postfix']],
      ['test', ['-x', '/usr/sbin/opendkim']],
      ['sh', ['-c', 'test "$(id -u)" = 0']],
    ],
    run: mailThroughPostfix,
  },
];

/** Runs one client as a person of its own; answers whether it failed. */
async function judge(server: TestServer, client: Client): Promise<boolean> {
  const missing = client.needs.find(([command, args]) => spawnSync(command, args).status !== 0);
  if (missing !== undefined) {
    process.stdout.write(`skipped  ${client.name}: ${[missing[0], ...missing[1]].join(' ')} does not run here\n`);
    return false;
  }
  const user = client.name.toLowerCase().replaceAll(/\W+/g, '-');
  const person = await server.person(user);
  const made = await request<{ password: string }>('POST', `${server.coordinator}/v1/app-passwords`, {
    body: { name: client.name },
    token: person.session.token,
  });
  const folder = await mkdtemp(join(tmpdir(), 'parley-client-'));
  try {
    const said = await client.run({ server, user, password: made.body.password, folder });
    process.stdout.write(`passed   ${client.name}${said === undefined ? '' : `: ${said}`}\n`);
    return false;
  } catch (error) {
    process.stdout.write(`failed   ${client.name}: ${error instanceof Error ? error.message : String(error)}\n`);
    return true;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const server = await startServer();
try {
  for (const client of CLIENTS) if (await judge(server, client)) process.exitCode = 1;
} finally {
  await server.stop();
}
