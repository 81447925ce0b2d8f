/** Encryption at rest: its state, the master key in and out, rotations, coverage, and the sheet that an owner keeps. */
import { z } from 'zod';
import type { Clock } from '#src/base/clock.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { makeKey, readMasterKey } from '#storage/vault/sealing.ts';
import type { Vault } from '#storage/vault/vault.ts';
import type { RecoverySheet } from '#storage/vault/vault-report.ts';
import type { AuditEvent } from '#src/audit/audit-events.ts';
import { page, type ConsolePage, type ConsoleRequest, type ConsoleRoute } from '../../route.ts';

const vaultState = z.enum(['off', 'locked', 'unlocked']);

const keyState = z
  .strictObject({
    state: vaultState,
    master_key_id: z.string().nullable(),
    check_value: z.string().nullable().meta({ description: 'Follows from the master key: it is on the sheet too.' }),
    master_key_since: z.string().nullable(),
    enabled_at: z.string().nullable(),
    is_sealing: z.boolean(),
  })
  .meta({ id: 'EncryptionState' });

const counted = { sealed: z.int(), plain: z.int() };
const coverage = z
  .strictObject({
    state: vaultState,
    is_sealing: z.boolean(),
    ...counted,
    purposes: z.array(z.strictObject({ purpose: z.string(), ...counted })),
    keys: z.array(
      z.strictObject({ id: z.string(), created_at: z.string(), is_current: z.boolean(), secrets: z.int() }),
    ),
    attachments: z.strictObject(counted),
    damaged: z.strictObject({ count: z.int(), names: z.array(z.string()) }),
  })
  .meta({ id: 'EncryptionCoverage' });

const masterKey = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/)
  .meta({ description: '64 hex digits.' });
const masterKeyForm = z.strictObject({ master_key: masterKey }).meta({ id: 'MasterKey' });
const proposedKey = z.strictObject({ master_key: masterKey }).meta({ id: 'ProposedMasterKey' });

const sheet = z
  .strictObject({
    master_key_id: z.string(),
    check_value: z.string(),
    master_key_since: z.string(),
    enabled_at: z.string(),
    printed_at: z.string(),
    data_keys: z.array(z.strictObject({ id: z.string(), created_at: z.string() })),
    master_key: masterKey.nullable().meta({ description: 'There only when the request brought it.' }),
    steps: z.array(z.string()),
  })
  .meta({ id: 'RecoverySheet' });

const closed = { access: 'access:write', vendor: 'closed' } as const;
const write = { ...closed, method: 'post' } as const;

