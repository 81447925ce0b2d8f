/**
 * The commands of the control socket: their forms, and what the people's part of them does. The same handlers serve
 * the `parley` command on a stopped server, in its own process.
 */
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import { username } from '#src/protocol/names.ts';
import { password } from '#src/protocol/sessions/sessions.ts';
import type { Invitations } from '#src/directory/invitations.ts';
import type { FactorRemovals } from '#src/directory/factor-removals.ts';
import type { PasswordResets } from '#src/directory/password-resets.ts';
import { BY_COMMAND, PEOPLE_PAGE_MAX, type ListedPerson, type People } from '#src/directory/people.ts';
import type { Seeded, Seeder } from '../seed.ts';
import type { KeyRotation } from '../signing-key-rotation.ts';
import { FolderError } from '#storage/engine/folder.ts';

/** People or rooms of one seed; their tokens go through the socket in one answer of some 50 MB. [field_invalid] */
export const SEED_MAX = 100_000;

const seedSize = z
  .strictObject({
    people: z.int().min(1).max(SEED_MAX),
    rooms: z.int().min(0).max(SEED_MAX),
    members: z.int().min(1).max(PARTICIPANTS_MAX),
  })
  .refine((size) => size.members <= size.people, { path: ['members'] });

const person = z.strictObject({ username });

/** Command → its form. */
export const CONTROL_FORMS = {
  status: z.strictObject({}),
  'user.add': z.strictObject({ username, password, role: z.enum(['owner', 'person']) }),
  'user.block': person,
  'user.unblock': person,
  'user.reset': person,
  'owner.reset': z.strictObject({ username: username.optional() }),
  'user.forget-factors': person,
  'owner.forget-factors': z.strictObject({ username: username.optional() }),
  'user.list': z.strictObject({ after: z.string().max(64), limit: z.int().min(1).max(PEOPLE_PAGE_MAX) }),
  'invite.owner': z.strictObject({}),
  seed: seedSize,
  'audit.export': z.strictObject({ out: z.string().refine(isAbsolute) }),
  'keys.rotate': z.strictObject({ at_once: z.boolean() }),
  'cluster.status': z.strictObject({}),
  'cluster.drain': z.strictObject({}),
  'cluster.resume': z.strictObject({}),
  backup: z.strictObject({ out: z.string().refine(isAbsolute), earlier: z.string().refine(isAbsolute).optional() }),
} as const satisfies Record<string, z.ZodType>;

export type ControlCommand = keyof typeof CONTROL_FORMS;
export type ControlForm<C extends ControlCommand> = z.infer<(typeof CONTROL_FORMS)[C]>;

/** A link that sets a password, in this answer and nowhere else. */
export interface MadeReset {
  readonly username: string;
  readonly url: string;
  readonly expires_at: string;
}

/** A host of the cluster, as it said within the last seconds. */
export interface ListedHost {
  readonly host: string;
  readonly role: string;
  /** It leaves the lead to others. */
  readonly drained: boolean;
  readonly lag_ms: number;
  readonly version: string;
  readonly address: string;
}

/** What a host of a cluster does by command. */
export interface ClusterControl {
  readonly host: string;
  /** The hosts that are there, by name. */
  readonly hosts: () => readonly ListedHost[];
  /** Leaves the lead to others until it is resumed. @throws FolderError where nobody else could lead. */
  readonly drain: () => void;
  readonly resume: () => void;
}

/** What each command answers. */
export interface ControlResults {
  /** What the server says of itself: flat, for one line each. */
  status: Readonly<Record<string, string | number>>;
  'user.add': { username: string };
  'user.block': { username: string };
  'user.unblock': { username: string };
  'user.reset': MadeReset;
  'owner.reset': MadeReset;
  'user.forget-factors': { username: string };
  'owner.forget-factors': { username: string };
  'user.list': { items: ListedPerson[]; next: string | null };
  /** The link by which the first owner is made; null when there is an owner. */
  'invite.owner': { url: string | null };
  seed: Seeded;
  /** What the copy has: entries, the number and the hash of the last. */
  'audit.export': Readonly<Record<string, string | number>>;
  /** Ids of the keys that sign now, and when those before are deleted. */
  'keys.rotate': KeyRotation;
  /** This host and all that are there, by name. */
  'cluster.status': { host: string; hosts: readonly ListedHost[] };
  'cluster.drain': { host: string };
  'cluster.resume': { host: string };
  backup: Readonly<Record<string, string | number>>;
}

