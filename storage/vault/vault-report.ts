/** What the vault says of itself: how far its secrets are sealed, and the sheet an owner keeps. Never a secret. */
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { RING, vaultKeys, type KeyRing } from './key-ring.ts';
import { sealedUnder } from './sealing.ts';
import { purposeOf, vaultSecrets, type VaultState } from './vault-secrets.ts';

/** Secrets looked at between two turns of the event loop. */
const COVERAGE_STEP = 64;

/** Names of damaged secrets that are listed; more are only counted. */
export const DAMAGED_NAMES_MAX = 100;

/** How many of something are sealed, and how many are not. */
export interface Counts {
  readonly sealed: number;
  readonly plain: number;
}

export interface Coverage {
  readonly state: VaultState;
  /** True while secrets are still being sealed, or a crash or full disk stopped that: the next unlock goes on. */
  readonly isSealing: boolean;
  readonly sealed: number;
  readonly plain: number;
  readonly purposes: readonly { readonly purpose: string; readonly sealed: number; readonly plain: number }[];
  readonly keys: readonly KeyCoverage[];
  /** Contents of attachments: not sealed ones are sealed while the vault is unlocked, one after the other. */
  readonly contents: Counts;
  /** Sealed secrets that do not open; looked for while unlocked only. */
  readonly damaged: { readonly count: number; readonly names: readonly string[] };
}

export interface KeyCoverage {
  readonly id: string;
  readonly createdAt: string;
  readonly isCurrent: boolean;
  /** Secrets sealed under it. */
  readonly secrets: number;
}

/** Counts every secret; `open` answers one, or throws when it does not open. */
export async function coverageOf(
  accounts: Pick<Accounts, 'document' | 'documents'>,
  state: VaultState,
  open: (name: string) => unknown,
): Promise<Omit<Coverage, 'contents'>> {
  const ring = accounts.document(vaultKeys, RING);
  const purposes = new Map<string, { sealed: number; plain: number }>();
  const byKey = new Map<string, number>();
  const damaged = { count: 0, names: [] as string[] };
  for (let after = ''; ;) {
    const step = accounts.documents(vaultSecrets, { after, limit: COVERAGE_STEP });
    for (const { id, document } of step) {
      const purpose = purposeOf(id);
      const counts = purposes.get(purpose) ?? { sealed: 0, plain: 0 };
      purposes.set(purpose, counts);
      counts[document.sealed ? 'sealed' : 'plain'] += 1;
      if (!document.sealed) continue;
      const keyId = sealedUnder(document.value) ?? '';
      byKey.set(keyId, (byKey.get(keyId) ?? 0) + 1);
      if (state !== 'unlocked' || opens(open, id)) continue;
      damaged.count += 1;
      if (damaged.names.length < DAMAGED_NAMES_MAX) damaged.names.push(id);
    }
    const last = step.at(-1);
    if (last === undefined) break;
    after = last.id;
    await new Promise(setImmediate);
  }
  const rows = [...purposes].map(([purpose, counts]) => ({ purpose, ...counts }));
  return {
    state,
    isSealing: ring?.isSealing ?? false,
    sealed: rows.reduce((sum, { sealed }) => sum + sealed, 0),
    plain: rows.reduce((sum, { plain }) => sum + plain, 0),
    purposes: rows,
    keys: (ring?.keys ?? []).map(({ id, createdAt }) => {
      return { id, createdAt, isCurrent: id === ring?.current, secrets: byKey.get(id) ?? 0 };
    }),
    damaged,
  };
}

function opens(open: (name: string) => unknown, name: string): boolean {
  try {
    open(name);
    return true;
  } catch (error) {
    // Locked in between: that says nothing about the secret.
    return error instanceof Refusal;
  }
}

export interface RecoverySheet {
  readonly masterKeyId: string;
  /** 16 hex digits that follow from the master key: by them the right one is recognised. */
  readonly checkValue: string;
  /** RFC 3339: since when this master key is the one. */
  readonly masterKeySince: string;
  /** RFC 3339: since when encryption at rest is on. */
  readonly enabledAt: string;
  /** RFC 3339. */
  readonly printedAt: string;
  readonly dataKeys: readonly { readonly id: string; readonly createdAt: string }[];
  /** 64 hex digits; there only when whoever asks brought it. */
  readonly masterKey?: string;
  /** What to do with it, a sentence each. */
  readonly steps: readonly string[];
}

const STEPS = [
  'Keep this sheet apart from the server and its backups. Without the master key nobody can open the secrets again.',
  'Restore a backup with “parley restore”; its secrets stay sealed under the master key of the day it was made.',
  'Give the master key to the server in the file that PARLEY_MASTER_KEY_FILE names, or unlock it in the console.',
  'The check value in the console must be the one on this sheet; another one belongs to another master key.',
  'While the server is locked, messages are served and the console opens with a recovery code of the second factor.',
] as const;

/** The sheet of a ring, with the master key only where it is given. */
export function recoverySheet(ring: KeyRing, printedAt: string, masterKey?: Uint8Array): RecoverySheet {
  const { master, enabledAt, keys } = ring;
  return {
    masterKeyId: master.id,
    checkValue: master.checkValue,
    masterKeySince: master.since,
    enabledAt,
    printedAt,
    dataKeys: keys.map(({ id, createdAt }) => ({ id, createdAt })),
    ...(masterKey === undefined ? {} : { masterKey: Buffer.from(masterKey).toString('hex') }),
    steps: STEPS,
  };
}
