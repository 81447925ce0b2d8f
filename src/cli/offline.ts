/** Commands on the store of a server that is stopped: this process takes the folder's lock and opens it itself. */
import { nobodyToTell } from '#src/identity/credentials/revocations.ts';
import { Passwords } from '#src/identity/credentials/passwords.ts';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { systemClock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import { makeControlHandlers, type ControlHandlers } from '#src/server/control/control-commands.ts';
import { runCommand, sentenceOf } from '#src/server/control/control-server.ts';
import { Invitations } from '#src/directory/invitations.ts';
import { urlOf } from '#src/http/listening-address.ts';
import { AuditArchive } from '#src/audit/audit-archive.ts';
import { putEnrollment } from '#src/directory/enrollment.ts';
import { FactorRemovals } from '#src/directory/factor-removals.ts';
import { PasswordResets } from '#src/directory/password-resets.ts';
import { BY_COMMAND, People } from '#src/directory/people.ts';
import { isPasswordElsewhere } from '#src/settings/kept-elsewhere.ts';
import { rotateSigningKeys } from '#src/server/signing-key-rotation.ts';
import { Seeder } from '#src/server/seed.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { Vault } from '#storage/vault/vault.ts';
import type { Comparison } from '#storage/check/folder-comparison.ts';
import { FolderError, lockFolder, readManifest } from '#storage/engine/folder.ts';
import { dropDamagedLogs } from '#storage/engine/log-recovery.ts';
import { openServed } from '#storage/engine/served-folder.ts';
import { CommandError } from './command-error.ts';
import type { ControlConnection } from './control-client.ts';

/** A command says what it has to say by itself. */
const SILENT = { error: () => undefined, info: () => undefined };

/**
 * Opens the folder of a stopped server; `make` makes it when it is empty or absent.
 * @throws FolderError when it is in use or not a data folder.
 */
export async function openOffline(config: Config, make: boolean): Promise<ControlConnection> {
  if (!make) readManifest(config.data);
  const lock = await lockFolder(config.data);
  try {
    const now = systemClock.now();
    const { setAside } = await openServed(config.data, lock, { lanes: config.lanes, log: SILENT, now });
    // A command that finds its lane damaged has nobody to answer for it.
    if (setAside.length > 0)
      throw new FolderError(`Lane ${setAside[0]} of ${config.data} is damaged: parley check says how.`);
    const accounts = await Accounts.open(config.data);
    const handlers = await makeHandlers(config, accounts);
    return {
      isRunning: false,
      call: async (command, form) => {
        try {
          return (await runCommand(handlers, command, form)) as never;
        } catch (error) {
          const said = sentenceOf(error);
          if (said === undefined) throw error;
          throw new CommandError(said.error, { cause: error });
        }
      },
      close: async () => {
        await accounts.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function makeHandlers(config: Config, accounts: Accounts): Promise<ControlHandlers> {
  const passwords = await Passwords.make(config.passwordMemoryKib);
  const tokens = new SessionTokens(accounts.signingKeys('session_keys'));
  const shared = { accounts, passwords, tokens, announcer: nobodyToTell, clock: systemClock };
  const seeder = new Seeder({
    ...shared,
    makeRooms: async (plans) => {
      const { seedRooms } = await import('./seed-rooms.ts');
      return await seedRooms(config, plans);
    },
  });
  return makeControlHandlers({
    people: new People(shared),
    invitations: new Invitations(shared),
    passwordResets: new PasswordResets({
      ...shared,
      isElsewhere: (username) => isPasswordElsewhere(accounts, username),
    }),
    factorRemovals: new FactorRemovals({ ...shared, secrets: new Vault({ ...shared, warn: () => undefined }) }),
    seeder,
    cluster: undefined,
    coordinatorBase: () => baseOf(config),
    status: async () => {
      const { epoch, format, lanes } = readManifest(config.data);
      return { state: 'stopped', folder: config.data, format, epoch, lanes, people: accounts.personCount };
    },
    exportAudit: async (out) => ({
      ...(await new AuditArchive({
        accounts,
        clock: systemClock,
        log: { warn: () => undefined },
        isHeld: () => true,
      }).export(out, { actor: 'command', address: null })),
    }),
    rotateKeys: async (atOnce) =>
      await rotateSigningKeys({ ...shared, config, announce: async () => undefined }, atOnce),
    backup: async (out, earlier) => {
      const { backupFolder } = await import('#storage/backup/backup.ts');
      return await backupFolder(config.data, out, earlier);
    },
  });
}

/** An instant, the archive from which it is reached, and where attachments that came after the backup may be. */
export interface RestoreTarget {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly archive: string;
  readonly contents?: string;
}

/**
 * Puts a verified backup in the place of an empty data folder, with a new epoch. Never on a running server. Whatever let anybody in
 * has ended with it, so the report has a link that makes an owner, once; who restores is who has the data.
 */
export async function restore(
  from: string,
  config: Config,
  to: RestoreTarget | undefined,
): Promise<Readonly<Record<string, string | number>>> {
  const { restoreFolder } = await import('#storage/backup/backup.ts');
  const lock = await lockFolder(config.data);
  try {
    const report = await restoreFolder(from, config.data, to);
    const accounts = await Accounts.open(config.data);
    try {
      const owner = { kind: 'owner', profile: {}, guest: null } as const;
      const { expiresAt, path } = await accounts.change((draft) =>
        putEnrollment(draft, owner, BY_COMMAND, systemClock.now()),
      );
      return { ...report, owner_link: `${baseOf(config)}${path}`, owner_link_until: expiresAt };
    } finally {
      await accounts.close();
    }
  } finally {
    lock.release();
  }
}

/** Base of links: where the coordinator is reached, without a slash at the end. */
function baseOf(config: Config): string {
  return config.coordinatorUrl ?? urlOf(config, config.coordinatorPort);
}

/** Sets damaged logs of a stopped server aside, with what only they have. @throws FolderError when it is in use. */
export async function dropLogs(folder: string, say: (sentence: string) => void): Promise<void> {
  const { lanes } = readManifest(folder);
  const lock = await lockFolder(folder);
  try {
    await dropDamagedLogs(folder, lanes, say);
  } finally {
    lock.release();
  }
}

/** What is wrong with a folder, a sentence each; nothing when it is sound. */
export async function check(folder: string): Promise<readonly string[]> {
  const { checkFolder } = await import('#storage/check/check.ts');
  readManifest(folder);
  const lock = await lockFolder(folder);
  try {
    return (await checkFolder(folder)).problems;
  } finally {
    lock.release();
  }
}

/** What differs between the folders of two stopped hosts of a cluster. @throws FolderError when one is in use, or they are of no cluster. */
export async function compare(folder: string, other: string): Promise<Comparison> {
  const { compareFolders } = await import('#storage/check/folder-comparison.ts');
  const lock = await lockFolder(folder);
  try {
    const otherLock = await lockFolder(other);
    try {
      return await compareFolders(folder, other);
    } finally {
      otherLock.release();
    }
  } finally {
    lock.release();
  }
}
