/** vdirsyncer between the server and a folder that khal writes into. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ctagOf, dav, eventOf, filesOf, runProgram, succeed, type Account } from './account.ts';

const quoted = (text: string): string => JSON.stringify(text);

export async function vdirsyncerAndKhal(account: Account): Promise<void> {
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