export type ControlHandlers = {
  readonly [C in ControlCommand]: (form: ControlForm<C>) => Promise<ControlResults[C]>;
};

export interface ControlOptions {
  readonly people: People;
  readonly invitations: Invitations;
  readonly passwordResets: PasswordResets;
  readonly factorRemovals: FactorRemovals;
  readonly seeder: Seeder;
  /** Base of links: where the coordinator is reached, without a slash at the end. */
  readonly coordinatorBase: () => string;
  readonly status: () => Promise<ControlResults['status']>;
  /** Writes the audit trail to a new file at that absolute path. */
  readonly exportAudit: (out: string) => Promise<ControlResults['audit.export']>;
  /** Makes new keys that sign; `atOnce` without any time for those before. */
  readonly rotateKeys: (atOnce: boolean) => Promise<KeyRotation>;
  /** What this host does in its cluster; undefined where it is of none. */
  readonly cluster: ClusterControl | undefined;
  /** Writes a verified copy of the data to a new folder at that absolute path. */
  readonly backup: (out: string, earlier: string | undefined) => Promise<ControlResults['backup']>;
}

export function makeControlHandlers(options: ControlOptions): ControlHandlers {
  const { factorRemovals, people, invitations, passwordResets, seeder } = options;
  return {
    status: async () => await options.status(),
    'user.add': async ({ username: name, password: secret, role }) => {
      await (role === 'owner' ? people.addOwner(name, secret) : people.add(name, secret));
      return { username: name };
    },
    'user.block': async ({ username: name }) => {
      await people.block(name);
      return { username: name };
    },
    'user.unblock': async ({ username: name }) => {
      await people.unblock(name);
      return { username: name };
    },
    'user.reset': async ({ username: name }) => {
      const { expiresAt, path } = await passwordResets.make(name, BY_COMMAND);
      return { username: name, url: `${options.coordinatorBase()}${path}`, expires_at: expiresAt };
    },
    'owner.reset': async ({ username: name }) => {
      const made = await passwordResets.makeForOwner(name, BY_COMMAND);
      return {
        username: made.username,
        url: `${options.coordinatorBase()}${made.path}`,
        expires_at: made.expiresAt,
      };
    },
    'user.forget-factors': async ({ username: name }) => {
      await factorRemovals.remove(name, BY_COMMAND);
      return { username: name };
    },
    'owner.forget-factors': async ({ username: name }) => ({
      username: await factorRemovals.removeForOwner(name, BY_COMMAND),
    }),
    'user.list': async ({ after, limit }) => people.list(after, limit),
    'invite.owner': async () => {
      const path = await invitations.ensureOwnerInvitation();
      return { url: path === undefined ? null : `${options.coordinatorBase()}${path}` };
    },
    seed: async (size) => await seeder.seed(size),
    'audit.export': async ({ out }) => await options.exportAudit(out),
    'keys.rotate': async ({ at_once: atOnce }) => await options.rotateKeys(atOnce),
    ...makeClusterHandlers(options.cluster),
    backup: async ({ out, earlier }) => await options.backup(out, earlier),
  };
}

/** The commands of a host of a cluster, whether it leads or follows. */
export function makeClusterHandlers(
  cluster: ClusterControl | undefined,
): Pick<ControlHandlers, 'cluster.drain' | 'cluster.resume' | 'cluster.status'> {
  const here = (): ClusterControl => {
    if (cluster === undefined) throw new FolderError('No host of a cluster runs on this folder.');
    return cluster;
  };
  return {
    'cluster.status': async () => ({ host: here().host, hosts: here().hosts() }),
    'cluster.drain': async () => {
      here().drain();
      return { host: here().host };
    },
    'cluster.resume': async () => {
      here().resume();
      return { host: here().host };
    },
  };
}
