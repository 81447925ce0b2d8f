/** The quotas as the settings have them, over what the table and the configuration say. */
import type { Config } from '#src/config.ts';
import { QUOTA_NAMES, QUOTAS, type QuotaField, type QuotaLimits } from '#src/protocol/quotas.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { readSetValues } from './settings.ts';

/** Every quota as a setting names it: those of a person, then those of all people together. */
export const QUOTA_FIELDS: readonly QuotaField[] = [
  ...QUOTA_NAMES,
  ...QUOTA_NAMES.filter((name) => QUOTAS[name].ofAll).map((name) => `installation_${name}` as QuotaField),
];

/**
 * What each quota is now: what was set, or else its default. Those of a day are limits on how often, so
 * `rateLimits` multiplies their defaults as it does the table of rate limits, and 0 takes them away, for load tests.
 */
export function readQuotaLimits(
  accounts: Pick<AccountsReader, 'document'>,
  config: Pick<Config, 'attachmentQuotaBytes' | 'rateLimits'>,
): QuotaLimits {
  const set = readSetValues(accounts, 'quotas');
  const limits = QUOTA_NAMES.map((name): [QuotaField, number | undefined] => {
    const { default: usual, window } = QUOTAS[name];
    if (name === 'attachment_bytes') return [name, config.attachmentQuotaBytes];
    if (window !== 'day') return [name, usual];
    return [name, config.rateLimits === 0 ? undefined : Math.ceil(usual * config.rateLimits)];
  });
  const all = { ...Object.fromEntries(limits), ...set } as Record<QuotaField, number | undefined>;
  return Object.fromEntries(Object.entries(all).filter(([, limit]) => limit !== undefined)) as QuotaLimits;
}
