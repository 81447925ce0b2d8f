/**
 * `npm run clients`: Debian's own calendar programs against a server of the test's. Each discovers, creates, edits, removes
 * and meets a conflict, and a second run of it writes nothing. What is not installed is skipped with its reason.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request, startServer, type TestServer } from '#test/support/server.ts';

/** A program that takes longer waits for something. */
const PROGRAM_MILLIS_MAX = 60_000;

interface Account {
  readonly server: TestServer;
  readonly user: string;
  readonly password: string;
  /** A folder of the client's own. */
  readonly folder: string;
}

interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program that is given its answers; both outputs together. */
async function runProgram(account: Account, command: string, args: readonly string[], answers = ''): Promise<Outcome> {
  const { folder } = account;
  const environment = { PATH: process.env['PATH'], HOME: folder, TZ: 'UTC', LANG: 'C.UTF-8', XDG_CONFIG_HOME: folder };
  const child = spawn(command, args, { cwd: folder, env: environment, timeout: PROGRAM_MILLIS_MAX });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // A program that has read what it needs may close its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(answers);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

async function succeed(account: Account, command: string, args: readonly string[], answers = ''): Promise<string> {
  const { code, output } = await runProgram(account, command, args, answers);
  assert.equal(code, 0, `${command} ${args.join(' ')} ended with ${code}:\n${output}`);
  return output;
}

/** A request as the same person from another device. */
async function dav(account: Account, method: string, path: string, body?: string): Promise<Response> {
  const credentials = Buffer.from(`${account.user}:${account.password}`).toString('base64');
  const headers = { authorization: `Basic ${credentials}`, depth: '1', 'content-type': 'text/calendar' };
  const url = `${account.server.calendar}/dav/calendars/${account.user}/${path}`;
  return await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
}

/** The ctag of a calendar: whatever writes to it moves it. */
async function ctagOf(account: Account, calendar: string): Promise<string> {
  const text = await (await dav(account, 'PROPFIND', `${calendar}/`)).text();
  const tag = /<D:sync-token>([^<]+)/.exec(text)?.[1];
  assert.ok(tag !== undefined, text);
  return tag;
}

async function filesOf(account: Account, calendar: string): Promise<string[]> {
  const text = await (await dav(account, 'PROPFIND', `${calendar}/`)).text();
  return [...text.matchAll(/<D:href>[^<]*\/([^/<]+\.ics)<\/D:href>/g)].map(([, name = '']) => name);
}

function eventOf(uid: string, summary: string): string {
  const lines = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Test//EN', 'BEGIN:VEVENT', `UID:${uid}`];
  lines.push('DTSTAMP:20260101T000000Z', 'DTSTART:20261202T090000Z', 'DTEND:20261202T100000Z', `SUMMARY:${summary}`);
  return [...lines, 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n');
}

const quoted = (text: string): string => JSON.stringify(text);

async function vdirsyncerAndKhal(account: Account): Promise<void> {
  const { folder, password, server, user } = account;
  const config = join(folder, 'vdirsyncer.conf');
  const local = join(folder, 'calendars');
  await mkdir(join(local, 'shared'), { recursive: true });
  await writeFile(
    config,
    `[general]\nstatus_path = ${quoted(join(folder, 'status'))}\n[pair cal]\na = "local"\nb = "remote"\ncollections = ["from a", "from b"]\nmetadata = ["displayname", "color"]\n[storage local]\ntype = "filesystem"\npath = ${quoted(local)}\nfileext = ".ics"\n[storage remote]\ntype = "caldav"\nurl = ${quoted(`${server.calendar}/`)}\nusername = ${quoted(user)}\npassword = ${quoted(password)}\n`,
  );
  const vdirsyncer = async (...args: string[]) =>
    await succeed(account, 'vdirsyncer', ['-c', config, ...args], 'y\ny\ny\ny\n');
  // Discovery finds the calendar that everybody has, and makes the one that is only here (extended MKCOL).
  await vdirsyncer('discover');
  await vdirsyncer('sync');
  assert.deepEqual((await readdir(local)).toSorted(), ['default', 'shared']);
  const khalConfig = join(folder, 'khal.conf');
  await writeFile(
    khalConfig,
    `[calendars]\n[[shared]]\npath = ${join(local, 'shared')}\n[sqlite]\npath = ${join(folder, 'khal.db')}\n[locale]\nlocal_timezone = Europe/Berlin\ndefault_timezone = Europe/Berlin\ntimeformat = %H:%M\ndateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\ndatetimeformat = %Y-%m-%d %H:%M\nlongdatetimeformat = %Y-%m-%d %H:%M\n`,
  );
  const khal = async (...args: string[]) => await succeed(account, 'khal', ['-c', khalConfig, ...args]);
  await khal('new', '-a', 'shared', '-r', 'weekly', '2026-12-01', '10:00', '11:00', 'Planning');
  await vdirsyncer('sync');
  const [name] = await filesOf(account, 'shared');
  assert.ok(name !== undefined);
  const stored = await (await dav(account, 'GET', `shared/${name}`)).text();
  assert.match(stored, /SUMMARY:Planning/);
  assert.equal(stored, await readFile(join(local, 'shared', name), 'utf8'), 'the bytes are those that khal wrote');
  // A second run has nothing to write.
  const before = await ctagOf(account, 'shared');
  await vdirsyncer('sync');
  assert.equal(await ctagOf(account, 'shared'), before);
  // Another device adds and changes; both arrive.
  assert.equal((await dav(account, 'PUT', 'shared/other.ics', eventOf('other', 'From the telephone'))).status, 201);
  assert.equal((await dav(account, 'PUT', `shared/${name}`, stored.replace('Planning', 'Changed there'))).status, 204);
  await vdirsyncer('sync');
  const listed = await khal('list', '2026-12-01', '2026-12-09');
  assert.match(listed, /Changed there[\s\S]*From the telephone[\s\S]*Changed there/);
  // Both sides change one object: vdirsyncer says so and keeps both as they are until it is told who wins.
  await writeFile(join(local, 'shared', 'other.ics'), eventOf('other', 'Here'));
  await dav(account, 'PUT', 'shared/other.ics', eventOf('other', 'There'));
  const conflict = await runProgram(account, 'vdirsyncer', ['-c', config, 'sync']);
  assert.match(conflict.output, /conflict/i);
  assert.match(await (await dav(account, 'GET', 'shared/other.ics')).text(), /SUMMARY:There/);
  // Removal goes both ways.
  await rm(join(local, 'shared', name));
  await dav(account, 'DELETE', 'shared/other.ics');
  await writeFile(join(local, 'shared', 'other.ics'), eventOf('other', 'From the telephone'));
  await vdirsyncer('sync');
  assert.deepEqual(await filesOf(account, 'shared'), []);
}

async function calcurse(account: Account): Promise<void> {
  const { folder, password, server, user } = account;
  const [data, config, database] = ['data', 'caldav.conf', 'sync.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await mkdir(data);
  await dav(account, 'MKCALENDAR', 'calcurse/');
  await dav(account, 'PUT', 'calcurse/there.ics', eventOf('there', 'From the server'));
  await writeFile(
    config,
    `[General]\nBinary = calcurse\nHostname = ${new URL(server.calendar).host}\nPath = /dav/calendars/${user}/calcurse/\nAuthMethod = basic\nInsecureSSL = No\nHTTPS = No\nSyncFilter = cal,todo\nDryRun = No\nVerbose = Yes\n[Auth]\nUsername = ${user}\nPassword = ${password}\n`,
  );
  const sync = async (...args: string[]) =>
    await succeed(account, '/usr/bin/python3', [
      '/usr/bin/calcurse-caldav',
      ...['--config', config, '--syncdb', database, '--lockfile', join(folder, 'lock'), '--datadir', data, ...args],
    ]);
  await sync('--init', 'keep-remote');
  const list = async () =>
    await succeed(account, 'calcurse', ['-D', data, '-Q', '--from', '12/01/2026', '--days', '7']);
  assert.match(await list(), /From the server/);
  await writeFile(join(folder, 'new.ics'), eventOf('here', 'From calcurse'));
  await succeed(account, 'calcurse', ['-D', data, '-i', join(folder, 'new.ics')]);
  await sync();
  assert.equal((await filesOf(account, 'calcurse')).length, 2);
  const before = await ctagOf(account, 'calcurse');
  await sync();
  assert.equal(await ctagOf(account, 'calcurse'), before, 'a second run writes nothing');
  await dav(account, 'PUT', 'calcurse/there.ics', eventOf('there', 'Changed there'));
  await sync();
  assert.match(await list(), /Changed there/);
  await dav(account, 'DELETE', 'calcurse/there.ics');
  await sync();
  assert.doesNotMatch(await list(), /Changed there/);
}

interface Client {
  readonly name: string;
  /** What must be there for it to run: programs, and a module of Python. */
  readonly needs: readonly (readonly [command: string, args: readonly string[]])[];
  readonly run: (account: Account) => Promise<void>;
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
];

/** Runs one client as a person of its own; answers whether it failed. */
async function judge(server: TestServer, client: Client): Promise<boolean> {
  const missing = client.needs.find(([command, args]) => spawnSync(command, args).status !== 0);
  if (missing !== undefined) {
    process.stdout.write(`skipped  ${client.name}: ${[missing[0], ...missing[1]].join(' ')} does not run here\n`);
    return false;
  }
  const user = client.name.replaceAll(/\W+/g, '-');
  const person = await server.person(user);
  const made = await request<{ password: string }>('POST', `${server.coordinator}/v1/app-passwords`, {
    body: { name: client.name },
    token: person.session.token,
  });
  const folder = await mkdtemp(join(tmpdir(), 'parley-client-'));
  try {
    await client.run({ server, user, password: made.body.password, folder });
    process.stdout.write(`passed   ${client.name}\n`);
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
