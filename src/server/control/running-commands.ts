/** The `parley` command's door to a running server. */
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { systemClock } from '#src/base/clock.ts';
import type { AuditArchive } from '#src/audit/audit-archive.ts';
import type { FactorRemovals } from '#src/directory/factor-removals.ts';
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import type { Base } from '../base.ts';
import type { Coordinator } from '../coordinator.ts';
import { backUpRunning } from '../live-backup.ts';
import { Seeder } from '../seed.ts';
import { makeRooms } from '../seeded-rooms.ts';
import type { makeChangeAnnouncers } from '../shard-announcer.ts';
import { rotateSigningKeys } from '../signing-key-rotation.ts';
import { makeControlHandlers, type ClusterControl, type ControlResults } from './control-commands.ts';
import { listenForControl, type ControlServer } from './control-server.ts';

/** What the commands act on. */
export interface CommandParts {
  readonly factorRemovals: FactorRemovals;
  readonly auditArchive: Pick<AuditArchive, 'export'>;
  readonly announcer: SessionAnnouncer;
  readonly changes: Pick<ReturnType<typeof makeChangeAnnouncers>, 'announceSigningKeys'>;
  readonly coordinator: Coordinator;
  readonly cluster: ClusterControl | undefined;
  readonly coordinatorBase: () => string;
  /** What `parley status` prints. */
  readonly status: () => ControlResults['status'];
  readonly supervisor: ShardSupervisor;
}

/** Opens the control socket, by which the `parley` command reaches this server. */
export async function listenForCommands(base: Base, parts: CommandParts): Promise<ControlServer> {
  const { accounts, config, folder, log, tokens } = base;
  const {
    announcer,
    auditArchive,
    changes,
    cluster,
    coordinator,
    coordinatorBase,
    factorRemovals,
    status,
    supervisor,
  } = parts;
  const seeder = new Seeder({
    accounts,
    passwords: coordinator.passwords,
    tokens,
    announcer,
    clock: systemClock,
    makeRooms: (plans) => makeRooms(supervisor, plans),
  });
  const handlers = makeControlHandlers({
    people: coordinator.people,
    invitations: coordinator.invitations,
    passwordResets: coordinator.passwordResets,
    factorRemovals,
    seeder,
    cluster,
    coordinatorBase,
    status: async () => status(),
    exportAudit: async (out) => ({ ...(await auditArchive.export(out, { actor: 'command', address: null })) }),
    rotateKeys: async (atOnce) =>
      await rotateSigningKeys(
        { accounts, clock: systemClock, config, tokens, announce: changes.announceSigningKeys },
        atOnce,
      ),
    backup: (out, earlier) => backUpRunning({ ...base, supervisor }, out, earlier),
  });
  return await listenForControl(folder, handlers, log);
}
