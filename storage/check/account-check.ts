/** Checks the accounts file: that its records can be read, belong to somebody and agree with its counters. */
import { existsSync } from 'node:fs';
import { USERNAME } from '#src/protocol/names.ts';
import { devicesRecord, invitationRecord, personRecord, revocationRecord } from '../accounts/account-records.ts';
import { ACCOUNT_TABLES, SECRET_BYTES, SECRET_NAMES } from '../accounts/accounts.ts';
import { KEY_RINGS, SIGNING_KEY_BYTES, signingKeysRecord } from '../accounts/signing-keys.ts';
import { checkAudit } from './audit-check.ts';
import { checkDocuments } from './document-check.ts';
import { Environment, mapBytesOf } from '../engine/environment.ts';
import type { Findings } from '../engine/findings.ts';
import { folderPaths } from '../engine/folder.ts';
import { key, numberAt } from '../engine/keys.ts';

type Tables = Environment<(typeof ACCOUNT_TABLES)[number]>['tables'];

/** Looks for problems; answers how many people there are. */
export async function checkAccounts(folder: string, findings: Findings): Promise<number> {
  const path = folderPaths(folder).accounts;
  // A folder whose server never started has none.
  if (!existsSync(path)) return 0;
  let environment: Environment<(typeof ACCOUNT_TABLES)[number]>;
  try {
    environment = new Environment(path, ACCOUNT_TABLES, { mapBytes: mapBytesOf(path) });
  } catch (error) {
    findings.at('').say((error as Error).message);
    return 0;
  }
  try {
    const { tables } = environment;
    const people = checkPeople(tables, findings);
    checkDevices(tables, findings);
    for (const entry of tables.revocations.getRange()) {
      const name = entry.key.toString();
      const revocation = findings.attempt('revocations', [name], () => revocationRecord.decode(entry.value));
      if (revocation !== undefined && revocation.sid !== name)
        findings.add('revocations', [name], 'is of another session');
    }
    for (const entry of tables.invitations.getRange()) {
      findings.attempt('invitations', [entry.key.toString()], () => invitationRecord.decode(entry.value));
    }
    for (const name of SECRET_NAMES) {
      const secret = tables.secrets.get(key(name));
      // One that signs is made where it is missing; without the one that ids are derived with, nobody finds their chats.
      if (secret === undefined && name === 'installation_key') findings.add('secrets', [name], 'is missing');
      if (secret === undefined) continue;
      if (secret.length !== SECRET_BYTES) findings.add('secrets', [name], `does not have ${SECRET_BYTES} bytes`);
    }
    for (const ring of KEY_RINGS) {
      const value = tables.secrets.get(key(ring));
      const keys =
        value === undefined ? [] : findings.attempt('secrets', [ring], () => signingKeysRecord.decode(value));
      if (keys?.some((one) => one.key.length !== SIGNING_KEY_BYTES) === true)
        findings.add('secrets', [ring], `holds a key that does not have ${SIGNING_KEY_BYTES} bytes`);
    }
    checkDocuments(tables, findings);
    checkAudit(tables, findings);
    return people;
  } finally {
    await environment.close();
  }
}

function checkPeople(tables: Tables, findings: Findings): number {
  const stored = tables.meta.get(key('directory_rev'));
  const directoryRev = stored === undefined ? 0 : numberAt(stored);
  const hasOwner = tables.meta.get(key('owner_made')) !== undefined;
  let people = 0;
  for (const entry of tables.people.getRange()) {
    people += 1;
    const name = entry.key.toString();
    const person = findings.attempt('people', [name], () => personRecord.decode(entry.value));
    if (person === undefined) continue;
    if (person.username !== name) findings.add('people', [name], 'is of another person');
    if (!USERNAME.test(name)) findings.add('people', [name], 'is not a username');
    if (person.rev > directoryRev) {
      findings.add('people', [name], `has rev ${person.rev}, beyond the directory's ${directoryRev}`);
    }
    if (person.role === 'owner' && !hasOwner)
      findings.add('people', [name], 'owns an installation marked as without owner');
  }
  return people;
}

function checkDevices(tables: Tables, findings: Findings): void {
  for (const entry of tables.devices.getRange()) {
    const name = entry.key.toString();
    const devices = findings.attempt('devices', [name], () => devicesRecord.decode(entry.value));
    if (tables.people.get(entry.key) === undefined) findings.add('devices', [name], 'are those of nobody');
    if (devices !== undefined && new Set(devices.map(({ id }) => id)).size !== devices.length) {
      findings.add('devices', [name], 'hold one device twice');
    }
  }
}
