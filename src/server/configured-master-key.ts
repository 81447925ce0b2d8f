/** The master key of the configuration, at the start. */
import { Refusal } from '#src/protocol/errors.ts';
import { readMasterKey } from '#storage/vault/sealing.ts';
import type { Vault } from '#storage/vault/vault.ts';
import type { Logger } from '#src/telemetry/logger.ts';

/**
 * Loads the master key that the configuration has, 64 hex digits; nothing where it has none. A wrong one is no reason
 * not to serve messages: it is logged, and the vault stays locked.
 */
export async function loadConfiguredMasterKey(vault: Vault, text: string | undefined, log: Logger): Promise<void> {
  if (text === undefined) return;
  const key = readMasterKey(text);
  try {
    await vault.loadConfigured(key);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    log.error('the master key of the configuration was not taken; secrets stay locked', { code: error.code });
  } finally {
    key.fill(0);
  }
}
