/** calcurse with its script for CalDAV. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ctagOf, dav, eventOf, filesOf, succeed, type Account } from './account.ts';

export async function calcurse(account: Account): Promise<void> {
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