export const encryptionRoutes = {
  readEncryption: {
    ...closed,
    method: 'get',
    path: '/encryption',
    summary: 'Whether encryption at rest is on, and whether the master key is loaded.',
    audit: null,
    replies: { 200: keyState },
    errors: [],
  },
  readCoverage: {
    ...closed,
    method: 'get',
    path: '/encryption/coverage',
    summary: 'How many secrets are sealed, by purpose and key.',
    audit: null,
    replies: { 200: coverage },
    errors: [],
  },
  readRecoverySheet: {
    ...closed,
    method: 'get',
    path: '/encryption/recovery-sheet',
    summary: 'The recovery sheet, without the master key: nobody can read that here.',
    audit: 'encryption.sheet_read',
    replies: { 200: sheet },
    errors: ['encryption_off'],
  },
  proposeMasterKey: {
    ...write,
    path: '/encryption/propose',
    summary:
      'A new master key, shown once and kept nowhere. It is in force when it comes back with enable or a rotation.',
    audit: 'encryption.key_proposed',
    replies: { 200: proposedKey },
    errors: [],
  },
  enableEncryption: {
    ...write,
    path: '/encryption/enable',
    summary: 'Turns encryption at rest on under a master key and seals every secret. Answers the sheet with the key.',
    audit: 'encryption.enabled',
    body: masterKeyForm,
    replies: { 200: sheet },
    errors: ['encryption_on', 'storage_full'],
  },
  unlockEncryption: {
    ...write,
    // While it is locked no code can be judged, and the master key says more than one.
    stepUp: false,
    path: '/encryption/unlock',
    summary: 'Loads the master key.',
    audit: 'encryption.unlocked',
    body: masterKeyForm,
    replies: { 200: keyState },
    errors: ['encryption_off', 'master_key_wrong', 'storage_full'],
  },
  lockEncryption: {
    ...write,
    path: '/encryption/lock',
    summary: 'Takes the keys out of memory. What is sealed cannot be used until somebody unlocks.',
    audit: 'encryption.locked',
    replies: { 200: keyState },
    errors: ['encryption_off'],
  },
  rotateMasterKey: {
    ...write,
    path: '/encryption/rotate-master',
    summary: 'Wraps the data keys under another master key. Answers the sheet with the key.',
    audit: 'encryption.master_key_rotated',
    body: masterKeyForm,
    replies: { 200: sheet },
    errors: ['encryption_off', 'encryption_locked', 'storage_full'],
  },
  rotateDataKey: {
    ...write,
    path: '/encryption/rotate-data',
    summary: 'Makes a new data key and seals every secret anew.',
    audit: 'encryption.data_key_rotated',
    replies: { 200: keyState },
    errors: ['encryption_off', 'encryption_locked', 'storage_full'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface EncryptionPageOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly vault: Vault;
}

export function makeEncryptionPage({ accounts, clock, vault }: EncryptionPageOptions): ConsolePage {
  const audit = async (event: AuditEvent, request: ConsoleRequest) => {
    const entry = { event, ...request.by, subject: null, details: {} };
    await accounts.change((draft) => draft.audit(clock.now(), entry));
  };
  const state = () => ({ status: 200, body: stateBody(vault) });
  /** Does something with a master key, which is overwritten afterwards. */
  const withKey = async <T>(text: string, use: (key: Buffer) => Promise<T>): Promise<T> => {
    const key = readMasterKey(text);
    try {
      return await use(key);
    } finally {
      key.fill(0);
    }
  };
  return page(encryptionRoutes, {
    readEncryption: state,
    readCoverage: async () => ({ status: 200, body: await coverageBody(vault) }),
    readRecoverySheet: async (request) => {
      const body = sheetBody(vault.recoverySheet());
      await audit('encryption.sheet_read', request);
      return { status: 200, body };
    },
    proposeMasterKey: async (request) => {
      await audit('encryption.key_proposed', request);
      return { status: 200, body: { master_key: makeKey().toString('hex') } };
    },
    enableEncryption: async (request) =>
      await withKey(request.body.master_key, async (key) => {
        await vault.enable(key, request.by);
        return { status: 200, body: sheetBody(vault.recoverySheet(key)) };
      }),
    unlockEncryption: async (request) => {
      await withKey(request.body.master_key, async (key) => await vault.unlock(key, request.by));
      return state();
    },
    lockEncryption: async (request) => {
      await vault.lock(request.by);
      return state();
    },
    rotateMasterKey: async (request) =>
      await withKey(request.body.master_key, async (key) => {
        await vault.rotateMasterKey(key, request.by);
        return { status: 200, body: sheetBody(vault.recoverySheet(key)) };
      }),
    rotateDataKey: async (request) => {
      await vault.rotateDataKey(request.by);
      return state();
    },
  });
}

function stateBody({ ring, state }: Vault): z.infer<typeof keyState> {
  return {
    state,
    master_key_id: ring?.master.id ?? null,
    check_value: ring?.master.checkValue ?? null,
    master_key_since: ring?.master.since ?? null,
    enabled_at: ring?.enabledAt ?? null,
    is_sealing: ring?.isSealing ?? false,
  };
}

async function coverageBody(vault: Vault): Promise<z.infer<typeof coverage>> {
  const { state, isSealing, sealed, plain, purposes, keys, damaged, contents } = await vault.coverage();
  return {
    state,
    is_sealing: isSealing,
    sealed,
    plain,
    purposes: [...purposes],
    keys: keys.map(({ id, createdAt, isCurrent, secrets }) => {
      return { id, created_at: createdAt, is_current: isCurrent, secrets };
    }),
    attachments: contents,
    damaged: { count: damaged.count, names: [...damaged.names] },
  };
}

function sheetBody(made: RecoverySheet): z.infer<typeof sheet> {
  return {
    master_key_id: made.masterKeyId,
    check_value: made.checkValue,
    master_key_since: made.masterKeySince,
    enabled_at: made.enabledAt,
    printed_at: made.printedAt,
    data_keys: made.dataKeys.map(({ id, createdAt }) => ({ id, created_at: createdAt })),
    master_key: made.masterKey ?? null,
    steps: [...made.steps],
  };
}
