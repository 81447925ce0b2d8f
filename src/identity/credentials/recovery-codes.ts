/** Recovery codes: a second factor for whoever lost theirs. Ten, shown once, each good once, stored hashed (CRD-09). */
import { randomSymbols } from '#src/base/ids.ts';
import { hashSecret, sameHash } from './opaque-secrets.ts';

export const RECOVERY_CODES = 10;

/** 80 random bits: too many to be tried against the stored hashes. */
const GROUPS = 4;
const GROUP_SYMBOLS = 4;

/** New codes as they are shown, `xxxx-xxxx-xxxx-xxxx`, and what is stored of them. */
export function makeRecoveryCodes(): { readonly codes: string[]; readonly hashes: string[] } {
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    Array.from({ length: GROUPS }, () => randomSymbols(GROUP_SYMBOLS)).join('-'),
  );
  return { codes, hashes: codes.map((code) => hashSecret(canonical(code))) };
}

/** The hashes that are left when the code is one of them, used now; undefined when it is none. */
export function spendRecoveryCode(hashes: readonly string[], code: string): string[] | undefined {
  const spent = hashSecret(canonical(code));
  const left = hashes.filter((hash) => !sameHash(hash, spent));
  return left.length === hashes.length ? undefined : left;
}

/** People type codes with other dashes, spaces and capitals. */
function canonical(code: string): string {
  return code.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}
